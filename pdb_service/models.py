"""Pydantic models of the parameters, bodies and answers of all routes: the source of the OpenAPI document.

Names are those of the Python library; an alias is the name in JSON if that differs. The text below a field is its
meaning in the OpenAPI document. `of` makes an answer from objects of the library.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from itertools import chain
from types import NoneType
from typing import Annotated, Any, Literal, TypeVar

from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    TypeAdapter,
    ValidationError,
    WithJsonSchema,
)
from pydantic_core import PydanticCustomError, from_json, to_json

from pdb_core.board_size import MAX_TABLE_SIDE
from pdb_core.encoding import Cost, Encoding
from pdb_core.errors import ParameterError, RequestError, RequestTooLargeError
from pdb_core.messages import as_typed, did_you_mean
from pdb_core.puzzle import Board, Tiles, parse_goal, why_unsolvable
from pdb_core.types import BLANK
from pdb_query.database import Database
from pdb_query.instances import Instance
from pdb_query.probes import BatchProbe, Probe
from pdb_service.databases import Databases, Served
from pdb_service.settings import ServiceSettings
from solver.moves import Notation
from solver.solution import Solution

# Media types.
JSON, BINARY, EVENTS = "application/json", "application/octet-stream", "text/event-stream"
Seconds = Annotated[float, AfterValidator(lambda seconds: round(seconds, 6))]


class Answer(BaseModel):
    """Base of the models: immutable, and without conversions such as "1" to 1."""

    model_config = ConfigDict(frozen=True, strict=True, from_attributes=True, use_attribute_docstrings=True)

    def to_json(self) -> bytes:
        """Return the answer in JSON, with the fields that were given."""
        return self.model_dump_json(by_alias=True, exclude_unset=True).encode()


class PatternInfo(Answer):
    """A pattern and its table."""

    tiles: Tiles
    """tiles of the pattern"""
    n_entries: int
    """entries of its table from which the goal can be reached"""
    max: int
    """largest distance in its table"""


class DatabaseInfo(Answer):
    """An open database."""

    id: str
    """value of the parameter `db`: the file's name without `.h5`, made unique by `-2`, `-3`"""
    partition: str
    """name of the partition"""
    size: str
    """size of its boards"""
    goal: Tiles
    """goal of the tables"""
    encoding: Encoding
    """`bits` or `bytes`, see [the table file](format.md)"""
    cost: Cost
    """`additive` or `every-move`: additive PDB or standard PDB"""
    patterns: tuple[PatternInfo, ...]
    """the patterns"""
    n_bytes: int
    """size of the tables in bytes"""

    @classmethod
    def of(cls, name: str, database: Database) -> "DatabaseInfo":
        """Return what the service tells about a database."""
        header = database.header
        return cls(
            id=name,
            partition=header.spec.partition.name,
            size=str(database.size),
            goal=database.goal,
            encoding=database.encoding,
            cost=database.cost,
            patterns=tuple(
                PatternInfo(tiles=at.pattern.tiles, n_entries=sum(at.histogram), max=at.maximum)
                for at in header.patterns
            ),
            n_bytes=sum(at.n_bytes for at in header.tables.values()),
        )


class LimitsInfo(Answer):
    """The limits of this server that a client can plan with."""

    solve_seconds_limit: float
    """time of a search"""
    short_seconds_limit: float
    """largest time limit of a short search"""
    wait_seconds_limit: float
    """time that a search waits"""
    body_bytes_limit: int
    """bytes of the body of a batch"""
    batch_boards_limit: int
    """boards of a batch"""

    @classmethod
    def of(cls, settings: ServiceSettings) -> "LimitsInfo":
        """Return the limits among the settings."""
        return cls(
            solve_seconds_limit=settings.solve_s,
            short_seconds_limit=settings.short_s,
            wait_seconds_limit=settings.wait_s,
            body_bytes_limit=settings.max_body_bytes,
            batch_boards_limit=settings.max_boards,
        )


class DatabasesAnswer(Answer):
    """All databases, and what a request without a goal gets."""

    databases: tuple[DatabaseInfo, ...]
    """the databases, in the order in which the service tries them"""
    default_goals: dict[str, Tiles]
    """for each size, the goal of requests without `goal`"""
    limits: LimitsInfo
    """limits of this server, see [Limits](http.md#limits)"""

    @classmethod
    def of(cls, databases: Databases, settings: ServiceSettings) -> "DatabasesAnswer":
        """Return what the service tells about its databases and its settings."""
        goals: dict[str, Tiles] = {}
        for _, database in databases:
            goals.setdefault(str(database.size), databases.default_goal(database))
        infos = tuple(DatabaseInfo.of(name, database) for name, database in databases)
        return cls(databases=infos, default_goals=goals, limits=LimitsInfo.of(settings))


class SumAnswer(Answer):
    """The sum of one symmetry of a partition."""

    h: int
    """the sum of `values`, or their maximum in a standard PDB"""
    values: tuple[int, ...]
    """distance of each pattern"""
    patterns: tuple[Tiles, ...]
    """for each value, the tiles of the given board that its pattern represents, for example to colour them"""


