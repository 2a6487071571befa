"""Heuristics of one's own: functions that numba has compiled. Kernels call them by their addresses."""

import functools
import math
import re
from typing import Any

import numba
import numpy as np
from numba import types
from numba.core.dispatcher import Dispatcher
from numba.core.errors import NumbaError

from pdb_core.errors import InputError
from pdb_core.jit import JIT_DISABLED
from pdb_core.messages import shorten
from pdb_core.puzzle import Tiles
from pdb_core.system import signals_held

# What a heuristic gets: the tiles row by row, 0 for the blank. Differences of signed bytes do not overflow.
CELLS = types.Array(types.int8, 1, "C", readonly=True)
# A larger h is lowered to this, and remains a lower bound.
_MOST_H = 511


def own_heuristic(function: Any, goal: Tiles) -> int:
    """Return the address of a compiled heuristic, for kernels. Raises `InputError` if it is none for this goal."""
    compiled = _compiled(function)
    cells = np.array(goal, dtype=np.int8)
    cells.flags.writeable = False
    try:
        h = function(cells)
    except Exception as error:
        raise InputError(f"{_named(function)} raises {type(error).__name__} at the goal, where it must be 0") from error
    if h != 0:
        raise InputError(f"{_named(function)} is {h} at the goal; it must be 0 there")
    return int(compiled.address)


@functools.cache
def _compiled(function: Any) -> Any:
    """Compile a C function that returns a heuristic in whole numbers, 0 where it raises an exception.

    Kernels keep its address only, so it lives as long as the process.
    """
    if not isinstance(function, Dispatcher):
        how = "unset NUMBA_DISABLE_JIT" if JIT_DISABLED else "decorate it with numba.njit"
        raise InputError(f"{_named(function)} is not compiled; {how}, or give a Python function to a_star or ida_star")
    try:
        with signals_held():
            function.compile((CELLS,))
            result: Any = function.overloads[(CELLS,)]
            returned = result.signature.return_type
            if not isinstance(returned, types.Integer | types.Boolean | types.Float):
                raise InputError(f"{_named(function)} returns {returned}; let it return a number, and use numba.njit")
            is_float = isinstance(returned, types.Float)

            @numba.cfunc(types.int64(CELLS))
            def value(cells: Any) -> int:
                try:
                    h = min(function(cells), _MOST_H)
                except Exception:
                    return 0
                # Rounded up, because a length is a whole number, except for a rounding error.
                return max(math.ceil(h - 1e-9) if is_float else int(h), 0)

    except (NumbaError, TypeError) as error:  # TypeError: more than one argument
        lines = re.sub(r"\x1b\[\d*m", "", str(error)).splitlines()
        why = next((line for line in lines if line and not line.startswith("Failed in")), "")
        raise InputError(
            f"{_named(function)} cannot be compiled for the cells, a read-only array of int8: {shorten(why, 100)}"
        ) from error
    except RuntimeError as error:
        raise InputError(f"{_named(function)} has a signature; use numba.njit without one") from error
    return value


def _named(function: Any) -> str:
    return f"heuristic {getattr(function, '__name__', function)}"
