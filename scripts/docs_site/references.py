"""Reference pages of the command line and of the library, from the commands and from the source."""

import ast
import importlib
import inspect
import re
import textwrap
from collections.abc import Iterator
from typing import Any

import typer.main

from tilepdb.commands.main import app

# Pages of packages, and the groups of their exported names. The page of pdb_core, which exports none, lists `_CORE`.
PACKAGES = ("tilepdb", "pdb_query", "solver", "pdb_study.labels", "pdb_build", "pdb_core")
_CORE = {
    "pdb_core.puzzle": (
        "Board", "BoardSize", "parse_size", "parse_goal", "format_board", "blank_last",
        "blank_first", "is_solvable", "random_boards",
    ),
    "pdb_core.pattern": ("Pattern", "Partition", "parse_partition", "named_partitions"),
    "pdb_core.ranking": ("PatternIndex",),
}  # fmt: skip
GROUPS = {
    "tilepdb": {
        "Boards": ("Board", "BoardLike", "BoardSize", "parse_size", "parse_goal", "format_board", "random_boards"),
        "Solutions": ("solve", "Solver", "HeuristicSolver", "GraphSolver", "find_suboptimal_solution", "ALGORITHMS"),
        "Results, limits and threads": (
            "Solution", "SolvedBoards", "Limits", "Iteration", "Checkpoint", "WorkerPool",
        ),
        "Databases": (
            "build", "open_database", "Database", "Probe", "BatchProbe", "random_board_statistics",
            "plan_build", "build_database", "BuildPlan", "BuildProgress", "BuildResult",
        ),
        "Sets of boards": ("instance_sets", "read_instances", "Instance"),
        "Datasets": (
            "label", "write_labels", "LabelledBoards", "RandomBoards", "RandomWalks", "GivenBoards", "BoardSource",
        ),
        "Studies": (
            "compare", "Comparison", "study_heuristics", "HeuristicStudy", "explore_space", "StateSpace", "Histograms",
        ),
        "HTTP client, errors, version": ("Client", "PdbError", "UnsolvableError", "__version__"),
    },
    "pdb_query": {
        "Databases": ("open_database", "Database", "Probe", "BatchProbe", "LOAD_MODES", "read_table_header"),
        "Statistics": ("random_board_statistics", "RandomBoardStatistics"),
        "Sets of boards": ("instance_sets", "read_instances", "Instance"),
    },
    "solver": {
        "Optimal solutions": ("Solver", "HeuristicSolver", "GraphSolver", "ALGORITHMS", "Algorithm"),
        "Suboptimal solutions": ("find_suboptimal_solution", "default_time_limit"),
        "Textbook searches": ("a_star", "ida_star"),
        "Results": ("Solution", "SolvedBoards", "Labels", "replay"),
        "Limits, progress and threads": ("Limits", "Iteration", "Checkpoint", "Subtrees", "WorkerPool"),
    },
    "pdb_study.labels": {
        "Boards": ("BoardSource", "RandomBoards", "RandomWalks", "GivenBoards"),
        "Labels": ("label", "LabelledBoards", "write_labels"),
    },
    "pdb_build": {
        "Plans": ("plan_build", "BuildPlan", "check_plan"),
        "Builds": ("build_database", "BuildProgress", "BuildResult"),
        "Searches of patterns": ("search_pattern", "PatternTable"),
    },
    "pdb_core": {"Boards": _CORE["pdb_core.puzzle"], "Patterns": _CORE["pdb_core.pattern"], "Index": ("PatternIndex",)},
}  # fmt: skip
# Examples of packages whose docstrings have none.
EXAMPLES = {
    "pdb_core": """For example:

>>> import numpy as np
>>> from pdb_core.pattern import parse_partition
>>> from pdb_core.puzzle import Board, parse_size
>>> from pdb_core.ranking import PatternIndex
>>> Board("8 6 7/2 5 4/3 0 1").is_solvable()
True
>>> [str(pattern) for pattern in parse_partition("663", parse_size("4x4")).patterns]
['1,5,6,9,10,13', '7,8,11,12,14,15', '2,3,4']
>>> PatternIndex(parse_size("4x4"), 3).rank(np.array([[1, 2, 3]], dtype=np.uint8)).tolist()
[630]
"""
}
_COMMANDS = """# Command line

{help} `pdb` and `tilepdb` are the same command. `-h` or `--help` after any command prints the text of this page.
Results go to stdout, progress and messages to stderr. There is a list of [exit codes](exit-codes.md).
"""
_COLUMNS = re.compile(r"\S.*?\S {2,}\S")


def command_page() -> str:
    """Return the page with every command, its arguments and its options, in Markdown."""
    program: Any = typer.main.get_command(app)
    leaves = list(_leaves("pdb", program))
    rows = [
        f"| [{name}](#{name.replace(' ', '-')}) | {_cell(command.get_short_help_str(200))} |"
        for name, command in leaves
    ]
    lines = [_COMMANDS.format(help=program.help), "\n".join(["| command | |", "|---|---|", *rows])]
    for name, command in leaves:
        context = command.make_context(name, [], resilient_parsing=True)
        usage = " ".join([name, *command.collect_usage_pieces(context)])
        examples = "\n".join(f"$ {line}" for line in command.epilog.splitlines())
        lines += [f"## {name}", command.help, _code(usage, "text"), "Examples:", _code(examples, "console")]
        for title, options in command.rows_by_group(context).items():
            cells = [f"| `{option}` | {_cell(text)} |" for option, text in options]
            lines.append("\n".join([f"| {_cell(title)} | |", "|---|---|", *cells]))
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
    """Return the page of a package, in Markdown: its docstring, a table of its names by group, and each name."""
    module = importlib.import_module(package)
    modules = {name: place for place, names in _CORE.items() for name in names} if package == "pdb_core" else {}
    items = {
        name: getattr(importlib.import_module(modules.get(name, package)), name)
        for names in GROUPS[package].values()
        for name in names
    }
    blocks = [f"# {package}", *_prose(module.__doc__), *_prose(EXAMPLES.get(package))]
    for title, names in GROUPS[package].items():
        rows = [f"| [{name}](#{_anchor(name)}) | {_summary(items[name])} |" for name in names]
        blocks.append("\n".join([f"| {title} | |", "|---|---|", *rows]))
    for name, item in items.items():
        blocks += [f"## {name}", f"`from {modules.get(name, package)} import {name}`", *_described(name, item)]
    if package == "pdb_core":
        blocks += ["## errors", *_prose(importlib.import_module("pdb_core.errors").__doc__)]
    return "\n\n".join(blocks) + "\n"


def _anchor(name: str) -> str:
    """Return the anchor of a heading, as mkdocs makes it; `__version__` is a word in bold there."""
    return name.strip("_").lower()


def _summary(item: Any) -> str:
    """Return the first sentence of a docstring, or nothing for a constant."""
    if not (inspect.isclass(item) or inspect.isfunction(inspect.unwrap(item))):
        return ""
    first = inspect.cleandoc(item.__doc__ or "").split("\n\n")[0].replace("\n", " ")
    return _cell(re.split(r"(?<=\.) ", first)[0])


def _described(name: str, item: Any) -> list[str]:
    """Return the blocks of a class with its public methods, of a function, or of a constant."""
    if not (inspect.isclass(item) or inspect.isfunction(inspect.unwrap(item))):
        return [_code(f"{name} = {item!r}")]
    source, node = _parsed(item)
    blocks = [_code(_head(source, node)), *_prose(ast.get_docstring(node))]
    # Methods of base classes first, each as the last class defines it.
    methods: dict[str, tuple[list[str], Any]] = {}
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
