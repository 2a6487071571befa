"""Array types and constants that kernels and glue share. Imports nothing of ours: a kernel may import it."""

import numpy as np
import numpy.typing as npt

Int64s = npt.NDArray[np.int64]

BLANK = 0
# The blank moves up, left, right or down. An *edge* is blank * N_MOVES + move.
N_MOVES = 4
UP, LEFT, RIGHT, DOWN = range(N_MOVES)
