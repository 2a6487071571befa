"""`pdb check`: solutions from elsewhere, or their lengths, compared with optimal ones."""

from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from functools import partial
from itertools import chain
from typing import Annotated, Any

from typer import Argument

from pdb_core.errors import InputError, LimitReachedError, MovesError, PdbError, UnsolvableError
from pdb_core.messages import as_typed
from tilepdb.commands.board_input import NO_BOARDS, STDIN, read_rows
from tilepdb.commands.method import Method
from tilepdb.commands.opened_tables import OpenDatabases
from tilepdb.commands.options import (
    BoardOptions,
    CheckedNotationOption,
    FormatOption,
    TableOptions,
    TimeLimitOption,
    file_or_board,
    option_group,
)
from tilepdb.commands.output import Record, board_record, message, plural, write_records
from tilepdb.commands.progress import show_search
from tilepdb.commands.solve import solvers
from tilepdb.progress import ProgressLine

_FACTS = ("length", "optimal_length", "difference", "first_illegal_move", "first_suboptimal_move")
_COLUMNS = (
    "id",
    "size",
    "board",
    "goal",
    "verdict",
    *_FACTS,
    "reached",
    "moves_left",
    "notation",
    "fitting_notation",
    "problem",
)


@option_group
class SolutionOptions(BoardOptions):
    """Boards."""

    boards: Annotated[
        list[Any] | None,
        Argument(
            metavar="BOARD MOVES",
            help="A board and its moves, each in quotes, or files of CSV with the columns board and moves.",
            parser=file_or_board,
        ),
    ] = None


def check(
    boards: SolutionOptions,
    tables: TableOptions,
    notation: CheckedNotationOption = "tiles",
    time_limit: TimeLimitOption = None,
    output: FormatOption = "text",
) -> None:
    """Check whether solutions are legal, right and optimal.

    If a solution is not optimal, the command names its first move that is not on an optimal path, and ends with exit
    code 1. Without moves, the lengths in the column published_length are compared with the optimal ones. Boards are up
    to 6x6.

    Examples:
      pdb check "1 2 3/4 0 6/7 5 8" "5 8"
      pdb check --notation blank "1 2 3/4 0 6/7 5 8" DR
      pdb check --format csv solutions.csv
    """
    from pdb_core.resources import available_cores
    from pdb_query.instances import InvalidRow
    from solver.check import check_moves
    from solver.engine.checkpoint import Checkpoint
    from solver.engine.worker_pool import WorkerPool

    boards, moves = _without_moves(boards)
    counts = Counter[str]()
    with (
        OpenDatabases(tables) as databases,
        ProgressLine(message) as line,
        WorkerPool(available_cores() - 1) as pool,
    ):
        solver_for = solvers(Method(), databases, n_at_a_time=1)
        rows = read_rows(boards, databases)
        first = next(rows, None)
        if first is None:
            raise InputError(NO_BOARDS)
        if moves is None and first.fields.keys().isdisjoint(("moves", "published_length")):
            raise InputError(
                "no board comes with moves; give them after the board, or a file of CSV with the column moves or "
                "published_length"
            )

        def records() -> Iterator[Record]:
            for row in chain([first], rows):
                record: dict[str, Any] = dict.fromkeys(_COLUMNS) | {"id": row.id}
                record |= {name: text for name, text in row.fields.items() if name not in _COLUMNS}
                try:
                    if isinstance(row, InvalidRow):
                        raise MovesError(str(row.error))
                    given: Any = row.moves if moves is None else moves
                    if given is None:
                        raise MovesError("moves are missing; write them into the column moves")
                    request = databases.request(row, boards.goal)
                    record |= board_record(request)
                    solve = partial(
                        solver_for(request.size, request.goal).solve,
                        limits=time_limit,
                        report=partial(show_search, line, request, checkpoint=Checkpoint()),
                        pool=pool,
                    )
                    read_as: Any = row.fields.get("notation") or notation
                    record |= vars(check_moves(request.board, given, request.goal, read_as, solve))
                except (MovesError, UnsolvableError) as error:
                    record |= {"verdict": "invalid", "problem": str(error)}
                    message(f"board {row.id}: {error}")
                counts[record["verdict"]] += 1
                line.clear()
                yield record

        write_records(records(), output, partial(_text, notation == "any"))
    summary = f"{plural(counts.total(), 'solution')}: {', '.join(f'{n:,} {verdict}' for verdict, n in counts.items())}"
    if bad := counts.keys() - {"optimal"}:
        raise (LimitReachedError if bad == {"unknown"} else PdbError)(summary)
    message(summary)


def _without_moves(boards: SolutionOptions) -> tuple[SolutionOptions, Any]:
    """Separate the boards from the moves after them, which are None if there are none. Raises `InputError`."""
    if not boards.boards or not isinstance(boards.boards[-1], str) or boards.boards == [STDIN]:
        return boards, None
    *given, moves = boards.boards
    if not given:
        raise InputError(
            f"{as_typed(moves)!r} is no file, and no moves come after it; give a board and its moves, each in quotes, "
            "or a file of CSV with the columns board and moves"
        )
    return replace(boards, boards=given), moves


def _text(tells_notation: bool, record: Record) -> Iterator[str]:
    facts = [f", {fact.replace('_', ' ')} {record[fact]}" for fact in _FACTS if record.get(fact) is not None]
    if record.get("moves_left"):
        facts.append(f", moves left {record['moves_left']}")
    if record.get("fitting_notation") is not None:
        facts.append(f"; the moves reach the goal as --notation {record['fitting_notation']}")
    elif tells_notation and record.get("notation") is not None:
        facts.append(f", notation {record['notation']}")
    yield f"{record['id']}: {record['verdict']}{''.join(facts)}"
