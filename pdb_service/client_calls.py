"""Requests of `Client` and `AsyncClient`, the results in their answers, and the errors of failed ones.

Nothing is sent here: both clients send a `Call`, and let it read the answer.
"""

import json
import ssl
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from http import HTTPStatus
from typing import Any, Generic, TypeVar

import httpx
import numpy as np
import numpy.typing as npt
from pydantic import ValidationError

from pdb_core import errors
from pdb_core.arguments import as_choice, as_count, as_number, check_functions, shown
from pdb_core.board_size import BoardSize, SizeLike, as_size, parse_size
from pdb_core.errors import (
    PROBLEM_TYPE,
    BoardError,
    InputError,
    PdbError,
    ServiceError,
    UnknownDatabaseError,
    UnsolvableError,
)
from pdb_core.messages import as_typed
from pdb_core.puzzle import Board, BoardLike, Tiles, as_goal, format_board
from pdb_query.probes import Probe
from pdb_service.answers import (
    BINARY,
    EVENTS,
    JSON,
    Answer,
    BoardAnswer,
    CheckAnswer,
    DatabaseInfo,
    DatabasesAnswer,
    LookupAnswer,
    MovesAnswer,
    Problem,
    SolveAnswer,
    SolveProgress,
)
from pdb_service.requests import HINT_S, clearest_error
from pdb_service.settings import is_token
from solver.moves import NOTATIONS, MovesLike, Notation, as_moves

_MAX_SENTENCE = 800
# Longer times do not fit the clocks of all systems.
_MOST_S = 1e6

Model = TypeVar("Model", bound=Answer)
SomeAnswer = TypeVar("SomeAnswer", bound=BoardAnswer)
Result = TypeVar("Result")
SolveReport = Callable[[SolveProgress], None]


class _ReportError(Exception):
    """The `report` of a caller raised an error of httpx."""


@dataclass(frozen=True)
class Call(Generic[Result]):
    """A request, and the functions that read its answer.

    read   returns the result for the body of the answer
    watch  takes what it needs from the beginning of the body, when more has come
    batch  the body of a POST; None for a GET

    search_s  the seconds for which the service may search before it answers
    """

    path: str
    query: Mapping[str, Any]
    read: Callable[[bytes], Result]
    watch: Callable[[bytearray], None] = lambda _: None
    accept: str = JSON
    batch: bytes | None = None
    search_s: float = 0.0


