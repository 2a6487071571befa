"""Optimal solutions by IDA* with databases (`Solver`). Read this first.

check      is it a board, can it be solved                pdb_core.puzzle
map        to the goal of the tables, by a symmetry       pdb_core.symmetry
search     IDA* with the largest of the databases' sums   engine/search.py
share      a threshold among threads                      engine/threads.py, engine/worker_pool.py
replay     the solution, before it is returned            engine/result.py
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from threading import Lock
from typing import Any, Literal, get_args

import numpy as np
import numpy.typing as npt

from pdb_core.arguments import FilePath, as_choice, as_threads, check_functions, check_kind
from pdb_core.board_size import BoardSize
from pdb_core.errors import InputError, UnsolvableError
from pdb_core.jit import NotCompiledError, compiling_until
from pdb_core.puzzle import Board, BoardLike, Tiles, as_goal
from pdb_core.symmetry import BoardMapping
from pdb_core.types import N_MOVES, Int64s
from pdb_query import Database
from pdb_query.database import as_databases
from solver.beams.solutions import find_by_beams
from solver.board_arrays import mapped_moves
from solver.engine.boards import BoardsSearch
from solver.engine.checkpoint import Checkpoint
from solver.engine.database_engine import database_engine
from solver.engine.engine import Engine
from solver.engine.result import SearchResult
from solver.engine.search import MOST_BOARDS, IdaStar
from solver.engine.sums import DatabaseSums
from solver.engine.threads import Wanted
from solver.engine.worker_pool import WorkerPool, in_parallel
from solver.labels import Labels, distances_with_moves, optimal_first_moves
from solver.progress import Iteration, LimitsLike, Report, as_limits
from solver.pruning.fsm import PruningFsm, fsm_for
from solver.solution import Solution, SolvedBoards, check_solvable, one_move_away, replay, unsolvable

# What searches: threads of the processor, or a graphics card.
Device = Literal["cpu", "cuda"]
# Nodes of the last threshold for each board of a beam: the beams then take a small part of the time of the threshold.
_NODES_PER_BOARD, _MOST_WIDTH = 5_000, 400_000


class IdaStarSolver(ABC):
    """Solver by IDA* with one engine, which searches all boards in the terms of one goal. Thread-safe."""

    def __init__(
        self,
        size: BoardSize,
        goal: Tiles,
        engine: Callable[[PruningFsm], Engine],
        *,
        plain: bool,
        operator_order: bool,
        ida_star: type[IdaStar] = IdaStar,
    ) -> None:
        """Make the search. `engine` returns an engine with an operator pruning FSM.

        For `operator_order`, see `IdaStar`. `ida_star` searches for one solution of a board.
        """
        self._size, self._goal, self._engine_goal = size, goal, goal
        self._make_engine, self._plain, self._operator_order = engine, plain, operator_order
        self._ida_star_type = ida_star
        self._lock = Lock()
        self._all_star: IdaStar | None = None
        self._ida_star = self._make_ida_star()
        # Load or compile the kernels now: the first board's seconds are then those of its search.
        self._ida_star.load_kernels(one_move_away(goal, size))

    @property
    def goal(self) -> Board:
        """The goal of the solver."""
        return Board(self._goal, self._size)

    @property
    def ida_star(self) -> IdaStar:
        """The search itself, in the terms of the engine's goal."""
        return self._ida_star

    def solve(
        self,
        board: BoardLike,
        goal: BoardLike | None = None,
        *,
        limits: LimitsLike = None,
        report: Report | None = None,
        pool: WorkerPool | None = None,
        checkpoint: Checkpoint | None = None,
    ) -> Solution:
        """Return an optimal solution of `board`, for the solver's goal or any other goal that it can serve.

        Parameters
        ----------
        board
            Board to solve.
        goal
            Board to reach; by default the solver's goal.
        limits
            Seconds, or limits of time and nodes. If one is reached, the solution has no length, but a lower bound.
        report
            Function that is called several times a second with the threshold that is searched. An exception from it
            ends the search.
        pool
            Workers that help if the search takes long (``with WorkerPool(1) as pool``). Lengths do not depend on it,
            nor do the nodes of thresholds before the last.
        checkpoint
            Work of earlier runs, from which the search continues, and in which it records finished work. Nodes and
            seconds are those of all runs; `limits` are on the nodes of all runs and on the seconds of this one.

        Raises
        ------
        BoardError, GoalError
            If the board or the goal is invalid, or the tables cannot serve the goal.
        UnsolvableError
            If the board cannot be solved.
        TableFileDamagedError
            If the tables contradict each other.
        LimitReachedError
            If the solution is too far above a sum for the search.
        WrongAnswerError
            If the solution fails its replay.
        InputError
            If `checkpoint` belongs to the search of another board, goal or method.
        """
        return self._searched(board, goal, limits, report, pool, checkpoint)

    def solve_all(
        self,
        board: BoardLike,
        goal: BoardLike | None = None,
        *,
        listed: Callable[[tuple[int, ...]], None] | None = None,
        limits: LimitsLike = None,
        report: Report | None = None,
        pool: WorkerPool | None = None,
        checkpoint: Checkpoint | None = None,
    ) -> Solution:
        """Return an optimal solution of `board`, with the number of all optimal solutions.

        The last threshold is searched to its end. If a limit ends it, `n_solutions` counts those found so far, and
        `is_complete` is False. Errors, and parameters beside `listed`, are those of `solve`.

        Parameters
        ----------
        listed
            Function that is called with the tiles of each solution, replayed, one at a time, in no particular order.
            Only finished thresholds of a checkpoint are used then.
        """
        check_functions(listed=listed)
        return self._searched(board, goal, limits, report, pool, checkpoint, finds_all=True, listed=listed)

    def _searched(
        self,
        board: BoardLike,
        goal: BoardLike | None,
        limits: LimitsLike,
        report: Report | None,
        pool: WorkerPool | None,
        checkpoint: Checkpoint | None,
        *,
        finds_all: bool = False,
        listed: Callable[[tuple[int, ...]], None] | None = None,
    ) -> Solution:
        """Return the solution of one board. Raises what `solve` raises."""
        checked, checked_goal = Board(board, self._size), as_goal(self._goal if goal is None else goal, self._size)
        mapping = self._mapping(checked_goal)
        check_solvable(checked, checked_goal, self._size)
        _check(report, pool, checkpoint)
        if checkpoint is not None:
            checkpoint.begin(checked, checked_goal, (self._method(), finds_all))

        def list_one(tiles: tuple[int, ...]) -> None:
            assert listed is not None
            original = mapping.original_tiles(tiles)
            replay(checked, original, checked_goal, self._size)
            listed(original)

        result = self._ida_star_for(finds_all=finds_all).search(
            mapping.apply(checked),
            as_limits(limits),
            report,
            pool,
            checkpoint,
            wanted=Wanted(finds_all, None if listed is None else list_one),
        )
        return self._solution(checked, checked_goal, mapping, result)

    def _ida_star_for(self, *, finds_all: bool) -> IdaStar:
        if not finds_all:
            return self._ida_star
        with self._lock:
            if self._all_star is None:
                # An FSM that prunes one of two equally long sequences would lose solutions.
                self._all_star = self._make_ida_star(keeps_equals=True)
            return self._all_star

    @abstractmethod
    def _mapping(self, goal: Tiles) -> BoardMapping:
        """Return the mapping of boards with `goal` to boards of the engine's goal. Raises `GoalError`."""

    @abstractmethod
    def _method(self) -> object:
        """Return the tables and options that the nodes of a search depend on, to be compared."""

    def _make_ida_star(self, *, keeps_equals: bool = False) -> IdaStar:
        fsm = fsm_for(self._size, plain=self._plain, keeps_equals=keeps_equals)
        return (IdaStar if keeps_equals else self._ida_star_type)(
            self._make_engine(fsm),
            operator_order=self._operator_order,
            find_solution=None
            if keeps_equals or self._plain
            else partial(_find_by_beams, self._engine_goal, self._size),
        )

    def _solution(self, board: Board, goal: Board, mapping: BoardMapping, result: SearchResult) -> Solution:
        """Return the solution in the terms of the board, replayed."""
        tiles = None if result.moves is None else mapping.original_tiles(result.moves)
        return result.solution(board, goal, self._size, tiles)


