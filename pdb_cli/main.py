"""The command line: `pdb COMMAND ...`, with the alias `tilepdb`."""

import sys
from pathlib import Path
from typing import Annotated

import typer

from pdb_cli.bench import bench
from pdb_cli.build import build
from pdb_cli.doctor import doctor
from pdb_cli.info import info
from pdb_cli.output import errors_as_exit_codes, message
from pdb_cli.query import query
from pdb_cli.serve import serve
from pdb_cli.solve import solve
from pdb_cli.stats import stats
from pdb_cli.streams import open_standard_streams
from pdb_cli.study import study
from pdb_cli.verify import verify
from pdb_core.messages import as_typed

app = typer.Typer(
    name="pdb",
    help="Pattern databases for sliding-tile puzzles: build them, ask them, solve optimally with them.",
    no_args_is_help=True,
    add_completion=True,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
    context_settings={"help_option_names": ["-h", "--help"]},
)
for function in (build, solve, query, serve, info, stats, verify, bench, doctor):
    app.command()(function)
app.add_typer(study)


def _print_version(wanted: bool) -> None:
    if wanted:
        from pdb_core import __version__

        print(f"tile-pdb {__version__}")
        raise typer.Exit


@app.callback()
def main(
    version: Annotated[
        bool, typer.Option("--version", help="Print the version and exit.", callback=_print_version, is_eager=True)
    ] = False,
) -> None:
    """Pattern databases for sliding-tile puzzles: build them, ask them, solve optimally with them."""


def run() -> None:
    """Entry point of the console scripts."""
    # Commands turn their own errors into exit codes. Others are of the help, the version and the completion of shells.
    with errors_as_exit_codes():
        open_standard_streams()
        _refuse_scripts(sys.argv[1] if len(sys.argv) > 1 else "")
        app()


def _refuse_scripts(first: str) -> None:
    """Exit with a sentence if the first argument is a file: it is meant for Python's debugger."""
    names = {command.callback.__name__ for command in app.registered_commands if command.callback} | {"study"}
    if first.endswith(".py") or (first not in names and _is_file(first)):
        message(
            f"pdb: this is the pattern-database tool; for the Python debugger type python -m pdb {as_typed(first)}",
        )
        raise SystemExit(2)


def _is_file(name: str) -> bool:
    try:
        return Path(name).is_file()
    except (OSError, ValueError):  # such as a name that is too long
        return False
