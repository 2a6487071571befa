"""Lookups in databases: single boards, batches, threads; other goals; invalid boards."""

import subprocess
import sys
import threading
import tracemalloc
from functools import cache
from typing import Any

import numpy as np
import pytest

from pdb_core.encoding import ENCODINGS, Encoding
from pdb_core.errors import BoardError, UnsolvableError
from pdb_core.puzzle import BoardSize, Tiles, blank_first, blank_last, random_boards
from pdb_core.symmetry import mappings_between
from pdb_query import Database, lookup, open_database, random_board_statistics
from pdb_query.table_file import LOAD_MODES, LoadMode
from tests.naive import boards_and_tables as naive
from tests.tables import table_file

SIZE = BoardSize(3, 3)
GOAL = blank_last(SIZE)
PARTITION = "1,2,5/3,4,6/7,8"


@pytest.fixture
def database() -> Database:
    return open_database(table_file(PARTITION, "3x3"))


@cache
def naive_table(goal: Tiles, tiles: tuple[int, ...]) -> tuple[int, ...]:
    return tuple(naive.naive_additive_min(SIZE, goal, tiles))


def naive_sum(board: tuple[int, ...], goal: tuple[int, ...]) -> tuple[list[int], int]:
    """Return the distances of the patterns and their sum, from naive tables and ranks."""
    values = []
    for tiles in ((1, 2, 5), (3, 4, 6), (7, 8)):
        table = naive_table(goal, tiles)
        values.append(table[naive.naive_rank(tuple(board.index(tile) for tile in tiles), 9)])
    return values, sum(values)


@pytest.mark.tiny
def test_probe_equals_naive_lookups(database: Database) -> None:
    reflection = mappings_between(GOAL, GOAL, SIZE)[1]
    for row in random_boards(SIZE, GOAL, 50, seed=3):
        board = tuple(row.tolist())
        probe = database.probe(board)
        values, total = naive_sum(board, GOAL)
        mirrored_values, mirrored_total = naive_sum(reflection.apply(board), GOAL)
        assert probe.values == (tuple(values), tuple(mirrored_values))
        assert probe.sums == (total, mirrored_total)
        assert probe.maximum == max(total, mirrored_total)


@pytest.mark.parametrize("encoding", ENCODINGS)
def test_large_batch_takes_little_more_memory_than_its_answer(encoding: Encoding) -> None:
    database = open_database(table_file(PARTITION, "3x3", encoding=encoding))
    some = random_boards(SIZE, GOAL, 1000, seed=5)
    expected = database.probe_batch(some)
    boards = np.tile(some, (400, 1))
    tracemalloc.start()
    try:
        batch = database.probe_batch(boards)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert (batch.values.reshape(400, *expected.values.shape) == expected.values).all()
    assert (batch.maximum.reshape(400, -1) == expected.maximum).all()
    # Cell sets and labels of all boards would take 38 MB.
    assert peak < batch.values.nbytes + 20_000_000


def test_long_lookup_returns_to_python_often(database: Database, monkeypatch: pytest.MonkeyPatch) -> None:
    boards = random_boards(SIZE, GOAL, 250_000, seed=5)
    n_units = []
    probe_boards = lookup.probe_boards

    def probe(*arguments: Any) -> Any:
        found = probe_boards(*arguments)
        n_units.append(found[1].size)
        return found

    monkeypatch.setattr(lookup, "probe_boards", probe)
    database.probe_batch(boards)
    # In bits each takes some 0.4 microseconds.
    assert max(n_units) <= 1 << 18
    assert sum(n_units) == 6 * len(boards)


@pytest.mark.tiny
@pytest.mark.parametrize("load", LOAD_MODES)
@pytest.mark.parametrize("encoding", ENCODINGS)
def test_batch_equals_single_probes(encoding: Encoding, load: LoadMode) -> None:
    database = open_database(table_file(PARTITION, "3x3", encoding=encoding), load=load)
    boards = random_boards(SIZE, GOAL, 200, seed=4)
    batch = database.probe_batch(boards)
    assert batch.values.shape == (200, 2, 3)
    for i, board in enumerate(boards):
        probe = database.probe(board.tolist())
        assert tuple(map(tuple, batch.values[i].tolist())) == probe.values
        assert tuple(batch.sums[i].tolist()) == probe.sums
        assert batch.maximum[i] == probe.maximum


