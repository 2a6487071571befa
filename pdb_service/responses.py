"""Answers as responses, and errors as problem details (RFC 9457)."""

import logging
from collections.abc import Iterable, Mapping
from http import HTTPStatus

from starlette.exceptions import HTTPException
from starlette.responses import Response

from pdb_core.errors import PROBLEM_TYPE, PdbError
from pdb_service.answers import JSON, Answer, Problem

PROBLEM_MEDIA_TYPE = "application/problem+json"
_HEADERS: dict[int, list[tuple[bytes, bytes]]] = {
    503: [(b"retry-after", b"5")],
    401: [(b"www-authenticate", b"Bearer")],
}
_log = logging.getLogger("tile_pdb.service")
# The message of an internal error may name files of this machine: it goes only into the log.
_FAULT = "the server failed to answer; see its log"
_INTERNAL = 500


class AnswerResponse(Response):
    """Answer in JSON, given as a model or as JSON. Starlette's own class takes longer to make than a lookup."""

    def __init__(
        self,
        answer: Answer | bytes,
        status: int = 200,
        headers: Iterable[tuple[bytes, bytes]] = (),
        media_type: str = JSON,
    ) -> None:
        self.status_code, self.background = status, None
        self.body = answer if isinstance(answer, bytes) else answer.to_json()
        self.raw_headers = [
            (b"content-length", b"%d" % len(self.body)), (b"content-type", media_type.encode()), *headers
        ]  # fmt: skip


def problem(error: Exception) -> Problem:
    """Return the problem of an error; the `type` of a `PdbError` ends in the name of its class."""
    if isinstance(error, HTTPException):
        return _problem(error.status_code, "about:blank", f"{error.detail}; /openapi.json lists all routes")
    status, kind = _INTERNAL, "about:blank"
    if isinstance(error, PdbError):
        status, kind = error.http_status, f"{PROBLEM_TYPE}{type(error).__name__}"
    return _problem(status, kind, _FAULT if status == _INTERNAL else str(error))


def _problem(status: int, kind: str, detail: str) -> Problem:
    return Problem(type=kind, title=HTTPStatus(status).phrase, status=status, detail=detail)


def reported_problem(error: Exception, request_id: str) -> Problem:
    """Return the problem of an error. Log the server's own faults with their traceback and the id of the request."""
    found = problem(error)
    if found.status != _INTERNAL:
        return found
    _log.error("request %s failed", request_id, exc_info=error)
    return found.model_copy(update={"request_id": request_id})


def problem_response(found: Problem, headers: Mapping[str, str] | None = None) -> AnswerResponse:
    """Return a problem as a response."""
    response = AnswerResponse(found, found.status, _HEADERS.get(found.status, []), PROBLEM_MEDIA_TYPE)
    response.headers.update(headers or {})
    return response