class ServiceCalls:
    """Requests about one database of a service; the base of both clients, which have the parameters of `Client`."""

    database: DatabaseInfo
    size: BoardSize
    goal: Board

    def __init__(
        self,
        url: str,
        *,
        db: str | None = None,
        size: SizeLike | None = None,
        token: str | None = None,
        timeout_s: float = 30.0,
    ) -> None:
        address = _read_address(url)
        self.url, self._timeout_s = str(url).rstrip("/"), as_number(timeout_s, "timeout_s", 0.001, _MOST_S)
        self._wanted = db, None if size is None else str(as_size(size))
        if token is not None and not (isinstance(token, str) and is_token(token)):
            raise InputError("the token has other characters than printable ASCII without whitespace; check it")
        self._options: dict[str, Any] = {
            "base_url": address,
            "headers": {} if token is None else {"Authorization": f"Bearer {token}"},
            "limits": httpx.Limits(),
            "trust_env": False,
            # The certificates of the system. Loading them takes time, and http needs none.
            "verify": address.scheme == "https" and ssl.create_default_context(),
        }
        self._open()

    def _open(self) -> None:
        """Connect, if that can be done without waiting in an event loop."""

    def __repr__(self) -> str:
        about = f"{self.database.partition} {self.size} " if hasattr(self, "database") else ""
        return f"<{type(self).__name__} {about}{self.url}>"

    # Requests

    def _board(self, board: BoardLike) -> Board:
        try:
            return Board(board, self.size)
        except BoardError as error:
            if self._wanted != (None, None):
                raise
            raise BoardError(f"{error}; this client is for the service's first database, give size or db") from None

    def _databases(self) -> Call[DatabasesAnswer]:
        return Call("v1/databases", {}, partial(self._parse, DatabasesAnswer))

    def _lookup(self, board: BoardLike, goal: BoardLike | None = None) -> Call[Probe]:
        checked = self._board(board)

        def read(body: bytes) -> Probe:
            answer = self._solvable(self._parse(LookupAnswer, body), checked)
            if answer.h is None:
                raise self._unlike_docs("a solvable board has no h")
            return Probe(tuple(at.values for at in answer.sums), tuple(at.h for at in answer.sums), answer.h)

        return Call("v1/lookup", self._query(checked, goal), read)

    def _batches(self, rows: npt.NDArray[Any], goal: BoardLike | None) -> Iterator[Call[npt.NDArray[np.int16]]]:
        """Yield requests with as many rows as the service takes at a time; one without rows checks the goal."""
        query = self._names(goal)
        for start in range(0, max(1, len(rows)), self._batch_rows):
            part = rows[start : start + self._batch_rows].tobytes()
            yield Call("v1/lookup", query, lambda body: np.frombuffer(body, "<i2"), accept=BINARY, batch=part)

    def _moves(self, board: BoardLike, goal: BoardLike | None = None, **limits: Any) -> Call[MovesAnswer]:
        checked = self._board(board)
        query = self._query(checked, goal, **limits)
        search_s = min(query.get("time_limit", HINT_S), self._longest_search_s)
        read = partial(self._parse, MovesAnswer)
        return Call("v1/moves", query, lambda body: self._solvable(read(body), checked), search_s=search_s)

    def _solve(
        self, board: BoardLike, goal: BoardLike | None = None, *, report: SolveReport | None = None, **limits: Any
    ) -> Call[SolveAnswer]:
        """Return a request for events, also without `report`: between them, a dead server is noticed."""
        checked = self._board(board)
        check_functions(report=report)
        results: list[SolveAnswer] = []

        def watch(received: bytearray) -> None:
            *events, received[:] = bytes(received).split(b"\n\n")
            for event in events:
                name, _, data = event.removeprefix(b"event: ").partition(b"\ndata: ")
                if name == b"problem":
                    raise self._error_of(data, HTTPStatus.OK)
                if name == b"result":
                    results.append(self._parse(SolveAnswer, data))
                elif report is not None:
                    progress = self._parse(SolveProgress, data)
                    try:
                        report(progress)
                    except httpx.HTTPError as error:  # from a request that the report sends
                        raise _ReportError(error) from error

        def read(_: bytes) -> SolveAnswer:
            if not results:
                raise ServiceError(f"{self.url} ended its answer without a result; it may have been stopped: try again")
            return self._solvable(results[0], checked)

        return Call("v1/solve", self._query(checked, goal, **limits), read, watch, accept=EVENTS)

    def _check(
        self,
        board: BoardLike,
        moves: MovesLike | int,
        goal: BoardLike | None = None,
        *,
        notation: Notation = "tiles",
        time_limit: float | None = None,
    ) -> Call[CheckAnswer]:
        given = self._query(self._board(board), goal, time_limit=time_limit) | {"moves": as_moves(moves)}
        given["notation"] = as_choice(notation, "notation", NOTATIONS)
        batch = json.dumps(given).encode()
        return Call("v1/check", {}, partial(self._parse, CheckAnswer), batch=batch, search_s=self._longest_search_s)

    def _query(
        self, board: Tiles, goal: BoardLike | None, *, time_limit: float | None = None, max_nodes: int | None = None
    ) -> dict[str, Any]:
        query: dict[str, Any] = {"board": format_board(board), **self._names(goal)}
        if time_limit is not None:
            query["time_limit"] = as_number(time_limit, "time_limit")
        if max_nodes is not None:
            query["max_nodes"] = as_count(max_nodes, "max_nodes", 1)
        return query

    def _names(self, goal: BoardLike | None) -> dict[str, str]:
        """Return the parameters db and goal. The default goal of the service may differ from that of the database."""
        return {"db": self.database.id, "goal": format_board(self.goal if goal is None else as_goal(goal, self.size))}

    # Answers

    def _choose(self, answer: DatabasesAnswer) -> None:
        """Take the wanted database, and the limits of the service. Raises `UnknownDatabaseError`."""
        db, size = self._wanted
        for database in answer.databases:
            if db in (None, database.id) and size in (None, database.size):
                self.database, self.size = database, parse_size(database.size)
                self.goal = Board(database.goal, self.size)
                limits = answer.limits
                self._longest_search_s = limits.solve_seconds_limit
                self._batch_rows = max(1, min(limits.batch_boards_limit, limits.body_bytes_limit // self.size.n_cells))
                return
        wanted = ("" if db is None else f" {shown(db)}") + ("" if size is None else f" for {size} boards")
        listed = ", ".join(f"{database.id} ({database.size})" for database in answer.databases)
        raise UnknownDatabaseError(f"{self.url} has no database{wanted}; it has {as_typed(listed) or 'none'}")

    def _parse(self, model: type[Model], body: bytes) -> Model:
        """Return the JSON of an answer as a model. Raises `ServiceError` if it is not as docs/http.md says."""
        try:
            return model.model_validate_json(body)
        except ValidationError as error:
            reason = as_typed(clearest_error(error.errors(include_url=False, include_input=False)))
            raise self._unlike_docs(reason) from None

    def _solvable(self, answer: SomeAnswer, board: Tiles) -> SomeAnswer:
        """Return an answer about a solvable board, with an h. Raises `UnsolvableError`."""
        if not answer.solvable:
            raise UnsolvableError(f"board {format_board(board)} cannot be solved: {as_typed(answer.why or '', 400)}")
        return answer

    # Errors

    def _unlike_docs(self, reason: str) -> ServiceError:
        return ServiceError(
            f"the answer of {self.url} is not as docs/http.md says ({reason}); check the address, and that client and "
            "server have the same version"
        )

    def _result(self, call: Call[Result], response: httpx.Response, body: bytes) -> Result:
        """Return the result in an answer. Raises the error that it describes."""
        if response.has_redirect_location:
            raise ServiceError(f"{self.url} redirects to {as_typed(response.headers['Location'])}; use that address")
        if response.status_code != httpx.codes.OK:
            raise self._error_of(body, response.status_code)
        return call.read(body)

    def _error_of(self, body: bytes, status: int) -> PdbError:
        """Return the error that the body of a problem describes."""
        try:
            problem = Problem.model_validate_json(body)
        except ValidationError:
            return ServiceError(f"{self.url} answers {status}, not as pdb serve does; check the address")
        detail = as_typed(problem.detail, _MAX_SENTENCE)
        kind = vars(errors).get(problem.type.removeprefix(PROBLEM_TYPE))
        if detail and isinstance(kind, type) and issubclass(kind, PdbError):
            return kind(detail)
        return ServiceError(f"{self.url} answers {status}: {detail}")

    @contextmanager
    def _sending(self, call: Call[Any]) -> Iterator[dict[str, Any]]:
        """Yield the arguments of `httpx.Client.stream` for a call. Raise the errors of httpx as `ServiceError`."""
        timeout_s = self._timeout_s + call.search_s
        try:
            yield {
                "timeout": timeout_s,
                "method": "GET" if call.batch is None else "POST",
                "url": call.path,
                "params": call.query,
                "content": call.batch,
                "headers": {"Accept": call.accept, "Content-Type": call.accept},
            }
        except _ReportError as error:
            raise error.args[0] from None
        except httpx.TimeoutException:
            raise ServiceError(
                f"{self.url} sent nothing for {timeout_s:g} s; try again later, or give a larger timeout_s"
            ) from None
        except httpx.HTTPError as error:
            reason = as_typed(str(error).rstrip("."), _MAX_SENTENCE)
            raise ServiceError(
                f"cannot reach {self.url}: {reason}; check the address, and that pdb serve runs there"
            ) from None


def _read_address(url: str) -> httpx.URL:
    """Return the address of a service. Raises `InputError`."""
    reason = "it is not a scheme, a host and a path; a token belongs in token="
    try:
        address = httpx.URL(url)
        if address.scheme in ("http", "https") and address.host and not address.userinfo and not address.query:
            return address
    except (TypeError, ValueError, httpx.InvalidURL) as error:
        reason = str(error)
    raise InputError(f"{shown(url)} is not the address of a service: {as_typed(reason)}; write http://HOST:PORT")
