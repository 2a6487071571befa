"""Batches with a client that runs tasks in this thread: results in any order, parts of any size. And worker tables."""

import random
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from typing import Any

import pytest

from pdb_cluster import solve_tasks
from pdb_cluster.solve_boards import ClusterBatch, Request
from pdb_cluster.solve_tasks import Tasks
from pdb_cluster.solve_worker import WorkerTables, solver_for
from pdb_cluster.split_board import PartSizes
from pdb_core.encoding import Encoding
from pdb_core.errors import BoardError, ClusterError, InputError, UnsolvableError
from pdb_core.puzzle import Tiles, blank_last
from pdb_query import Database
from solver import Iteration, Limits, Solution, Solver
from tests.solving import S3, database_for, node_counts, solvable_boards

# Every board is split, into parts of a few nodes.
TINY = PartSizes(board_nodes=1, part_nodes=40, task_nodes=30)


class InlineFuture:
    """A task that runs when its result is read."""

    def __init__(self, key: str, run: Callable[[], Any]) -> None:
        self.key, self.run = key, run

    def add_done_callback(self, callback: Callable[["InlineFuture"], None]) -> None:
        callback(self)


class InlineClient:
    """Stand-in for `distributed.Client` in this thread. Some tasks run twice, as after the death of a worker."""

    def __init__(self, seed: int = 0) -> None:
        self._random = random.Random(seed)
        self.n_tasks = 0
        self.cancelled: list[str] = []

    def nthreads(self) -> dict[str, int]:
        return {"here": 2}

    def run(self, function: Callable[[], Any], *, workers: list[str], on_error: str) -> dict[str, Any]:
        assert on_error == "return"
        return {address: function() for address in workers}

    def map(
        self, function: Callable[..., Any], arguments: Sequence[Any], *, pure: bool, priority: int,
        workers: list[str] | None, **same: Any,
    ) -> list[Any]:  # fmt: skip
        assert not pure
        assert workers == ["here"]
        assert priority in (0, 1)
        futures = []
        for argument in arguments:
            self.n_tasks += 1
            run = lambda argument=argument: function(argument, **same)  # noqa: E731
            futures.append(InlineFuture(str(self.n_tasks), run))
        self._random.shuffle(futures)
        return futures

    def gather(self, futures: Sequence[InlineFuture]) -> list[Any]:
        results = []
        for future in futures:
            if self._random.random() < 0.2:
                future.run()
            results.append(future.run())
        return results

    def cancel(self, futures: Sequence[InlineFuture], *, force: bool) -> None:
        assert force
        self.cancelled += [future.key for future in futures]


def requests(boards: Sequence[Tiles], database: Database) -> list[Request]:
    return [Request(board, database.goal, (database,)) for board in boards]


@pytest.mark.parametrize(
    ("encoding", "sizes"),
    [
        ("bits", PartSizes()),
        ("bytes", TINY),
        ("bits", replace(TINY, part_nodes=1)),
    ],
)
def test_answers_and_node_counts_are_those_of_one_machine(sizes: PartSizes, encoding: Encoding) -> None:
    boards = solvable_boards(S3, blank_last(S3), 12, 7)
    with database_for("1,2,5/3,4,6/7,8", "3x3", encoding=encoding) as database:
        solver = Solver(database)
        client = InlineClient(seed=len(encoding))
        batch = ClusterBatch(client, sizes=sizes)
        for board, answer in zip(boards, batch.solutions(requests(boards, database)), strict=True):
            alone = solver.solve(board)
            assert isinstance(answer, Solution)
            assert (answer.board, answer.length, answer.h) == (board, alone.length, alone.h)
            assert answer.is_optimal
            assert node_counts(answer.iterations[:-1]) == node_counts(alone.iterations[:-1])
            assert answer.iterations[-1].threshold == alone.iterations[-1].threshold
    assert client.n_tasks > (len(boards) if sizes.board_nodes == 1 else 0)


@pytest.mark.tiny
def test_boards_that_need_no_search_are_answered() -> None:
    with database_for("3,5/2,4/1", "3x2") as database:
        unsolvable = (2, 1, 3, 4, 5, 0)
        answers = list(ClusterBatch(InlineClient()).solutions(requests([database.goal, unsolvable], database)))
    assert isinstance(answers[0], Solution)
    assert answers[0].length == 0
    assert isinstance(answers[1], UnsolvableError)


