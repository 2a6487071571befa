"""What a service answers, as its client hands it on. docs/http.md names the fields.

The functions raise `LookupError`, `TypeError`, `ValueError` where an answer is not as that page says.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from pdb_core.cost import COSTS, Cost
from pdb_core.encoding import ENCODINGS, Encoding
from pdb_core.puzzle import Board, BoardSize, check_board, parse_size
from pdb_query.database import Probe


@dataclass(frozen=True)
class RemotePattern:
    """A pattern of a service's database: its tiles, the entries of its table, the largest distance."""

    tiles: tuple[int, ...]
    n_entries: int
    max: int


@dataclass(frozen=True)
class RemoteDatabase:
    """A database of a service. `id` is what it is known by there, `partition` the name of its partition."""

    id: str
    partition: str
    size: BoardSize
    goal: Board
    encoding: Encoding
    cost: Cost
    patterns: tuple[RemotePattern, ...]
    n_bytes: int


@dataclass(frozen=True)
class BatchMaximum:
    """What a service says of m boards.

    maximum  int16[m]  the largest sum; -1 where a board cannot be solved, -2 where a row is no board
    """

    maximum: npt.NDArray[np.int16]


@dataclass(frozen=True)
class Move:
    """A move: the tile, the cell it leaves, the cell of the blank that it goes to, and the board after it.

    h         the lower bound of that board
    distance  its exact distance from the goal, None where that was not found within the limits
    """

    tile: int
    cell: int
    blank: int
    board: Board
    h: int
    distance: int | None


@dataclass(frozen=True)
class Moves:
    """Every legal move from a board, best first; h and the distance, if found, of the board itself."""

    h: int
    distance: int | None
    moves: tuple[Move, ...]


@dataclass(frozen=True)
class SolveProgress:
    """Where a solve stands.

    n_ahead      solves that go first; the threshold is then None
    threshold    that is searched now
    generated, expanded, seconds  of the whole solve so far
    nodes_per_s  generated nodes
    """

    n_ahead: int = 0
    threshold: int | None = None
    generated: int = 0
    expanded: int = 0
    seconds: float = 0.0
    nodes_per_s: int = 0


@dataclass(frozen=True)
class RemoteThreshold:
    """A threshold of IDA*, its nodes and seconds."""

    threshold: int
    generated: int
    expanded: int
    seconds: float


@dataclass(frozen=True)
class RemoteSolution:
    """What a service knows of a board after a search; the names are those of `solver.Solution`.

    length, tiles  of the solution; None where a limit was reached first
    is_optimal     whether `length` is proved to be the shortest
    h              the lower bound at the root
    lower_bound    what is proved of the length of a shortest solution
    generated, expanded  nodes, over all thresholds, see docs/glossary.md
    seconds        of the search
    iterations     one for each threshold
    """

    board: Board
    goal: Board
    length: int | None
    tiles: tuple[int, ...] | None
    is_optimal: bool
    h: int
    lower_bound: int
    generated: int
    expanded: int
    seconds: float
    iterations: tuple[RemoteThreshold, ...]


def read_databases(answer: Any) -> tuple[RemoteDatabase, ...]:
    """/v1/databases."""
    return tuple(_read_database(at) for at in answer["databases"])


def read_probe(answer: Any) -> Probe:
    """/v1/lookup of a board that can be solved."""
    return Probe(
        tuple(_numbers(at["values"]) for at in answer["sums"]),
        tuple(int(at["h"]) for at in answer["sums"]),
        int(answer["h"]),
    )


def read_moves(answer: Any) -> Moves:
    """/v1/moves of a board that can be solved."""
    moves = tuple(
        Move(
            int(at["tile"]),
            int(at["cell"]),
            int(at["blank"]),
            _numbers(at["board"]),
            int(at["h"]),
            _number_or_none(at["distance"]),
        )
        for at in answer["moves"]
    )
    return Moves(int(answer["h"]), _number_or_none(answer["distance"]), moves)


def read_progress(data: Any) -> SolveProgress:
    """The data of the events `queued` and `progress` of /v1/solve."""
    if "ahead" in data:
        return SolveProgress(n_ahead=int(data["ahead"]))
    return SolveProgress(
        threshold=int(data["threshold"]),
        generated=int(data["generated"]),
        expanded=int(data["expanded"]),
        seconds=float(data["seconds"]),
        nodes_per_s=int(data["nodes_per_s"]),
    )


def read_solution(answer: Any) -> RemoteSolution:
    """/v1/solve of a board that can be solved."""
    return RemoteSolution(
        board=_numbers(answer["board"]),
        goal=_numbers(answer["goal"]),
        length=_number_or_none(answer["length"]),
        tiles=None if answer["moves"] is None else _numbers(answer["moves"]),
        is_optimal=bool(answer["optimal"]),
        h=int(answer["h"]),
        lower_bound=int(answer["lower_bound"]),
        generated=int(answer["generated"]),
        expanded=int(answer["expanded"]),
        seconds=float(answer["seconds"]),
        iterations=tuple(
            RemoteThreshold(int(at["threshold"]), int(at["generated"]), int(at["expanded"]), float(at["seconds"]))
            for at in answer["thresholds"]
        ),
    )


def _read_database(answer: Any) -> RemoteDatabase:
    size = parse_size(answer["size"])
    encodings: dict[str, Encoding] = {name: name for name in ENCODINGS}
    costs: dict[str, Cost] = {name: name for name in COSTS}
    return RemoteDatabase(
        id=str(answer["id"]),
        partition=str(answer["partition"]),
        size=size,
        goal=check_board(answer["goal"], size),
        encoding=encodings[answer["encoding"]],
        cost=costs[answer["cost"]],
        patterns=tuple(
            RemotePattern(_numbers(at["tiles"]), int(at["n_entries"]), int(at["max"])) for at in answer["patterns"]
        ),
        n_bytes=int(answer["n_bytes"]),
    )


def _numbers(given: Any) -> tuple[int, ...]:
    return tuple(int(number) for number in given)


def _number_or_none(given: Any) -> int | None:
    return None if given is None else int(given)
