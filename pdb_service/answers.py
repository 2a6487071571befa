"""What the service answers, as the OpenAPI document describes it."""

from pydantic import BaseModel

BoardList = list[int]


class PatternInfo(BaseModel):
    """A pattern: its tiles, the entries of its table, the largest distance."""

    tiles: list[int]
    n_entries: int
    max: int


class DatabaseInfo(BaseModel):
    """An open database. `id` is what the parameter db takes."""

    id: str
    partition: str
    size: str
    goal: BoardList
    encoding: str
    cost: str
    patterns: list[PatternInfo]
    n_bytes: int


class LimitsInfo(BaseModel):
    """The limits of this server that a client can plan with, in seconds, bytes and boards."""

    solve_seconds_limit: float
    short_seconds_limit: float
    wait_seconds_limit: float
    body_bytes_limit: int
    batch_boards_limit: int


class DatabasesAnswer(BaseModel):
    """All databases, the goal of each size for requests that name none, and the limits of the server."""

    databases: list[DatabaseInfo]
    default_goals: dict[str, BoardList]
    limits: LimitsInfo


class SumAnswer(BaseModel):
    """One sum: the distance of each pattern, and the tiles of the given board that the pattern stands for."""

    h: int
    values: list[int]
    patterns: list[list[int]]


class BoardAnswer(BaseModel):
    """What every answer about a board begins with; `why` says why it cannot be solved."""

    db: str
    size: str
    board: BoardList
    goal: BoardList
    solvable: bool
    why: str | None = None


class LookupAnswer(BoardAnswer):
    """What the tables say of a board. `h`, the largest sum, is null where it cannot be solved, and `why` says why."""

    h: int | None
    sums: list[SumAnswer]


class Problem(BaseModel):
    """A problem (RFC 9457). `detail` says what happened, to what, and what to do.

    `request_id` names a fault of the server in its log.
    """

    type: str
    title: str
    status: int
    detail: str
    request_id: str | None = None


class BatchItem(BaseModel):
    """The answer for one board of a batch: h and the sums, or that it cannot be solved, or what is wrong with it."""

    h: int | None = None
    sums: list[int] | None = None
    solvable: bool | None = None
    error: Problem | None = None


class BatchAnswer(BaseModel):
    """The answers for the boards of a batch, in their order."""

    db: str
    size: str
    goal: BoardList
    answers: list[BatchItem]


class MoveAnswer(BaseModel):
    """A move: the tile, the cell it leaves, the cell of the blank that it goes to, and the board after it."""

    tile: int
    cell: int
    blank: int
    board: BoardList
    h: int | None
    distance: int | None


class MovesAnswer(BoardAnswer):
    """Every legal move, best first. Distances are null where they were not found within the limits."""

    h: int | None
    distance: int | None
    moves: list[MoveAnswer]


class Threshold(BaseModel):
    """A threshold of IDA*, its nodes and seconds."""

    threshold: int
    generated: int
    expanded: int
    seconds: float


class SolveAnswer(BoardAnswer):
    """A shortest solution. `length` is null where a limit was reached first; `lower_bound` is then proved."""

    length: int | None
    moves: list[int] | None
    optimal: bool
    h: int | None
    lower_bound: int | None
    generated: int
    expanded: int
    seconds: float
    thresholds: list[Threshold]


class InstanceSet(BaseModel):
    """The name of a set and how many boards it has."""

    name: str
    n_boards: int


class InstanceSets(BaseModel):
    """The instance sets."""

    sets: list[InstanceSet]


class InstanceInfo(BaseModel):
    """A board of a set."""

    id: str
    size: str
    board: BoardList
    goal: BoardList
    optimal_length: int | None


class Instances(BaseModel):
    """The boards of a set."""

    name: str
    instances: list[InstanceInfo]
