"""The upper part of a threshold's tree, by recursion."""

from collections.abc import Callable

from pdb_core.puzzle import Tiles
from pdb_query import Database
from solver.move_pruning.move_pruning import START, PruningFsm


def naive_upper_tree(
    board: Tiles,
    threshold: int,
    is_upper: Callable[[int, int], bool],
    database: Database,
    fsm: PruningFsm,
) -> tuple[int, int, list[bytes]]:
    """Return the generated and expanded nodes for which `is_upper(depth, h)`, and the paths of the nodes below them."""
    paths: list[bytes] = []
    counts = [0, 0]

    def visit(board: Tiles, path: bytes, state: int) -> None:
        h = database.probe(board).maximum
        if len(path) + h > threshold:
            return
        if not is_upper(len(path), h):
            paths.append(path)
            return
        counts[1] += 1
        blank = board.index(0)
        for cell in database.size.neighbours[blank]:
            step = {-database.size.width: 0, -1: 1, 1: 2, database.size.width: 3}[cell - blank]
            after = int(fsm.successors[state, step])
            if after >= 0:
                counts[0] += 1
                cells = list(board)
                cells[blank], cells[cell] = cells[cell], 0
                visit(tuple(cells), path + bytes([board[cell]]), after)

    visit(board, b"", START)
    return counts[0], counts[1], paths
