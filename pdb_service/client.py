"""A client of `pdb serve`: what a `Database` says, asked of one over HTTP. Needs nothing but the standard library."""

import json
from collections.abc import Callable, Sequence
from contextlib import closing
from types import TracebackType
from typing import Any, TypeVar

import numpy as np
import numpy.typing as npt

from pdb_core.cost import Cost
from pdb_core.encoding import Encoding
from pdb_core.errors import BoardError, ServiceError, UnknownDatabaseError, UnsolvableError
from pdb_core.messages import as_typed, shorten
from pdb_core.puzzle import Board, BoardSize, check_board, format_board
from pdb_query.database import Probe, board_rows
from pdb_service.client_answers import (
    BatchMaximum,
    Moves,
    RemoteDatabase,
    RemoteSolution,
    SolveProgress,
    read_databases,
    read_moves,
    read_probe,
    read_progress,
    read_solution,
)
from pdb_service.client_connection import BINARY, Connections

Default = TypeVar("Default")
SolveReport = Callable[[SolveProgress], None]

# What a server takes at a time.
_BATCH_BOARDS = 100_000
# How long /v1/moves searches where nothing is said.
_HINT_S = 1.0


class Client:
    """One database of a service, asked as if it were here; and the service's solver.

    url        of the service, such as http://127.0.0.1:8015
    db         the id of the database, see `databases`; without it the first for boards of `size`, or the first of all
    token      what the service wants to be shown. Over plain http everybody on the way can read it.
    timeout_s  how long the service may say nothing

    Any number of threads may ask at the same time. Connections are kept; one that the server has closed meanwhile is
    made anew. Use it as a context manager, or `close` it.

    Every method raises `ServiceError` where the service cannot be reached or is none, `TokenError` where it wants
    another token, `BusyError` where it has too much to do, and `ValueError` where the client is closed. Making one
    raises them too, `InputError` where the address, the token or the time is none, and `UnknownDatabaseError` where the
    service has no such database.

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
        """Close the connections. Asking afterwards raises `ValueError`."""
        self._service.close()

    @property
    def size(self) -> BoardSize:
        return self.database.size

    @property
    def goal(self) -> Board:
        """The database's own goal, which is meant where none is given."""
        return self.database.goal

    @property
    def encoding(self) -> Encoding:
        """How distances are written: `bytes` or `bits`, see `pdb_core.encoding`."""
        return self.database.encoding

    @property
    def cost(self) -> Cost:
        """Which moves the distances count: `additive` or `every-move`, see `pdb_core.cost`."""
        return self.database.cost

    def databases(self) -> tuple[RemoteDatabase, ...]:
        """All databases of the service, in the order in which it asks them."""
        answer = self._service.get("/v1/databases", {})
        with self._service.reading():
            return read_databases(answer)

    def probe(self, board: Sequence[int], goal: Board | None = None) -> Probe:
        """What the tables say of one board.

        Raises `BoardError` where it is no board of this size, `UnsolvableError` where it cannot be solved, `GoalError`
        where the tables cannot serve `goal`.
        """
        answer = self._ask("/v1/lookup", board, goal)
        with self._service.reading():
            return read_probe(answer)

    def get(self, board: Sequence[int], default: Default, goal: Board | None = None) -> Probe | Default:
        """Like `probe`, but `default` where it would raise `BoardError` or `UnsolvableError`."""
        try:
            return self.probe(board, goal)
        except (BoardError, UnsolvableError):
            return default

    def probe_batch(self, boards: npt.ArrayLike, goal: Board | None = None, *, strict: bool = True) -> BatchMaximum:
        """The lower bound of many boards, an array of shape (m, n_cells) of integers.

        Goes over as plain bytes, in requests of 100,000 boards, and brings back the `maximum` alone: for values and
        sums ask `probe`, or open the table file with `open_database`.

        Raises `BoardError` for the first row that is no board, unless `strict` is False: the `maximum` of such rows is
        then -2. Raises `GoalError` where the tables cannot serve `goal`. Boards that cannot be solved are no error:
        their `maximum` is -1.
        """
        rows = board_rows(boards, self.size)
        maximum = np.empty(len(rows), dtype=np.int16)
        # Of no boards too, something is asked: whether the tables serve the goal.
        for start in range(0, max(1, len(rows)), _BATCH_BOARDS):
            part = rows[start : start + _BATCH_BOARDS]
            answer = self._service.post("/v1/lookup", self._named(goal), part.tobytes(), BINARY)
            if len(answer) != 2 * len(part):
                raise ServiceError(
                    f"{self.url} answers {len(part)} boards with {len(answer)} bytes, not two each; check the address, "
                    "and that client and server are of one version"
                )
            maximum[start : start + len(part)] = np.frombuffer(answer, dtype="<i2")
            if strict:
                self._check_rows(part, start, maximum)
        return BatchMaximum(maximum)

    def moves(
        self, board: Sequence[int], goal: Board | None = None, *, seconds: float | None = None, nodes: int | None = None
    ) -> Moves:
        """Every legal move, best first, each with the exact distance after it where that is found within the limits.

        The service searches for one second where nothing is said, and not at all for 0 seconds. Raises as `probe`.
        """
        patience_s = _HINT_S if seconds is None else max(0.0, seconds)
        answer = self._ask("/v1/moves", board, goal, seconds=seconds, nodes=nodes, patience_s=patience_s)
        with self._service.reading():
            return read_moves(answer)

    def solve(
        self,
        board: Sequence[int],
        goal: Board | None = None,
        *,
        seconds: float | None = None,
        nodes: int | None = None,
        report: SolveReport | None = None,
    ) -> RemoteSolution:
        """A shortest solution; what is proved of its length where a limit was reached first.

        The service has limits of its own, which count where these are larger or left out. `report` is called some times
        a second. Whatever it raises, and Ctrl-C, closes the connection: the service then ends the search.

        Raises as `probe`.
        """
        checked = check_board(board, self.size)
        wanted = {**self._named(goal), "board": checked, "seconds": seconds, "nodes": nodes}
        # Without a report too: who hears nothing for long cannot tell a long search from a server that is gone.
        result: Any = None
        with closing(self._service.events("/v1/solve", json.dumps(wanted).encode())) as events:
            for name, data in events:
                if name == "problem":
                    raise self._service.problem(data, 200)
                if name == "result":
                    result = data
                elif report is not None:
                    with self._service.reading():
                        progress = read_progress(data)
                    report(progress)
        if result is None:
            raise ServiceError(f"{self.url} ended its answer without a result; it may have been stopped: ask again")
        self._check_solvable(result, checked)
        with self._service.reading():
            return read_solution(result)

    def _choose(self, db: str | None, size: BoardSize | None) -> RemoteDatabase:
        """The database that is meant. Raises `UnknownDatabaseError`."""
        present = self.databases()
        for database in present:
            if db in (None, database.id) and size in (None, database.size):
                return database
        wanted = ("" if db is None else f" {shorten(db, 40)!r}") + ("" if size is None else f" for {size} boards")
        listed = ", ".join(f"{database.id} ({database.size})" for database in present)
        raise UnknownDatabaseError(f"{self.url} has no database{wanted}; it has {as_typed(listed) or 'none'}")

    def _named(self, goal: Board | None) -> dict[str, str | None]:
        """The database and the goal, as requests name them. The service's default goal may be another than ours."""
        return {"db": self.database.id, "goal": " ".join(map(str, self.goal if goal is None else goal))}

    def _ask(
        self,
        path: str,
        board: Sequence[int],
        goal: Board | None,
        *,
        seconds: float | None = None,
        nodes: int | None = None,
        patience_s: float = 0.0,
    ) -> Any:
        """The answer about a board. Raises `BoardError`, `UnsolvableError`."""
        checked = check_board(board, self.size)
        limits = {"seconds": seconds, "nodes": nodes}
        query = {name: None if value is None else str(value) for name, value in limits.items()}
        asked = {"board": format_board(checked), **self._named(goal), **query}
        answer = self._service.get(path, asked, patience_s=patience_s)
        self._check_solvable(answer, checked)
        return answer

    def _check_solvable(self, answer: Any, board: Board) -> None:
        """Raise `UnsolvableError` where an answer says so."""
        with self._service.reading():
            if answer["solvable"] is False:
                raise UnsolvableError(f"board {format_board(board)} cannot be solved: {as_typed(answer['why'], 400)}")

    def _check_rows(self, rows: npt.NDArray[np.uint8], start: int, maximum: npt.NDArray[np.int16]) -> None:
        """Raise `BoardError` for the first of some rows that the service calls no board."""
        for at in np.flatnonzero(maximum[start : start + len(rows)] == -2)[:1].tolist():
            try:
                check_board(rows[at].tolist(), self.size)
            except BoardError as error:
                raise BoardError(f"row {start + at}: {error}") from None
