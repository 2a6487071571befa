"""Databases: what they say of boards, and what they refuse."""

import os
import pickle
import subprocess
import sys
import threading
from pathlib import Path

import h5py
import numpy as np
import pytest

from pdb_core import schema
from pdb_core.errors import (
    BoardError,
    GoalError,
    TableFileDamagedError,
    TableFileError,
    TableFileForeignError,
    TableFileMissingError,
    TableFileVersionError,
    TableMismatchError,
    UnsolvableError,
)
from pdb_core.puzzle import BoardSize, blank_first, blank_last, parse_size, random_boards
from pdb_core.symmetry import mappings_between
from pdb_query import Database, open_database, random_board_statistics, read_table_header
from pdb_query.table_file import LOAD_MODES, LoadMode, load_table_file
from tests import naive
from tests.tables import table_file

SIZE = BoardSize(3, 3)
GOAL = blank_last(SIZE)
PARTITION = "1,2,5/3,4,6/7,8"
FORMS: tuple[LoadMode, ...] = LOAD_MODES


@pytest.fixture(params=FORMS)
def database(request: pytest.FixtureRequest) -> Database:
    return open_database(table_file(PARTITION, "3x3"), load=request.param)


def naive_sum(board: tuple[int, ...], goal: tuple[int, ...]) -> tuple[list[int], int]:
    """Values of the patterns, and their sum, by naive tables and ranks."""
    values = []
    for tiles in ((1, 2, 5), (3, 4, 6), (7, 8)):
        table = naive.naive_additive_min(SIZE, goal, tiles)
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


@pytest.mark.tiny
@pytest.mark.parametrize("form", FORMS)
def test_bits_give_the_blank_aware_distances(form: LoadMode) -> None:
    reflection = mappings_between(GOAL, GOAL, SIZE)[1]
    distances = {tiles: naive.naive_pattern_distances(SIZE, GOAL, tiles) for tiles in ((1, 2, 5), (3, 4, 6), (7, 8))}

    def blank_aware(board: tuple[int, ...]) -> tuple[int, ...]:
        values = []
        for tiles, of in distances.items():
            cells = tuple(board.index(tile) for tile in tiles)
            values.append(of[cells, naive.naive_region(board.index(0), cells, SIZE)])
        return tuple(values)

    with open_database(table_file(PARTITION, "3x3", encoding="bits"), load=form) as database:
        for row in random_boards(SIZE, GOAL, 100, seed=3):
            board = tuple(row.tolist())
            expected = blank_aware(board), blank_aware(reflection.apply(board))
            assert database.probe(board).values == expected
            assert database.probe(board).maximum == max(map(sum, expected))


@pytest.mark.tiny
@pytest.mark.parametrize(
    ("partition", "size"), [("1,2,3,4,5", "2x3"), ("1,2/3,4,5", "3x2"), ("1,2,3,4/5,6,7", "4x2")], ids=str
)
def test_bits_of_every_small_board_change_by_one_with_a_move(partition: str, size: str) -> None:
    """Only the moved tile's pattern changes, by exactly 1; and the sum is never more than the distance."""
    assert_bits_are_consistent(partition, parse_size(size))


@pytest.mark.parametrize(
    ("partition", "size"), [("1,2,5/3,4,6/7,8", "3x3"), ("1,2,3,4,5,6/7,8", "3x3"), ("1,2,3,6,7/4,5,8,9", "5x2")]
)
def test_bits_of_every_board_change_by_one_with_a_move(partition: str, size: str) -> None:
    assert_bits_are_consistent(partition, parse_size(size))


def assert_bits_are_consistent(partition: str, size: BoardSize) -> None:
    distances = naive.naive_distances(size, blank_last(size))
    boards = list(distances)
    with open_database(table_file(partition, str(size), encoding="bits")) as database:
        batch = database.probe_batch(np.array(boards, dtype=np.uint8))
        assert (batch.maximum <= np.array(list(distances.values()))).all()
        assert batch.sums[0].tolist() == [0] * batch.sums.shape[1]
        values = dict(zip(boards, batch.values[:, 0].astype(int), strict=True))
        pattern_of = {tile: i for i, entry in enumerate(database.header.patterns) for tile in entry.pattern.tiles}
        for board, before in values.items():
            for tile, near in naive.naive_moves(board, size):
                change = np.abs(values[near] - before)
                assert change[pattern_of[tile]] == 1
                assert change.sum() == 1


@pytest.mark.tiny
def test_bits_of_boards_that_cannot_be_solved_end() -> None:
    """Walking down from a state that the goal does not reach must come to an end."""
    with open_database(table_file("1,2,3,4,5", "2x3", encoding="bits")) as database:
        batch = database.probe_batch(np.array([(2, 1, 3, 4, 5, 0), (1, 2, 3, 4, 5, 0)], dtype=np.uint8))
        assert batch.maximum.tolist() == [-1, 0]


