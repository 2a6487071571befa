"""How a table writes distances down.

bytes  the additive minimum: one byte for each placement of the pattern's tiles, the smallest distance over the blank
       regions (Korf and Felner 2002). `UNREACHED` where there is no way.
bits   blank-aware: one bit for each placement *and* blank region. A move of one of the pattern's tiles changes this
       distance by exactly 1, and its parity shows in the cells; so bit 1 of the distance is enough for who knows the
       distance of a neighbour, or walks down to the goal.

Where every move counts (`cost`), the blank is told apart by its cell, and the same holds of every move: such tables are
of bits.
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
    """Raise `InputError` where tables of that cost are not written so."""
    if cost == "every-move" and encoding != "bits":
        raise InputError(
            f"tables in which every move counts are written in bits, not in {encoding}; leave --encoding out"
        )


def block_bytes(n_tiles: int) -> int:
    """Bytes of a block in bits: k! bits, and up to 7 that are 0."""
    return -(-math.factorial(n_tiles) // 8)
