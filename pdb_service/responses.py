"""Answers as responses, and errors as problem details (RFC 9457)."""

import logging
from collections.abc import Mapping
from http import HTTPStatus

from starlette.exceptions import HTTPException
from starlette.responses import Response

from pdb_core.errors import PROBLEM_TYPE, PdbError
from pdb_service.answers import JSON, Answer, Problem

PROBLEM_MEDIA_TYPE = "application/problem+json"
_HEADERS = {401: {"WWW-Authenticate": "Bearer"}, 503: {"Retry-After": "5"}}
_INTERNAL = 500
_log = logging.getLogger("tile_pdb.service")


class AnswerResponse(Response):
    """Answer in JSON, given as a model or as JSON. Starlette's own class takes longer to make than a lookup."""

    def __init__(self, answer: Answer | bytes) -> None:
        self.status_code, self.background = 200, None
        self.body = answer if isinstance(answer, bytes) else answer.to_json()
        self.raw_headers = [(b"content-length", b"%d" % len(self.body)), (b"content-type", JSON.encode())]


def problem(error: Exception) -> Problem:
    """Return the problem of an error; the `type` of a `PdbError` ends in the name of its class."""
    status, kind, detail = _INTERNAL, "about:blank", str(error)
    if isinstance(error, HTTPException):
        status, detail = error.status_code, f"{error.detail}; /openapi.json lists all routes"
    elif isinstance(error, PdbError):
        status, kind = error.http_status, f"{PROBLEM_TYPE}{type(error).__name__}"
    if status == _INTERNAL:  # its message may name files of this machine: it goes only into the log
        detail = "the server failed to answer; see its log"
    return Problem(type=kind, title=HTTPStatus(status).phrase, status=status, detail=detail)


def reported_problem(error: Exception, request_id: str) -> Problem:
    """Return the problem of an error. Log the server's own faults with their traceback and the id of the request."""
    found = problem(error)
    if found.status != _INTERNAL:
        return found
    _log.error("request %s failed", request_id, exc_info=error)
    return found.model_copy(update={"request_id": request_id})


def problem_response(found: Problem, headers: Mapping[str, str] | None = None) -> Response:
    """Return a problem as a response."""
    headers = _HEADERS.get(found.status, {}) | dict(headers or {})
    return Response(found.to_json(), found.status, headers, PROBLEM_MEDIA_TYPE)
