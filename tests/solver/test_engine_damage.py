"""Damaged tables: a search ends with a solution that leads to the goal, at a limit, or with an error."""

from collections.abc import Sequence

import numpy as np
import pytest

from pdb_core.encoding import ENCODINGS, Encoding
from pdb_core.errors import LimitReachedError, TableFileDamagedError
from pdb_query import Database, open_database
from pdb_query.lookup import lookup_tables
from solver import Limits, WorkerPool, replay
from solver.engine.database_engine import CATALOGUE, SCALAR, VECTOR, WIDE, database_engine
from solver.engine.ida_star import IdaStar
from solver.engine.unit_tables import Heuristic
from solver.move_pruning.move_pruning import move_machine
from tests.solving import database_for, share, solvable_boards
from tests.tables import table_file

TABLES = [
    ("1,2,5/3,4,6/7,8", "3x3", "additive"),
    ("1,2,3,4/5,6,7,8", "3x3", "additive"),
    ("1,2/3,4,5", "3x2", "additive"),
    ("1,2/3", "3x2", "every-move"),
]


def damaged(database: Database, rng: np.random.Generator, kind: str, rounds: Sequence[str]) -> IdaStar:
    """A search in a copy of the tables that is damaged."""
    tables = database.lookup_tables
    memory = tables.memory.copy()
    first = int(tables.table_start.min())
    place = int(rng.integers(first, len(memory)))
    length = int(rng.integers(1, 1 + (len(memory) - first) // 2))
    if kind == "flips":
        places = rng.integers(first, len(memory), 1 + length // 8)
        memory[places] ^= rng.integers(1, 256, len(places), dtype=np.uint8)
    elif kind == "noise":
        memory[first:] = rng.integers(0, 256, len(memory) - first, dtype=np.uint8)
    else:
        memory[place : place + length] = {"zeros": 0, "ones": 255}[kind]
    memory.flags.writeable = False
    header = database.header
    copy = lookup_tables(
        database.size,
        database.goal,
        header.partition,
        header.encoding,
        memory,
        tables.table_start.tolist(),
        header.uses,
    )
    heuristic = Heuristic(copy, database.views())
    return IdaStar(database_engine(database.size, [heuristic], move_machine(), source="the file", rounds=rounds))


@pytest.mark.tiny
@pytest.mark.parametrize("encoding", ENCODINGS)
@pytest.mark.parametrize("table", TABLES, ids=lambda table: f"{table[1]}-{table[0]}")
@pytest.mark.parametrize("kind", ["flips", "zeros", "ones", "noise"])
def test_searches_in_damaged_tables_end(table: tuple[str, str, str], encoding: Encoding, kind: str) -> None:
    partition, size, cost = table
    if cost == "every-move" and encoding == "bytes":
        return  # such tables are bits
    rng = np.random.default_rng(7)
    ends = set()
    with open_database(table_file(partition, size, "blank-last", encoding, cost)) as database:
        boards = solvable_boards(database.size, database.goal, 3, 5)
        for trial in range(6):
            ida_star = damaged(database, rng, kind, ((VECTOR, WIDE), (CATALOGUE, WIDE), (WIDE,), (SCALAR,))[trial % 4])
            for board in share(boards, 3):
                ends.add(search_end(ida_star, board))
    assert ends


def search_end(ida_star: IdaStar, board: tuple[int, ...]) -> str:
    """Return how a search ends; a solution is replayed."""
    try:
        result = ida_star.search(board, Limits(nodes=3000))
    except TableFileDamagedError:
        return "damaged"
    except LimitReachedError:
        return "too deep"
    if result.tiles is None:
        return "limit"
    replay(board, result.tiles, ida_star.engine.goal, ida_star.engine.size)
    return "solved"


def test_shared_searches_in_damaged_tables_end() -> None:
    rng = np.random.default_rng(8)
    with database_for("555", "4x4", encoding="bits") as database, WorkerPool(2) as pool:
        boards = solvable_boards(database.size, database.goal, 3, 5)
        for kind in ("flips", "zeros", "ones", "noise"):
            ida_star = damaged(database, rng, kind, (VECTOR,))
            for board in boards:
                try:
                    result = ida_star.search(board, Limits(nodes=3_000_000, seconds=5), pool=pool)
                except TableFileDamagedError:
                    continue
                if result.tiles is not None:
                    replay(board, result.tiles, ida_star.engine.goal, ida_star.engine.size)