@pytest.mark.tiny
@pytest.mark.parametrize("goal", [blank_first(SIZE), (8, 7, 6, 5, 4, 3, 2, 1, 0)])
def test_other_corner_goals_are_served_admissibly(database: Database, goal: tuple[int, ...]) -> None:
    distances = naive.naive_distances(SIZE, goal)
    for row in random_boards(SIZE, goal, 30, seed=5):
        board = tuple(row.tolist())
        probe = database.probe(board, goal)
        images = [mapping.apply(board) for mapping in mappings_between(goal, GOAL, SIZE)]
        assert probe.sums == tuple(naive_sum(image, GOAL)[1] for image in images)
        assert probe.maximum <= distances[board]


@pytest.mark.tiny
def test_unsolvable_board_raises_and_get_gives_the_default(database: Database) -> None:
    board = (2, 1, 3, 4, 5, 6, 7, 8, 0)
    with pytest.raises(UnsolvableError, match="cannot be solved"):
        database.probe(board)
    assert database.get(board, None) is None
    assert database.get((1, 1, 1), "bad") == "bad"
    assert database.get(GOAL, None) == database.probe(GOAL)
    batch = database.probe_batch([GOAL, board])
    assert batch.maximum.tolist() == [0, -1]


@pytest.mark.tiny
@pytest.mark.parametrize(
    "boards",
    [
        [[1, 2, 3, 4, 5, 6, 7, 8, 8]],
        [[1, 2, 3, 4, 5, 6, 7, 8, 9]],
        [[1, 2, 3, 4, 5, 6, 7, 8, -256]],
        [[257, 2, 3, 4, 5, 6, 7, 8, 0]],
        [[1, 2, 3]],
        [1, 2, 3],
        np.zeros((2, 9)),
        [list("abcdefghi")],
    ],
)
def test_batch_refuses_invalid_boards(database: Database, boards: object) -> None:
    with pytest.raises(BoardError):
        database.probe_batch(boards)  # type: ignore[arg-type]


@pytest.mark.tiny
def test_tables_and_index_functions_work_with_numpy(database: Database) -> None:
    table, index = database.table(1), database.index(1)
    assert table.flags.writeable is False
    assert table.base is not None
    cells = index.unrank(np.arange(len(table)))
    assert index.rank(cells).tolist() == list(range(len(table)))
    goal_cells = [[GOAL.index(tile) for tile in (3, 4, 6)]]
    assert table[index.rank(goal_cells)[0]] == 0
    with pytest.raises(ValueError, match="read-only"):
        table[0] = 1
    with pytest.raises(IndexError):
        database.table(3)


@pytest.mark.tiny
def test_lookups_in_a_closed_database_raise() -> None:
    with open_database(table_file(PARTITION, "3x3")) as database:
        table = database.table(0)
    with pytest.raises(ValueError, match="is closed"):
        database.probe(GOAL)
    assert table.min() == 0  # arrays handed out stay valid


def test_threads_get_equal_answers() -> None:
    with open_database(table_file("663", "4x4")) as database:
        boards = random_boards(database.size, database.goal, 20_000, seed=6)
        expected = database.probe_batch(boards)
        answers: list[object] = []

        def look_up() -> None:
            for _ in range(5):
                answers.append((database.probe_batch(boards).maximum == expected.maximum).all())

        threads = [threading.Thread(target=look_up) for _ in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    assert answers == [True] * 20


def test_mapped_tables_are_shared_between_processes() -> None:
    """The pages of a mapped file are the kernel's, not the process's: little of them is private."""
    path = table_file("663", "4x4")
    program = (
        "import sys; from pdb_query import open_database; import numpy as np\n"
        "database = open_database(sys.argv[1])\n"
        "total = sum(int(database.table(i).sum()) for i in range(3))\n"
        "lines = open('/proc/self/smaps').read().split('\\n')\n"
        "start = next(i for i, line in enumerate(lines) if line.endswith(sys.argv[1]))\n"
        "words = [line.split() for line in lines[start + 1 : start + 20]]\n"
        "fields = {word[0]: word[1] for word in words if word[0].endswith(':')}\n"
        "print(fields['Rss:'], fields['Private_Dirty:'])\n"
    )
    output = subprocess.run(
        [sys.executable, "-c", program, str(path)], check=True, capture_output=True, text=True
    ).stdout
    resident, private = map(int, output.split())
    assert resident * 1024 > 11_000_000
    assert private == 0


@pytest.mark.tiny
def test_statistics_are_repeatable_and_near_those_of_all_boards() -> None:
    with open_database(table_file("8", "3x3")) as database:
        first = random_board_statistics(database, n_boards=2000, seed=7)
        assert first == random_board_statistics(database, n_boards=2000, seed=7)
        # The mean over all 181,440 boards, from the distribution in test_search.
        mean, error = first.maximum
        assert abs(mean - 21.9725) < 5 * error
        assert 0 < error < 0.2
