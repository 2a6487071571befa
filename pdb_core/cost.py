"""Cost: the moves that a distance counts.

additive    moves of the pattern's tiles. No move counts for two patterns, so distances of disjoint patterns are added
            up (Korf and Felner 2002).
every-move  all moves, also those of other tiles: a standard PDB. A table is stronger by itself, but patterns share
            moves, so their distances are combined by maximum (Culberson and Schaeffer 1998).
"""

from typing import Literal, get_args

Cost = Literal["additive", "every-move"]
COSTS: tuple[Cost, ...] = get_args(Cost)
DEFAULT_COST: Cost = "additive"