class BoardAnswer(Answer):
    """Base of the answers about a board."""

    db: str
    """id of the database"""
    size: str
    """size of the board"""
    board: Tiles
    """the board"""
    goal: Tiles
    """the goal"""
    solvable: bool
    """whether the board can be solved"""
    why: str | None = None
    """the reason why it cannot; only in answers with `"solvable":false`"""
    h: int | None
    """lower bound of the board: the largest sum; null if it cannot be solved"""

    @staticmethod
    def about(board: Tiles, served: Served, *, solvable: bool) -> dict[str, Any]:
        """Return all fields except for h."""
        about = {"db": served.id, "size": str(served.size), "board": board, "goal": served.goal, "solvable": solvable}
        return about if solvable else {**about, "why": why_unsolvable(board, served.goal, served.size)}


class LookupAnswer(BoardAnswer):
    """The lookup of one board."""

    sums: tuple[SumAnswer, ...]
    """one sum for each symmetry, the tables' own first, then the reflected; a catalogue has one for each of its
    partitions in each symmetry; empty if the board cannot be solved"""

    @classmethod
    def json_of(cls, board: Board, served: Served, found: Probe | None) -> bytes:
        """Return the answer in JSON for what was found: with models it would take twice as long."""
        about = cls.about(board, served, solvable=found is not None)
        if found is None:
            return to_json({**about, "h": None, "sums": ()})
        sums = [
            {"h": h, "values": [found.values[row][place] for place in places], "patterns": patterns}
            for h, (row, places, patterns) in zip(found.sums, served.sums, strict=True)
        ]
        return to_json({**about, "h": found.h, "sums": sums})


class Problem(Answer):
    """A problem (RFC 9457)."""

    type: str
    """kind of the problem, or `about:blank` for an error of HTTP, such as 404 for an unknown path"""
    title: str
    """name of the status"""
    status: int
    """status of the answer"""
    detail: str
    """the error, the value that caused it, and what to do"""


class BatchItem(Answer):
    """The answer for one board of a batch."""

    h: int | None = None
    """the lower bound; null if the board cannot be solved"""
    sums: tuple[int, ...] | None = None
    """`h` of each sum of GET /v1/lookup"""
    solvable: bool | None = None
    """`false` for a board that cannot be solved; else left out"""
    error: Problem | None = None
    """only for an invalid board: its [problem](http.md#problems)"""


class BatchAnswer(Answer):
    """The answers for the boards of a batch."""

    db: str
    """id of the database"""
    size: str
    """size of the boards"""
    goal: Tiles
    """the goal"""
    answers: tuple[BatchItem, ...]
    """one for each board, in order"""

    @staticmethod
    def json_of(served: Served, found: BatchProbe, problems: Mapping[int, Problem]) -> bytes:
        """Return the answer in JSON for what was found; `problems` are those of some rows.

        With models it would take nine times as long.
        """
        items: list[dict[str, Any]] = [
            {"h": None, "solvable": False} if h < 0 else {"h": h, "sums": sums}
            for h, sums in zip(found.h.tolist(), found.sums.tolist(), strict=True)
        ]
        for row, problem in problems.items():
            items[row] = {"error": problem.model_dump()}
        return to_json({"db": served.id, "size": str(served.size), "goal": tuple(served.goal), "answers": items})


class MoveAnswer(Answer):
    """A legal move."""

    tile: int
    """the tile that moves"""
    cell: int
    """the cell of the tile"""
    blank: int
    """the cell that it moves to"""
    board: Tiles
    """the board after the move"""
    h: int | None
    """lower bound of that board; null if it cannot be solved"""
    distance: int | None
    """optimal length from that board; null if it was not found"""

    @classmethod
    def of(cls, board: Board, child: Board, h: int | None, distance: int | None) -> "MoveAnswer":
        """Return the move that leads from a board to another."""
        cell, blank = child.index(BLANK), board.index(BLANK)
        return cls(tile=board[cell], cell=cell, blank=blank, board=child, h=h, distance=distance)


class MovesAnswer(BoardAnswer):
    """The legal moves of a board."""

    distance: int | None
    """optimal length from the board; null if it was not found within the limits"""
    moves: tuple[MoveAnswer, ...]
    """every legal move, best first"""


class Threshold(Answer):
    """A threshold of IDA*."""

    threshold: int
    """the threshold"""
    generated: int
    """nodes generated with this threshold"""
    expanded: int
    """nodes expanded with this threshold"""
    seconds: Seconds
    """time with this threshold"""


