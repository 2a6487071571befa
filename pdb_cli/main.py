"""The command line: `pdb COMMAND ...`, with the alias `tilepdb`."""

import sys
from pathlib import Path
from typing import Annotated

import typer

from pdb_cli.bench import bench
from pdb_cli.build import build
from pdb_cli.doctor import doctor
from pdb_cli.info import info
from pdb_cli.query import query
from pdb_cli.serve import serve
from pdb_cli.solve import solve
from pdb_cli.stats import stats
from pdb_cli.study import study
from pdb_cli.verify import verify

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
    first = sys.argv[1] if len(sys.argv) > 1 else ""
    if first.endswith(".py") or (
        first not in {c.callback.__name__ for c in app.registered_commands if c.callback} | {"study"}
        and Path(first).is_file()
    ):
        print(
            f"pdb: this is the pattern-database tool; for the Python debugger type python -m pdb {first}",
            file=sys.stderr,
        )
        raise SystemExit(2)
    app()
