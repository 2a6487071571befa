"""What the kinds of tables on a card share: their interface, and the roots of searches."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from pdb_core.board_size import BoardSize
from pdb_core.types import Int64s, UInt64s
from solver.cuda.device_search import Kind
from solver.cuda.device_units import UnitTables
from solver.engine.database_engine import DatabaseEngine
from solver.engine.engine import Roots
from solver.engine.sums import Sum

# The first column of planes in a node of a root.
PLANES = 1


@dataclass(frozen=True)
class CardRoots(Roots):
    """Roots of searches on a card. A node has STATE, then the planes of all units: bits 0 of the distances of the first
    32, their bits 1, then those of the others.
    """


class Launch(NamedTuple):
    """Threads of a block, blocks of a multiprocessor, and registers of a thread."""

    block: int
    blocks: int
    registers: int


@dataclass(frozen=True)
class CardKind:
    """Kind of tables that a card searches with.

    suits    whether it can search boards of a size with some sums
    arrange  returns the device functions and their tables, from those of the units and for blocks of some threads
    fill     writes the words of the kind into the items of roots, of which there are so many moves left
    """

    launch: Launch
    suits: Callable[[BoardSize, Sequence[Sum]], bool]
    arrange: Callable[[DatabaseEngine, UnitTables, int], tuple[Kind, Any]]
    fill: Callable[[DatabaseEngine, Roots, Int64s, UInt64s], None]
