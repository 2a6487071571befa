"""Models of the parameters of queries and of bodies in JSON: their checks, and the source of the OpenAPI document.

The text below a field is its meaning in the OpenAPI document.
"""

from collections.abc import Mapping
from typing import Annotated, Any, TypeVar

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, ValidationError
from pydantic_core import from_json

from pdb_core.board_size import MAX_TABLE_SIDE
from pdb_core.errors import ParameterError, RequestError, RequestTooLargeError
from pdb_core.messages import as_typed, did_you_mean
from pdb_service.answers import clearest_error
from solver.check import CheckedNotation

# A body of JSON of this size takes up to 44 MB of memory once it is parsed.
_MOST_JSON_BYTES = 1_000_000
_Text = Annotated[str, Field(max_length=400)]
# No board with tables has more numbers, or rows.
_Board = _Text | Annotated[list[Any], Field(max_length=MAX_TABLE_SIDE * MAX_TABLE_SIDE)]
_Goal = Annotated[
    _Text,
    BeforeValidator(lambda given: str(given) if isinstance(given, list) else given, json_schema_input_type=_Board),
]


class Names(BaseModel):
    """The goal and the database of a request."""

    model_config = ConfigDict(extra="forbid", use_attribute_docstrings=True)
    goal: _Text | None = None
    """the goal: `blank-last`, `blank-first`, `snail` or a board"""
    db: Annotated[str, Field(max_length=200)] | None = None
    """id of a database; by default the first that fits"""


class BoardQuery(Names):
    """The query of a lookup."""

    board: _Text = Field(examples=["15 14 13 12/11 10 9 8/7 6 5 4/3 1 2 0"])
    """the board: numbers separated by whitespace or commas, rows by `/` or line breaks, 0 for the blank"""


class SearchLimits(Names):
    """The goal, the database and the limits of a search."""

    time_limit: Annotated[float, Field(ge=0, le=1e6, allow_inf_nan=False)] | None = None
    """time limit of the search in seconds, at most the server's; by default 1 in /v1/moves, which does not search with
    0, 2 in /v1/random, and the server's in other searches"""
    max_nodes: Annotated[int, Field(ge=1, le=10**15)] | None = None
    """limit of generated nodes; by default there is none"""


class RandomQuery(SearchLimits):
    """The query of a random board."""

    size: Annotated[str, Field(max_length=20)] | None = None
    """size of the board, such as `4x4`; by default that of `db`"""
    distance: Annotated[int, Field(ge=0, le=1000)] | None = None
    """the exact distance of the board from the goal; by default, all boards are equally likely"""
    seed: Annotated[int, Field(ge=0, lt=2**53)] | None = None
    """equal seeds give equal boards; by default, each board is another"""


class SearchQuery(SearchLimits, BoardQuery):
    """The query of a search."""


class SolveBody(SearchLimits):
    """The body of a solve in JSON."""

    board: _Board
    """the board, a text or a list of integers or of rows"""
    goal: _Goal | None = None
    """the goal: `blank-last`, `blank-first`, `snail` or a board"""


class CheckBody(SolveBody):
    """The body of a check in JSON."""

    moves: Annotated[str, Field(max_length=40_000)] | int | list[Any] = Field(examples=["5 8"])
    """the moves of the solution, as a text or a list; or only their number"""
    notation: CheckedNotation = "tiles"
    """`tiles`: `moves` has the tiles that move; `blank` or `tile-directions`: it has the directions in which the blank,
    or the tile, moves, as letters, words or runs, such as `R3U2`; `deepcubea` or `gym`: actions from 0 to 3; `any`:
    tiles, or the directions that reach the goal"""


class BatchQuery(Names):
    """The query of a batch."""

    size: Annotated[str, Field(max_length=20)] | None = None
    """size of all boards, such as `4x4`; by default that of the first"""


class BatchBody(BatchQuery):
    """The body of a batch in JSON."""

    goal: _Goal | None = None
    """the goal: `blank-last`, `blank-first`, `snail` or a board"""
    # The errors of a large body would take 250 times its memory.
    boards: list[_Board] = Field(fail_fast=True, examples=[["1 2 3/4 5 6/7 8 0", [1, 2, 3, 4, 5, 6, 0, 7, 8]]])
    """the boards, each a text or a list of integers or of rows"""


Model = TypeVar("Model", bound=Names)


def read_query(model: type[Model], query: Mapping[str, str]) -> Model:
    """Return the query of a URL. Raises `ParameterError` if a parameter is missing, unknown or invalid."""
    return _validated(model, dict(query), strict=False)


def read_json(model: type[Model], body: bytes | bytearray) -> Model:
    """Return a body in JSON, without conversions such as "1" to 1.

    Raises `RequestTooLargeError`, `RequestError` if it is no JSON, and `ParameterError` if a field is missing, unknown
    or invalid.
    """
    if len(body) > _MOST_JSON_BYTES:
        raise RequestTooLargeError(
            f"the body has {len(body):,} bytes, and JSON may have {_MOST_JSON_BYTES:,}; send several batches, or the "
            "boards as bytes (Content-Type: application/octet-stream)"
        )
    try:
        given = from_json(body)
    except ValueError as error:
        raise RequestError(f"the body is not JSON: {error}") from None
    if not isinstance(given, dict):
        raise ParameterError("the body is not an object with fields; /openapi.json lists them")
    return _validated(model, given, strict=True)


def _validated(model: type[Model], given: Mapping[str, Any], *, strict: bool) -> Model:
    known = model.model_fields
    # pydantic would keep an error for each unknown field.
    unknown = next((name[:40] for name in given if name not in known), None)
    if unknown is not None:
        raise ParameterError(
            f"unknown parameter {as_typed(unknown)}; known are {', '.join(known)}{did_you_mean(unknown, known)}"
        )
    try:
        return model.model_validate(given, strict=strict)
    except ValidationError as error:
        raise ParameterError(clearest_error(error)) from None
