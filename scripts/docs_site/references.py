"""Reference pages of the command line and of the library, from the commands and from the source."""

import ast
import importlib
import inspect
import re
import textwrap
from collections.abc import Iterator
from typing import Any

import typer.main

from pdb_cli.main import app

# Pages of packages. Each lists the exported names; pdb_core exports none, so its page lists those in `_CORE`.
PACKAGES = ("pdb_query", "solver", "pdb_data", "pdb_build", "pdb_core")
_CORE = {
    "pdb_core.puzzle": (
        "Board", "BoardSize", "parse_size", "parse_goal", "format_board", "blank_last",
        "blank_first", "is_solvable", "random_boards",
    ),
    "pdb_core.pattern": ("Pattern", "Partition", "parse_partition", "named_partitions"),
    "pdb_core.ranking": ("PatternIndex",),
}  # fmt: skip
_COMMANDS = """# Command line

{help} `pdb` and `tilepdb` are the same command. `-h` or `--help` after any command prints the text of this page.
Results go to stdout, progress and messages to stderr. There is a list of [exit codes](exit-codes.md).
"""
_COLUMNS = re.compile(r"\S.*?\S {2,}\S")


def command_page() -> str:
    """Return the page with every command, its arguments and its options, in Markdown."""
    program: Any = typer.main.get_command(app)
    lines = [_COMMANDS.format(help=program.help)]
    for name, command in _leaves("pdb", program):
        context = command.make_context(name, [], resilient_parsing=True)
        usage = " ".join([name, *command.collect_usage_pieces(context)])
        lines += [f"## {name}", command.help, f"    {usage}", "For example:", f"    {command.epilog}"]
        for kind in ("argument", "option"):
            parameters = [each for each in command.get_params(context) if each.param_type_name == kind]
            rows = [
                f"| `{row[0]}` | {_cell(row[1])} |" for each in parameters if (row := each.get_help_record(context))
            ]
            lines += ["\n".join([f"| {kind} | |", "|---|---|", *rows])] if rows else []
    return "\n\n".join(lines) + "\n"


def _leaves(name: str, command: Any) -> Iterator[tuple[str, Any]]:
    """Yield the commands of a group and its subgroups, each with its name, in the order of --help."""
    if not hasattr(command, "commands"):
        yield name, command
        return
    for word, item in command.commands.items():
        yield from _leaves(f"{name} {word}", item)


def _cell(text: str) -> str:
    """Escape a text for a cell of a table."""
    return text.replace("|", "\\|").replace("*", "\\*").replace("<", "&lt;").strip()


def package_page(package: str) -> str:
    """Return the page of a package, in Markdown."""
    module = importlib.import_module(package)
    exported = _CORE if package == "pdb_core" else {package: sorted(module.__all__, key=str.lower)}
    blocks = [f"# {package}", *_prose(module.__doc__)]
    for place, names in exported.items():
        for name in names:
            item = getattr(importlib.import_module(place), name)
            blocks += [f"## {name}", f"`from {place} import {name}`", *_described(name, item)]
    if package == "pdb_core":
        blocks += ["## errors", *_prose(importlib.import_module("pdb_core.errors").__doc__)]
    return "\n\n".join(blocks) + "\n"


def _described(name: str, item: Any) -> list[str]:
    """Return the blocks of a class with its public methods, of a function, or of a constant."""
    if not (inspect.isclass(item) or inspect.isfunction(inspect.unwrap(item))):
        return [_code(f"{name} = {item!r}")]
    source, node = _parsed(item)
    blocks = [_code(_head(source, node)), *_prose(ast.get_docstring(node))]
    # Methods of base classes first, each as the last class defines it.
    methods = {}
    for base in reversed(item.__mro__) if inspect.isclass(item) else ():
        if base.__module__.partition(".")[0] in PACKAGES:
            source, node = _parsed(base)
            methods |= {part.name: (source, part) for part in node.body if isinstance(part, ast.FunctionDef)}
    for method, (source, part) in methods.items():
        if method == "__init__" or not method.startswith("_"):
            blocks += [f"### {name}.{method}", _code(_head(source, part)), *_prose(ast.get_docstring(part))]
    return blocks


def _parsed(item: Any) -> tuple[list[str], Any]:
    """Return the lines of a class or function and its syntax tree."""
    source = textwrap.dedent(inspect.getsource(inspect.unwrap(item)))
    return source.splitlines(), ast.parse(source).body[0]


def _head(source: list[str], node: Any) -> str:
    """Return the source of a class or function up to its docstring, and the fields of a class."""
    first = min(part.lineno for part in (node, *node.decorator_list))
    lines = source[first - 1 : max(node.lineno, node.body[0].lineno - 1)]
    for part in node.body if isinstance(node, ast.ClassDef) else ():
        if isinstance(part, ast.AnnAssign):
            lines += source[part.lineno - 1 : part.end_lineno]
    return re.sub("  # noqa.*", "", textwrap.dedent("\n".join(lines)))


def _prose(docstring: str | None) -> list[str]:
    """Return a docstring as blocks of Markdown. Columns, drawings and examples become code blocks."""
    return [_paragraph(text) for text in inspect.cleandoc(docstring or "").split("\n\n") if text]


def _paragraph(text: str) -> str:
    rows = text.splitlines()
    if rows[0].startswith(">>> "):
        return _code(text, "pycon")
    if any(_COLUMNS.match(row.strip()) for row in rows) or all(row.startswith("    ") for row in rows):
        return _code(textwrap.dedent(text), "text")
    return text.replace("<", "&lt;")


def _code(text: str, language: str = "python") -> str:
    """Return a fenced block."""
    return f"```{language}\n{text}\n```"
