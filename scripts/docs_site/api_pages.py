"""Reference of the library: public names with their signatures and docstrings, from the source."""

import ast
import importlib
import inspect
import re
import textwrap
from types import ModuleType
from typing import Any

# Pages of packages. Each lists the exported names; pdb_core exports none, so its page lists those in `_CORE`.
PACKAGES = ("pdb_query", "solver", "pdb_build", "pdb_core")
_CORE = {
    "pdb_core.puzzle": (
        "BoardSize", "parse_size", "parse_board", "parse_goal", "format_board", "check_board", "blank_last",
        "blank_first", "is_solvable", "random_boards",
    ),
    "pdb_core.pattern": ("Pattern", "Partition", "parse_partition", "named_partitions"),
    "pdb_core.ranking": ("PatternIndex",),
}  # fmt: skip
_COLUMNS = re.compile(r"\S.*?\S {2,}\S")
_WIDTH = 100


def package_page(package: str) -> str:
    """Return the page of a package, in Markdown."""
    module = importlib.import_module(package)
    lines = [f"# {package}", "", *prose(inspect.getdoc(module) or "")]
    for name, item in exported(module):
        lines += ["", f"## {name}", "", *described(name, item)]
    if package == "pdb_core":
        errors = importlib.import_module("pdb_core.errors")
        lines += ["", "## errors", "", *prose(inspect.getdoc(errors) or "")]
    return "\n".join(lines) + "\n"


def exported(module: ModuleType) -> list[tuple[str, Any]]:
    """Return the public names of a package and their values."""
    if module.__name__ == "pdb_core":
        parts = ((importlib.import_module(part), names) for part, names in _CORE.items())
        return [(name, getattr(part, name)) for part, names in parts for name in names]
    return [(name, getattr(module, name)) for name in sorted(module.__all__, key=str.lower)]


def described(name: str, item: Any) -> list[str]:
    """Return the lines for a class with its public methods, a function, or a constant."""
    if not (inspect.isclass(item) or inspect.isfunction(inspect.unwrap(item))):
        return code([f"{name} = {item!r}"])
    (node,) = ast.parse(textwrap.dedent(inspect.getsource(inspect.unwrap(item)))).body
    where = f"`from {import_place(name, item)} import {name}`"
    if isinstance(node, ast.FunctionDef):
        return [where, "", *code(signature(node)), "", *prose(inspect.getdoc(item) or "")]
    assert isinstance(node, ast.ClassDef)
    methods = [part for part in node.body if isinstance(part, ast.FunctionDef)]
    maker = next((method for method in methods if method.name == "__init__"), None)
    fields = [ast.unparse(part) for part in node.body if isinstance(part, ast.AnnAssign)]
    head = [f"class {name}", *(f"    {field}" for field in fields)] if maker is None else signature(maker, name)
    lines = [where, "", *code(head), "", *prose(inspect.getdoc(item) or "")]
    if maker is not None and ast.get_docstring(maker):
        lines += ["", *prose(ast.get_docstring(maker) or "")]
    for method in [*inherited(item), *methods]:
        if not method.name.startswith("_"):
            lines += ["", f"### {name}.{method.name}", "", *code(signature(method))]
            lines += ["", *prose(ast.get_docstring(method) or "")]
    return lines


def inherited(item: type) -> list[ast.FunctionDef]:
    """Return the methods that a class inherits from base classes of the project."""
    bases = [base for base in item.__mro__[1:] if base.__module__.partition(".")[0] in PACKAGES]
    nodes = [ast.parse(textwrap.dedent(inspect.getsource(base))).body[0] for base in bases]
    parts = [part for node in nodes if isinstance(node, ast.ClassDef) for part in node.body]
    own = set(vars(item))
    return [part for part in parts if isinstance(part, ast.FunctionDef) and part.name not in own]


def import_place(name: str, item: Any) -> str:
    """Return the package to import a name from; in pdb_core, the module."""
    package: str = item.__module__.partition(".")[0]
    return package if hasattr(importlib.import_module(package), name) else str(item.__module__)


def signature(node: ast.FunctionDef, name: str | None = None) -> list[str]:
    """Return a signature as it is written, without `self`. If it is long, each argument has a line."""
    decorators = {ast.unparse(item) for item in node.decorator_list}
    arguments = [text for text in argument_texts(node.args) if text not in ("self", "cls")]
    result = f" -> {ast.unparse(node.returns)}" if node.returns is not None and name is None else ""
    if decorators & {"property", "cached_property"}:
        return [f"{node.name}{result.replace(' ->', ':')}"]
    line = f"{name or node.name}({', '.join(arguments)}){result}"
    if len(line) <= _WIDTH:
        return [line]
    return [f"{name or node.name}(", *(f"    {text}," for text in arguments), f"){result}"]


def argument_texts(arguments: ast.arguments) -> list[str]:
    """Return each argument with its type and default, and `*` before keyword-only arguments."""
    texts = []
    plain = [*arguments.posonlyargs, *arguments.args]
    defaults = [None] * (len(plain) - len(arguments.defaults)) + list(arguments.defaults)
    for argument, default in zip(plain, defaults, strict=True):
        texts.append(with_default(argument, default))
    if arguments.vararg is not None:
        texts.append("*" + ast.unparse(arguments.vararg))
    elif arguments.kwonlyargs:
        texts.append("*")
    texts += [with_default(*pair) for pair in zip(arguments.kwonlyargs, arguments.kw_defaults, strict=True)]
    return texts


def with_default(argument: ast.arg, default: ast.expr | None) -> str:
    """Return `name: type = default`."""
    text = ast.unparse(argument)
    if default is None:
        return text
    return f"{text} = {ast.unparse(default)}" if argument.annotation is not None else f"{text}={ast.unparse(default)}"


def prose(docstring: str) -> list[str]:
    """Return a docstring as Markdown. Columns, drawings and examples become code blocks."""
    lines: list[str] = []
    for paragraph in docstring.split("\n\n"):
        rows = paragraph.splitlines()
        if rows and rows[0].startswith(">>> "):
            lines += code(rows, "pycon")
        elif any(_COLUMNS.match(row.strip()) for row in rows) or (rows and all(row.startswith("    ") for row in rows)):
            lines += code(textwrap.dedent(paragraph).splitlines(), "text")
        else:
            lines += [row.replace("<", "&lt;") for row in rows]
        lines.append("")
    return lines


def code(rows: list[str], language: str = "python") -> list[str]:
    """Return a fenced block."""
    return [f"```{language}", *rows, "```"]
