"""Solutions: as long as they must be, replayed, the same whatever the goal, with the node counts on record."""

import csv
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pdb_core.encoding import ENCODINGS, Encoding
from pdb_core.errors import BoardError, GoalError, TableMismatchError, UnsolvableError, WrongAnswerError
from pdb_core.puzzle import Board, BoardSize, blank_first, blank_last, parse_goal, parse_size, random_boards
from pdb_query import Database, Instance, open_database, read_instances
from solver import Crew, Iteration, Limits, Solution, Solver, crew_of, replay, threshold
from solver.ida_star import IdaStar
from solver.move_pruning import move_machine
from solver.search_tables import Heuristic
from solver.solve import in_parallel
from tests import naive
from tests.tables import table_file

GOLDEN = Path(__file__).parent / "golden" / "nodes.csv"
S3, S4 = BoardSize(3, 3), BoardSize(4, 4)


def database_for(partition: str, size: str, goal: str = "blank-last", encoding: Encoding = "bytes") -> Database:
    return open_database(table_file(partition, size, goal, encoding))


def solvable_boards(size: BoardSize, goal: Board, n: int, seed: int) -> list[Board]:
    return [tuple(row.tolist()) for row in random_boards(size, goal, n, seed)]


@pytest.mark.tiny
@pytest.mark.parametrize("encoding", ENCODINGS)
@pytest.mark.parametrize(
    ("partition", "size", "goal"),
    [
        ("1,2,3", "2x2", "blank-last"),
        ("1,2/3", "2x2", "blank-first"),
        ("1,2,3/4,5", "2x3", "blank-last"),
        ("1,2,3,4,5", "3x2", "snail"),
    ],
)
def test_every_board_of_small_sizes_is_solved_in_its_distance(
    partition: str, size: str, goal: str, encoding: Encoding
) -> None:
    board_size = parse_size(size)
    goal_board = parse_goal(goal, board_size)
    with database_for(partition, size, goal, encoding) as database:
        solver = Solver(database)
        for board, distance in naive.naive_distances(board_size, goal_board).items():
            solution = solver.solve(board)
            assert solution.length == distance
            assert solution.is_optimal
            assert solution.lower_bound == distance
            assert solution.h <= distance


@pytest.mark.parametrize("partition", ["8", "1,2,5/3,4,6/7,8", "1,2,3,4/5,6,7,8"])
def test_8_puzzles_are_solved_in_their_distance(partition: str) -> None:
    goal = blank_last(S3)
    distances = naive.naive_distances(S3, goal)
    with database_for(partition, "3x3") as database:
        solver = Solver(database)
        for board in solvable_boards(S3, goal, 1000, 1):
            assert solver.solve(board).length == distances[board]
        for board in [board for board, distance in distances.items() if distance >= 30]:
            assert solver.solve(board).length == distances[board]


@pytest.mark.parametrize(
    "goal",
    ["1 2 3 8 0 4 7 6 5", "1 2 3 4 5 6 7 0 8", "blank-first", "1 2 0 4 5 3 7 8 6"],
    ids=["centre", "edge", "first", "upper right"],
)
def test_any_goal_can_be_built_for_and_solved(goal: str) -> None:
    goal_board = parse_goal(goal, S3)
    distances = naive.naive_distances(S3, goal_board)
    with database_for("1,2,5,6/3,4,7,8", "3x3", goal) as database:
        solver = Solver(database)
        for board in solvable_boards(S3, goal_board, 300, 2):
            assert solver.solve(board).length == distances[board]


@pytest.mark.parametrize("goal", ["blank-first", "1 2 0 4 5 3 7 8 6", "3 2 1 6 5 4 0 8 7"])
def test_one_table_serves_goals_with_the_blank_in_another_corner(goal: str) -> None:
    goal_board = parse_goal(goal, S3)
    distances = naive.naive_distances(S3, goal_board)
    with database_for("8", "3x3") as database:
        solver = Solver(database)
        for board in solvable_boards(S3, goal_board, 300, 3):
            solution = solver.solve(board, goal_board)
            assert solution.length == distances[board]
            assert replay(board, solution.tiles or (), goal_board, S3)[-1] == goal_board