@pytest.mark.tiny
def test_verify_finds_any_changed_bit_of_a_table(tmp_path: Path) -> None:
    path = table_file(PARTITION, "3x3", encoding="bits")
    with open_database(path) as database:
        database.verify()
        start = int(database.lookup_tables.table_start[0])
    content = bytearray(path.read_bytes())
    content[start] ^= 1
    other = tmp_path / "changed.h5"
    other.write_bytes(content)
    with open_database(other) as database, pytest.raises(TableFileDamagedError, match="does not match its digest"):
        database.verify()


@pytest.mark.tiny
def test_batch_equals_single_probes(database: Database) -> None:
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
def test_goal_with_its_blank_elsewhere_is_refused_with_the_command_to_run(database: Database) -> None:
    with pytest.raises(GoalError, match=r"pdb build \.\.\. --size 3x3 --goal"):
        database.probe(GOAL, (1, 2, 3, 8, 0, 4, 7, 6, 5))


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
def test_batch_refuses_what_is_no_board(database: Database, boards: object) -> None:
    with pytest.raises(BoardError):
        database.probe_batch(boards)  # type: ignore[arg-type]


@pytest.mark.tiny
def test_empty_batch_is_empty(database: Database) -> None:
    batch = database.probe_batch(np.empty((0, 9), dtype=np.uint8))
    assert batch.values.shape == (0, 2, 3)
    assert batch.maximum.shape == (0,)


@pytest.mark.tiny
def test_table_and_index_are_for_numpy(database: Database) -> None:
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
def test_closed_database_says_so() -> None:
    with open_database(table_file(PARTITION, "3x3")) as database:
        table = database.table(0)
    with pytest.raises(ValueError, match="is closed"):
        database.probe(GOAL)
    assert table.min() == 0  # arrays handed out stay valid


@pytest.mark.tiny
def test_size_is_checked(database: Database) -> None:
    database.check_size(SIZE)
    with pytest.raises(TableMismatchError, match="3x3 boards, this board is 4x4"):
        database.check_size(BoardSize(4, 4))


def test_threads_get_the_same_answers_as_one() -> None:
    with open_database(table_file("663", "4x4")) as database:
        boards = random_boards(database.size, database.goal, 20_000, seed=6)
        expected = database.probe_batch(boards)
        answers: list[object] = []

        def ask() -> None:
            for _ in range(5):
                answers.append((database.probe_batch(boards).maximum == expected.maximum).all())

        threads = [threading.Thread(target=ask) for _ in range(4)]
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


def test_opening_is_a_matter_of_milliseconds() -> None:
    path = table_file("663", "4x4")
    open_database(path).close()
    import time

    start = time.perf_counter()
    open_database(path).close()
    assert time.perf_counter() - start < 0.25


@pytest.mark.tiny
def test_statistics_are_repeatable_and_near_the_whole_truth() -> None:
    with open_database(table_file("8", "3x3")) as database:
        first = random_board_statistics(database, n_boards=2000, seed=7)
        assert first == random_board_statistics(database, n_boards=2000, seed=7)
        # The mean over all 181,440 boards, from the distribution in test_search.
        mean, error = first.maximum
        assert abs(mean - 21.9725) < 5 * error
        assert 0 < error < 0.2


# Files that are not what they should be. Each is one sentence, and exit code 4 on the command line.


@pytest.fixture
def copy_of_table(tmp_path: Path) -> Path:
    path = tmp_path / "a.h5"
    path.write_bytes(table_file(PARTITION, "3x3").read_bytes())
    return path


def assert_refused(path: Path, error: type[TableFileError], match: str) -> None:
    for load in FORMS:
        with pytest.raises(error, match=match) as caught:
            open_database(path, load=load)  # type: ignore[arg-type]
        assert caught.value.exit_code == 4
        assert str(path) in str(caught.value)
        assert "\n" not in str(caught.value)


@pytest.mark.tiny
def test_missing_file_is_refused(tmp_path: Path) -> None:
    assert_refused(tmp_path / "no.h5", TableFileMissingError, "make one with pdb build")


@pytest.mark.tiny
def test_folder_is_refused(tmp_path: Path) -> None:
    assert_refused(tmp_path, TableFileError, "is a folder")


