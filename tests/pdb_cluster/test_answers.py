"""Answers with a client that runs tasks in this thread: results in any order, tasks of any size. And worker tables."""

import random
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import CancelledError
from queue import Queue
from typing import Any

import pytest

from pdb_cluster import solve_boards, solve_tasks, split_board
from pdb_cluster.solve_boards import ClusterAnswers, ClusterProgress
from pdb_cluster.solve_tasks import Task, Tasks
from pdb_cluster.solve_worker import WorkerTables, solver_for
from pdb_core.encoding import Encoding
from pdb_core.errors import ClusterError, GoalError, InputError, UnsolvableError
from pdb_core.puzzle import Board, Tiles, blank_last
from pdb_query import Database
from solver import Limits, Solution, Solver
from solver.requests import Answer, Request
from tests.solving import S3, database_for, node_counts, solvable_boards

BOARDS = solvable_boards(S3, blank_last(S3), 12, 7)


class InlineFuture:
    """A task that runs when its result is read."""

    status = "finished"

    def __init__(self, key: str, run: Callable[[], Any]) -> None:
        self.key, self.run = key, run

    def exception(self) -> Exception:
        return RuntimeError("three deaths\nand more")


class InlineClient:
    """Stand-in for `distributed.Client` in this thread. Some tasks run twice, as after the death of a worker."""

    loop = None

    def __init__(self, seed: int = 0) -> None:
        self.random = random.Random(seed)
        self.n_tasks = 0
        self.cancelled: list[str] = []

    def nthreads(self) -> dict[str, int]:
        return {"here": 2}

    def run(self, function: Callable[[], Any], *, workers: list[str], on_error: str) -> dict[str, Any]:
        assert on_error == "return"
        return {address: function() for address in workers}

    def map(
        self, function: Callable[..., Any], arguments: Sequence[Any], *, pure: bool, priority: int,
        workers: list[str] | None, **others: Any,
    ) -> list[Any]:  # fmt: skip
        assert not pure
        assert workers == ["here"]
        assert priority in (0, 1)
        futures = []
        for argument in arguments:
            self.n_tasks += 1

            def run(argument: Any = argument) -> Any:
                if self.random.random() < 0.2:
                    function(argument, **others)
                return function(argument, **others)

            futures.append(InlineFuture(str(self.n_tasks), run))
        self.random.shuffle(futures)
        return futures

    def cancel(self, futures: Sequence[InlineFuture], *, force: bool) -> None:
        assert force
        self.cancelled += [future.key for future in futures]


class InlineCompleted:
    """Stand-in for `distributed.as_completed`."""

    def __init__(self, loop: None, *, with_results: bool, raise_errors: bool) -> None:
        assert loop is None
        assert with_results
        assert not raise_errors
        self._futures: list[InlineFuture] = []

    def add(self, future: InlineFuture) -> None:
        self._futures.append(future)

    def next_batch(self, *, block: bool) -> list[tuple[InlineFuture, Any]]:
        assert not block
        futures, self._futures = self._futures, []
        return [(future, future.run()) for future in futures]


@pytest.fixture(autouse=True)
def inline(monkeypatch: pytest.MonkeyPatch) -> None:
    """Run tasks in this thread. Every board is split, into tasks of a few nodes."""
    monkeypatch.setattr(solve_tasks, "as_completed", InlineCompleted)
    set_sizes(monkeypatch, 40)


def set_sizes(monkeypatch: pytest.MonkeyPatch, most_nodes: int) -> None:
    monkeypatch.setattr(solve_boards, "MOST_NODES", most_nodes)
    for name, value in {"MOST_NODES": most_nodes, "_FIRST_NODES": min(most_nodes, 30)}.items():
        monkeypatch.setattr(split_board, name, value)


def requests(boards: Sequence[Tiles], database: Database) -> list[Request]:
    return [Request(str(n), Board(board, database.size), database.goal) for n, board in enumerate(boards)]


def source(database: Database, client: Any = None, **options: Any) -> ClusterAnswers:
    return ClusterAnswers(client or InlineClient(), lambda _size, _goal: (database,), **options)


def solutions(answers: Iterable[Answer]) -> list[Solution]:
    found = []
    for answer in answers:
        assert isinstance(answer.result, Solution)
        found.append(answer.result)
    return found