@pytest.mark.parametrize("size", ["2x4", "4x2", "2x5", "3x4", "4x3", "5x3", "2x6"])
def test_rectangles_are_solved_like_by_naive_search(size: str) -> None:
    """Boards a short walk from the goal, by the automatic partition; the naive twin searches from both ends."""
    board_size = parse_size(size)
    goal = blank_last(board_size)
    generator = np.random.default_rng(5)
    with database_for("auto", size) as database:
        solver = Solver(database)
        for _ in range(12):
            board = walk(goal, board_size, 18, generator)
            assert solver.solve(board).length == naive.naive_solution_length(board, goal, board_size)


def walk(board: Board, size: BoardSize, n_moves: int, generator: np.random.Generator) -> Board:
    cells = list(board)
    for _ in range(n_moves):
        blank = cells.index(0)
        cell = int(generator.choice(size.neighbours[blank]))
        cells[blank], cells[cell] = cells[cell], 0
    return tuple(cells)


@pytest.mark.tiny
def test_solved_board_needs_no_move() -> None:
    with database_for("8", "3x3") as database:
        solution = Solver(database).solve(blank_last(S3))
    assert (solution.length, solution.tiles, solution.generated, solution.is_optimal) == (0, (), 0, True)


@pytest.mark.tiny
def test_what_cannot_be_solved_is_refused() -> None:
    with database_for("8", "3x3") as database:
        solver = Solver(database)
        with pytest.raises(UnsolvableError, match="odd"):
            solver.solve((2, 1, 3, 4, 5, 6, 7, 8, 0))
        with pytest.raises(BoardError):
            solver.solve((1, 2, 3))
        with pytest.raises(GoalError):
            solver.solve(blank_last(S3), (1, 2, 3, 8, 0, 4, 7, 6, 5))


@pytest.mark.tiny
def test_limits_end_the_search_with_a_lower_bound() -> None:
    with database_for("1,2,3/4,5,6/7,8", "3x3") as database:
        solver = Solver(database)
        board = (8, 6, 7, 2, 5, 4, 3, 0, 1)
        whole = solver.solve(board)
        cut = solver.solve(board, limits=Limits(nodes=100))
        assert whole.length == 31
        assert cut.length is None
        assert cut.tiles is None
        assert not cut.is_optimal
        assert cut.h <= cut.lower_bound <= 31
        # A node has up to three children, and the limit is looked at before a node is expanded.
        assert 100 <= cut.generated <= 110
        assert solver.solve(board, limits=Limits(nodes=whole.generated + 1)).length == 31


def test_time_limit_is_kept() -> None:
    board = next(read_instances("hardest80", None)).board
    with database_for("555", "4x4") as database:
        solver = Solver(database)
        start = time.perf_counter()
        solution = solver.solve(board, limits=Limits(seconds=0.3))
        assert solution.length is None
        assert solution.lower_bound >= solution.h
        assert time.perf_counter() - start < 1.5


def test_report_is_told_rising_thresholds_and_can_end_the_search() -> None:
    board = next(read_instances("hardest80", None)).board
    told: list[Iteration] = []

    def report(iteration: Iteration) -> None:
        told.append(iteration)
        if len(told) == 40:
            raise KeyboardInterrupt

    with database_for("555", "4x4") as database, pytest.raises(KeyboardInterrupt):
        Solver(database).solve(board, report=report)
    thresholds = [iteration.threshold for iteration in told]
    assert thresholds == sorted(thresholds)
    assert len(set(thresholds)) > 2


@given(st.permutations(range(9)), st.integers(0, 3))
def test_length_is_the_same_through_every_symmetry(cells: list[int], corner: int) -> None:
    """The board seen in a mirror, or turned, is as far from the goal seen likewise."""
    goal = blank_last(S3)
    board = tuple(cells)
    with database_for("1,2,5/3,4,6/7,8", "3x3") as database:
        solver = Solver(database)
        corners = [goal, blank_first(S3), (1, 2, 0, 4, 5, 3, 7, 8, 6), (3, 2, 1, 6, 5, 4, 0, 8, 7)]
        mapping = database.mappings(corners[corner])[0]
        try:
            solution = solver.solve(board, corners[corner])
        except UnsolvableError:
            with pytest.raises(UnsolvableError):
                solver.solve(mapping.apply(board))
            return
        assert solution.length == solver.solve(mapping.apply(board)).length


