"""Boards in pickle files of DeepCubeA, read without importing what a pickle names. Used by `instances`.

Such a file holds a dict. Its `states` are a list of objects of the class `environments.n_puzzle.NPuzzleState`; the
attribute `tiles` of each is a NumPy array of one dimension, 0 for the blank. The goal is 1 2 ... n 0. A file with
`solutions` or `moves` is refused, because they would not be checked. Everything else is ignored.

The unpickler knows the few names of such files, each by a stand-in of this file, and refuses all others.
"""

import pickle
import re
from typing import Any, BinaryIO

import numpy as np
import numpy.typing as npt

from pdb_core.errors import InstanceError
from pdb_core.messages import as_typed

SUFFIXES = (".pkl", ".pickle")
# About 25,000 boards.
_MAX_BYTES = 20_000_000


class _State:
    """Stand-in of an `NPuzzleState`."""

    tiles: Any = None

    def __setstate__(self, state: Any) -> None:
        # A dict, or a pair of a dict and the values of slots.
        for part in state if isinstance(state, tuple) else (state,):
            self.tiles = (part or {}).get("tiles", self.tiles)


class _Dtype:
    """Stand-in of a `numpy.dtype` of numbers."""

    def __init__(self, code: str, *_flags: Any) -> None:
        if not re.fullmatch("[uifb][1-8]", code):
            raise ValueError(f"an array of dtype {as_typed(str(code), 20)}; tiles are integers")
        self.dtype = np.dtype(code)

    def __setstate__(self, state: Any) -> None:
        # The version, the byte order, and what only dtypes with fields have.
        self.dtype = self.dtype.newbyteorder(state[1])


class _Array:
    """Stand-in of a `numpy.ndarray`."""

    tiles: npt.NDArray[Any] = np.zeros(0, dtype=np.uint8)

    def __setstate__(self, state: Any) -> None:
        _version, shape, dtype, _is_fortran, content = state
        self.tiles = np.frombuffer(content, dtype.dtype).reshape(shape)


def _from_buffer(content: Any, dtype: _Dtype, shape: Any, _order: Any) -> _Array:
    array = _Array()
    array.__setstate__((1, shape, dtype, False, content))
    return array


# What a pickle may name, and what takes its place here.
_NAMES: dict[str, Any] = {
    "environments.n_puzzle.NPuzzleState": _State,
    "numpy.ndarray": _Array,
    "numpy.dtype": _Dtype,
    # Bytes in protocol 2.
    "_codecs.encode": lambda text, _encoding: text.encode("latin-1"),
    "numpy.core.multiarray._reconstruct": lambda *_: _Array(),
    "numpy.core.numeric._frombuffer": _from_buffer,
    # A number, such as a time.
    "numpy.core.multiarray.scalar": lambda *_: None,
}


class _Unpickler(pickle.Unpickler):
    """Unpickler that knows the names of DeepCubeA's files only."""

    def find_class(self, module: str, name: str) -> Any:
        # NumPy 2 has other module names.
        full_name = f"{module}.{name}".replace("numpy._core.", "numpy.core.")
        if full_name not in _NAMES:
            raise ValueError(f"the name {as_typed(full_name, 60)}, which files of boards do not use")
        return _NAMES[full_name]


def read_board_pickle(file: BinaryIO, shown: str) -> list[list[int]]:
    """Return the tiles of each state in a file, unchecked. `shown` names the file in messages.

    Raises
    ------
    InstanceError
        The file is not such a file, is damaged, has more than 20 MB, or has solutions.
    """
    if len(file.read(_MAX_BYTES + 1)) > _MAX_BYTES:
        raise InstanceError(f"{shown} has more than {_MAX_BYTES // 10**6} MB; split it")
    file.seek(0)
    try:
        content = _Unpickler(file).load()
        boards = [state.tiles.tiles for state in content["states"]]
        if not all(board.ndim == 1 and board.dtype.kind in "ui" for board in boards):
            raise ValueError("tiles of another dtype or shape than integers in one dimension")
        has_solutions = not content.keys().isdisjoint(("solutions", "moves"))
    except Exception as error:  # pickle raises errors of many kinds
        fault = str(error) if type(error) is ValueError else "no states, or it is damaged"
        raise InstanceError(
            f"{shown} is no pickle of boards of DeepCubeA: it has {as_typed(fault, 200)}; name a file with a dict "
            "whose states are NPuzzleState"
        ) from None
    if has_solutions:
        raise InstanceError(
            f"{shown} has solutions, which are not read from a pickle; write boards and moves to CSV for pdb check, or "
            "leave the solutions out"
        )
    return [board.tolist() for board in boards]
