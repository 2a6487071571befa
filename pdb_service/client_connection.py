"""The HTTP connections of `Client` to one service, and the errors of failed requests."""

import http.client
import re
from collections.abc import Generator, Iterator, Mapping
from contextlib import contextmanager
from typing import TypeVar
from urllib.parse import urlencode

import urllib3
from pydantic import ValidationError
from urllib3.exceptions import ClosedPoolError, HTTPError, NewConnectionError, TimeoutError as Urllib3TimeoutError
from urllib3.util import parse_url

from pdb_core import errors
from pdb_core.errors import PROBLEM_TYPE, InputError, PdbError, ServiceError
from pdb_core.messages import as_typed, shorten
from pdb_service.answers import Answer, Problem

JSON, BINARY, EVENTS = "application/json", "application/octet-stream", "text/event-stream"
# Connections that are kept; more threads than that work too.
_KEPT_CONNECTIONS = 64
# Answers of `pdb serve` have a few megabytes at most.
_MAX_ANSWER_BYTES = 64_000_000
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
                raise InputError("the token has other characters than printable ASCII without whitespace; check it")
            self._headers["Authorization"] = f"Bearer {token}"

    def close(self) -> None:
        """Close idle connections now, and each of the others after its request."""
        self._pool.close()

    def get(self, path: str, query: Mapping[str, str], answer: type[Model], *, patience_s: float = 0.0) -> Model:
        """Return the answer at a path. The service may take `patience_s` longer than usual."""
        with self._response("GET", path, query, None, {"Accept": JSON}, patience_s) as response:
            return self.parse(answer, self._read(response))

    def post(self, path: str, query: Mapping[str, str], body: bytes, media_type: str) -> bytes:
        """Return the body that answers a body."""
        headers = {"Content-Type": media_type, "Accept": media_type}
        with self._response("POST", path, query, body, headers, 0.0) as response:
            return self._read(response)

    def events(self, path: str, query: Mapping[str, str]) -> Generator[tuple[str, bytes], None, None]:
        """Yield the server-sent events at a path, as (name, data). Closing the iterator ends the request."""
        with self._response("GET", path, query, None, {"Accept": EVENTS}, 0.0) as response:
            name, data = "", b""
            for line in response:
                field, _, value = line.rstrip(b"\r\n").partition(b":")
                if field == b"event":
                    name = value.strip().decode("utf-8", "replace")
                elif field == b"data":
                    data += value.strip()
                elif not field and data:
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
        query: Mapping[str, str],
        body: bytes | None,
        headers: Mapping[str, str],
        patience_s: float,
    ) -> Iterator[urllib3.BaseHTTPResponse]:
        """Send a request; read its answer inside. The connection is kept only if the whole answer was read."""
        target = f"{self._path}{path}" + (f"?{urlencode(query)}" if query else "")
        timeout_s = self._timeout_s + patience_s
        with self._translated(timeout_s):
            response = self._pool.urlopen(
                method, target, body, {**self._headers, **headers}, retries=False, redirect=False, timeout=timeout_s,
                preload_content=False, decode_content=False,
            )  # fmt: skip
            try:
                if response.status != 200:
                    raise self._refusal(response)
                yield response
            finally:
                response.close()

    def _read(self, response: urllib3.BaseHTTPResponse) -> bytes:
        content = response.read(_MAX_ANSWER_BYTES)
        if response.read(1):  # raises if the answer is incomplete
            raise self.unexpected(f"more than {_MAX_ANSWER_BYTES} bytes")
        return content

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
        except PdbError:
            raise
        except ClosedPoolError:
            raise ValueError(f"the client of {self.url} is closed") from None
        except (HTTPError, OSError, UnicodeError) as error:
            if isinstance(error, Urllib3TimeoutError) and not isinstance(error, NewConnectionError):
                raise ServiceError(
                    f"{self.url} sent nothing for {timeout_s:g} s; try again later, or give a larger timeout_s"
                ) from None
            cause = error.__cause__ or (error.args[-1] if error.args else error)
            reason = as_typed(getattr(cause, "strerror", None) or str(cause), _MAX_SENTENCE)
            raise ServiceError(
                f"cannot reach {self.url}: {reason}; check the address, and that pdb serve runs there"
            ) from None


def _open_pool(url: str) -> tuple[urllib3.HTTPConnectionPool, str]:
    """Return the connection pool of an address and the path that requests begin with. Raises `InputError`."""
    try:
        parts = parse_url(url)
        if parts.scheme not in ("http", "https") or not parts.host or parts.auth or parts.query or parts.fragment:
            raise ValueError("it is not a scheme, a host and a path; a token belongs in token=")
        pool = urllib3.connection_from_url(url, maxsize=_KEPT_CONNECTIONS)
    except (ValueError, HTTPError) as error:
        raise InputError(
            f"{shorten(url)!r} is not the address of a service: {as_typed(str(error))}; write http://HOST:PORT"
        ) from None
    return pool, (parts.path or "").rstrip("/")