# Lanes: however many there are, thresholds that are searched to their end have the nodes of a plain depth-first search.


def with_lanes(database: Database, n_lanes: int, max_duplicate: int = 12) -> IdaStar:
    heuristic = Heuristic(database.lookup_tables, database.views())
    search = IdaStar(database.size, [heuristic], move_machine(max_duplicate), orders_children=n_lanes % 2 == 0)
    search._tables = search._tables._replace(n_lanes=n_lanes)
    return search


@pytest.mark.tiny
@pytest.mark.parametrize("encoding", ENCODINGS)
@pytest.mark.parametrize("max_duplicate", [2, 8])
def test_finished_thresholds_have_the_nodes_of_naive_ida_star(max_duplicate: int, encoding: Encoding) -> None:
    duplicates = naive.naive_duplicates(max_duplicate)
    goal = blank_last(S3)
    with database_for("1,2,5/3,4,6/7,8", "3x3", encoding=encoding) as database:
        for board in solvable_boards(S3, goal, 4, 9):
            expected = naive.naive_thresholds(board, goal, S3, lambda at: database.probe(at).maximum, duplicates)
            for n_lanes in (1, 2, 4, 7):
                result = with_lanes(database, n_lanes, max_duplicate).search(board)
                assert result.tiles is not None
                found = [(i.threshold, i.generated, i.expanded) for i in result.iterations]
                assert found[:-1] == expected[:-1]
                assert found[-1][0] == expected[-1][0] == len(result.tiles)


@pytest.mark.parametrize("n_lanes", [2, 3, 4, 8, 16])
def test_lanes_do_not_change_lengths_or_finished_thresholds(n_lanes: int) -> None:
    boards = solvable_boards(S4, blank_last(S4), 25, 11)
    with database_for("663", "4x4") as database:
        alone, several = with_lanes(database, 1), with_lanes(database, n_lanes)
        for board in boards:
            one, many = alone.search(board), several.search(board)
            assert one.tiles is not None
            assert many.tiles is not None
            assert len(one.tiles) == len(many.tiles)
            assert replay(board, many.tiles, blank_last(S4), S4)
            assert [(i.threshold, i.generated, i.expanded) for i in one.iterations[:-1]] == [
                (i.threshold, i.generated, i.expanded) for i in many.iterations[:-1]
            ]


def test_searches_are_repeatable_to_the_node() -> None:
    boards = solvable_boards(S4, blank_last(S4), 10, 12)
    with database_for("663", "4x4") as database:
        first, second = Solver(database), Solver(database)
        for board in boards:
            assert first.solve(board).generated == second.solve(board).generated


def test_paused_searches_have_the_nodes_of_unpaused_ones(monkeypatch: pytest.MonkeyPatch) -> None:
    board = solvable_boards(S4, blank_last(S4), 3, 13)[2]
    with database_for("663", "4x4") as database:
        whole = Solver(database).solve(board)
        monkeypatch.setattr("solver.threshold._SLICE_NODES", 1000)
        sliced = Solver(database).solve(board)
    assert [(i.threshold, i.generated, i.expanded) for i in whole.iterations] == [
        (i.threshold, i.generated, i.expanded) for i in sliced.iterations
    ]
    assert whole.tiles == sliced.tiles


# Replays


@pytest.mark.tiny
def test_replay_gives_every_board() -> None:
    boards = replay((1, 2, 3, 4, 5, 6, 0, 7, 8), (7, 8), blank_last(S3), S3)
    assert boards == ((1, 2, 3, 4, 5, 6, 0, 7, 8), (1, 2, 3, 4, 5, 6, 7, 0, 8), (1, 2, 3, 4, 5, 6, 7, 8, 0))


