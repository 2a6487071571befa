"""Python client of `pdb serve`, with the names of `Database` and `Solver`. It needs the extra `client`."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Self, TypeVar

import httpx
import numpy as np
import numpy.typing as npt
from pydantic import TypeAdapter, ValidationError

from pdb_core import errors
from pdb_core.arguments import as_choice, as_number, located, shown
from pdb_core.board_size import SizeLike, as_size, parse_size
from pdb_core.errors import (
    PROBLEM_TYPE,
    InputError,
    ServiceError,
    UnknownDatabaseError,
    UnsolvableError,
)
from pdb_core.moves import MovesLike, as_moves
from pdb_core.puzzle import Board, BoardLike, as_goal, format_board
from pdb_query.board_rows import board_rows, refuse_row
from pdb_query.probes import Probe
from pdb_service.answers import (
    BINARY,
    BoardAnswer,
    DatabaseInfo,
    DatabasesAnswer,
    LookupAnswer,
    MovesAnswer,
    Problem,
    SolveAnswer,
    clearest_error,
)
from pdb_service.settings import is_token
from solver.check import CHECKED_NOTATIONS, CheckedNotation, SolutionCheck
from solver.progress import Limits

# The most that the service takes by default.
_BATCH_ROWS = 100_000
# Longer times do not fit the clocks of all systems.
_MOST_S = 1e6

Model = TypeVar("Model")


@dataclass(frozen=True)
class BatchMaximum:
    """Lower bounds of m boards.

    Attributes
    ----------
    h : int16[m]
        The largest sum; -1 if a board cannot be solved, -2 if a row is not a board.
    """

    h: npt.NDArray[np.int16]


class Client:
    """Client for one database of a service, with methods of `Database`, and for the service's solver. Thread-safe.

    Connections are kept. One that the server has closed between two requests is opened again; if it closes one during
    a request, that request fails. Use the client as a context manager, or `close` it. A forked process needs its own.

    Parameters
    ----------
    url : str
        Address of the service, such as http://127.0.0.1:8015.
    db : str, optional
        Id of the database, see `databases`. The default is the first for boards of `size`, or the first of all.
    size : optional
        Size of the boards, such as "4x4" or 4.
    token : str, optional
        Token of the service, if it needs one. Plain http sends it unencrypted.
    timeout_s : float
        Seconds to wait for an answer. The default is longer than a search of a service with the usual limits may wait
        and take.

    Raises
    ------
    InputError
        If the address, the size, the token or the time is invalid.
    UnknownDatabaseError
        If the service has no such database.
    ServiceError, TokenError, BusyError
        Of every method too: if the service cannot be reached or is not `pdb serve`, needs another token, or is
        overloaded.

    Examples
    --------
    >>> with Client("http://127.0.0.1:8015", size=parse_size("4x4")) as client:  # doctest: +SKIP
    ...     client.probe(board).h
    ...     client.solve(board).moves
    """

    def __init__(
        self,
        url: str,
        *,
        db: str | None = None,
        size: SizeLike | None = None,
        token: str | None = None,
        timeout_s: float = 100.0,
    ) -> None:
        timeout_s = as_number(timeout_s, "timeout_s", 0.001, _MOST_S)
        if not (token is None or (isinstance(token, str) and is_token(token))):
            raise InputError("the token has other characters than printable ASCII without whitespace; check it")
        headers = {} if token is None else {"Authorization": f"Bearer {token}"}
        try:
            address = httpx.URL(url)
        except (TypeError, ValueError, httpx.InvalidURL):
            address = httpx.URL()
        if not address.host:
            raise InputError(f"{shown(url)} is not the address of a service; write http://HOST:PORT")
        self.url = str(url).rstrip("/")
        self._http = httpx.Client(base_url=address, headers=headers, timeout=timeout_s, trust_env=False)
        wanted = None if size is None else str(as_size(size))
        try:
            databases = self.databases()
            found = [at for at in databases if db in (None, at.id) and wanted in (None, at.size)]
            if not found:
                listed = ", ".join(f"{at.id} ({at.size})" for at in databases)
                raise UnknownDatabaseError(
                    f"{self.url} has no database with db={shown(db)} and size={wanted}; it has {listed}"
                )
        except BaseException:
            self.close()
            raise
        self.database = found[0]
        self.size = parse_size(self.database.size)
        self.goal = Board(self.database.goal, self.size)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Close the connections. Later requests raise `RuntimeError`."""
        self._http.close()

    def databases(self) -> tuple[DatabaseInfo, ...]:
        """Return all databases of the service, in the order in which it looks for one that serves a board."""
        return self._ask(DatabasesAnswer, "databases").databases

    def probe(self, board: BoardLike, goal: BoardLike | None = None) -> Probe:
        """Return the lower bound of one board and its parts. A catalogue has `values` for each sum.

        Parameters
        ----------
        board : BoardLike
            A board of this size.
        goal : BoardLike, optional
            The goal; by default that of the database.

        Raises
        ------
        BoardError
            If it is not a board of this size.
        UnsolvableError
            If it cannot be solved.
        GoalError
            If the tables cannot serve `goal`.
        """
        answer = self._ask(LookupAnswer, "lookup", self._query(board, goal, Limits()))
        return Probe(tuple(at.values for at in answer.sums), tuple(at.h for at in answer.sums), answer.h or 0)

    def probe_batch(self, boards: npt.ArrayLike, goal: BoardLike | None = None, *, strict: bool = True) -> BatchMaximum:
        """Return the lower bounds of many boards.

        Boards are sent as bytes, 100,000 at a time, and only `h` is returned. For
        values and sums use `probe`, or open the table file with `open_database`.

        Parameters
        ----------
        boards : array of integers of shape (m, n_cells)
            The boards. Those that cannot be solved have the `h` -1.
        goal : BoardLike, optional
            The goal; by default that of the database.
        strict : bool
            With False, rows that are not boards have the `h` -2.

        Raises
        ------
        BoardError
            If `strict`, for the first row that is not a board.
        GoalError
            If the tables cannot serve `goal`.
        """
        rows, answers, query = board_rows(boards, self.size, strict=strict), [], self._names(goal)
        for start in range(0, max(1, len(rows)), _BATCH_ROWS):  # one without rows checks the goal
            part = rows[start : start + _BATCH_ROWS].tobytes()
            answers.append(self._send("lookup", query, content=part, headers={"Content-Type": BINARY}).content)
        h = np.frombuffer(b"".join(answers), "<i2")
        bad = np.flatnonzero(h == -2)
        if strict and len(bad):
            refuse_row(boards, int(bad[0]), self.size)
        return BatchMaximum(h)

    def moves(
        self,
        board: BoardLike,
        goal: BoardLike | None = None,
        *,
        time_limit: float | None = None,
        max_nodes: int | None = None,
    ) -> MovesAnswer:
        """Return every legal move, best first, each with the exact distance after it if found within the limits.

        The service searches for one second by default, and not at all for 0 seconds. Raises the errors of `probe`.
        """
        return self._ask(MovesAnswer, "moves", self._query(board, goal, Limits(time_limit, max_nodes)))

    def solve(
        self,
        board: BoardLike,
        goal: BoardLike | None = None,
        *,
        time_limit: float | None = None,
        max_nodes: int | None = None,
    ) -> SolveAnswer:
        """Return an optimal solution, or the proved lower bound on its length if a limit was reached first.

        The limits of the service apply too. Raises the errors of `probe`. Ctrl-C closes the connection, and the service
        then ends the search.

        Parameters
        ----------
        board, goal : BoardLike
            As for `probe`.
        time_limit, max_nodes : float and int, optional
            Limits of the search: seconds and generated nodes.
        """
        return self._ask(SolveAnswer, "solve", self._query(board, goal, Limits(time_limit, max_nodes)))

    def check_solution(
        self,
        board: BoardLike,
        moves: MovesLike | int,
        goal: BoardLike | None = None,
        *,
        notation: CheckedNotation = "tiles",
        time_limit: float | None = None,
    ) -> SolutionCheck:
        """Return what is right and wrong about a solution, as `tilepdb.check_solution`.

        The limits of the service apply too. Raises the errors of `probe`, and `MovesError` if the moves are not written
        in the notation.
        """
        given = self._query(board, goal, Limits(time_limit)) | {"moves": as_moves(moves)}
        given["notation"] = as_choice(notation, "notation", CHECKED_NOTATIONS)
        return self._ask(SolutionCheck, "check", json=given)

    def _query(self, board: BoardLike, goal: BoardLike | None, limits: Limits) -> dict[str, Any]:
        given = {name: limit for name, limit in vars(limits).items() if limit is not None}
        with located(f"database {self.database.id} (for another, give the client size or db)"):
            checked = Board(board, self.size)
        return {"board": format_board(checked), **self._names(goal), **given}

    def _names(self, goal: BoardLike | None) -> dict[str, str]:
        """Return the parameters db and goal. The default goal of the service may differ from that of the database."""
        return {"db": self.database.id, "goal": format_board(self.goal if goal is None else as_goal(goal, self.size))}

    def _ask(self, model: type[Model], path: str, query: Mapping[str, str] | None = None, **body: Any) -> Model:
        """Return an answer in JSON. Raises `UnsolvableError` if its board cannot be solved."""
        answer = self._read(model, self._send(path, query, **body))
        if isinstance(answer, BoardAnswer) and not answer.solvable:
            raise UnsolvableError(f"board {format_board(answer.board)} cannot be solved: {answer.why}")
        return answer

    def _read(self, model: type[Model], response: httpx.Response) -> Model:
        """Return the body of a response. Raises `ServiceError` if it is not as docs/http.md says."""
        try:
            return TypeAdapter(model).validate_json(response.content, strict=True)
        except ValidationError as error:
            raise ServiceError(
                f"{self.url} answers {response.status_code}, not as docs/http.md says ({clearest_error(error)}); check "
                "the address, and that client and server have the same version"
            ) from None

    def _send(self, path: str, query: Mapping[str, str] | None = None, **body: Any) -> httpx.Response:
        """Send a request, a POST if it has a body, and return the response.

        Raises the error that a problem describes, and `ServiceError` for those of the connection.
        """
        try:
            response = self._http.request("POST" if body else "GET", f"v1/{path}", params=query, **body)
        except httpx.HTTPError as error:
            reason = str(error) or type(error).__name__
            raise ServiceError(
                f"cannot reach {self.url}: {reason}; check the address, and that pdb serve runs there"
            ) from None
        if response.is_success:
            return response
        problem = self._read(Problem, response)
        kind: Any = vars(errors).get(problem.type.removeprefix(PROBLEM_TYPE))
        raise kind(problem.detail) if isinstance(kind, type) else ServiceError(f"{self.url}: {problem.detail}")
