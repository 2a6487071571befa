"""Python client of `pdb serve`, with the names of `Database` and `Solver`. It needs the extra `client`."""

from collections.abc import Callable
from contextlib import closing
from dataclasses import dataclass
from types import TracebackType
from typing import TypeVar

import numpy as np
import numpy.typing as npt

from pdb_core.errors import BoardError, ServiceError, UnknownDatabaseError, UnsolvableError
from pdb_core.messages import as_typed, shorten
from pdb_core.puzzle import Board, BoardLike, BoardSize, Tiles, as_goal, format_board, parse_size
from pdb_query.database import Probe, board_rows
from pdb_service.answers import (
    BoardAnswer,
    DatabaseInfo,
    DatabasesAnswer,
    LookupAnswer,
    MovesAnswer,
    SolveAnswer,
    SolveProgress,
)
from pdb_service.client_connection import BINARY, Connections

Default = TypeVar("Default")
SolveReport = Callable[[SolveProgress], None]
SomeAnswer = TypeVar("SomeAnswer", bound=BoardAnswer)

# The boards that a server accepts in one batch.
_BATCH_BOARDS = 100_000
# The seconds that /v1/moves searches by default.
_HINT_S = 1.0


@dataclass(frozen=True)
class BatchMaximum:
    """Lower bounds of m boards.

    maximum  int16[m]  the largest sum; -1 if a board cannot be solved, -2 if a row is not a board
    """

    maximum: npt.NDArray[np.int16]


