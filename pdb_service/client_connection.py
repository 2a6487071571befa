"""The HTTP connections of `Client` to one service, and the errors of failed requests."""

import http.client
import re
from collections.abc import Generator, Iterator, Mapping
from contextlib import contextmanager
from typing import TypeVar
from urllib.parse import quote, urlencode, urlsplit

import urllib3
from pydantic import ValidationError
from urllib3.exceptions import (
    ClosedPoolError,
    HTTPError,
    NewConnectionError,
    ProtocolError,
    SSLError,
)
from urllib3.exceptions import TimeoutError as Urllib3TimeoutError

from pdb_core import errors
from pdb_core.errors import PROBLEM_TYPE, InputError, PdbError, ServiceError
from pdb_core.messages import as_typed, shorten
from pdb_service.answers import Answer, Problem

JSON, BINARY, EVENTS = "application/json", "application/octet-stream", "text/event-stream"
# Connections that are kept; more threads than that work too.
_KEPT_CONNECTIONS = 64
# Answers of `pdb serve` have a few megabytes at most.
_MAX_ANSWER_BYTES = 64_000_000
_MAX_LINE_BYTES = 1_000_000
_PIECE_BYTES = 65_536
_MAX_SENTENCE = 800

Model = TypeVar("Model", bound=Answer)


