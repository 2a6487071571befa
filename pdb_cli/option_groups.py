"""Option groups: dataclasses whose fields are options, and the help that lists the options of each group."""

import functools
import inspect
from collections.abc import Callable
from copy import copy
from dataclasses import MISSING, Field, fields, is_dataclass
from typing import Annotated, Any, get_args

from typer.core import TyperCommand

from pdb_core.errors import InputError

# Options that other commands have taken over: (command, option) -> the new command.
MOVED_OPTIONS = {
    ("solve", "--any"): "pdb approximate",
    ("solve", "--search"): "pdb search --algorithm",
    ("solve", "--heuristic"): "pdb search --heuristic",
    ("solve", "--weight"): "pdb search --weight",
    ("solve", "--memory-limit"): "pdb search --memory-limit",
    ("solve", "--plain"): "pdb search --plain",
    ("compare", "--search"): "pdb study compare --algorithm",
}


def with_option_groups(function: Callable[..., None]) -> Callable[..., None]:
    """Return `function` as a Typer command: parameters that are dataclasses become an option for each field.

    The class attribute `title` of a dataclass is the title of its options in --help.
    """
    parameters = inspect.signature(function, eval_str=True).parameters.values()
    groups: dict[str, Any] = {p.name: p.annotation for p in parameters if is_dataclass(p.annotation)}

    @functools.wraps(function)
    def call(**values: Any) -> None:
        for name, group in groups.items():
            values[name] = group(**{field.name: values.pop(field.name) for field in fields(group)})
        function(**values)

    options = [
        option
        for parameter in parameters
        for option in (
            [_option(field, groups[parameter.name].title) for field in fields(groups[parameter.name])]
            if parameter.name in groups
            else [parameter.replace(kind=inspect.Parameter.KEYWORD_ONLY)]
        )
    ]
    call.__signature__ = inspect.Signature(options)  # type: ignore[attr-defined]
    call.__annotations__ = {}
    return call


def _option(field: "Field[Any]", title: str) -> inspect.Parameter:
    """Return a field as a parameter of a command, below the title of its group."""
    kind, info = get_args(field.type)
    info = copy(info)
    info.rich_help_panel = title
    annotation = Annotated.__class_getitem__((kind, info))  # type: ignore[attr-defined]
    default = inspect.Parameter.empty if field.default is MISSING else field.default
    return inspect.Parameter(field.name, inspect.Parameter.KEYWORD_ONLY, default=default, annotation=annotation)


class GroupedCommand(TyperCommand):
    """Command whose help lists options by group, then an example. It names the new command of a moved option."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Parse the arguments of the command. Raises `InputError` for an option that was moved."""
        for argument in args:
            option = argument.partition("=")[0]
            if (moved := MOVED_OPTIONS.get((self.name or "", option))) is not None:
                raise InputError(f"{option} is not an option of this command; use {moved}")
        return super().parse_args(ctx, args)

    def format_options(self, ctx: Any, formatter: Any) -> None:
        """Write the options below the titles of their groups."""
        sections: dict[str, list[tuple[str, str]]] = {}
        for parameter in self.get_params(ctx):
            row = parameter.get_help_record(ctx)
            if row is None:
                continue
            name, text = row
            title = getattr(parameter, "rich_help_panel", None) or "Options"
            if parameter.param_type_name == "argument":
                # Typer adds the Python type of an argument, such as <list[str]>.
                title, name = "Arguments", name.partition(" <")[0]
            sections.setdefault(title, []).append((name, text))
        for title, rows in sections.items():
            with formatter.section(title):
                formatter.write_dl(rows)

    def format_epilog(self, ctx: Any, formatter: Any) -> None:  # noqa: ARG002 (as Click calls it)
        """Write the example."""
        if self.epilog:
            with formatter.section("Example"):
                formatter.write(f"  {self.epilog}\n")
