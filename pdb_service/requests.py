"""Pydantic models of requests, query parameters and JSON bodies: the source of the OpenAPI document."""

from collections import Counter
from collections.abc import Sequence
from functools import partial
from itertools import chain
from types import NoneType
from typing import TYPE_CHECKING, Annotated, Any, TypeVar
from urllib.parse import parse_qsl

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, TypeAdapter, ValidationError, WithJsonSchema
from pydantic_core import PydanticCustomError, from_json

from pdb_core.board_size import MAX_TABLE_SIDE
from pdb_core.errors import ParameterError, RequestError, RequestTooLargeError
from pdb_core.messages import as_typed, did_you_mean
from solver.moves import Notation

if TYPE_CHECKING:  # the client does without starlette
    from starlette.requests import Request

# No board with tables is longer.
MAX_NUMBERS = MAX_TABLE_SIDE * MAX_TABLE_SIDE
# Two texts and a name, with each character in percent-encoding. Longer ones would take the event loop milliseconds.
_MOST_QUERY_BYTES = 4_000
# A body of JSON of this size takes up to 44 MB of memory once it is parsed.
_MOST_JSON_BYTES = 1_000_000
# The default time limit of /v1/moves.
HINT_S = 1.0
Text = Annotated[str, Field(max_length=400)]
_BoardText = Annotated[
    Text,
    Field(
        description="the board: numbers separated by whitespace or commas, rows by `/` or line breaks, 0 for the blank",
        examples=["15 14 13 12/11 10 9 8/7 6 5 4/3 1 2 0"],
    ),
]
_Cells = Annotated[list[int | None], Field(max_length=MAX_NUMBERS)]


def _checked(given: object, kinds: Any, form: str) -> object:
    """Return what is of these kinds. `form` says for an error what may be given."""
    if isinstance(given, kinds):
        return given
    raise PydanticCustomError("form", "{form}", {"form": f"give {form}"})


def _read_list(given: str | list[Any]) -> str | list[Any]:
    """Return a list of integers, or of rows of them, with 0 for null; of anything else the text."""
    kinds = {*map(type, given)}
    is_nested = kinds == {list}
    if is_nested:
        kinds = {*map(type, chain.from_iterable(given))}
    if kinds == {int, NoneType}:
        return [[cell or 0 for cell in row] for row in given] if is_nested else [cell or 0 for cell in given]
    return given if kinds == {int} else str(given)


_TEXT_OR_LIST = BeforeValidator(partial(_checked, kinds=str | list, form="a text, or a list of numbers or of rows"))
_BOARD_SCHEMA = WithJsonSchema(TypeAdapter(_BoardText | _Cells | list[_Cells]).json_schema())
# A list is read as its text.
_AnyBoard = Annotated[Text, BeforeValidator(str), _TEXT_OR_LIST, _BOARD_SCHEMA]
# To parse the texts of many lists would take several times as long.
_BatchBoard = Annotated[Text | list[Any], BeforeValidator(_read_list), _TEXT_OR_LIST, _BOARD_SCHEMA]
_MovesText = Annotated[str, Field(max_length=40_000)]
_GOAL = Field(description="the goal: `blank-last`, `blank-first`, `snail` or a board")
_AnyGoal = Annotated[_AnyBoard | None, _GOAL]


class Names(BaseModel):
    """The goal and the database of a request."""

    model_config = ConfigDict(extra="forbid")
    goal: Annotated[Text | None, _GOAL] = None
    db: Annotated[str | None, Field(max_length=200, description="id of a database; by default the first that fits")] = (
        None
    )


class BoardQuery(Names):
    """The query of a lookup."""

    board: _BoardText


class SearchLimits(Names):
    """The goal, the database and the limits of a search."""

    time_limit: Annotated[
        float | None,
        Field(
            ge=0,
            le=1e6,
            allow_inf_nan=False,
            description="time limit of the search in seconds, at most the server's; by default "
            f"{HINT_S:g} in /v1/moves, which does not search with 0, and the server's in /v1/solve and /v1/check",
        ),
    ] = None
    max_nodes: Annotated[
        int | None, Field(ge=1, le=10**15, description="limit of generated nodes; by default there is none")
    ] = None