@pytest.mark.tiny
@pytest.mark.parametrize(
    ("tiles", "match"), [((1,), "move 1 .* slides tile 1"), ((7,), "ends at"), ((7, 7), "ends at"), ((), "ends at")]
)
def test_replay_refuses_what_is_no_solution(tiles: tuple[int, ...], match: str) -> None:
    with pytest.raises(WrongAnswerError, match=match):
        replay((1, 2, 3, 4, 5, 6, 0, 7, 8), tiles, blank_last(S3), S3)


# All shortest solutions


@pytest.mark.tiny
@pytest.mark.parametrize("encoding", ENCODINGS)
@pytest.mark.parametrize(("partition", "size"), [("1,2,3", "2x2"), ("1,2,3/4,5", "2x3"), ("1,2,3,4,5", "3x2")])
def test_all_shortest_solutions_of_small_boards_are_listed(partition: str, size: str, encoding: Encoding) -> None:
    assert_all_solutions(partition, size, encoding, step=1)


@pytest.mark.parametrize("partition", ["8", "1,2,5/3,4,6/7,8"])
def test_all_shortest_solutions_of_the_8_puzzle_are_listed(partition: str) -> None:
    assert_all_solutions(partition, "3x3", "bits", step=97)


def test_all_shortest_solutions_of_oblong_boards_are_listed() -> None:
    assert_all_solutions("1,2,3,4,5/6,7", "4x2", "bits", step=11)
    assert_all_solutions("1,2,3,4/5,6,7", "2x4", "bytes", step=11)


def assert_all_solutions(partition: str, size: str, encoding: Encoding, step: int) -> None:
    board_size = parse_size(size)
    goal = blank_last(board_size)
    distances = naive.naive_distances(board_size, goal)
    counts = naive.naive_shortest_solutions(board_size, goal)
    with database_for(partition, size, encoding=encoding) as database:
        solver = Solver(database)
        for board in list(distances)[::step]:
            found: list[tuple[int, ...]] = []
            solution = solver.solve_all(board, listed=found.append)
            assert solution.length == distances[board]
            assert solution.is_complete
            assert solution.n_solutions == counts[board] == len(found) == len(set(found))
            for tiles in found:
                assert len(tiles) == distances[board]
                replay(board, tiles, goal, board_size)
            counted = solver.solve_all(board)
            assert (counted.n_solutions, counted.tiles in found) == (counts[board], True)


@pytest.mark.usefixtures("tiny_slices")
def test_helpers_do_not_change_the_number_of_solutions() -> None:
    with database_for("663", "4x4", encoding="bits") as database:
        solver = Solver(database)
        for board in solvable_boards(S4, blank_last(S4), 6, 17):
            alone = solver.solve_all(board)
            with crew_of(2) as crew:
                found: list[tuple[int, ...]] = []
                shared = solver.solve_all(board, crew=crew, listed=found.append)
            assert shared.n_solutions == alone.n_solutions == len(set(found))
            assert shared.length == alone.length == solver.solve(board).length
            # The last threshold is searched to its end, so its nodes do not vary.
            assert (shared.generated, shared.expanded) == (alone.generated, alone.expanded)


def test_all_solutions_end_at_a_limit() -> None:
    with database_for("663", "4x4", encoding="bits") as database:
        solution = Solver(database).solve_all(read_board("hardest80"), limits=Limits(nodes=10_000))
    assert not solution.is_complete


# Several threads at one board, several databases


@pytest.fixture
def tiny_slices(monkeypatch: pytest.MonkeyPatch) -> None:
    """Work changes hands all the time."""
    for name in ("_SLICE_NODES", "_SHARED_SLICE_NODES", "_HUNGRY_SLICE_NODES"):
        monkeypatch.setattr(f"solver.threshold.{name}", 300)


def finished_thresholds(solution: Solution) -> list[tuple[int, int, int]]:
    return [(i.threshold, i.generated, i.expanded) for i in solution.iterations[:-1]]


