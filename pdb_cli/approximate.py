"""`pdb approximate`: suboptimal solutions of boards of any size, without tables."""

from dataclasses import dataclass
from typing import Annotated, ClassVar

import typer

from pdb_cli.answers import APPROXIMATE
from pdb_cli.options import (
    AnswerOptions,
    IdaStarOptions,
    LimitOptions,
    LoggedAnswerOptions,
    SolveBoardOptions,
    TableOptions,
)
from pdb_cli.output import command
from pdb_cli.solvers import Method
from pdb_cli.solving import answer_boards


@dataclass(frozen=True)
class TimeOptions:
    """Time to spend on one board."""

    title: ClassVar[str] = "Limits"
    time_limit: Annotated[
        float | None,
        typer.Option(
            "--time-limit",
            min=0.0,
            metavar="S",
            help="Seconds to improve the solution of each board; 0.5 to 5 by default, by the size of the board.",
            show_default=False,
        ),
    ] = None


@command
def approximate(boards: SolveBoardOptions, time: TimeOptions, output: AnswerOptions) -> None:
    """Find a suboptimal solution of each board, up to 32x32, within seconds and without tables.

    Each answer has a lower bound of the optimal length.
    """
    answer_boards(
        Method(search=APPROXIMATE, uses_databases=False),
        boards,
        TableOptions(),
        LimitOptions(time_limit=time.time_limit),
        LoggedAnswerOptions(out=output.out, output=output.output),
        IdaStarOptions(),
    )