class Connections:
    """Requests to one service over kept connections. Thread-safe.

    Raises `InputError` if the address, the token or the time is invalid. Requests raise the error that the service
    answers, and `ServiceError` if it cannot be reached or does not answer as `pdb serve`.
    """

    def __init__(self, url: str, *, token: str | None, timeout_s: float) -> None:
        self.url = url.rstrip("/")
        self._pool, self._path = _open_pool(url)
        if not timeout_s > 0:
            raise InputError(f"timeout_s is {timeout_s}; give a number of seconds greater than 0")
        self._timeout_s = timeout_s
        self._headers = {}
        if token is not None:
            if re.fullmatch(r"[!-~]+", token) is None:
                raise InputError("the token must be printable ASCII characters without whitespace")
            self._headers["Authorization"] = f"Bearer {token}"

    def close(self) -> None:
        """Close idle connections now, and each of the others after its request."""
        self._pool.close()

    def get(self, path: str, query: Mapping[str, str | None], answer: type[Model], *, patience_s: float = 0.0) -> Model:
        """Return the answer at a path. The service may take `patience_s` longer than usual."""
        with self._response("GET", path, query, None, {"Accept": JSON}, patience_s) as response:
            return self.parse(answer, self._read(response))

    def post(self, path: str, query: Mapping[str, str | None], body: bytes, media_type: str) -> bytes:
        """Return the body that answers a body."""
        headers = {"Content-Type": media_type, "Accept": media_type}
        with self._response("POST", path, query, body, headers, 0.0) as response:
            return self._read(response)

    def events(self, path: str, body: bytes) -> Generator[tuple[str, bytes], None, None]:
        """Yield the server-sent events that answer a body, as (name, data). Closing the iterator ends the request."""
        headers = {"Content-Type": JSON, "Accept": EVENTS}
        with self._response("POST", path, {}, body, headers, 0.0) as response:
            name, data = "", b""
            for line in self._lines(response):
                field, _, value = line.partition(b":")
                if field == b"event":
                    name = value.strip().decode("utf-8", "replace")
                elif field == b"data":
                    data += value.strip()
                elif not line and data:
                    yield name, data
                    name, data = "", b""

    def parse(self, answer: type[Model], body: bytes) -> Model:
        """Return the JSON of an answer as a model. Raises `ServiceError` if it is not as docs/http.md says."""
        try:
            return answer.model_validate_json(body)
        except ValidationError as error:
            first = error.errors(include_url=False, include_input=False)[0]
            where = ".".join(map(str, first["loc"]))
            raise self.unexpected(f"{where}: {first['msg']}" if where else first["msg"]) from None

    def unexpected(self, reason: str) -> ServiceError:
        """Return the error for an answer that is not as docs/http.md says."""
        return ServiceError(
            f"the answer of {self.url} is not as docs/http.md says ({as_typed(reason)}); check the address, and that "
            "client and server have the same version"
        )

    def problem(self, body: bytes, status: int) -> PdbError:
        """Return the error that the body of a problem describes."""
        try:
            problem = Problem.model_validate_json(body)
        except ValidationError:
            return ServiceError(
                f"{self.url} answers {status} {http.client.responses.get(status, '')}, not as pdb serve does; "
                "check the address"
            )
        detail = as_typed(problem.detail, _MAX_SENTENCE)
        kind = vars(errors).get(problem.type.removeprefix(PROBLEM_TYPE)) if problem.type != "about:blank" else None
        if detail and isinstance(kind, type) and issubclass(kind, PdbError):
            return kind(detail)
        return ServiceError(f"{self.url} answers {status}: {detail}")

    @contextmanager
    def _response(
        self,
        method: str,
        path: str,
        query: Mapping[str, str | None],
        body: bytes | None,
        headers: Mapping[str, str],
        patience_s: float,
    ) -> Iterator[urllib3.BaseHTTPResponse]:
        """Send a request; read its answer inside. The connection is kept only if the whole answer was read."""
        given = {name: value for name, value in query.items() if value is not None}
        target = f"{self._path}{path}" + (f"?{urlencode(given)}" if given else "")
        response = self._send(method, target, body, {**self._headers, **headers}, self._timeout_s + patience_s)
        try:
            if response.status != 200:
                raise self._refusal(response)
            yield response
        finally:
            response.close()

    def _send(
        self, method: str, target: str, body: bytes | None, headers: Mapping[str, str], timeout_s: float
    ) -> urllib3.BaseHTTPResponse:
        """Send a request, twice if the connection closes: a kept one may be closed by the server at any time.

        A repeated request does no harm: no request changes anything in the service.
        """
        for is_last in (False, True):
            with self._translated(timeout_s):
                try:
                    return self._pool.urlopen(
                        method, target, body, headers, retries=False, redirect=False, timeout=timeout_s,
                        preload_content=False, decode_content=False,
                    )  # fmt: skip
                except ProtocolError:
                    if is_last:
                        raise
        raise AssertionError("the last request neither returned nor raised")

    def _read(self, response: urllib3.BaseHTTPResponse) -> bytes:
        content = bytearray()
        for piece in self._pieces(response):
            content += piece
            if len(content) > _MAX_ANSWER_BYTES:
                raise self.unexpected(f"more than {_MAX_ANSWER_BYTES} bytes")
        return bytes(content)

    def _lines(self, response: urllib3.BaseHTTPResponse) -> Iterator[bytes]:
        """Yield the lines of an answer as they arrive, without line ends."""
        rest = b""
        for piece in self._pieces(response):
            *lines, rest = (rest + piece).split(b"\n")
            if len(rest) > _MAX_LINE_BYTES:
                raise self.unexpected(f"a line of more than {_MAX_LINE_BYTES} bytes")
            for line in lines:
                yield line.rstrip(b"\r")

    def _pieces(self, response: urllib3.BaseHTTPResponse) -> Iterator[bytes]:
        with self._translated(self._timeout_s):
            while piece := response.read1(_PIECE_BYTES):
                yield piece

    def _refusal(self, response: urllib3.BaseHTTPResponse) -> PdbError:
        """Return the error for an answer with a status other than 200."""
        location = response.headers.get("Location")
        if 300 <= response.status < 400 and location is not None:
            return ServiceError(f"{self.url} redirects to {as_typed(location)}; use that address")
        return self.problem(self._read(response), response.status)

    @contextmanager
    def _translated(self, timeout_s: float) -> Iterator[None]:
        """Raise the errors of urllib3 as `ServiceError`."""
        try:
            yield
        except ClosedPoolError:
            raise ValueError(f"the client of {self.url} is closed") from None
        except NewConnectionError as error:
            if isinstance(error.__cause__, ConnectionRefusedError):
                raise ServiceError(
                    f"nothing listens at {self.url}; start it with pdb serve, or check the address"
                ) from None
            raise self._unreachable(error.__cause__ or error) from None
        except Urllib3TimeoutError:
            raise ServiceError(
                f"{self.url} sent nothing for {timeout_s:g} s; try again later, or give a larger timeout_s"
            ) from None
        except SSLError as error:
            raise self._unreachable(error) from None
        except ProtocolError as error:
            cause = error.args[-1]
            if isinstance(cause, http.client.HTTPException) and not isinstance(
                cause, http.client.RemoteDisconnected | http.client.IncompleteRead
            ):
                raise ServiceError(
                    f"{self.url} does not speak HTTP ({type(cause).__name__}); check the address, and http or https"
                ) from None
            raise ServiceError(
                f"{self.url} closed the connection before its answer was complete; it may have been stopped: try again"
            ) from None
        except (HTTPError, OSError, UnicodeError) as error:
            raise self._unreachable(error) from None

    def _unreachable(self, error: BaseException) -> ServiceError:
        reason = (error.strerror if isinstance(error, OSError) else None) or str(error)
        return ServiceError(f"cannot reach {self.url}: {as_typed(reason)}; check the address and the network")


def _open_pool(url: str) -> tuple[urllib3.HTTPConnectionPool, str]:
    """Return the connection pool of an address and the path that requests begin with. Raises `InputError`."""
    try:
        parts = urlsplit(url)
        is_valid = parts.scheme in ("http", "https") and re.fullmatch(r"[!-~]+", parts.hostname or "") is not None
        if not is_valid:
            raise ValueError("it has no scheme or no host")
        if parts.query or parts.fragment or parts.username is not None:
            raise ValueError("it has more than a host and a path; a token belongs in token=")
        pool = urllib3.connection_from_url(f"{parts.scheme}://{parts.netloc}", maxsize=_KEPT_CONNECTIONS)
    except (ValueError, HTTPError) as error:
        raise InputError(
            f"{shorten(url)!r} is not the address of a service: {as_typed(str(error))}; write http://HOST:PORT"
        ) from None
    return pool, quote(parts.path.rstrip("/"), safe="/%~")