class Client:
    """Client for one database of a service, with methods of `Database`, and for the service's solver. Thread-safe.

    url        of the service, such as http://127.0.0.1:8015
    db         the id of the database, see `databases`; by default the first for boards of `size`, or the first of all
    token      the token of the service, if it needs one. Plain http sends it unencrypted
    timeout_s  seconds to wait for the next bytes of the service

    Connections are kept, and opened again if the server has closed them. Use the client as a context manager, or
    `close` it.

    Every method raises `ServiceError` if the service cannot be reached or is not `pdb serve`, `TokenError` if it needs
    another token, `BusyError` if it is overloaded, and `ValueError` if the client is closed. The constructor also
    raises `InputError` for an invalid address, token or time, and `UnknownDatabaseError` if the service has no such
    database.

        with Client("http://127.0.0.1:8015", size=parse_size("4x4")) as client:
            client.probe(board).maximum
            client.solve(board, report=print).tiles
    """

    def __init__(
        self,
        url: str,
        *,
        db: str | None = None,
        size: BoardSize | None = None,
        token: str | None = None,
        timeout_s: float = 30.0,
    ) -> None:
        self._service = Connections(url, token=token, timeout_s=timeout_s)
        self.url = self._service.url
        try:
            self.database = self._choose(db, size)
            self.size = parse_size(self.database.size)
            self.goal = Board(self.database.goal, self.size)
        except BaseException:
            self.close()
            raise

    def __enter__(self) -> "Client":
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"<Client {self.database.partition} {self.size} {self.url}>"

    def close(self) -> None:
        """Close the connections. Later requests raise `ValueError`."""
        self._service.close()

    def databases(self) -> tuple[DatabaseInfo, ...]:
        """Return all databases of the service, in the order in which it looks for one that serves a board."""
        return self._service.get("/v1/databases", {}, DatabasesAnswer).databases

    def probe(self, board: BoardLike, goal: BoardLike | None = None) -> Probe:
        """Return the lower bound of one board and its parts. A catalogue has `values` for each sum.

        Raises `BoardError` if it is not a board of this size, `UnsolvableError` if it cannot be solved, `GoalError`
        if the tables cannot serve `goal`.
        """
        answer = self._get("/v1/lookup", board, goal, LookupAnswer)
        assert answer.h is not None
        return Probe(tuple(at.values for at in answer.sums), tuple(at.h for at in answer.sums), answer.h)

    def get(self, board: BoardLike, default: Default, goal: BoardLike | None = None) -> Probe | Default:
        """Return the result of `probe`, or `default` if `probe` raises `BoardError` or `UnsolvableError`."""
        try:
            return self.probe(board, goal)
        except (BoardError, UnsolvableError):
            return default

    def probe_batch(self, boards: npt.ArrayLike, goal: BoardLike | None = None, *, strict: bool = True) -> BatchMaximum:
        """Return the lower bounds of many boards, an array of integers of shape (m, n_cells).

        Boards are sent as bytes, in requests of 100,000 boards, and only `maximum` is returned. For values and sums
        use `probe`, or open the table file with `open_database`.

        Boards that cannot be solved have the `maximum` -1. Raises `BoardError` for the first row that is not a board;
        with `strict=False` such rows have the `maximum` -2. Raises `GoalError` if the tables cannot serve `goal`.
        """
        rows = board_rows(boards, self.size)
        maximum = np.empty(len(rows), dtype=np.int16)
        # An empty batch is sent too: the service checks the goal.
        for start in range(0, max(1, len(rows)), _BATCH_BOARDS):
            part = rows[start : start + _BATCH_BOARDS]
            answer = self._service.post("/v1/lookup", self._names(goal), part.tobytes(), BINARY)
            if len(answer) != 2 * len(part):
                raise self._service.unexpected(f"{len(answer)} bytes for {len(part)} boards, not two for each")
            maximum[start : start + len(part)] = np.frombuffer(answer, dtype="<i2")
        bad = np.flatnonzero(maximum == -2)
        if strict and len(bad):
            try:
                Board(rows[bad[0]].tolist(), self.size)
            except BoardError as error:
                raise BoardError(f"row {bad[0]}: {error}") from None
        return BatchMaximum(maximum)

    def moves(
        self, board: BoardLike, goal: BoardLike | None = None, *, seconds: float | None = None, nodes: int | None = None
    ) -> MovesAnswer:
        """Return every legal move, best first, each with the exact distance after it if found within the limits.

        The service searches for one second by default, and not at all for 0 seconds. Raises the errors of `probe`.
        """
        patience_s = _HINT_S if seconds is None else max(0.0, seconds)
        return self._get("/v1/moves", board, goal, MovesAnswer, seconds=seconds, nodes=nodes, patience_s=patience_s)

    def solve(
        self,
        board: BoardLike,
        goal: BoardLike | None = None,
        *,
        seconds: float | None = None,
        nodes: int | None = None,
        report: SolveReport | None = None,
    ) -> SolveAnswer:
        """Return an optimal solution, or the proved lower bound on its length if a limit was reached first.

        The limits of the service apply too. `report` is called several times a second. Any exception that it raises,
        and Ctrl-C, closes the connection: the service then ends the search. Raises the errors of `probe`.
        """
        checked = Board(board, self.size)
        query = self._query(checked, goal, seconds=seconds, nodes=nodes)
        result: SolveAnswer | None = None
        # Events also without `report`: between them, a long search and a dead server can be told apart.
        with closing(self._service.events("/v1/solve", query)) as events:
            for name, data in events:
                if name == "problem":
                    raise self._service.problem(data, 200)
                if name == "result":
                    result = self._service.parse(SolveAnswer, data)
                elif report is not None:
                    report(self._service.parse(SolveProgress, data))
        if result is None:
            raise ServiceError(f"{self.url} ended its answer without a result; it may have been stopped: try again")
        return self._solvable(result, checked)

    def _choose(self, db: str | None, size: BoardSize | None) -> DatabaseInfo:
        """Return the database of this id or for this size. Raises `UnknownDatabaseError`."""
        present = self.databases()
        for database in present:
            if db in (None, database.id) and (size is None or str(size) == database.size):
                return database
        wanted = ("" if db is None else f" {shorten(db, 40)!r}") + ("" if size is None else f" for {size} boards")
        listed = ", ".join(f"{database.id} ({database.size})" for database in present)
        raise UnknownDatabaseError(f"{self.url} has no database{wanted}; it has {as_typed(listed) or 'none'}")

    def _names(self, goal: BoardLike | None) -> dict[str, str]:
        """Return the parameters db and goal. The default goal of the service may differ from that of the database."""
        return {"db": self.database.id, "goal": format_board(self.goal if goal is None else as_goal(goal, self.size))}

    def _query(self, board: Tiles, goal: BoardLike | None, **limits: float | None) -> dict[str, str]:
        given = {name: str(value) for name, value in limits.items() if value is not None}
        return {"board": format_board(board), **self._names(goal), **given}

    def _get(
        self,
        path: str,
        board: BoardLike,
        goal: BoardLike | None,
        answer: type[SomeAnswer],
        *,
        patience_s: float = 0.0,
        **limits: float | None,
    ) -> SomeAnswer:
        """Return the answer about a board. Raises `BoardError`, `UnsolvableError`."""
        checked = Board(board, self.size)
        query = self._query(checked, goal, **limits)
        return self._solvable(self._service.get(path, query, answer, patience_s=patience_s), checked)

    def _solvable(self, answer: SomeAnswer, board: Tiles) -> SomeAnswer:
        """Return an answer about a solvable board, with an h. Raises `UnsolvableError`."""
        if not answer.solvable:
            raise UnsolvableError(f"board {format_board(board)} cannot be solved: {as_typed(answer.why or '', 400)}")
        if answer.h is None:
            raise self._service.unexpected("a solvable board without h")
        return answer
