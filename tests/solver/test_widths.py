"""Tables just within the fields of a kind of rounds are searched right, and others are left to other kinds."""

from pathlib import Path

import numpy as np
import pytest

from pdb_core.board_size import BoardSize, parse_size
from pdb_core.encoding import ENCODINGS, Encoding
from pdb_core.errors import InputError
from pdb_core.puzzle import blank_last
from pdb_core.types import Bytes
from pdb_query import records
from solver.engine.database_engine import CATALOGUE, ROWS, SCALAR, VECTOR, WIDE, database_engine
from solver.engine.rounds.shared_kernels import LAST_ADDRESS
from solver.engine.search import IdaStar
from solver.engine.sums import DatabaseSums, sums_of
from solver.engine.tuning import Tuning
from tests import rows
from tests.solving import ROUNDS, S4, database_for, node_counts, pruning_fsm, share, solvable_boards, sums_for


def moved(heuristic: DatabaseSums, n_bytes: int, folder: Path | None = None) -> DatabaseSums:
    """Return tables with records of `n_bytes` further on. With a folder, their memory begins with as large a hole."""

    def behind_hole(memory: Bytes) -> Bytes:
        if folder is None:
            return memory
        path = folder / str(len(memory))
        with path.open("xb") as file:
            file.seek(n_bytes)
            file.write(memory.tobytes() + bytes(64))
        return np.asarray(np.memmap(path, mode="r"))

    tables, _, in_rows = heuristic
    fields = tables.records.copy().reshape(-1, records.RECORD_FIELDS)
    fields[:, records.TABLE_BIT] += 8 * n_bytes
    fields[:, records.GOAL_BIT] += 8 * n_bytes
    tables = tables._replace(memory=behind_hole(tables.memory), records=fields.reshape(-1))
    if in_rows is None:
        return heuristic._replace(tables=tables)
    copy = in_rows()
    memory = behind_hole(copy.memory())
    copied = copy._replace(memory=lambda: memory, first_bits=copy.first_bits + 8 * n_bytes)
    return heuristic._replace(tables=tables, rows=lambda: copied)


# Kind of rounds | size | partition | encoding. Addresses of the last two have 64 bits.
FAR_TABLES = rows("""
vector | 3x3 | 1,2,3,4/5,6,7,8 | bits
rows | 3x3 | 1,2,3,4/5,6,7,8 | bits
wide | 5x2 | 1,2,3,4,5/6,7,8,9 | bits
catalogue | 3x3 | 1,2,3,4/5,6,7,8 | bits
scalar | 3x3 | 1,2,3,4/5,6,7,8 | bytes
""")


@pytest.mark.parametrize(("name", "sides", "partition", "encoding"), FAR_TABLES)
def test_tables_are_searched_up_to_the_last_address(
    name: str, sides: str, partition: str, encoding: Encoding, tmp_path: Path
) -> None:
    kind, size = ROUNDS[name], parse_size(sides)
    heuristic = sums_for(database_for(partition, sides, encoding=encoding), blank_last(size), in_rows=kind is ROWS)
    n_bytes = (1 << 33) + 5
    largest = {width.field: width.largest for width in kind.widths(size, sums_of([heuristic]))}
    if "address" in largest:
        n_bytes = (LAST_ADDRESS - largest["address"]) // 8
        beyond = moved(heuristic, n_bytes + 1)
        assert not kind.suits(size, sums_of([beyond]))
    far = moved(heuristic, n_bytes, tmp_path)
    fsm = pruning_fsm(8)
    near_search, far_search = (
        IdaStar(database_engine(size, [each], fsm, tuning=Tuning(rounds=rounds)))
        for each, rounds in ((heuristic, [SCALAR]), (far, [kind]))
    )
    for board in share(solvable_boards(size, 4, 7), 4):
        near, found = near_search.search(board), far_search.search(board)
        assert len(found.moves) == len(near.moves)
        assert node_counts(found.thresholds)[:-1] == node_counts(near.thresholds)[:-1]


def test_tables_that_exceed_a_field_are_left_to_other_rounds() -> None:
    in_bytes, heuristic = (sums_for(database_for("555", "4x4", encoding=each), blank_last(S4)) for each in ENCODINGS)
    nine_tiles = heuristic._replace(tables=heuristic.tables._replace(n_tiles=np.array([5, 5, 9])))
    sums = 128 * sums_of([heuristic])
    for kind, most_sums in ((VECTOR, 16), (CATALOGUE, 32), (WIDE, 16), (SCALAR, 255)):
        assert kind.suits(S4, sums[:most_sums])
        assert not kind.suits(S4, sums[: most_sums + 1])
        for other in (nine_tiles, in_bytes):
            assert kind.suits(S4, sums_of([other])) == (kind is SCALAR)
    assert not CATALOGUE.suits(BoardSize(6, 5), sums[:1])
    with pytest.raises(InputError, match="256 sums are more than a search can look up"):
        database_engine(S4, 128 * [heuristic], pruning_fsm(8), tuning=Tuning(rounds=[SCALAR]))
