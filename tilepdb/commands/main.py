"""The command line: `pdb COMMAND ...`, with the alias `tilepdb`."""

import inspect
import sys
from typing import Annotated

import typer

from pdb_core.messages import as_typed
from tilepdb.commands.boards import apply, random
from tilepdb.commands.build import build
from tilepdb.commands.check import check
from tilepdb.commands.label import label
from tilepdb.commands.machine import bench, doctor
from tilepdb.commands.output import message, print_line
from tilepdb.commands.process import command, run_process
from tilepdb.commands.query import query
from tilepdb.commands.serve import serve
from tilepdb.commands.solve import approximate, search, solve
from tilepdb.commands.studies import heuristics, space, strength
from tilepdb.commands.study_compare import compare
from tilepdb.commands.table_files import info, stats, verify

_HELP = "Pattern databases for sliding-tile puzzles: build and query them, and solve boards optimally with them."
COMMANDS = (
    build, solve, search, approximate, check, label, random, apply, query, serve, info, stats, verify, bench, doctor,
)  # fmt: skip
STUDIES = heuristics, strength, space, compare

app = typer.Typer(
    name="pdb",
    help=_HELP,
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
    context_settings={"help_option_names": ["-h", "--help"]},
)
study = typer.Typer(
    name="study", help="Study state spaces and heuristics, with plots.", no_args_is_help=True,
    rich_markup_mode=None,
)  # fmt: skip
for group, commands in ((app, COMMANDS), (study, STUDIES)):
    for function in commands:
        text, _, examples = (inspect.getdoc(function) or "").partition("Examples:\n")
        # \b: Typer keeps the lines of the paragraph.
        group.command(help=text, epilog=f"\b\nExamples:\n{examples}")(command(function))
app.add_typer(study)


def _print_version(wanted: bool) -> None:
    if wanted:
        from pdb_core.version import version_text

        print_line(f"tile-pdb {version_text()}")
        raise typer.Exit


@app.callback()
def main(
    version: Annotated[
        bool, typer.Option("--version", help="Print the version and exit.", callback=_print_version, is_eager=True)
    ] = False,
) -> None:
    """Run a command."""


def run() -> None:
    """Run the command line: the entry point of the console scripts."""
    run_process(_run_command)


def _run_command() -> None:
    """Run the command, or exit with a message if the first argument is a script, which is for Python's debugger."""
    first = "".join(sys.argv[1:2])
    if first.endswith(".py"):
        message(f"this is the pattern-database tool; for the Python debugger type python -m pdb {as_typed(first)}")
        raise SystemExit(2)
    app()