@pytest.mark.tiny
@pytest.mark.parametrize("content", [b"", b"hello", b"\x00" * 5000, b"id,board\n1,1 2 3\n"])
def test_foreign_file_is_refused(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "a.h5"
    path.write_bytes(content)
    assert_refused(path, TableFileForeignError, "not a table file")


@pytest.mark.tiny
def test_other_hdf5_file_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "a.h5"
    with h5py.File(path, "w") as file:
        file["x"] = [1, 2, 3]
    assert_refused(path, TableFileForeignError, "not a table file")


@pytest.mark.tiny
@pytest.mark.parametrize("keep", [20, 1000, 4096, 4500, -1, -500])
def test_truncated_file_is_refused(copy_of_table: Path, keep: int) -> None:
    content = copy_of_table.read_bytes()
    copy_of_table.write_bytes(content[:keep])
    assert_refused(copy_of_table, TableFileDamagedError, "damaged|truncated")


@pytest.mark.tiny
@pytest.mark.parametrize(
    ("attribute", "value", "match"),
    [
        ("format_version", np.int64(2), "version 2, this program reads version 1; update"),
        ("format_version", np.int64(0), "version 0.*build the table again"),
        ("index_function", "other", "index function 'other'"),
        ("encoding", "nibbles", "encoding 'nibbles'"),
    ],
)
def test_other_version_is_refused(copy_of_table: Path, attribute: str, value: object, match: str) -> None:
    with h5py.File(copy_of_table, "r+") as file:
        file.attrs[attribute] = value
    assert_refused(copy_of_table, TableFileVersionError, match)


@pytest.mark.tiny
@pytest.mark.parametrize(
    ("where", "attribute", "value"),
    [
        ("/", "width", np.int64(4)),
        ("/", "width", "wide"),
        ("/", "goal", np.array([0, 1, 2, 3, 4, 5, 6, 7, 8], dtype=np.uint8)),
        ("/", "goal", np.array([1, 1, 2], dtype=np.uint8)),
        ("/", "partition", "other"),
        ("/", "header_sha256", "0" * 64),
        ("/pattern_0", "tiles", np.array([1, 2, 4], dtype=np.uint8)),
        ("/pattern_0", "tiles", np.array([5, 2, 1], dtype=np.uint8)),
        ("/pattern_1", "maximum", np.int64(3)),
        ("/pattern_1", "mean", np.float64("nan")),
        ("/pattern_1", "n_unreached", np.int64(1)),
        ("/pattern_2", "sha256", "abc"),
    ],
)
def test_edited_header_is_refused(copy_of_table: Path, where: str, attribute: str, value: object) -> None:
    with h5py.File(copy_of_table, "r+") as file:
        file[where].attrs[attribute] = value
    assert_refused(copy_of_table, TableFileDamagedError, "is damaged")


@pytest.mark.tiny
@pytest.mark.parametrize("name", schema.ROOT_ATTRIBUTES[1:])
def test_missing_attribute_is_refused(copy_of_table: Path, name: str) -> None:
    with h5py.File(copy_of_table, "r+") as file:
        del file.attrs[name]
    assert_refused(copy_of_table, TableFileDamagedError, "is damaged")


@pytest.mark.tiny
def test_changed_histogram_is_refused(copy_of_table: Path) -> None:
    with h5py.File(copy_of_table, "r+") as file:
        histogram = file["pattern_0/histogram"]
        histogram[1], histogram[2] = histogram[2], histogram[1]
    assert_refused(copy_of_table, TableFileDamagedError, "is damaged")


@pytest.mark.tiny
def test_rewritten_table_is_refused(copy_of_table: Path) -> None:
    """As h5repack would leave it: compressed, so that it cannot be mapped."""
    with h5py.File(copy_of_table, "r+") as file:
        table = file["pattern_0/table"][:]
        del file["pattern_0/table"]
        file["pattern_0"].create_dataset("table", data=table, compression="gzip")
    assert_refused(copy_of_table, TableFileDamagedError, "not contiguous")


@pytest.mark.tiny
def test_verify_finds_any_changed_byte_of_a_table(copy_of_table: Path) -> None:
    with open_database(copy_of_table) as database:
        database.verify()
        starts = database.lookup_tables.table_start.tolist()
        n_entries = [entry.n_entries for entry in database.header.patterns]
    content = bytearray(copy_of_table.read_bytes())
    for start, n in zip(starts, n_entries, strict=True):
        for place in (start, start + n // 2, start + n - 1):
            changed = bytearray(content)
            changed[place] ^= 1
            other = copy_of_table.with_name("changed.h5")
            other.write_bytes(changed)
            with (
                open_database(other) as database,
                pytest.raises(TableFileDamagedError, match="does not match its digest"),
            ):
                database.verify()


@pytest.mark.tiny
def test_verify_tells_progress(copy_of_table: Path) -> None:
    told: list[tuple[int, int]] = []
    with open_database(copy_of_table) as database:
        database.verify(lambda done, total: told.append((done, total)))
    assert told[-1][0] == told[-1][1] == 504 + 504 + 72


@pytest.mark.tiny
def test_unreadable_file_is_refused(copy_of_table: Path) -> None:
    copy_of_table.chmod(0)
    if os.access(copy_of_table, os.R_OK):  # root reads everything; then there is nothing to refuse
        open_database(copy_of_table).close()
    else:
        assert_refused(copy_of_table, TableFileError, "cannot be read")


@pytest.mark.tiny
def test_unknown_load_is_refused() -> None:
    with pytest.raises(ValueError, match="map, copy, huge"):
        load_table_file(table_file(PARTITION, "3x3"), "page")  # type: ignore[arg-type]


@pytest.mark.tiny
def test_header_is_a_value() -> None:
    header = read_table_header(table_file(PARTITION, "3x3"))
    assert header == read_table_header(table_file(PARTITION, "3x3"))
    assert pickle.loads(pickle.dumps(header)) == header
