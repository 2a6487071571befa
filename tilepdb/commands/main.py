"""The command line: `pdb COMMAND ...`, with the alias `tilepdb`."""

import sys
from typing import Annotated

import typer

from pdb_core.messages import as_typed
from tilepdb.commands.build import build
from tilepdb.commands.check import check
from tilepdb.commands.label import label
from tilepdb.commands.machine import bench, doctor
from tilepdb.commands.output import message, print_line
from tilepdb.commands.process import command, run_process
from tilepdb.commands.query import query
from tilepdb.commands.serve import serve
from tilepdb.commands.solve import approximate, search, solve
from tilepdb.commands.study_compare import compare
from tilepdb.commands.study_heuristics import heuristics
from tilepdb.commands.study_space import space
from tilepdb.commands.study_strength import strength
from tilepdb.commands.table_files import info, stats, verify

_HELP = "Pattern databases for sliding-tile puzzles: build and query them, and solve boards optimally with them."
# Each command, and the examples that its help shows.
COMMANDS = (
    (build, ("pdb build 663", "pdb build 555 --goal blank-first --out 555.h5", "pdb build 6666 --size 5x5 --dry-run")),
    (
        solve,
        (
            'pdb solve "8 6 7/2 5 4/3 0 1"',
            'pdb solve --db data/663.h5 "15 14 13 12/11 10 9 8/7 6 5 4/3 1 2 0"',
            "pdb solve --db data/663.h5 --instances hardest80 --format csv",
        ),
    ),
    (
        search,
        (
            'pdb search "8 6 7/2 5 4/3 0 1"',
            'pdb search --algorithm a-star --heuristic linear-conflict "8 6 7/2 5 4/3 0 1"',
        ),
    ),
    (
        approximate,
        (
            'pdb approximate --goal blank-first "1 4 2/3 0 5/6 7 8"',
            "pdb approximate --instances korf50-24puzzle --format csv",
        ),
    ),
    (
        check,
        (
            'pdb check "1 2 3/4 0 6/7 5 8" "5 8"',
            'pdb check --notation blank "1 2 3/4 0 6/7 5 8" DR',
            "pdb check --format csv solutions.csv",
        ),
    ),
    (
        label,
        (
            "pdb label --random 1000 --size 3x3 --out labels.npz",
            "pdb label --random 1000 --walks 1-50 --db data/663.h5 --out walks.csv",
        ),
    ),
    (
        query,
        (
            'pdb query --db data/663.h5 "15 14 13 12/11 10 9 8/7 6 5 4/3 1 2 0"',
            "pdb query --db data/663.h5 --instances korf100 --format csv",
        ),
    ),
    (serve, ("pdb serve", "pdb serve --db data/8.h5 --db data/663.h5 --port 8080")),
    (info, ("pdb info data/663.h5", "pdb info data/8.h5 data/663.h5 --format json")),
    (stats, ("pdb stats data/663.h5", "pdb stats data/663.h5 --boards 10000 --plot 663.svg")),
    (verify, ("pdb verify data/663.h5", "pdb verify data/663.h5 --deep")),
    (bench, ("pdb bench 663 --boards 100 --set hardest80",)),
    (doctor, ("pdb doctor", "pdb doctor --warm-up")),
)
STUDIES = (
    (
        heuristics,
        (
            "pdb study heuristics 3x3",
            "pdb study heuristics 3x3 --heuristic manhattan --heuristic linear-conflict --plot h.svg",
        ),
    ),
    (
        strength,
        (
            "pdb study strength 3x3",
            "pdb study strength 4x4 --heuristic manhattan --db data/663.h5",
        ),
    ),
    (space, ("pdb study space 3x3", "pdb study space 3x4 --plot 3x4.svg")),
    (
        compare,
        (
            "pdb study compare --size 3x3 --boards 100 --heuristic manhattan --heuristic db",
            "pdb study compare --instances korf100 --boards 5 --db data/663.h5 --heuristic db",
        ),
    ),
)

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
    for function, examples in commands:
        # \b: Typer keeps the lines of the paragraph.
        group.command(epilog="\n  ".join(["\b\nExamples:", *examples]))(command(function))
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