class SolveAnswer(BoardAnswer):
    """An optimal solution, or what is known if a limit was reached first."""

    length: int | None
    """length of the solution; null if there is none, or if a limit was reached first"""
    moves: tuple[int, ...] | None
    """the moved tiles, in order; null without a solution"""
    optimal: bool
    """`true` if the solution is proved optimal; `false` without a solution"""
    lower_bound: int | None
    """proved lower bound on the length, also if a limit was reached; null if the board cannot be solved"""
    generated: int
    """generated nodes"""
    expanded: int
    """expanded nodes"""
    seconds: Seconds
    """time of the search"""
    thresholds: tuple[Threshold, ...]
    """one for each threshold of IDA\\*"""
    blank_directions: str | None
    """the moves as directions of the blank, such as `RUL`; null without a solution"""
    tile_directions: str | None
    """the moves as directions of the tiles, such as `LDR`; null without a solution"""

    @classmethod
    def of(cls, board: Board, served: Served, solution: Solution | None) -> "SolveAnswer":
        """Return the answer for a board, without a solution if it cannot be solved."""
        about = cls.about(board, served, solvable=solution is not None)
        if solution is None:
            return cls(
                **about, length=None, moves=None, blank_directions=None, tile_directions=None, optimal=False, h=None,
                lower_bound=None, generated=0, expanded=0, seconds=0.0, thresholds=(),
            )  # fmt: skip
        directions = {f"{of}_directions": solution.directions(of) for of in ("blank", "tile")}
        return cls.model_validate({**vars(solution), **about, **directions})


class CheckAnswer(Answer):
    """What is right and wrong about a solution. Moves are numbered from 1 on."""

    verdict: Literal["optimal", "too long", "illegal", "goal not reached", "too short", "unknown"]
    """`optimal`, `too long`, `illegal`, `goal not reached` (legal, but not to the goal), `too short` (of a length) or
    `unknown` (a limit was reached)"""
    length: int
    """number of the moves"""
    first_illegal_move: int | None
    """number of the first illegal move; null if all are legal"""
    optimal_length: int | None
    """optimal length of the board; null if a limit was reached"""
    difference: int | None
    """`length` minus `optimal_length`; null without the latter, or without a solution"""
    first_suboptimal_move: int | None
    """number of the first move that is not on an optimal path; null if there is none, or if a limit was reached"""


class SolveProgress(Answer):
    """Progress of a solve: the data of the events `queued` and `progress`.

    `n_ahead` is the number of solves that start first; `threshold` is then null. The other numbers are totals of the
    solve so far, in generated nodes for `nodes_per_s`.
    """

    n_ahead: int = Field(default=0, alias="ahead")
    threshold: int | None = None
    generated: int = 0
    expanded: int = 0
    seconds: float = 0.0
    nodes_per_s: int = 0


class InstanceSet(Answer):
    """A set of boards."""

    name: str
    """name of the set"""
    n_boards: int
    """number of its boards"""


class InstanceSets(Answer):
    """The instance sets."""

    sets: tuple[InstanceSet, ...]
    """the sets"""


class InstanceInfo(Answer):
    """A board of an instance set."""

    id: str
    """name of the board within the set"""
    size: str
    """size of the board"""
    board: Tiles
    """the board"""
    goal: Tiles
    """the goal"""
    optimal_length: int | None
    """optimal length; null if it is not known"""

    @classmethod
    def of(cls, instance: Instance) -> "InstanceInfo":
        """Return a board with a goal: the instance's own, or blank-last."""
        size = instance.size
        goal = parse_goal(instance.goal or "blank-last", size)
        return cls.model_validate({**vars(instance), "size": str(size), "goal": goal})


class Instances(Answer):
    """The boards of an instance set."""

    name: str
    """name of the set"""
    instances: tuple[InstanceInfo, ...]
    """the boards"""


# Requests

# No board with tables is longer.
MAX_NUMBERS = MAX_TABLE_SIDE * MAX_TABLE_SIDE
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


def _one_of(kinds: Any, form: str) -> BeforeValidator:
    """Return a validator of what is of these kinds. `form` says for an error what may be given."""

    def check(given: object) -> object:
        if isinstance(given, kinds):
            return given
        raise PydanticCustomError("form", "{form}", {"form": f"give {form}"})

    return BeforeValidator(check)


def _read_list(given: str | list[Any]) -> str | list[Any]:
    """Return a list of integers, or of rows of them, with 0 for null; of anything else the text."""
    kinds = {*map(type, given)}
    is_nested = kinds == {list}
    if is_nested:
        kinds = {*map(type, chain.from_iterable(given))}
    if kinds == {int, NoneType}:
        return [[cell or 0 for cell in row] for row in given] if is_nested else [cell or 0 for cell in given]
    return given if kinds == {int} else str(given)


_TEXT_OR_LIST = _one_of(str | list, "a text, or a list of numbers or of rows")
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
        _one_of(str | int | list, "a text or a list, such as 5 8, or only the number of moves"),
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


def read_query(model: type[Model], pairs: Sequence[tuple[str, str]]) -> Model:
    """Return the query of a URL.

    Raises `ParameterError` if a parameter is missing, unknown, repeated or invalid.
    """
    query = dict(pairs)
    if len(query) < len(pairs):
        name, n_times = Counter(name for name, _ in pairs).most_common(1)[0]
        raise ParameterError(f"{as_typed(name)} is given {n_times} times; give it once")
    return _validated(model, query)


def read_json(model: type[Model], body: bytes | bytearray) -> Model:
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