def _check(report: object, pool: object, checkpoint: object) -> None:
    """Raise `InputError` if an argument is of another kind."""
    check_functions(report=report)
    check_kind(pool, WorkerPool | None, "pool", "a WorkerPool, or None")
    check_kind(checkpoint, Checkpoint | None, "checkpoint", "a Checkpoint, or None")


class Solver(IdaStarSolver):
    """Solver by IDA* with the tables of one or more databases. Its h is the largest of all their sums. Thread-safe.

    The sums of a database are looked up only if those of the databases before it do not prune the node. All databases
    must be of one board size, and serve the goal of the first.

    The solver prunes duplicate sequences of moves, and searches the most promising child first. After a threshold of
    half a second or more, beams look for a solution of the next one. Kernels are loaded or compiled when the solver is
    made, and those of long searches when they are needed first. If less than 30 s of a time limit are left, they are
    not compiled, and the search goes on without beams and divisions.

    Parameters
    ----------
    databases
        One or more databases, open or as paths of their files. The attribute `databases` has them open.
    goal
        Goal of boards for which none is given; by default that of the first database.
    plain
        Whether to prune only the move that undoes the last one. Complete thresholds then have the textbook's nodes.
    reflects
        Whether to look up reflections of the board, too.
    device
        "cpu"; or "cuda" to search on an NVIDIA card what takes long: long thresholds of a board, and many boards of up
        to 16 cells. All optimal solutions are still found by the processor.

    Raises
    ------
    InputError
        If there is no database, or one is closed. For "cuda", if there is no card or it cannot search with the tables.
    TableMismatchError
        If the databases are of different sizes.
    GoalError
        If a database cannot serve the goal of the first, or the first `goal`.

    Examples
    --------
    >>> from pdb_query import open_database
    >>> with open_database("data/663.h5") as database:
    ...     Solver(database).solve((1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 0, 15)).moves
    (15,)
    """

    def __init__(
        self,
        *databases: Database | FilePath,
        goal: BoardLike | None = None,
        plain: bool = False,
        reflects: bool = True,
        device: Device = "cpu",
    ) -> None:
        ida_star = _ida_star_of(device)
        if not databases:
            raise InputError("no database is given; name one or more, or use HeuristicSolver")
        self.databases = opened = as_databases(databases)
        self._options: dict[str, Any] = {"goal": goal, "plain": plain, "reflects": reflects, "device": device}
        self._database = database = opened[0]
        default_goal = as_goal(database.goal if goal is None else goal, database.size)
        self._mapping(default_goal)
        for other in opened[1:]:
            other.check_size(database.size)
        heuristics = [
            DatabaseSums(other.lookup_tables, other.views(database.goal, reflects=reflects)) for other in opened
        ]
        source = " or ".join(str(other.path) for other in opened)
        super().__init__(
            database.size,
            database.goal,
            lambda fsm: database_engine(database.size, heuristics, fsm, source=source),
            plain=plain,
            operator_order=False,
            ida_star=ida_star,
        )
        self._goal = default_goal

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickle the paths of the databases and the options."""
        return partial(type(self), **self._options), self.databases

    def __repr__(self) -> str:
        return f"Solver({', '.join(map(repr, self.databases))})"

    def _mapping(self, goal: Tiles) -> BoardMapping:
        return self._database.mappings(goal)[0]

    def _method(self) -> object:
        return [database.header.digest() for database in self.databases], self._plain, self._options["reflects"]

    def solve_batch(
        self,
        boards: Sequence[Tiles] | Sequence[str],
        goal: BoardLike | None = None,
        *,
        report: Callable[[int, Iteration], None] | None = None,
        pool: WorkerPool | None = None,
        checkpoints: Callable[[int], Checkpoint] | None = None,
    ) -> Iterator[list[Solution | UnsolvableError]]:
        """Yield the optimal solutions of boards in their order, in lists of those that are ready.

        Easy boards are searched without Python between them; their seconds are estimated from their nodes. For a board
        that cannot be solved, an `UnsolvableError` is yielded in its place. Other errors are those of `solve`.

        Parameters
        ----------
        boards
            Boards to solve.
        goal
            Board to reach; by default the solver's goal.
        pool
            Workers that help with hard boards.
        report
            Function that is called several times a second with the index of a hard board and its threshold.
        checkpoints
            Function that is called with the index of a hard board and returns its checkpoint.
        """
        _check(report, pool, None)
        check_functions(checkpoints=checkpoints)
        checked_goal, mapping, mapped, solvable = self._prepared(boards, goal)
        if not len(mapped):
            return
        rows = {index: row for row, index in enumerate(solvable.tolist())}

        def answer(index: int) -> Solution | UnsolvableError:
            board = Board(boards[index], self._database.size)
            if index not in rows:
                return unsolvable(board, checked_goal, board.size)
            return self._solution(board, checked_goal, mapping, found.result(rows[index]))

        def of_hard_board(row: int) -> tuple[Report | None, Checkpoint | None]:
            index = int(solvable[row])
            checkpoint = None if checkpoints is None else checkpoints(index)
            if checkpoint is not None:
                checkpoint.begin(Board(boards[index], self._database.size), checked_goal, (self._method(), False))
            return None if report is None else partial(report, index), checkpoint

        first = 0
        for found in self._ida_star.search_many(mapped[solvable], of_hard_board, pool):
            end = int(solvable[found.row]) if found.row < len(solvable) else len(boards)
            yield [answer(index) for index in range(first, end)]
            first = end

    def solve_many(
        self, boards: npt.ArrayLike, goal: BoardLike | None = None, *, n_threads: int | None = None, moves: bool = False
    ) -> SolvedBoards:
        """Return the optimal lengths of many boards, and with `moves` also the tiles moved.

        Boards that cannot be solved raise no error: their length is -1.

        Parameters
        ----------
        boards
            Integers of shape (m, n_cells) or (m, height, width), or a sequence of strings.
        goal
            Board to reach; by default the solver's goal.
        n_threads
            Threads that search easy boards without Python between them, and share hard boards. By default all cores.
        moves
            Whether to return the tiles moved.

        Raises
        ------
        InputError
            If `n_threads` is less than 1.
        BoardError
            For the first row that is not a board.
        GoalError
            If the tables cannot serve `goal`.
        TableFileDamagedError
            If the tables contradict each other.
        LimitReachedError
            If a solution is too far above a sum for the search.
        """
        n_threads = as_threads(n_threads)
        _goal, mapping, mapped, solvable = self._prepared(boards, goal)
        original = np.argsort(mapping.tile_map).astype(np.uint8)
        chunks = self._chunks(solvable, n_threads)

        def search(chunk: Int64s, report: Report, pool: WorkerPool | None) -> tuple[Int64s, BoardsSearch]:
            *_, found = self._ida_star.search_many(mapped[chunk], lambda _row: (report, None), pool)
            return chunk, found

        m = len(mapped)
        lengths = np.full(m, -1, dtype=np.int16)
        h, generated, expanded = np.zeros(m, dtype=np.int16), np.zeros(m, dtype=np.int64), np.zeros(m, dtype=np.int64)
        tiles = np.zeros((m, 0), dtype=np.uint8)
        for chunk, found in in_parallel(chunks, search, n_threads=n_threads):
            lengths[chunk], h[chunk] = found.lengths, found.h
            generated[chunk], expanded[chunk] = found.nodes()
            longest = int(found.lengths.max(initial=0))
            if moves:
                if longest > tiles.shape[1]:
                    tiles = np.pad(tiles, ((0, 0), (0, longest - tiles.shape[1])))
                tiles[chunk, :longest] = original[found.paths[:, :longest]]
        return SolvedBoards(lengths, h, generated, expanded, tiles if moves else None)

    def label(
        self,
        boards: npt.ArrayLike,
        goal: BoardLike | None = None,
        *,
        n_threads: int | None = None,
        moves: bool = True,
        report: Report | None = None,
    ) -> Labels:
        """Return the exact distances of many boards, and with `moves` those after each move of the blank.

        Errors are those of `solve_many`.

        Parameters
        ----------
        boards
            Integers of shape (m, n_cells) or (m, height, width), or a sequence of strings.
        goal
            Board to reach; by default the solver's goal.
        n_threads
            Threads that search easy boards without Python between them, and share hard boards. By default all cores.
        moves
            Whether to label the neighbours, too.
        report
            Function that is called several times a second with the threshold of a hard board, by any thread.
        """
        n_threads = as_threads(n_threads)
        check_functions(report=report)
        _goal, mapping, mapped, solvable = self._prepared(boards, goal)
        order = mapped_moves(mapping, self._database.size)

        def search(
            chunk: Int64s, check: Report, pool: WorkerPool | None
        ) -> tuple[Int64s, npt.NDArray[np.int16], npt.NDArray[np.int16] | None]:
            def at(iteration: Iteration) -> None:
                check(iteration)
                if report is not None:
                    report(iteration)

            if moves:
                lengths, after = distances_with_moves(self._ida_star, mapped[chunk], at, pool)
                return chunk, lengths, after[:, order]
            *_, found = self._ida_star.search_many(mapped[chunk], lambda _row: (at, None), pool)
            return chunk, found.lengths, None

        distances = np.full(len(mapped), -1, dtype=np.int16)
        after = np.full((len(mapped), N_MOVES), -1, dtype=np.int16)
        for chunk, lengths, after_moves in in_parallel(self._chunks(solvable, n_threads), search, n_threads=n_threads):
            distances[chunk] = lengths
            if after_moves is not None:
                after[chunk] = after_moves
        if not moves:
            return Labels(distances, None, None)
        return Labels(distances, optimal_first_moves(distances, after), after)

    def _chunks(self, rows: Int64s, n_threads: int) -> list[Int64s]:
        """Return the rows of boards in parts that one call searches each."""
        most = self._ida_star.most_boards
        # All threads get some, unless a card searches the boards.
        n_chunk = most if most > MOST_BOARDS else max(1, min(most, len(rows) // (8 * n_threads)))
        return [rows[first : first + n_chunk] for first in range(0, len(rows), n_chunk)]

    def _prepared(
        self, boards: npt.ArrayLike, goal: BoardLike | None
    ) -> tuple[Board, BoardMapping, npt.NDArray[np.uint8], Int64s]:
        """Return the goal, the mapping to boards of the tables, the mapped boards, and the rows of the solvable ones.
        Raises what `solve_many` raises.
        """
        database = self._database
        checked_goal = as_goal(self._goal if goal is None else goal, database.size)
        mapping = self._mapping(checked_goal)
        rows, verdicts = database.check_boards(boards, checked_goal)
        mapped = np.empty_like(rows)
        mapped[:, list(mapping.cell_map)] = np.array(mapping.tile_map, dtype=np.uint8)[rows]
        return checked_goal, mapping, mapped, np.flatnonzero(verdicts == 1)


def _find_by_beams(
    goal: Tiles, size: BoardSize, board: Tiles, limit: int, n_nodes: int, end: float, report: Report | None
) -> tuple[int, ...] | None:
    """Return a solution of at most `limit` moves found by beams, see `FindSolution`."""
    width = max(1, min(_MOST_WIDTH, n_nodes // _NODES_PER_BOARD))
    try:
        with compiling_until(end):
            find_by_beams(one_move_away(goal, size), goal, size, 1, 1, end, None)
        # `report` may compile what it likes.
        return find_by_beams(board, goal, size, width, limit, end, report)
    except (MemoryError, NotCompiledError):
        return None


def check_device(device: Device) -> Device:
    """Return the device. Raises `InputError` if it is not there."""
    if as_choice(device, "device", get_args(Device)) == "cuda":
        from solver.cuda.card import check_card

        check_card()
    return device


def _ida_star_of(device: Device) -> type[IdaStar]:
    """Return the IDA* of a device. Raises `InputError` if it is not there."""
    if check_device(device) == "cpu":
        return IdaStar
    from solver.cuda.search import CardIdaStar

    return CardIdaStar
