"""Python clients of `pdb serve`, with the names of `Database` and `Solver`. They need the extra `client`."""

import os
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from functools import wraps
from typing import Concatenate, ParamSpec, TypeVar

import httpx
import numpy as np
import numpy.typing as npt

from pdb_core.errors import BoardError, UnsolvableError
from pdb_core.puzzle import BoardLike
from pdb_query.board_rows import board_rows, refuse_row
from pdb_query.probes import Probe
from pdb_service.answers import CheckAnswer, DatabaseInfo, MovesAnswer, SolveAnswer
from pdb_service.client_calls import Call, Result, ServiceCalls, SolveReport
from solver.moves import MovesLike, Notation

Default = TypeVar("Default")
Given = ParamSpec("Given")


@dataclass(frozen=True)
class BatchMaximum:
    """Lower bounds of m boards.

    Attributes
    ----------
    h : int16[m]
        The largest sum; -1 if a board cannot be solved, -2 if a row is not a board.
    """

    h: npt.NDArray[np.int16]


class Client(ServiceCalls):
    """Client for one database of a service, with methods of `Database`, and for the service's solver. Thread-safe.

    Connections are kept. One that the server has closed between two requests is opened again; if it closes one during
    a request, that request fails. Use the client as a context manager, or `close` it.

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
        Seconds to wait for the next bytes of the service; `moves` waits for the seconds of its search too.

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
    ...     client.solve(board, report=print).moves
    """

    def _open(self) -> None:
        self._connect()
        try:
            self._choose(self._send(self._databases()))
        except BaseException:
            self.close()
            raise

    def _connect(self) -> None:
        self._http, self._process_id = httpx.Client(**self._options), os.getpid()

    def __enter__(self) -> "Client":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Close the connections. Later requests raise `RuntimeError`."""
        self._http.close()

    def databases(self) -> tuple[DatabaseInfo, ...]:
        """Return all databases of the service, in the order in which it looks for one that serves a board."""
        return self._send(self._databases()).databases

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
        return self._send(self._lookup(board, goal))

    def get(self, board: BoardLike, default: Default, goal: BoardLike | None = None) -> Probe | Default:
        """Return the result of `probe`, or `default` if `probe` raises `BoardError` or `UnsolvableError`."""
        try:
            return self.probe(board, goal)
        except (BoardError, UnsolvableError):
            return default

    def probe_batch(self, boards: npt.ArrayLike, goal: BoardLike | None = None, *, strict: bool = True) -> BatchMaximum:
        """Return the lower bounds of many boards.

        Boards are sent as bytes, in requests as large as the service allows, and only `h` is returned. For
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
        rows = board_rows(boards, self.size, strict=strict)
        found = BatchMaximum(np.concatenate([self._send(call) for call in self._batches(rows, goal)]))
        bad = np.flatnonzero(found.h == -2)
        if strict and len(bad):
            refuse_row(boards, int(bad[0]), self.size)
        return found

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
        return self._send(self._moves(board, goal, time_limit=time_limit, max_nodes=max_nodes))

    def solve(
        self,
        board: BoardLike,
        goal: BoardLike | None = None,
        *,
        time_limit: float | None = None,
        max_nodes: int | None = None,
        report: SolveReport | None = None,
    ) -> SolveAnswer:
        """Return an optimal solution, or the proved lower bound on its length if a limit was reached first.

        The limits of the service apply too. Raises the errors of `probe`.

        Parameters
        ----------
        board, goal : BoardLike
            As for `probe`.
        time_limit, max_nodes : float and int, optional
            Limits of the search: seconds and generated nodes.
        report : callable, optional
            Called with a `SolveProgress` several times a second. Any exception that it raises, and Ctrl-C, closes the
            connection: the service then ends the search.
        """
        return self._send(self._solve(board, goal, time_limit=time_limit, max_nodes=max_nodes, report=report))

    def check_solution(
        self,
        board: BoardLike,
        moves: MovesLike | int,
        goal: BoardLike | None = None,
        *,
        notation: Notation = "tiles",
        time_limit: float | None = None,
    ) -> CheckAnswer:
        """Return what is right and wrong about a solution, as `tilepdb.check_solution`.

        The limits of the service apply too. Raises the errors of `probe`, and `MovesError` if the moves are not written
        in the notation.
        """
        return self._send(self._check(board, moves, goal, notation=notation, time_limit=time_limit))

    def _send(self, call: Call[Result]) -> Result:
        if os.getpid() != self._process_id:  # in a forked process: answers on shared connections would cross
            self._connect()
        received = bytearray()
        with self._sending(call) as arguments, self._http.stream(**arguments) as response:
            for part in response.iter_bytes():
                received += part
                if response.is_success:
                    call.watch(received)
        return self._result(call, response, bytes(received))


def _awaited(
    make: Callable[..., Call[Result]], described: Callable[Concatenate[Client, Given], Result]
) -> Callable[Concatenate["AsyncClient", Given], Awaitable[Result]]:
    """Return the method of `AsyncClient` that sends the call of `make`, with the parameters of `described`."""

    @wraps(described)
    async def method(self: "AsyncClient", /, *args: Given.args, **named: Given.kwargs) -> Result:
        if not hasattr(self, "database"):
            raise RuntimeError("the client is not open; write `async with AsyncClient(...) as client:`")
        return await self._send(make(self, *args, **named))

    return method


class AsyncClient(ServiceCalls):
    """Client for asyncio, with parameters and errors of `Client`, and its methods `probe`, `moves`, `solve` and
    `check_solution`.

    Use it as a context manager, which chooses the database. If a task is cancelled, the service ends its search. More
    searches at a time than its queues hold, 16 by default, may raise `BusyError`.

    Examples
    --------
    >>> async with AsyncClient("http://127.0.0.1:8015") as client:  # doctest: +SKIP
    ...     solutions = await asyncio.gather(*map(client.solve, boards[:16]))
    """

    probe = _awaited(ServiceCalls._lookup, Client.probe)
    moves = _awaited(ServiceCalls._moves, Client.moves)
    solve = _awaited(ServiceCalls._solve, Client.solve)
    check_solution = _awaited(ServiceCalls._check, Client.check_solution)

    async def __aenter__(self) -> "AsyncClient":
        self._http = httpx.AsyncClient(**self._options)
        try:
            self._choose(await self._send(self._databases()))
        except BaseException:
            await self._http.aclose()
            raise
        return self

    async def __aexit__(self, *_: object) -> None:
        await self._http.aclose()

    async def _send(self, call: Call[Result]) -> Result:
        received = bytearray()
        with self._sending(call) as arguments:
            async with self._http.stream(**arguments) as response:
                async for part in response.aiter_bytes():
                    received += part
                    if response.is_success:
                        call.watch(received)
        return self._result(call, response, bytes(received))
