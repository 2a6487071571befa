"""Encoding and cost: how a table stores distances, and the moves that a distance counts.

bytes       the additive minimum: one byte for each placement of the pattern's tiles, the smallest distance over the
            blank regions (Korf and Felner 2002), or `UNREACHED`.
bits        zero-aware: one bit for each placement and blank region. A move of a pattern tile changes this distance by
            exactly 1, and the cells give its parity. So bit 1 of the distance suffices if the distance of a neighbour
            is known, or after a descent to the goal.

additive    moves of the pattern's tiles. No move counts for two patterns, so distances of disjoint patterns are added
            up (Korf and Felner 2002).
every-move  all moves, also those of other tiles: a standard PDB. A table is stronger by itself, but patterns share
            moves, so their distances are combined by maximum (Culberson and Schaeffer 1998). The blank's cell takes the
            place of its region, and the table is always of bits.
"""

import math
from typing import Literal, get_args

Encoding = Literal["bytes", "bits"]
ENCODINGS: tuple[Encoding, ...] = get_args(Encoding)
DEFAULT_ENCODING: Encoding = "bits"
UNREACHED = 255

Cost = Literal["additive", "every-move"]
COSTS: tuple[Cost, ...] = get_args(Cost)
DEFAULT_COST: Cost = "additive"


def block_bytes(n_tiles: int) -> int:
    """Return the bytes of a block in bits: k! bits, and up to 7 that are 0."""
    return -(-math.factorial(n_tiles) // 8)
