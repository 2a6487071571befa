"""Pydantic models of requests, query parameters and JSON bodies: the source of the OpenAPI document."""

from collections import Counter
from collections.abc import Sequence
from functools import partial
from itertools import chain
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
# The default time limit of /v1/moves.
HINT_S = 1.0
# One for each field, and some in texts.
_MOST_COLONS = 1000
# Lists and texts of a body that are not boards: names and values of fields, and the numbers of one board as texts.
_MOST_OTHERS = 100
# Python shares the numbers of boards; any others take 32 bytes each. In a body up to this size they may be many.
_MANY_NUMBERS_BYTES = 8_000_000
# Makes "000" of each number of three characters.
_ZEROS = bytes.maketrans(b"123456789.eE", b"0" * 12)
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


# A list is read as its text.
_AnyBoard = Annotated[
    Text,
    BeforeValidator(str),
    BeforeValidator(partial(_checked, kinds=str | list, form="a text, or a list of numbers or of rows")),
    WithJsonSchema(TypeAdapter(_BoardText | _Cells | list[_Cells]).json_schema()),
]
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
        list[_AnyBoard],
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


def read_json(model: type[Model], body: bytes, max_boards: int = 1) -> Model:
    """Return a body in JSON, with at most `max_boards` boards.

    Raises `RequestError` if it is no JSON, `RequestTooLargeError` if it has too many lists, texts or numbers, and
    `ParameterError` if a field is missing, unknown or invalid.
    """
    _check_shape(body, max_boards, has_moves="moves" in model.model_fields)
    try:
        given = from_json(body)
    except ValueError as error:
        raise RequestError(f"the body is not JSON: {error}") from None
    if not isinstance(given, dict):
        raise ParameterError("the body is not an object with fields; /openapi.json lists them")
    boards = given.get("boards")
    if not _are_lists_of_integers(boards):
        return _validated(model, given)
    # pydantic would copy the lists. To let it parse them takes twice the memory too.
    return _validated(model, given | {"boards": []}).model_copy(update={"boards": boards})


def _are_lists_of_integers(boards: Any) -> bool:
    """Return whether a field is a list of lists of integers, none longer than a board."""
    return (
        isinstance(boards, list)
        and set(map(type, boards)) == {list}
        and set(map(type, chain.from_iterable(boards))) <= {int}
        and max(map(len, boards)) <= MAX_NUMBERS
    )


def _check_shape(body: bytes, max_boards: int, *, has_moves: bool) -> None:
    """Refuse a body before it is parsed: empty lists take 30 times the memory of their text.

    With moves, lists may be longer than a board.
    """
    # pydantic keeps an error for each unknown field: those of a large body would take many times its memory.
    if body.count(b":") > _MOST_COLONS:
        raise ParameterError("the body has too many fields; /openapi.json lists those that are known")
    n_lists_and_texts = body.count(b"[") + body.count(b"{") + body.count(b'"') // 2
    if max(n_lists_and_texts, body.count(b"null")) > max_boards + _MOST_OTHERS:
        raise RequestTooLargeError(
            f"the body has too many lists or texts, or nulls; the most boards without rows are {max_boards:,}"
        )
    if not has_moves and body.count(b",") > n_lists_and_texts * (MAX_NUMBERS + 1):
        raise RequestTooLargeError(f"the body has lists of more than {MAX_NUMBERS} numbers, the most of a board")
    if len(body) > _MANY_NUMBERS_BYTES and body.count(b"-") + body.translate(_ZEROS).count(b"000") > max_boards:
        raise RequestTooLargeError("the body has more than one number for each board that no board has, such as 100")


def _validated(model: type[Model], given: dict[str, Any]) -> Model:
    try:
        return model.model_validate(given)
    except ValidationError as error:
        errors = error.errors(include_url=False, include_input=False)
    for found in errors:
        if found["type"] == "extra_forbidden":
            name = str(found["loc"][0])[:40]
            known = model.model_fields
            raise ParameterError(
                f"unknown parameter {as_typed(name)}; known are {', '.join(known)}{did_you_mean(name, known)}"
            )
    raise ParameterError(clearest_error(errors))


def clearest_error(errors: Sequence[Any]) -> str:
    """Return the most specific error of pydantic: the name of the field, if it is about one, and what is wrong."""
    # For a union, pydantic lists the errors of each alternative, and adds its name to `loc`.
    error = max(errors, key=lambda error: (len(error["loc"]), not error["type"].endswith("_type")))
    where = ".".join(str(part) for part in error["loc"] if isinstance(part, int) or part.isidentifier())
    return ": ".join(filter(None, (where.removesuffix(".str"), error["msg"])))
