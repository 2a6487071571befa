"""Models of the answers: the source of the OpenAPI document, and what the client returns. The service writes them.

The text below a field is its meaning in the OpenAPI document.
"""

from typing import Any

from pydantic import BaseModel, ConfigDict, ValidationError

from pdb_core.encoding import Cost, Encoding
from pdb_core.puzzle import Tiles
from solver.progress import Iteration

# Media types.
JSON, BINARY = "application/json", "application/octet-stream"


class Answer(BaseModel):
    """Base of the models: immutable, and without conversions such as "1" to 1."""

    model_config = ConfigDict(frozen=True, strict=True, use_attribute_docstrings=True)


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


class DatabasesAnswer(Answer):
    """All databases, and what a request without a goal gets."""

    databases: tuple[DatabaseInfo, ...]
    """the databases, in the order in which the service tries them"""
    default_goals: dict[str, Tiles]
    """for each size, the goal of requests without `goal`"""
    limits: LimitsInfo
    """limits of this server, see [Limits](http.md#limits)"""


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


class LookupAnswer(BoardAnswer):
    """The lookup of one board."""

    sums: tuple[SumAnswer, ...]
    """one sum for each symmetry, the tables' own first, then the reflected; a catalogue has one for each of its
    partitions in each symmetry; empty if the board cannot be solved"""


class RandomAnswer(Answer):
    """A random board."""

    db: str
    """id of the database"""
    size: str
    """size of the board"""
    board: Tiles
    """the board, which can be solved"""
    goal: Tiles
    """the goal"""
    distance: int | None
    """the distance that was asked for"""


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
    """optimal length from that board; null if it was not found within the limits"""


class MovesAnswer(BoardAnswer):
    """The legal moves of a board."""

    distance: int | None
    """optimal length from the board; null if it was not found within the limits"""
    lower_bound: int | None
    """proved lower bound of that length; null if the board cannot be solved"""
    length: int | None
    """length of the solution that begins with the first move; null if none is known"""
    moves: tuple[MoveAnswer, ...]
    """every legal move, best first"""


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
    seconds: float
    """time of the search"""
    thresholds: tuple[Iteration, ...]
    """one for each threshold of IDA\\*"""
    blank_directions: str | None
    """the moves as directions of the blank, such as `RUL`; null without a solution"""
    tile_directions: str | None
    """the moves as directions of the tiles, such as `LDR`; null without a solution"""


class InstanceSet(Answer):
    """A set of boards."""

    name: str
    """name of the set"""
    n_boards: int
    """number of its boards that are listed"""


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
    """the goal: the instance's own, or blank-last"""
    optimal_length: int | None
    """optimal length; null if it is not known"""


class Instances(Answer):
    """The boards of an instance set."""

    name: str
    """name of the set"""
    instances: tuple[InstanceInfo, ...]
    """the boards"""


def clearest_error(error: ValidationError) -> str:
    """Return what is wrong with data, and where: the first error, but of the alternatives of a field that which fits.

    The name of an alternative follows the name of its field, and is no identifier.
    """
    errors: list[Any] = error.errors(include_url=False, include_input=False)
    first = min(errors, key=lambda error: error["type"].endswith("_type"))
    where = ".".join(str(part) for part in first["loc"] if isinstance(part, int) or part.isidentifier())
    return ": ".join(filter(None, (where, first["msg"])))