def test_board_at_its_limit_keeps_finished_thresholds() -> None:
    board = max(solvable_boards(S3, blank_last(S3), 12, 7), key=str)
    with database_for("1,2,5/3,4,6/7,8", "3x3") as database:
        alone = Solver(database).solve(board)
        for n_nodes in (1, sum(at.generated for at in alone.iterations[:-1]) // 2):
            batch = ClusterBatch(InlineClient(), limits=Limits(nodes=n_nodes), sizes=TINY)
            (answer,) = batch.solutions(requests([board], database))
            assert isinstance(answer, Solution)
            assert answer.length is None
            assert answer.generated >= n_nodes
            finished = node_counts(answer.iterations[:-1])
            assert finished == node_counts(alone.iterations)[: len(finished)]


def test_first_solution_cancels_other_tasks() -> None:
    boards = solvable_boards(S3, blank_last(S3), 12, 7)
    with database_for("1,2,5/3,4,6/7,8", "3x3") as database:
        client = InlineClient()
        list(ClusterBatch(client, sizes=replace(TINY, part_nodes=1)).solutions(requests(boards, database)))
    assert client.cancelled


def test_boards_before_an_invalid_one_are_answered() -> None:
    boards = solvable_boards(S3, blank_last(S3), 5, 7)

    def read(database: Database) -> Iterator[Request]:
        yield from requests(boards, database)
        raise InputError("line 6 is no board")

    with database_for("1,2,5/3,4,6/7,8", "3x3") as database:
        no_board = [*requests(boards, database), Request((0,), database.goal, (database,))]
        for source, error in ((read(database), InputError), (iter(no_board), BoardError)):
            answers = ClusterBatch(InlineClient()).solutions(source)
            found = [next(answers) for _ in boards]
            assert [answer.board for answer in found if isinstance(answer, Solution)] == boards
            with pytest.raises(error):
                next(answers)


def test_boards_that_arrive_one_by_one_are_answered() -> None:
    boards = solvable_boards(S3, blank_last(S3), 5, 7)
    answered: list[Tiles] = []

    def ask(database: Database) -> Iterator[Request | None]:
        for n, request in enumerate(requests(boards, database)):
            while len(answered) < n:
                yield None
            yield request
        while len(answered) < len(boards):
            yield None

    with database_for("1,2,5/3,4,6/7,8", "3x3") as database:
        for answer in ClusterBatch(InlineClient()).solutions(ask(database)):
            assert isinstance(answer, Solution)
            answered.append(answer.board)
    assert answered == boards


def test_known_answers_are_yielded_in_order_without_a_search() -> None:
    boards = solvable_boards(S3, blank_last(S3), 3, 7)
    with database_for("1,2,5/3,4,6/7,8", "3x3") as database:
        known = [Solver(database).solve(board) for board in boards]
        n_taken = 0

        def ask() -> Iterator[Request | Solution | None]:
            yield from known[:2]
            while n_taken < 2:
                yield None
            yield requests(boards[:1], database)[0]
            yield known[2]

        client = InlineClient()
        reports: list[int] = []
        answers = ClusterBatch(client, report=lambda at: reports.append(at.n_taken)).solutions(ask())
        for expected in (*known[:2], known[0], known[2]):
            answer = next(answers)
            assert isinstance(answer, Solution)
            assert answer.board == expected.board
            assert (answer is expected) == (n_taken != 2)
            n_taken += 1
        assert client.n_tasks == 1
        assert reports[-1] == 4


def test_equal_boards_are_searched_once() -> None:
    twice = [board for board in solvable_boards(S3, blank_last(S3), 6, 7) for _ in range(2)]
    finished: list[Tiles] = []
    with database_for("1,2,5/3,4,6/7,8", "3x3") as database:
        batch = ClusterBatch(InlineClient(), sizes=TINY, finished=lambda solution: finished.append(solution.board))
        answers = list(batch.solutions(requests(twice, database)))
    assert [answer.board for answer in answers if isinstance(answer, Solution)] == twice
    assert sorted(finished) == sorted(set(twice))


def test_closing_the_iterator_cancels_pending_tasks() -> None:
    boards = solvable_boards(S3, blank_last(S3), 40, 7)
    with database_for("1,2,5/3,4,6/7,8", "3x3") as database:
        client = InlineClient()
        answers = ClusterBatch(client, sizes=TINY).solutions(requests(boards, database))
        next(answers)
        answers.close()  # type: ignore[attr-defined]
    assert client.cancelled


class LostClient(InlineClient):
    """Client whose scheduler ends after the first results."""

    def gather(self, futures: Sequence[InlineFuture]) -> list[Any]:
        if self.n_tasks > 10:
            raise ConnectionResetError("reset by peer")
        return super().gather(futures)

    def cancel(self, futures: Sequence[InlineFuture], *, force: bool) -> None:
        assert futures
        assert force
        raise ConnectionResetError("reset by peer")


def test_lost_scheduler_is_reported() -> None:
    boards = solvable_boards(S3, blank_last(S3), 40, 7)
    with (
        database_for("1,2,5/3,4,6/7,8", "3x3") as database,
        pytest.raises(ClusterError, match="cannot be reached any more; start the command again"),
    ):
        list(ClusterBatch(LostClient(), sizes=TINY).solutions(requests(boards, database)))


class FailingClient(InlineClient):
    def gather(self, futures: Sequence[InlineFuture]) -> list[Any]:
        assert futures
        raise RuntimeError("three deaths\nand more")


def test_failed_task_is_reported() -> None:
    with (
        database_for("1,2,5/3,4,6/7,8", "3x3") as database,
        pytest.raises(ClusterError, match=r"a task failed on the cluster \(RuntimeError: three deaths\); "),
    ):
        list(ClusterBatch(FailingClient()).solutions(requests([(8, 6, 7, 2, 5, 4, 3, 0, 1)], database)))


def test_progress_is_reported() -> None:
    boards = solvable_boards(S3, blank_last(S3), 12, 7)
    reports: list[tuple[int, int, tuple[tuple[int, Iteration], ...]]] = []
    with database_for("1,2,5/3,4,6/7,8", "3x3") as database:
        batch = ClusterBatch(
            InlineClient(), sizes=TINY, report=lambda at: reports.append((at.n_done, at.generated, at.iterations))
        )
        answers = list(batch.solutions(requests(boards, database)))
    assert reports[-1][0] == len(boards)
    assert reports[-1][1] == sum(answer.generated for answer in answers if isinstance(answer, Solution))
    assert any(iterations for _, _, iterations in reports)


def tables_of(database: Database, **others: Any) -> WorkerTables:
    from pdb_core.jit import program_version

    known: dict[str, Any] = {
        "paths": (str(database.path),),
        "digests": (database.header.digest(),),
        "load": "map",
        "version": program_version(),
    }
    return WorkerTables(**(known | others))


def test_worker_refuses_other_tables_and_versions() -> None:
    with database_for("1,2,5/3,4,6/7,8", "3x3") as database, database_for("8", "3x3") as other:
        assert solver_for(tables_of(database)) is solver_for(tables_of(database))
        with pytest.raises(ClusterError, match=r"the worker on .* cannot search: there is no table file /nowhere\.h5"):
            solver_for(tables_of(database, paths=("/nowhere.h5",)))
        with pytest.raises(ClusterError, match="holds other tables than the client's"):
            solver_for(tables_of(database, paths=(str(other.path),)))
        with pytest.raises(ClusterError, match="another version of tile-pdb"):
            solver_for(tables_of(database, version=("0", "0")))


class ChangingClient(InlineClient):
    """Client of a cluster whose workers change; those named "wrong..." run another version."""

    def __init__(self, *workers: str) -> None:
        super().__init__()
        self.workers, self.sent_to = list(workers), []

    def nthreads(self) -> dict[str, int]:
        return dict.fromkeys(self.workers, 1)

    def run(self, function: Callable[[], Any], *, workers: list[str], on_error: str) -> dict[str, Any]:
        assert on_error == "return"
        answers: dict[str, Any] = {"wrong": ("0.0", "0" * 64), "wrong-too": ModuleNotFoundError("No module")}
        return {address: answers.get(address, function()) for address in workers}

    def map(self, function: Any, arguments: Any, *, workers: Any, **others: Any) -> list[Any]:
        self.sent_to.append(sorted(workers))
        return super().map(function, arguments, workers=["here"], **others)


def test_tasks_are_sent_to_workers_of_this_version_only(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(solve_tasks, "_WORKERS_S", -1.0)
    client = ChangingClient("right")
    tasks, results = Tasks(client), dict[str, int]()
    keys = tasks.submit(abs, [-1], results.__setitem__)
    client.workers += ["wrong", "wrong-too"]
    with pytest.warns(RuntimeWarning) as warned:
        assert tasks.n_threads() == 1
    assert sorted(str(warning.message).split(",")[0] for warning in warned) == [
        "the worker at wrong runs tile-pdb 0.0 (kernels 00000000)", "the worker at wrong-too has no tile-pdb",
    ]  # fmt: skip
    # The right worker ends, and another one comes in its place: it gets the task.
    client.workers.remove("right")
    assert tasks.n_present() == 0
    client.workers.append("late")
    tasks.work(0)
    assert results == {keys[0]: 1}
    assert client.sent_to == [["right"], ["late"]]
    keys += tasks.submit(abs, [-2], results.__setitem__)
    tasks.work(0)
    assert results == {keys[0]: 1, keys[1]: 2}
