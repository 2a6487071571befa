"""`pdb search`: solutions by the textbook's search algorithms and heuristics."""

from pdb_cli.options import (
    AlgorithmOptions,
    IdaStarOptions,
    LimitOptions,
    LoggedAnswerOptions,
    SolveBoardOptions,
    TableOptions,
)
from pdb_cli.output import command
from pdb_cli.solvers import parse_method
from pdb_cli.solving import answer_boards


@command
def search(
    boards: SolveBoardOptions,
    algorithm: AlgorithmOptions,
    tables: TableOptions,
    limits: LimitOptions,
    ida_star: IdaStarOptions,
    output: LoggedAnswerOptions,
) -> None:
    """Solve boards by a textbook search algorithm and heuristic, to compare them.

    No tables are needed. Solutions are optimal, except those of weighted-a-star and greedy. Boards go up to 6x6.
    """
    method = parse_method(algorithm, tables.db, ida_star)
    answer_boards(method, boards, tables, limits, output, ida_star)