class SearchQuery(SearchLimits):
    """The query of a search."""

    board: _BoardText


class SolveBody(SearchLimits):
    """The body of a solve in JSON."""

    model_config = ConfigDict(strict=True)
    board: Annotated[_AnyBoard, Field(description="the board, a text or a list of integers or of rows")]
    goal: _AnyGoal = None


class CheckBody(SolveBody):
    """The body of a check in JSON."""

    moves: Annotated[
        _MovesText | int,
        # A list is read as its text.
        BeforeValidator(lambda given: str(given) if isinstance(given, list) else given),
        BeforeValidator(
            partial(_checked, kinds=str | int | list, form="a text or a list, such as 5 8, or only the number of moves")
        ),
        WithJsonSchema(TypeAdapter(_MovesText | list[int] | int).json_schema()),
        Field(description="the moves of the solution, as a text or a list; or only their number", examples=["5 8"]),
    ]
    notation: Annotated[
        Notation,
        Field(
            description="`tiles`: `moves` has the tiles that move; `blank` or `tile-directions`: it has the directions "
            "in which the blank, or the tile, moves, as letters, words or runs, such as `R3U2`"
        ),
    ] = "tiles"


class BatchQuery(Names):
    """The query of a batch."""

    size: Annotated[
        str | None, Field(max_length=20, description="size of all boards, such as `4x4`; by default that of the first")
    ] = None


class BatchBody(BatchQuery):
    """The body of a batch in JSON."""

    model_config = ConfigDict(strict=True)
    goal: _AnyGoal = None
    boards: Annotated[
        list[_BatchBoard],
        # The errors of a large body would take 250 times its memory.
        Field(
            fail_fast=True,
            examples=[["1 2 3/4 5 6/7 8 0", [1, 2, 3, 4, 5, 6, 0, 7, 8]]],
            description="the boards, each a text or a list of integers or of rows",
        ),
    ]


Model = TypeVar("Model", bound=Names)


def read_query(model: type[Model], request: "Request") -> Model:
    """Return the query of a request's URL.

    Raises `ParameterError` if a parameter is missing, unknown, repeated or invalid.
    """
    given = parse_query(request)
    query = dict(given)
    if len(query) < len(given):
        name, n_times = Counter(name for name, _ in given).most_common(1)[0]
        raise ParameterError(f"{as_typed(name)} is given {n_times} times; give it once")
    return _validated(model, query)


def parse_query(request: "Request") -> list[tuple[str, str]]:
    """Return the parameters of a request's URL. Raises `ParameterError` if they are too long."""
    query_string = request.scope["query_string"]
    if len(query_string) > _MOST_QUERY_BYTES:
        raise ParameterError(f"the query has more than {_MOST_QUERY_BYTES:,} bytes; no board needs as many")
    return parse_qsl(query_string.decode("latin-1"), keep_blank_values=True)


def read_json(model: type[Model], body: bytes) -> Model:
    """Return a body in JSON.

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
    return _validated(model, given)


def _validated(model: type[Model], given: dict[str, Any]) -> Model:
    known = model.model_fields
    # pydantic would keep an error for each unknown field.
    unknown = next((name[:40] for name in given if name not in known), None)
    if unknown is not None:
        raise ParameterError(
            f"unknown parameter {as_typed(unknown)}; known are {', '.join(known)}{did_you_mean(unknown, known)}"
        )
    try:
        return model.model_validate(given)
    except ValidationError as error:
        raise ParameterError(clearest_error(error.errors(include_url=False, include_input=False))) from None


def clearest_error(errors: Sequence[Any]) -> str:
    """Return the most specific error of pydantic: the name of the field, if it is about one, and what is wrong."""
    # For a union, pydantic lists the errors of each alternative, and adds its name to `loc`.
    error = max(errors, key=lambda error: (len(error["loc"]), not error["type"].endswith("_type")))
    where = ".".join(str(part) for part in error["loc"] if isinstance(part, int) or part.isidentifier())
    return ": ".join(filter(None, (where.removesuffix(".str"), error["msg"])))
