"""Which moves a distance counts.

additive    moves of the pattern's own tiles; the blank goes about freely among the others. No move counts for two
            patterns, so the distances of disjoint patterns may be added up (Korf and Felner 2002).
every-move  every move of the blank, whichever tile it moves: the pattern's own, or one that it does not tell from the
            others. A table is then stronger by itself, but patterns share moves, so the largest of their distances
            counts, never the sum (Culberson and Schaeffer 1998).
"""

from typing import Literal, get_args

Cost = Literal["additive", "every-move"]
COSTS: tuple[Cost, ...] = get_args(Cost)
DEFAULT_COST: Cost = "additive"
