"""Pydantic models of all answers: what the service sends, the source of the OpenAPI document, what `Client` returns.

Names are those of the Python library; an alias is the name in JSON if that differs. docs/http.md describes the fields.
"""

from pydantic import BaseModel, ConfigDict, Field

from pdb_core.encoding import Cost, Encoding
from pdb_core.puzzle import Tiles


class Answer(BaseModel):
    """Base of the models: immutable, and without conversions such as "1" to 1."""

    model_config = ConfigDict(frozen=True, strict=True)

    def to_json(self) -> bytes:
        """Return the answer in JSON, with the fields that were given."""
        return self.model_dump_json(by_alias=True, exclude_unset=True).encode()


class PatternInfo(Answer):
    """A pattern: its tiles, the number of entries of its table, the largest distance."""

    tiles: Tiles
    n_entries: int
    max: int


class DatabaseInfo(Answer):
    """An open database. `id` is a value of the parameter db."""

    id: str
    partition: str
    size: str
    goal: Tiles
    encoding: Encoding
    cost: Cost
    patterns: tuple[PatternInfo, ...]
    n_bytes: int


class LimitsInfo(Answer):
    """The limits of this server that a client can plan with, in seconds, bytes and boards."""

    solve_seconds_limit: float
    short_seconds_limit: float
    wait_seconds_limit: float
    body_bytes_limit: int
    batch_boards_limit: int


class DatabasesAnswer(Answer):
    """All databases, the goal of each size for requests without a goal, and the limits of the server."""

    databases: tuple[DatabaseInfo, ...]
    default_goals: dict[str, Tiles]
    limits: LimitsInfo


class SumAnswer(Answer):
    """One sum: the distance of each pattern, and the tiles of the given board that each pattern represents."""

    h: int
    values: tuple[int, ...]
    patterns: tuple[Tiles, ...]


class BoardAnswer(Answer):
    """Base of the answers about a board. `why` is the reason why it cannot be solved; `h` is then null."""

    db: str
    size: str
    board: Tiles
    goal: Tiles
    solvable: bool
    why: str | None = None
    h: int | None


class LookupAnswer(BoardAnswer):
    """The lookup of one board; `h` is the largest sum."""

    sums: tuple[SumAnswer, ...]


class Problem(Answer):
    """A problem (RFC 9457). `detail` says what happened, to what, and what to do.

    `request_id` names a fault of the server in its log.
    """

    type: str
    title: str
    status: int
    detail: str
    request_id: str | None = None


class BatchItem(Answer):
    """The answer for one board of a batch: h and the sums, or that it cannot be solved, or its error."""

    h: int | None = None
    sums: tuple[int, ...] | None = None
    solvable: bool | None = None
    error: Problem | None = None


class BatchAnswer(Answer):
    """The answers for the boards of a batch, in their order."""

    db: str
    size: str
    goal: Tiles
    answers: tuple[BatchItem, ...]


class MoveAnswer(Answer):
    """A move: the tile, its cell, the cell of the blank that it moves to, and the board after it.

    `h` is the lower bound of that board, `distance` its exact distance from the goal if found within the limits.
    """

    tile: int
    cell: int
    blank: int
    board: Tiles
    h: int | None
    distance: int | None


class MovesAnswer(BoardAnswer):
    """Every legal move, best first. Distances are null if they were not found within the limits."""

    distance: int | None
    moves: tuple[MoveAnswer, ...]


class Threshold(Answer):
    """A threshold of IDA*, its nodes and seconds."""

    threshold: int
    generated: int
    expanded: int
    seconds: float


class SolveAnswer(BoardAnswer):
    """An optimal solution. If a limit was reached first, `length` is null and `lower_bound` is proved."""

    length: int | None
    tiles: tuple[int, ...] | None = Field(alias="moves")
    is_optimal: bool = Field(alias="optimal")
    lower_bound: int | None
    generated: int
    expanded: int
    seconds: float
    iterations: tuple[Threshold, ...] = Field(alias="thresholds")


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
    """The name of an instance set and the number of its boards."""

    name: str
    n_boards: int


class InstanceSets(Answer):
    """The instance sets."""

    sets: tuple[InstanceSet, ...]


class InstanceInfo(Answer):
    """A board of an instance set."""

    id: str
    size: str
    board: Tiles
    goal: Tiles
    optimal_length: int | None


class Instances(Answer):
    """The boards of an instance set."""

    name: str
    instances: tuple[InstanceInfo, ...]
