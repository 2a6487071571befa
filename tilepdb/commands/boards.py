"""`pdb random` and `pdb apply`: boards to solve, and boards after moves."""

from collections.abc import Iterable
from typing import Annotated, Any

from typer import Argument, Option

from pdb_core.errors import InputError
from tilepdb.commands.opened_tables import OpenDatabases
from tilepdb.commands.options import (
    BoardSizeOption,
    GivenNotationOption,
    GoalOption,
    SeedOption,
    TableOptions,
    WalksOption,
    parse_lengths,
)
from tilepdb.commands.output import message, print_line
from tilepdb.progress import ProgressLine


def random(
    tables: TableOptions,
    n_boards: Annotated[int, Option("-n", min=1, help="Number of boards.")] = 1,
    size: BoardSizeOption = "4x4",
    goal: GoalOption = "blank-last",
    walks: WalksOption = None,
    distances: Annotated[
        str | None,
        Option(
            "--distance",
            metavar="LENGTHS",
            help="Optimal lengths, such as 50 or 1-60: -n boards of each. Not all of them are equally likely.",
        ),
    ] = None,
    seed: SeedOption = 0,
) -> None:
    """Write random boards that can be solved, one on each line.

    Without --walks and --distance, all boards are equally likely. Equal seeds give equal boards.

    Other commands read them from a pipe: pdb random | pdb solve -

    Examples:
      pdb random -n 100
      pdb random --distance 1-60 -n 100
    """
    from pdb_core.puzzle import format_board, parse_goal, parse_size, random_boards
    from pdb_study.labels import RandomWalks, boards_at_distances
    from solver.solve import Solver

    if walks is not None and distances is not None:
        raise InputError("--walks and --distance exclude each other; leave one out")
    board_size = parse_size(size)
    goal_board = parse_goal(goal, board_size)
    blocks: Iterable[Any]
    if distances is not None:
        lengths = parse_lengths(distances)
        with OpenDatabases(tables) as databases, ProgressLine(message) as line:
            found = boards_at_distances(
                Solver(*databases.databases_for(board_size, goal_board)),
                lengths,
                n_boards,
                goal=goal_board,
                seed=seed,
                progress=lambda distance: line.show(f"boards at distance {distance} of {max(lengths)}"),
            )
            if len(found) < n_boards * len(lengths):
                message(f"{len(found):,} boards: at some distances, fewer than {n_boards:,} were found")
            blocks = [found]
    elif walks is not None:
        blocks = RandomWalks(board_size, goal_board, n_boards, seed, parse_lengths(walks)).blocks()
    else:
        blocks = [random_boards(board_size, goal_board, n_boards, seed)]
    for block in blocks:
        for board in block.tolist():
            print_line(format_board(board, board_size))


def apply(
    words: Annotated[
        list[str],
        Argument(metavar="[BOARD] MOVES", help="The moves, in quotes. The board before them is by default --goal."),
    ],
    notation: GivenNotationOption = "tiles",
    size: BoardSizeOption = "4x4",
    goal: GoalOption = "blank-last",
) -> None:
    """Make moves on a board, and write the board after them.

    Without a board, the moves scramble the goal.

    Examples:
      pdb apply "1 2 3/4 0 6/7 5 8" "5 8"
      pdb apply --notation tile-directions "R D2 L U2"
    """
    from pdb_core.puzzle import Board, format_board, parse_goal

    if len(words) > 2:
        raise InputError(f"there are {len(words)} arguments; give a board and the moves, each in quotes")
    *boards, moves = words
    board = Board(boards[0]) if boards else parse_goal(goal, size)
    print_line(format_board(board.play(moves, notation), board.size))
