"""The connections of a client to one service: kept between requests, and their failures as errors of ours."""

import http.client
import json
import re
import ssl
from collections import deque
from collections.abc import Generator, Iterator, Mapping
from contextlib import contextmanager
from typing import Any
from urllib.parse import SplitResult, quote, urlencode, urlsplit

from pdb_core import errors
from pdb_core.errors import PROBLEM_TYPE, InputError, PdbError, ServiceError
from pdb_core.messages import as_typed, shorten

JSON, BINARY, EVENTS = "application/json", "application/octet-stream", "text/event-stream"
# What a server does with a connection that it has kept long enough. A refused one is something else.
_CLOSED = (ConnectionResetError, ConnectionAbortedError, BrokenPipeError)
# Answers have a few megabytes at most; what has more comes from somebody else.
_MAX_ANSWER_BYTES = 64_000_000
_MAX_LINE_BYTES = 1_000_000
_MAX_SENTENCE = 800


class Connections:
    """Requests to one service. Any number of threads may ask at the same time, each over a connection of its own.

    Raises `InputError` where the address, the token or the time is none. Asking raises what the service answers, and
    `ServiceError` where it cannot be reached or does not answer as `pdb serve`.
    """

    def __init__(self, url: str, *, token: str | None, timeout_s: float) -> None:
        self.url = url.rstrip("/")
        self._address = _parse_url(url)
        self._path = quote(self._address.path.rstrip("/"), safe="/%~")
        if not timeout_s > 0:
            raise InputError(f"timeout_s is {timeout_s}; it must be seconds, more than 0")
        self._timeout_s = timeout_s
        self._headers = {}
        if token is not None:
            if re.fullmatch(r"[!-~]+", token) is None:
                raise InputError("the token must be letters and digits without blanks")
            self._headers["Authorization"] = f"Bearer {token}"
        self._tls = ssl.create_default_context() if self._address.scheme == "https" else None
        # Those that no thread is using. The one used last is taken first: the others may grow old and be closed.
        self._idle: deque[http.client.HTTPConnection] = deque()
        self._is_closed = False

    def close(self) -> None:
        """Close what is idle now, and what is in use when it is not any more."""
        self._is_closed = True
        while (connection := self._take()) is not None:
            connection.close()

    def get(self, path: str, query: Mapping[str, str | None], *, patience_s: float = 0.0) -> Any:
        """The JSON at a path. The service may take `patience_s` longer than usual."""
        return self.read_json(self._ask("GET", path, query, None, {"Accept": JSON}, patience_s))

    def post(self, path: str, query: Mapping[str, str | None], body: bytes, media_type: str) -> bytes:
        """What answers a body."""
        return self._ask("POST", path, query, body, {"Content-Type": media_type, "Accept": media_type}, 0.0)

    def events(self, path: str, body: bytes) -> Generator[tuple[str, Any], None, None]:
        """The server-sent events that answer a body, as (name, JSON). To stop listening, close the iterator."""
        headers = {"Content-Type": JSON, "Accept": EVENTS}
        with self._answer("POST", path, {}, body, headers, 0.0) as response:
            name = data = ""
            while line := self._read_line(response):
                field, _, value = line.decode("utf-8", "replace").strip("\r\n").partition(":")
                if field == "event":
                    name = value.strip()
                elif field == "data":
                    data += value
                elif not field and data:
                    yield name, self.read_json(data.encode())
                    name = data = ""

    def problem(self, body: object, status: int) -> PdbError:
        """The error that a problem's body tells of."""
        kind = body.get("type") if isinstance(body, dict) else None
        detail = body.get("detail") if isinstance(body, dict) else None
        if not isinstance(kind, str) or not isinstance(detail, str) or not detail:
            return ServiceError(
                f"{self.url} answers {status} {http.client.responses.get(status, '')}, not as pdb serve does; "
                "check the address"
            )
        detail = as_typed(detail, _MAX_SENTENCE)
        named = vars(errors).get(kind.removeprefix(PROBLEM_TYPE)) if kind.startswith(PROBLEM_TYPE) else None
        if isinstance(named, type) and issubclass(named, PdbError):
            return named(detail)
        return ServiceError(f"{self.url} answers {status}: {detail}")

    def read_json(self, body: bytes) -> Any:
        """What JSON says. Raises `ServiceError` where it is none."""
        try:
            return json.loads(body)
        except (ValueError, RecursionError):
            raise ServiceError(f"{self.url} answers {_shown(body)}, not as pdb serve does; check the address") from None

    @contextmanager
    def reading(self) -> Iterator[None]:
        """Around code that takes an answer apart: what is not as expected raises `ServiceError`."""
        try:
            yield
        except (LookupError, TypeError, ValueError, AttributeError, OverflowError) as error:
            raise ServiceError(
                f"the answer of {self.url} is not as docs/http.md says ({type(error).__name__}: "
                f"{shorten(str(error))}); check the address, and that client and server are of one version"
            ) from None

    def _ask(
        self,
        method: str,
        path: str,
        query: Mapping[str, str | None],
        body: bytes | None,
        headers: Mapping[str, str],
        patience_s: float,
    ) -> bytes:
        with self._answer(method, path, query, body, headers, patience_s) as response:
            return self._read(response)

    @contextmanager
    def _answer(
        self,
        method: str,
        path: str,
        query: Mapping[str, str | None],
        body: bytes | None,
        headers: Mapping[str, str],
        patience_s: float,
    ) -> Iterator[http.client.HTTPResponse]:
        """Ask, and read the answer inside. Its connection is kept where all of it was read, else closed."""
        if self._is_closed:
            raise ValueError(f"the client of {self.url} is closed")
        given = {name: value for name, value in query.items() if value is not None}
        target = f"{self._path}{path}" + (f"?{urlencode(given)}" if given else "")
        timeout_s = self._timeout_s + patience_s
        connection, response = self._send(method, target, body, {**self._headers, **headers}, timeout_s)
        try:
            if response.status != 200:
                content = self._read(response)
                raise self._refusal(response, content)
            yield response
        finally:
            if response.isclosed() and not response.will_close and not self._is_closed:
                self._idle.append(connection)
            else:
                response.close()
                connection.close()

    def _send(
        self, method: str, target: str, body: bytes | None, headers: Mapping[str, str], timeout_s: float
    ) -> tuple[http.client.HTTPConnection, http.client.HTTPResponse]:
        for connection, is_kept in ((self._take(), True), (self._new_connection(), False)):
            with self._translated(timeout_s):
                try:
                    if connection is not None:
                        return connection, self._sent(connection, method, target, body, headers, timeout_s)
                except _CLOSED:
                    # The server had enough of it. Every request may be made twice: none changes anything.
                    if not is_kept:
                        raise
        raise AssertionError("a new connection neither answered nor failed")

    def _sent(
        self,
        connection: http.client.HTTPConnection,
        method: str,
        target: str,
        body: bytes | None,
        headers: Mapping[str, str],
        timeout_s: float,
    ) -> http.client.HTTPResponse:
        try:
            connection.timeout = timeout_s
            if connection.sock is not None:
                connection.sock.settimeout(timeout_s)
            connection.request(method, target, body, headers)
            return connection.getresponse()
        except BaseException:
            connection.close()
            raise

    def _new_connection(self) -> http.client.HTTPConnection:
        host, port = self._address.hostname or "", self._address.port
        if self._tls is not None:
            return http.client.HTTPSConnection(host, port, context=self._tls)
        return http.client.HTTPConnection(host, port)

    def _take(self) -> http.client.HTTPConnection | None:
        try:
            return self._idle.pop()
        except IndexError:
            return None

    def _read(self, response: http.client.HTTPResponse) -> bytes:
        with self._translated(self._timeout_s):
            content = response.read(_MAX_ANSWER_BYTES)
            if len(content) == _MAX_ANSWER_BYTES:
                raise ServiceError(f"{self.url} answers without end, not as pdb serve does; check the address")
            if response.length:  # still to come, but this was all
                raise http.client.IncompleteRead(content)
            return content

    def _read_line(self, response: http.client.HTTPResponse) -> bytes:
        with self._translated(self._timeout_s):
            return response.readline(_MAX_LINE_BYTES)

    def _refusal(self, response: http.client.HTTPResponse, content: bytes) -> PdbError:
        """The error that an answer other than 200 tells of."""
        location = response.getheader("Location")
        if 300 <= response.status < 400 and location is not None:
            return ServiceError(f"{self.url} sends on to {as_typed(location)}; use that address")
        if "json" not in (response.getheader("Content-Type") or ""):
            return self.problem(None, response.status)
        return self.problem(self.read_json(content), response.status)

    @contextmanager
    def _translated(self, timeout_s: float) -> Iterator[None]:
        """What goes wrong on the network, as `ServiceError`."""
        try:
            yield
        except PdbError:
            raise
        except (*_CLOSED, http.client.IncompleteRead):
            raise ServiceError(
                f"{self.url} closed the connection before its answer was complete; it may have been stopped: ask again"
            ) from None
        except TimeoutError:
            raise ServiceError(
                f"{self.url} said nothing for {timeout_s:g} s; ask again later, or wait longer with timeout_s"
            ) from None
        except ConnectionRefusedError:
            raise ServiceError(
                f"nothing listens at {self.url}; start it with pdb serve, or check the address"
            ) from None
        except http.client.HTTPException as error:
            raise ServiceError(
                f"{self.url} does not speak HTTP ({type(error).__name__}); check the address, and http or https"
            ) from None
        except (OSError, UnicodeError) as error:
            reason = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
            raise ServiceError(
                f"cannot reach {self.url}: {shorten(reason)}; check the address and the network"
            ) from None


def _parse_url(url: str) -> SplitResult:
    """The parts of an address. Raises `InputError`."""
    try:
        parts = urlsplit(url)
        _ = parts.port  # raises where it is none
    except ValueError as error:
        raise InputError(f"{shorten(url)!r} is no address: {error}; write http://HOST:PORT") from None
    if parts.scheme not in ("http", "https") or re.fullmatch(r"[!-~]+", parts.hostname or "") is None:
        raise InputError(f"{shorten(url)!r} is no address of a service; write http://HOST:PORT")
    if parts.query or parts.fragment or parts.username is not None:
        raise InputError(f"{shorten(url)!r} holds more than an address; write http://HOST:PORT, a token goes in token=")
    return parts


def _shown(body: bytes) -> str:
    return repr(shorten(body[:400].decode("utf-8", "replace"), 40)) if body else "nothing"
