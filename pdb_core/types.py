"""Array types and constants that kernels and glue share. Imports nothing of ours: a kernel may import it."""

import numpy as np
import numpy.typing as npt

Bytes = npt.NDArray[np.uint8]
Int8s = npt.NDArray[np.int8]
Int16s = npt.NDArray[np.int16]
Int32s = npt.NDArray[np.int32]
Int64s = npt.NDArray[np.int64]
UInt16s = npt.NDArray[np.uint16]
UInt32s = npt.NDArray[np.uint32]
UInt64s = npt.NDArray[np.uint64]
Floats = npt.NDArray[np.float64]

BLANK = 0
# The blank moves up, left, right or down. An *edge* is blank * N_MOVES + move.
N_MOVES = 4
UP, LEFT, RIGHT, DOWN = range(N_MOVES)