@pytest.mark.usefixtures("tiny_slices")
@pytest.mark.parametrize("encoding", ENCODINGS)
@pytest.mark.parametrize("n_helpers", [1, 3])
def test_helpers_change_neither_lengths_nor_finished_thresholds(n_helpers: int, encoding: Encoding) -> None:
    with database_for("663", "4x4", encoding=encoding) as database:
        solver = Solver(database)
        for board in solvable_boards(S4, blank_last(S4), 12, 14):
            alone = solver.solve(board)
            with crew_of(n_helpers) as crew:
                shared = solver.solve(board, crew=crew)
            assert shared.length == alone.length
            assert finished_thresholds(shared) == finished_thresholds(alone)


@pytest.mark.usefixtures("tiny_slices")
def test_helpers_do_search() -> None:
    """Who works is seen in the threads that run the kernel."""
    board = max(solvable_boards(S4, blank_last(S4), 12, 14), key=str)
    threads = set()
    real = threshold.search_below_threshold

    def noting(*args: Any) -> int:
        threads.add(threading.get_ident())
        return real(*args)

    with (
        database_for("663", "4x4") as database,
        pytest.MonkeyPatch.context() as patch,
        crew_of(2) as crew,
    ):
        solver = Solver(database)
        patch.setattr(threshold, "search_below_threshold", noting)
        solver.solve(board, crew=crew)
    assert len(threads) > 1


@pytest.mark.usefixtures("tiny_slices")
def test_what_a_report_raises_ends_a_shared_search() -> None:
    def report(iteration: Iteration) -> None:
        if iteration.generated > 20_000:
            raise KeyboardInterrupt

    board = read_board("hardest80")
    with database_for("663", "4x4") as database, crew_of(2) as crew:
        with pytest.raises(KeyboardInterrupt):
            Solver(database).solve(board, report=report, crew=crew)
        # The crew is there for the next board.
        assert Solver(database).solve((1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 0, 15), crew=crew).length == 1


@pytest.mark.usefixtures("tiny_slices")
@pytest.mark.parametrize("limits", [Limits(nodes=50_000), Limits(seconds=0.3)])
def test_limits_end_a_shared_search(limits: Limits) -> None:
    with database_for("663", "4x4") as database, crew_of(2) as crew:
        solution = Solver(database).solve(read_board("hardest80"), limits=limits, crew=crew)
    assert solution.length is None
    assert not solution.is_optimal
    assert solution.generated > 0
    if limits.nodes is not None:
        assert solution.generated < limits.nodes + 3000


def read_board(name: str) -> Board:
    return next(iter(read_instances(name, None))).board


@pytest.mark.tiny
def test_several_databases_prune_with_the_largest_of_their_sums() -> None:
    goal = blank_last(S3)
    names = "1,2,5/3,4,6/7,8", "1,4,7,8/2,3,5,6"
    with (
        database_for(names[0], "3x3") as first,
        database_for(names[1], "3x3", encoding="bits") as second,
    ):
        solver = Solver(first, second)
        for board in solvable_boards(S3, goal, 6, 15):

            def h(at: Board) -> int:
                return max(first.probe(at).maximum, second.probe(at).maximum)

            expected = naive.naive_thresholds(board, goal, S3, h, naive.naive_duplicates(8))
            solution = solver.solve(board)
            assert solution.h == h(board)
            assert solution.length == expected[-1][0]
            for (threshold_found, generated, expanded), (t, most_generated, most_expanded) in zip(
                finished_thresholds(solution), expected, strict=False
            ):
                # The solver's machine knows longer duplicates too.
                assert threshold_found == t
                assert generated <= most_generated
                assert expanded <= most_expanded


@pytest.mark.tiny
def test_databases_of_other_goals_serve_the_goal_of_the_first() -> None:
    with (
        database_for("1,2,5/3,4,6/7,8", "3x3") as first,
        database_for("1,2,3,4/5,6,7,8", "3x3", "blank-first", "bits") as second,
    ):
        both, alone = Solver(first, second), Solver(first)
        for board in solvable_boards(S3, blank_last(S3), 5, 16):
            assert both.solve(board).length == alone.solve(board).length
            assert both.solve(board).h >= alone.solve(board).h


