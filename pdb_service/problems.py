"""Errors as the client sees them: problem details (RFC 9457), from one table of exception -> status."""

import logging
from http import HTTPStatus
from typing import Any

import orjson
from starlette.responses import Response

from pdb_core.errors import (
    PROBLEM_TYPE,
    BoardError,
    BusyError,
    GoalError,
    InputError,
    InstanceError,
    MediaTypeError,
    PdbError,
    RequestError,
    RequestTooLargeError,
    TableFileError,
    TokenError,
    UnknownDatabaseError,
)

MEDIA_TYPE = "application/problem+json"
_log = logging.getLogger("tile_pdb.service")
# What went wrong inside is for the log: its message may name files of this machine.
_FAULT = "the server failed to answer; its log says why"
# The first that fits counts.
STATUS: tuple[tuple[type[PdbError], HTTPStatus], ...] = (
    (TokenError, HTTPStatus.UNAUTHORIZED),
    (RequestTooLargeError, HTTPStatus.REQUEST_ENTITY_TOO_LARGE),
    (MediaTypeError, HTTPStatus.UNSUPPORTED_MEDIA_TYPE),
    (RequestError, HTTPStatus.BAD_REQUEST),
    (UnknownDatabaseError, HTTPStatus.NOT_FOUND),
    (InstanceError, HTTPStatus.NOT_FOUND),
    (BoardError, HTTPStatus.UNPROCESSABLE_ENTITY),
    (GoalError, HTTPStatus.UNPROCESSABLE_ENTITY),
    (InputError, HTTPStatus.UNPROCESSABLE_ENTITY),
    (BusyError, HTTPStatus.SERVICE_UNAVAILABLE),
    (TableFileError, HTTPStatus.INTERNAL_SERVER_ERROR),
    (PdbError, HTTPStatus.INTERNAL_SERVER_ERROR),
)


def status_of(error: PdbError) -> HTTPStatus:
    """The status that answers for an error."""
    return next(status for kind, status in STATUS if isinstance(error, kind))


def problem(error: PdbError) -> dict[str, Any]:
    """The body that tells of an error; its `type` ends in the name of the error's class."""
    status = status_of(error)
    return problem_body(status, _FAULT if _is_fault(status) else str(error), type(error).__name__)


def reported_problem(error: Exception, request_id: str) -> dict[str, Any]:
    """Return the body for any error. Log the server's own faults with their traceback and the id of the request."""
    body = problem(error) if isinstance(error, PdbError) else problem_body(HTTPStatus.INTERNAL_SERVER_ERROR, _FAULT)
    if not _is_fault(body["status"]):
        return body
    _log.error("request %s failed", request_id, exc_info=error)
    return {**body, "request_id": request_id}


def problem_body(status: int, detail: str, kind: str | None = None) -> dict[str, Any]:
    """The body for a status; without `kind` it is one of HTTP itself."""
    title = HTTPStatus(status).phrase if status in set(HTTPStatus) else "Error"
    return {
        "type": "about:blank" if kind is None else f"{PROBLEM_TYPE}{kind}",
        "title": title,
        "status": int(status),
        "detail": detail,
    }


def _is_fault(status: int) -> bool:
    return status >= HTTPStatus.INTERNAL_SERVER_ERROR and status != HTTPStatus.SERVICE_UNAVAILABLE


def problem_response(body: dict[str, Any]) -> Response:
    """A problem as a response."""
    headers = {}
    if body["status"] == HTTPStatus.SERVICE_UNAVAILABLE:
        headers["Retry-After"] = "5"
    if body["status"] == HTTPStatus.UNAUTHORIZED:
        headers["WWW-Authenticate"] = "Bearer"
    return Response(orjson.dumps(body), body["status"], headers, MEDIA_TYPE)
