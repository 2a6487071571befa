"""What the service needs of a solver.

The solver stands above this package, so it is handed in: by the command line, or by whoever embeds the service.
"""

from collections.abc import Callable, Sequence
from typing import Protocol

from pdb_core.puzzle import Board
from pdb_query.database import Database


class Progress(Protocol):
    """One threshold of a search, or where it stands; as `solver.Iteration`."""

    @property
    def threshold(self) -> int: ...
    @property
    def generated(self) -> int: ...
    @property
    def expanded(self) -> int: ...
    @property
    def seconds(self) -> float: ...


class Answer(Protocol):
    """What a search found; as `solver.Solution`. `tiles` and `length` are None where a limit was reached first."""

    @property
    def tiles(self) -> tuple[int, ...] | None: ...
    @property
    def length(self) -> int | None: ...
    @property
    def is_optimal(self) -> bool: ...
    @property
    def h(self) -> int: ...
    @property
    def lower_bound(self) -> int: ...
    @property
    def generated(self) -> int: ...
    @property
    def expanded(self) -> int: ...
    @property
    def seconds(self) -> float: ...
    @property
    def iterations(self) -> Sequence[Progress]: ...


class Solving(Protocol):
    """Finds shortest solutions. Any number of threads may ask at the same time."""

    def __call__(
        self,
        database: Database,
        board: Board,
        goal: Board,
        *,
        seconds: float,
        nodes: int | None,
        report: Callable[[Progress], None],
    ) -> Answer:
        """A shortest solution of a solvable board. `report` is called every fraction of a second, and once at least
        where there is a search; what it raises ends the search.
        """
        ...

    def warm(self, database: Database) -> None:
        """Make ready whatever a first solve would wait for."""
        ...


class CountedSolving:
    """The same solver; the nodes of each search that ends are counted."""

    def __init__(self, solving: Solving, count: Callable[[int], None]) -> None:
        self._solving, self._count = solving, count

    def __call__(
        self,
        database: Database,
        board: Board,
        goal: Board,
        *,
        seconds: float,
        nodes: int | None,
        report: Callable[[Progress], None],
    ) -> Answer:
        """As `Solving`."""
        answer = self._solving(database, board, goal, seconds=seconds, nodes=nodes, report=report)
        self._count(answer.generated)
        return answer

    def warm(self, database: Database) -> None:
        """As `Solving`."""
        self._solving.warm(database)