@pytest.mark.tiny
def test_databases_of_another_size_are_refused() -> None:
    with (
        database_for("1,2,5/3,4,6/7,8", "3x3") as first,
        database_for("1,2,3", "2x2") as second,
        pytest.raises(TableMismatchError, match="holds tables for 2x2"),
    ):
        Solver(first, second)


# Many at once


@pytest.mark.parametrize("n_threads", [1, 2, 5])
def test_outcomes_come_in_the_order_of_the_items(n_threads: int) -> None:
    def work(item: int, _report: Callable[[Iteration], None], _crew: Crew | None) -> int:
        time.sleep(0.002 * (item % 5))
        return item * item

    assert list(in_parallel(range(60), work, n_threads=n_threads)) == [item * item for item in range(60)]


def test_one_thread_takes_an_item_only_when_the_one_before_is_answered() -> None:
    taken: list[int] = []

    def items() -> Iterator[int]:
        for item in range(3):
            taken.append(item)
            yield item

    answers = in_parallel(items(), lambda item, _report, _crew: item, n_threads=1)
    assert next(answers) == 0
    assert taken == [0]


def test_error_of_one_item_ends_the_others() -> None:
    stopped = threading.Event()

    def work(item: int, report: Callable[[Iteration], None], _crew: Crew | None) -> int:
        if item == 1:
            time.sleep(0.05)
            raise ValueError("item 1")
        if item == 0:
            return 0
        try:
            while True:
                report(Iteration(0, 0, 0, 0.0))
                time.sleep(0.005)
        except BaseException:
            stopped.set()
            raise

    with pytest.raises(ValueError, match="item 1"):
        list(in_parallel(range(100), work, n_threads=2))
    assert stopped.wait(2.0)


# Instance sets and node counts on record


def solve_set(name: str, partition: str, encoding: Encoding) -> dict[str, int]:
    """Generated nodes of each board, one thread a board, since helpers make the last threshold vary."""

    def solve(instance: Instance, _report: object, _crew: object) -> tuple[str, int]:
        solution = solver.solve(instance.board, parse_goal(instance.goal or "blank-last", S4))
        assert solution.length == instance.optimal_length, instance
        return instance.id, solution.generated

    with database_for(partition, "4x4", encoding=encoding) as database:
        solver = Solver(database)
        boards = [instance for instance in read_instances(name, None) if instance.size == S4]
        return dict(in_parallel(boards, solve, n_threads=2))


def golden_counts(name: str, partition: str, encoding: Encoding) -> dict[str, int]:
    with GOLDEN.open(encoding="utf-8") as file:
        return {
            row["id"]: int(row["generated"])
            for row in csv.DictReader(file)
            if (row["set"], row["partition"], row["encoding"]) == (name, partition, encoding)
        }


@pytest.mark.parametrize(
    ("name", "partition", "encoding"),
    [
        ("hardest80", "78", "bits"),
        ("korf100", "78", "bits"),
        ("worst-for-78", "78", "bits"),
        ("classic", "78", "bits"),
        ("hardest80", "78", "bytes"),
        ("korf100", "78", "bytes"),
        ("korf100", "663", "bits"),
        ("korf100", "663", "bytes"),
        pytest.param("hardest80", "663", "bits", marks=pytest.mark.slow),
    ],
)
def test_sets_are_solved_in_their_published_lengths(name: str, partition: str, encoding: Encoding) -> None:
    """Exact to the node: any change of the search shows here."""
    expected = golden_counts(name, partition, encoding)
    assert expected
    assert solve_set(name, partition, encoding) == expected


def test_classic_8_puzzles_are_solved_in_their_published_lengths() -> None:
    n_boards = 0
    with database_for("8", "3x3") as database:
        solver = Solver(database)
        for instance in read_instances("classic", None):
            if instance.size == S3:
                n_boards += 1
                goal = parse_goal(instance.goal or "blank-last", S3)
                assert solver.solve(instance.board, goal).length == instance.optimal_length
    assert n_boards == 4
