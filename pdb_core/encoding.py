"""Encoding: how a table stores distances.

bytes  the additive minimum: one byte for each placement of the pattern's tiles, the smallest distance over the blank
       regions (Korf and Felner 2002), or `UNREACHED`.
bits   zero-aware: one bit for each placement and blank region. A move of a pattern tile changes this distance by
       exactly 1, and the cells give its parity. So bit 1 of the distance suffices if the distance of a neighbour is
       known, or after a descent to the goal.

If every move counts (`cost`), the blank's cell takes the place of its region. Such tables are always of bits.
"""

import math
from typing import Literal, get_args

from pdb_core.cost import Cost
from pdb_core.errors import InputError

Encoding = Literal["bytes", "bits"]
ENCODINGS: tuple[Encoding, ...] = get_args(Encoding)
DEFAULT_ENCODING: Encoding = "bits"
UNREACHED = 255


def check_encoding(encoding: Encoding, cost: Cost) -> None:
    """Raise `InputError` if tables of that cost cannot be stored in that encoding."""
    if cost == "every-move" and encoding != "bits":
        raise InputError(
            f"tables in which every move counts are written in bits, not in {encoding}; leave --encoding out"
        )


def block_bytes(n_tiles: int) -> int:
    """Return the bytes of a block in bits: k! bits, and up to 7 that are 0."""
    return -(-math.factorial(n_tiles) // 8)
