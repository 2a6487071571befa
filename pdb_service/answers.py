"""Pydantic models of all answers: what the service sends, the source of the OpenAPI document, what `Client` returns.

Names are those of the Python library; an alias is the name in JSON if that differs. docs/http.md describes the fields.
`of` makes an answer from objects of the library.
"""

from collections.abc import Mapping
from functools import lru_cache
from typing import Any

from pydantic import BaseModel, ConfigDict, Field
from pydantic_core import to_json

from pdb_core.encoding import Cost, Encoding
from pdb_core.puzzle import BLANK, Board, Tiles, blank_last, is_solvable, parse_goal, why_unsolvable
from pdb_query.database import BatchProbe, Database
from pdb_query.instances import Instance
from pdb_service.served_databases import Served, ServedDatabases
from pdb_service.settings import ServiceSettings
from solver.solution import Solution


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
                PatternInfo(tiles=at.pattern.tiles, n_entries=sum(at.histogram), max=len(at.histogram) - 1)
                for at in header.patterns
            ),
            n_bytes=sum(at.n_bytes for at in header.tables.values()),
        )


class LimitsInfo(Answer):
    """The limits of this server that a client can plan with, in seconds, bytes and boards."""

    solve_seconds_limit: float
    short_seconds_limit: float
    wait_seconds_limit: float
    body_bytes_limit: int
    batch_boards_limit: int

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
    """All databases, the goal of each size for requests without a goal, and the limits of the server."""

    databases: tuple[DatabaseInfo, ...]
    default_goals: dict[str, Tiles]
    limits: LimitsInfo

    @classmethod
    def of(cls, databases: ServedDatabases, settings: ServiceSettings) -> "DatabasesAnswer":
        """Return what the service tells about its databases and its settings."""
        goals: dict[str, Tiles] = {}
        for _, database in databases:
            goals.setdefault(str(database.size), databases.default_goal(database))
        infos = tuple(DatabaseInfo.of(name, database) for name, database in databases)
        return cls(databases=infos, default_goals=goals, limits=LimitsInfo.of(settings))


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

    @staticmethod
    def about(board: Tiles, served: Served) -> dict[str, Any]:
        """Return all fields except for h."""
        about = {"db": served.id, "size": str(served.size), "board": board, "goal": served.goal}
        if is_solvable(board, served.goal, served.size):
            return {**about, "solvable": True}
        return {**about, "solvable": False, "why": why_unsolvable(board, served.goal, served.size)}


class LookupAnswer(BoardAnswer):
    """The lookup of one board; `h` is the largest sum."""

    sums: tuple[SumAnswer, ...]

    @classmethod
    def of(cls, board: Board, served: Served) -> "LookupAnswer":
        """Look up a board."""
        about = cls.about(board, served)
        if not about["solvable"]:
            return cls(**about, h=None, sums=())
        found = served.database.probe(board, served.goal)
        # A catalogue has a sum for each symmetry and partition.
        terms = (
            (tuple(values[place] for place in places), tuple(patterns[place] for place in places))
            for values, patterns in zip(found.values, _pattern_tiles(served), strict=True)
            for places in served.database.partition.sums
        )
        sums = tuple(
            SumAnswer(h=total, values=values, patterns=patterns)
            for total, (values, patterns) in zip(found.sums, terms, strict=True)
        )
        return cls(**about, h=found.maximum, sums=sums)


@lru_cache(maxsize=256)
def _pattern_tiles(served: Served) -> tuple[tuple[Tiles, ...], ...]:
    """Return the tiles of a given board that each pattern of each sum represents."""
    views = served.database.views(served.goal)
    n_sums, n_patterns = views.view_of_unit.shape
    return tuple(tuple(tuple(sorted(views.tiles(s, p))) for p in range(n_patterns)) for s in range(n_sums))


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

    @staticmethod
    def json_of(found: BatchProbe, problems: Mapping[int, Problem]) -> bytes:
        """Return items in JSON, separated by commas; `problems` are those of some rows."""
        items: list[dict[str, Any]] = [
            {"h": None, "solvable": False} if h < 0 else {"h": h, "sums": sums}
            for h, sums in zip(found.maximum.tolist(), found.sums.tolist(), strict=True)
        ]
        for row, problem in problems.items():
            items[row] = {"error": problem.model_dump(exclude_unset=True)}
        return to_json(items)[1:-1]  # one call, without models: a call for each board takes nine times as long


class BatchAnswer(Answer):
    """The answers for the boards of a batch, in their order."""

    db: str
    size: str
    goal: Tiles
    answers: tuple[BatchItem, ...]

    @staticmethod
    def json_of(served: Served, items: bytes) -> bytes:
        """Return the answer in JSON, with items of `BatchItem.json_of`."""
        head = to_json({"db": served.id, "size": str(served.size), "goal": tuple(served.goal)})
        return head[:-1] + b',"answers":[' + items + b"]}"


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

    @classmethod
    def of(cls, board: Board, child: Board, h: int | None, distance: int | None) -> "MoveAnswer":
        """Return the move that leads from a board to another."""
        cell, blank = child.index(BLANK), board.index(BLANK)
        return cls(tile=board[cell], cell=cell, blank=blank, board=child, h=h, distance=distance)


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

    @classmethod
    def of(cls, board: Board, served: Served, solution: Solution | None) -> "SolveAnswer":
        """Return the answer for a board, without a solution if it cannot be solved."""
        about = cls.about(board, served)
        if solution is None:
            return cls(
                **about, length=None, moves=None, optimal=False, h=None, lower_bound=None,
                generated=0, expanded=0, seconds=0.0, thresholds=(),
            )  # fmt: skip
        return cls(
            **about,
            length=solution.length,
            moves=solution.tiles,
            optimal=solution.is_optimal,
            h=solution.h,
            lower_bound=solution.lower_bound,
            generated=solution.generated,
            expanded=solution.expanded,
            seconds=round(solution.seconds, 6),
            thresholds=tuple(Threshold(**{**vars(at), "seconds": round(at.seconds, 6)}) for at in solution.iterations),
        )


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

    @classmethod
    def of(cls, instance: Instance) -> "InstanceInfo":
        """Return a board with a goal: the instance's own, or blank-last."""
        size, goal = instance.size, instance.goal
        return cls(
            id=instance.id,
            size=str(size),
            board=instance.board,
            goal=blank_last(size) if goal is None else parse_goal(goal, size),
            optimal_length=instance.optimal_length,
        )


class Instances(Answer):
    """The boards of an instance set."""

    name: str
    instances: tuple[InstanceInfo, ...]