@pytest.mark.parametrize(
    ("encoding", "most_nodes"),
    [("bits", 20_000_000), ("bytes", 40), ("bits", 1)],
)
def test_answers_and_node_counts_are_those_of_one_machine(
    encoding: Encoding, most_nodes: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    set_sizes(monkeypatch, most_nodes)
    with database_for("1,2,5/3,4,6/7,8", "3x3", encoding=encoding) as database:
        solver = Solver(database)
        client = InlineClient(seed=len(encoding))
        found = solutions(source(database, client).answers(requests(BOARDS, database)))
        for board, answer in zip(BOARDS, found, strict=True):
            alone = solver.solve(board)
            assert (answer.board, answer.length, answer.h) == (board, alone.length, alone.h)
            assert answer.is_optimal
            assert node_counts(answer.iterations[:-1]) == node_counts(alone.iterations[:-1])
            assert answer.iterations[-1].threshold == alone.iterations[-1].threshold
    assert (client.n_tasks > len(BOARDS)) == (most_nodes <= 40)


@pytest.mark.tiny
def test_boards_that_need_no_search_are_answered() -> None:
    with database_for("3,5/2,4/1", "3x2") as database:
        unsolvable = (2, 1, 3, 4, 5, 0)
        solved, failed = source(database).answers(requests([database.goal, unsolvable], database))
    assert isinstance(solved.result, Solution)
    assert solved.result.length == 0
    assert isinstance(failed.result, UnsolvableError)


def test_board_at_its_limit_keeps_finished_thresholds() -> None:
    board = max(BOARDS, key=str)
    with database_for("1,2,5/3,4,6/7,8", "3x3") as database:
        alone = Solver(database).solve(board)
        for n_nodes in (1, sum(at.generated for at in alone.iterations[:-1]) // 2):
            limited = source(database, limits=Limits(nodes=n_nodes))
            (answer,) = solutions(limited.answers(requests([board], database)))
            assert answer.length is None
            assert answer.generated >= n_nodes
            finished = node_counts(answer.iterations[:-1])
            assert finished == node_counts(alone.iterations)[: len(finished)]


def test_first_solution_cancels_other_tasks() -> None:
    with database_for("1,2,5/3,4,6/7,8", "3x3") as database:
        client = InlineClient()
        list(source(database, client).answers(requests(BOARDS, database)))
    assert client.cancelled


def test_boards_before_an_error_are_answered() -> None:
    def read(database: Database) -> Iterator[Request]:
        yield from requests(BOARDS, database)
        raise InputError("line 13 is no board")

    with database_for("1,2,5/3,4,6/7,8", "3x3") as database:
        other_goal = [*requests(BOARDS, database), Request("x", Board(BOARDS[0], S3), (1, 2, 3, 4, 5, 6, 7, 0, 8))]
        for asked, error in ((read(database), InputError), (iter(other_goal), GoalError)):
            answers = source(database).answers(asked)
            assert [next(answers).request.board for _ in BOARDS] == BOARDS
            with pytest.raises(error):
                next(answers)


def test_requests_that_come_one_by_one_are_answered_at_once() -> None:
    asked: Queue[Request | None] = Queue()
    with database_for("1,2,5/3,4,6/7,8", "3x3") as database:
        answers = source(database).answers(iter(asked.get, None))
        for request in requests(BOARDS, database):
            asked.put(request)
            assert next(answers).request is request
        asked.put(None)
        assert list(answers) == []


def test_known_results_are_yielded_in_order_without_a_search() -> None:
    with database_for("1,2,5/3,4,6/7,8", "3x3") as database:
        known = {board: Solver(database).solve(board) for board in BOARDS[::2]}
        finished: list[Answer] = []
        found = source(database, known=lambda request: known.get(request.board), finished=finished.append)
        answers = list(found.answers(requests(BOARDS, database)))
    assert [answer.request.board for answer in answers] == BOARDS
    assert all(answer.result is known[answer.request.board] for answer in answers[::2])
    assert {answer.request.board for answer in finished} == {*BOARDS[1::2]}


def test_equal_boards_are_searched_once() -> None:
    twice = [board for board in BOARDS for _ in range(2)]
    finished: list[Answer] = []
    with database_for("1,2,5/3,4,6/7,8", "3x3") as database:
        answers = list(source(database, finished=finished.append).answers(requests(twice, database)))
    assert [int(answer.request.id) for answer in answers] == list(range(24))
    assert [solution.board for solution in solutions(answers)] == twice
    assert len(finished) == len(BOARDS)


def test_closing_the_iterator_cancels_pending_tasks() -> None:
    with database_for("1,2,5/3,4,6/7,8", "3x3") as database:
        client = InlineClient()
        answers = source(database, client).answers(requests(BOARDS, database))
        next(answers)
        answers.close()  # type: ignore[attr-defined]
    assert client.cancelled


class LostClient(InlineClient):
    """Client whose scheduler ends after the first results: tasks are cancelled, and calls fail."""

    def map(self, *arguments: Any, **others: Any) -> list[Any]:
        futures = super().map(*arguments, **others)
        if self.n_tasks > 10:
            for future in futures:
                future.run = lambda: CancelledError("lost")
        return futures

    def cancel(self, futures: Sequence[InlineFuture], *, force: bool) -> None:
        assert futures
        assert force
        raise ConnectionResetError("reset by peer")


def test_lost_scheduler_is_reported() -> None:
    with (
        database_for("1,2,5/3,4,6/7,8", "3x3") as database,
        pytest.raises(ClusterError, match="cannot be reached any more; start the command again"),
    ):
        list(source(database, LostClient()).answers(requests(BOARDS, database)))


class FailingClient(InlineClient):
    """Client whose tasks fail."""

    def map(self, *arguments: Any, **others: Any) -> list[Any]:
        futures = super().map(*arguments, **others)
        for future in futures:
            future.status = "error"
        return futures


@pytest.mark.parametrize("is_told", [True, False])
def test_failed_task_is_reported(is_told: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    """`as_completed` does not tell it if the task had a result before, which was lost."""
    if not is_told:
        monkeypatch.setattr(InlineCompleted, "add", lambda *_: None)
    with (
        database_for("1,2,5/3,4,6/7,8", "3x3") as database,
        pytest.raises(ClusterError, match=r"a task failed on the cluster \(RuntimeError: three deaths\); "),
    ):
        list(source(database, FailingClient()).answers(requests(BOARDS[:1], database)))


def test_progress_is_reported(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("pdb_cluster.solve_boards._REPORT_S", 0.0)
    reports: list[ClusterProgress] = []
    with database_for("1,2,5/3,4,6/7,8", "3x3") as database:
        answers = source(database, report=reports.append).answers(requests(BOARDS, database))
        found = solutions(answers)
    assert reports[-1].n_taken == len(BOARDS)
    assert reports[-1].generated <= sum(solution.generated for solution in found)
    assert any(progress.iterations for progress in reports)


def tables_of(database: Database, **others: Any) -> WorkerTables:
    known: dict[str, Any] = {
        "paths": (str(database.path),),
        "digests": (database.header.digest(),),
        "load": "map",
    }
    return WorkerTables(**(known | others))


def test_worker_refuses_other_tables() -> None:
    with database_for("1,2,5/3,4,6/7,8", "3x3") as database, database_for("8", "3x3") as other:
        assert solver_for(tables_of(database)) is solver_for(tables_of(database))
        with pytest.raises(ClusterError, match=r"the worker on .* cannot search: there is no table file /nowhere\.h5"):
            solver_for(tables_of(database, paths=("/nowhere.h5",)))
        with pytest.raises(ClusterError, match="holds other tables than the client's"):
            solver_for(tables_of(database, paths=(str(other.path),)))


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
    tasks, results = Tasks(client), list[int]()

    def handle(_task: Task, result: int) -> None:
        results.append(result)

    tasks.submit(abs, [-1], handle)
    client.workers += ["wrong", "wrong-too"]
    with pytest.warns(RuntimeWarning) as warned:
        assert tasks.n_threads() == 1
    assert sorted(str(warning.message).split(",")[0] for warning in warned) == [
        "the worker at wrong runs tile-pdb 0.0 (kernels 00000000)",
        "the worker at wrong-too has no tile-pdb (No module)",
    ]  # fmt: skip
    # The right worker ends, and another one comes in its place: it gets the task.
    client.workers.remove("right")
    assert tasks.n_present() == 0
    client.workers.append("late")
    tasks.handle_results()
    assert results == [1]
    assert client.sent_to == [["right"], ["late"]]
    tasks.submit(abs, [-2], handle)
    tasks.handle_results()
    assert results == [1, 2]
