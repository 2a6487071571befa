"""The database: single boards, batches, threads, memory; invalid boards. test_lookup.py compares distances."""

import pickle
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from pdb_core.encoding import ENCODINGS, Encoding
from pdb_core.errors import BoardError, UnsolvableError
from pdb_core.puzzle import blank_last, random_boards
from pdb_query import LOAD_MODES, Database, open_database, random_board_statistics
from pdb_query.table_file import LoadMode
from tests.fuzzing import little_memory
from tests.naive import boards_and_tables as naive
from tests.solving import S3, UNSOLVABLE, database_for
from tests.tables import SMALL, table_file

GOAL = blank_last(S3)
NO_BOARD = (*GOAL[:-1], 8)


@pytest.fixture
def database() -> Database:
    return database_for(SMALL, "3x3")


@pytest.mark.tiny
@pytest.mark.parametrize("load", LOAD_MODES)
@pytest.mark.parametrize("encoding", ENCODINGS)
def test_batch_equals_single_probes(encoding: Encoding, load: LoadMode) -> None:
    with open_database(table_file(SMALL, "3x3", encoding=encoding), load=load) as database:
        boards = random_boards(S3, GOAL, 50, seed=4)
        batch = database.probe_batch(boards)
        for i, board in enumerate(boards.tolist()):
            probe = database.probe(board)
            assert tuple(map(tuple, batch.values[i].tolist())) == probe.values
            assert tuple(batch.sums[i].tolist()) == probe.sums
            assert batch.h[i] == probe.h
        with pytest.raises(ValueError, match="read-only"):
            database.table(0)[0] = 1


@pytest.mark.parametrize("encoding", ENCODINGS)
def test_large_batch_takes_little_memory(encoding: Encoding) -> None:
    database = database_for(SMALL, "3x3", encoding=encoding)
    some = random_boards(S3, GOAL, 1000, seed=5)
    expected = database.probe_batch(some)
    boards = np.tile(some, (400, 1))
    # Cell sets and labels of all boards would take 38 MB.
    with little_memory(400 * expected.values.nbytes + 20_000_000):
        batch = database.probe_batch(boards)
    assert (batch.values.reshape(400, *expected.values.shape) == expected.values).all()


@pytest.mark.tiny
def test_unsolvable_board_raises(database: Database) -> None:
    with pytest.raises(UnsolvableError, match="cannot be solved"):
        database.probe(UNSOLVABLE)


@pytest.mark.tiny
def test_row_that_is_no_board_is_named_or_marked(database: Database) -> None:
    rows = [GOAL, UNSOLVABLE, NO_BOARD, GOAL]
    with pytest.raises(BoardError, match=r"row 2: board '1 2 3 4 5 6 7 8 8' .* missing 0"):
        database.probe_batch(rows)
    batch = database.probe_batch(rows, strict=False)
    assert batch.h.tolist() == [0, -1, -2, 0]
    texts = [" ".join(map(str, row)) for row in rows]
    assert database.probe_batch(texts, strict=False).h.tolist() == [0, -1, -2, 0]
    assert not batch.values[2].any()  # those of the goal: kernels would read outside of arrays for what is no board


@pytest.mark.tiny
@pytest.mark.parametrize(
    ("boards", "message"),
    [
        ([[1, 2, 3, 4, 5, 6, 7, 8, -256]], "row 0: .*-256 is out of range"),
        ([[257, 2, 3, 4, 5, 6, 7, 8, 0]], "row 0: .*257 is out of range"),
        ([1, 2, 3], r"shape \(3,\)"),
        ("1 2 3 4 5 6 7 8 0", r"shape \(\); give an array of shape \(m, 9\) or a list of boards"),
        (np.zeros((2, 9)), "type float64"),
        (iter([GOAL]), "are not a sequence or an array"),
        ([{*GOAL}], r"shape \(1,\)"),
    ],
)
def test_batch_refuses_invalid_boards(database: Database, boards: Any, message: str) -> None:
    with pytest.raises(BoardError, match=message):
        database.probe_batch(boards)


@pytest.mark.tiny
def test_lookups_in_a_closed_database_raise(database: Database) -> None:
    with database:
        table = database.table(0)
    with pytest.raises(ValueError, match="is closed"):
        database.probe(GOAL)
    assert table.min() == 0  # arrays handed out stay valid


@pytest.mark.tiny
def test_pickled_database_is_opened_from_another_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "a.h5").symlink_to(table_file("8", "3x3"))
    monkeypatch.chdir(tmp_path)
    with open_database("a.h5") as database:
        monkeypatch.chdir("/")
        with pickle.loads(pickle.dumps(database)) as copy:
            assert copy.path == tmp_path / "a.h5"


@pytest.mark.tiny
def test_statistics_are_repeatable_and_near_those_of_all_boards() -> None:
    distances = list(naive.naive_distances(S3, GOAL).values())
    with database_for("8", "3x3") as database:
        found = random_board_statistics(database, n_boards=200_000, seed=7)
        assert found == random_board_statistics(database, n_boards=200_000, seed=7)
        # The second hundred thousand are other boards.
        assert found.h[0] != random_board_statistics(database, n_boards=100_000, seed=7).h[0]
    mean, error = found.h
    assert error == pytest.approx(np.std(distances) / np.sqrt(200_000), rel=0.1)
    assert abs(mean - np.mean(distances)) < 5 * error
