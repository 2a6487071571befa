"""Answers as responses, and errors: problem details (RFC 9457), and the status of each error."""

import logging
from collections.abc import Iterable, Mapping
from http import HTTPStatus

from starlette.exceptions import HTTPException
from starlette.responses import Response

from pdb_core.errors import (
    PROBLEM_TYPE,
    BoardError,
    BusyError,
    GoalError,
    InputError,
    InstanceError,
    MediaTypeError,
    OriginError,
    ParameterError,
    PdbError,
    RequestError,
    RequestTooLargeError,
    TokenError,
    UnknownDatabaseError,
)
from pdb_service.answers import JSON, Answer, Problem

PROBLEM_MEDIA_TYPE = "application/problem+json"
_HEADERS: dict[int, list[tuple[bytes, bytes]]] = {
    HTTPStatus.SERVICE_UNAVAILABLE: [(b"retry-after", b"5")],
    HTTPStatus.UNAUTHORIZED: [(b"www-authenticate", b"Bearer")],
}
_log = logging.getLogger("tile_pdb.service")
# The message of an internal error may name files of this machine: it goes only into the log.
_FAULT = "the server failed to answer; see its log"
# The first class that fits counts.
STATUS: tuple[tuple[type[PdbError], HTTPStatus], ...] = (
    (TokenError, HTTPStatus.UNAUTHORIZED),
    (OriginError, HTTPStatus.FORBIDDEN),
    (RequestTooLargeError, HTTPStatus.REQUEST_ENTITY_TOO_LARGE),
    (MediaTypeError, HTTPStatus.UNSUPPORTED_MEDIA_TYPE),
    (ParameterError, HTTPStatus.UNPROCESSABLE_ENTITY),
    (RequestError, HTTPStatus.BAD_REQUEST),
    (UnknownDatabaseError, HTTPStatus.NOT_FOUND),
    (InstanceError, HTTPStatus.NOT_FOUND),
    (BoardError, HTTPStatus.UNPROCESSABLE_ENTITY),
    (GoalError, HTTPStatus.UNPROCESSABLE_ENTITY),
    (InputError, HTTPStatus.UNPROCESSABLE_ENTITY),
    (BusyError, HTTPStatus.SERVICE_UNAVAILABLE),
    (PdbError, HTTPStatus.INTERNAL_SERVER_ERROR),
)


class AnswerResponse(Response):
    """Answer in JSON, given as a model or as JSON. Starlette's own class takes longer to make than a lookup."""

    def __init__(
        self,
        answer: Answer | bytes,
        status: int = HTTPStatus.OK,
        headers: Iterable[tuple[bytes, bytes]] = (),
        media_type: str = JSON,
    ) -> None:
        self.status_code, self.background = status, None
        self.body = answer if isinstance(answer, bytes) else answer.to_json()
        self.raw_headers = [
            (b"content-length", b"%d" % len(self.body)), (b"content-type", media_type.encode()), *headers
        ]  # fmt: skip


def status_of(error: PdbError) -> HTTPStatus:
    """Return the status of the answer for an error."""
    return next(status for kind, status in STATUS if isinstance(error, kind))


def problem(error: PdbError) -> Problem:
    """Return the problem of an error; its `type` ends in the name of the error's class."""
    status = status_of(error)
    return problem_of_status(status, _FAULT if _is_fault(status) else str(error), type(error).__name__)


def reported_problem(error: Exception, request_id: str) -> Problem:
    """Return the problem of any error. Log the server's own faults with their traceback and the id of the request."""
    if isinstance(error, HTTPException):
        return problem_of_status(error.status_code, f"{error.detail}; /openapi.json lists all routes")
    internal = HTTPStatus.INTERNAL_SERVER_ERROR
    found = problem(error) if isinstance(error, PdbError) else problem_of_status(internal, _FAULT)
    if not _is_fault(found.status):
        return found
    _log.error("request %s failed", request_id, exc_info=error)
    return found.model_copy(update={"request_id": request_id})


def problem_of_status(status: int, detail: str, kind: str | None = None) -> Problem:
    """Return the problem of a status; without `kind` it is an error of HTTP itself."""
    return Problem(
        type="about:blank" if kind is None else f"{PROBLEM_TYPE}{kind}",
        title=HTTPStatus(status).phrase,
        status=int(status),
        detail=detail,
    )


def problem_response(found: Problem, headers: Mapping[str, str] | None = None) -> AnswerResponse:
    """Return a problem as a response."""
    response = AnswerResponse(found, found.status, _HEADERS.get(found.status, []), PROBLEM_MEDIA_TYPE)
    response.headers.update(headers or {})
    return response


def _is_fault(status: int) -> bool:
    return status >= HTTPStatus.INTERNAL_SERVER_ERROR and status != HTTPStatus.SERVICE_UNAVAILABLE
