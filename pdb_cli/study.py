"""`pdb study ...`: state spaces and heuristics, in figures and plots."""

import typer

from pdb_cli.study_compare import compare
from pdb_cli.study_heuristics import heuristics
from pdb_cli.study_space import space

study = typer.Typer(
    name="study", help="State spaces and heuristics, in figures and plots.", no_args_is_help=True, rich_markup_mode=None
)
for function in (heuristics, space, compare):
    study.command()(function)
