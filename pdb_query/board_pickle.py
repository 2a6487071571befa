"""Boards in pickle files of DeepCubeA, read without running what a pickle names. Used by `instances`.

Such a file holds a dict. Its `states` are a list of objects of the class `environments.n_puzzle.NPuzzleState`; the
attribute `tiles` of each is a NumPy array of one dimension, 0 for the blank. The goal is 1 2 ... n 0. Everything else
in the dict is ignored, also `solutions`: DeepCubeA writes solutions that are not optimal under the same name.

`pickle.Unpickler` with its own `find_class` imports nothing foreign, but hostile files can still exhaust its memory
and its stack. So a machine of its own, below, executes the few operations that such files need. It imports nothing,
and the only objects that it makes are of the types in this file, lists, tuples, dicts, numbers, bytes and str.
"""

import pickletools
import struct
from collections.abc import Callable
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from pdb_core.errors import InstanceError
from pdb_core.messages import as_typed

SUFFIXES = (".pkl", ".pickle")
# About 25,000 boards. A file of that many operations takes about a second.
_MAX_BYTES, _MAX_OPERATIONS = 20_000_000, 1_000_000
_MAX_CELLS = 1024
_STATE = "environments.n_puzzle.NPuzzleState"
_MARK = object()
# Warning: of pickletools about escapes in names, if warnings are errors.
_FAULTS = (ValueError, TypeError, LookupError, OverflowError, struct.error, Warning)


class _PickleError(ValueError):
    """The pickle holds something that files of boards do not have. The message is a fault, without the file."""


@dataclass
class _State:
    """Stand-in of an `NPuzzleState`."""

    tiles: Any = None

    def build(self, state: Any) -> None:
        """Take the attributes: a dict, or a pair of a dict and the values of slots."""
        for part in state if isinstance(state, tuple) else (state,):
            if isinstance(part, dict) and "tiles" in part:
                self.tiles = part["tiles"]


@dataclass
class _Dtype:
    """Stand-in of a `numpy.dtype`. `code` is its name, such as `u1`."""

    code: str
    order: str = "|"

    def build(self, state: Any) -> None:
        """Take the byte order; the rest is of dtypes with fields."""
        order = state[1]
        if order not in ("|", "<", ">", "="):
            raise _PickleError("a byte order that NumPy does not have")
        self.order = order

    def integers(self) -> np.dtype[Any]:
        """Return the dtype. Raises `_PickleError` if it is not of integers."""
        if self.code not in ("u1", "u2", "u4", "u8", "i1", "i2", "i4", "i8"):
            raise _PickleError(f"an array of dtype {as_typed(self.code, 20)}; tiles are integers")
        return np.dtype(("" if self.order == "|" else self.order) + self.code)


@dataclass
class _Array:
    """Stand-in of a `numpy.ndarray`."""

    shape: Any = None
    dtype: Any = None
    content: Any = None

    def build(self, state: Any) -> None:
        """Take the version, the shape, the dtype, whether the order is Fortran's, and the elements."""
        _version, self.shape, self.dtype, _is_fortran, self.content = state

    def tiles(self) -> npt.NDArray[Any]:
        """Return the array. Raises `_PickleError` if it has more than one dimension or is not of integers."""
        if not (isinstance(self.shape, tuple) and len(self.shape) == 1 and isinstance(self.dtype, _Dtype)):
            raise _PickleError("tiles that are not an array of one dimension")
        dtype = self.dtype.integers()
        n_cells = self.shape[0]
        if type(n_cells) is not int or not 0 < n_cells <= _MAX_CELLS:
            raise _PickleError(f"a board that does not have 1 to {_MAX_CELLS} cells")
        content = self.content.encode("latin-1") if isinstance(self.content, str) else self.content
        if not isinstance(content, bytes | bytearray) or len(content) != n_cells * dtype.itemsize:
            raise _PickleError("an array with more or fewer elements than its shape says")
        return np.frombuffer(content, dtype)


def _dtype(code: Any, *_flags: Any) -> _Dtype:
    if not isinstance(code, str):
        raise _PickleError("a dtype without a name")
    return _Dtype(code)


def _from_buffer(content: Any, dtype: Any, shape: Any, _order: Any) -> _Array:
    return _Array(shape, dtype, content)


def _encode(text: Any, encoding: Any) -> str:
    """Return the text that represents bytes in protocol 2. `_Array.tiles` encodes it: copies here could fill memory."""
    if not isinstance(text, str) or encoding not in ("latin1", "latin-1"):
        raise _PickleError("text in an encoding that NumPy does not write")
    return text


# What a pickle may name, and the functions here that take its place. NumPy 2 has other module names.
_FUNCTIONS: dict[str, Callable[..., Any]] = {
    "numpy.dtype": _dtype,
    "_codecs.encode": _encode,
    **{f"numpy.{core}.multiarray._reconstruct": lambda *_: _Array() for core in ("core", "_core")},
    **{f"numpy.{core}.numeric._frombuffer": _from_buffer for core in ("core", "_core")},
    # A number, such as a time.
    **{f"numpy.{core}.multiarray.scalar": lambda *_: None for core in ("core", "_core")},
}
_NAMES = {*_FUNCTIONS, "numpy.ndarray", _STATE}


@dataclass(frozen=True)
class _Name:
    """Class or function that the pickle names. Raises `_PickleError` if boards do not need it."""

    name: str

    def __post_init__(self) -> None:
        if self.name not in _NAMES:
            raise _PickleError(f"the name {as_typed(self.name, 60)}, which files of boards do not use")

    def call(self, arguments: Any) -> Any:
        """Return the result of the function, or a new object of the class."""
        if not isinstance(arguments, tuple):
            raise _PickleError("a call without arguments")
        if self.name == _STATE:
            return _State()
        if self.name not in _FUNCTIONS:
            raise _PickleError(f"a call of {self.name}")
        return _FUNCTIONS[self.name](*arguments)


class _Machine:
    """Stack of the pickle machine, with the operations that files of boards need."""

    def __init__(self) -> None:
        self.stack: list[Any] = []
        self._memo: dict[int, Any] = {}

    def execute(self, operation: str, argument: Any) -> None:
        """Execute an operation. Raises `_PickleError` for one that such files do not have, and `_FAULTS`."""
        stack = self.stack
        match operation:
            case "PROTO" | "FRAME" | "STOP":
                pass
            case "MARK":
                stack.append(_MARK)
            case "NONE" | "NEWTRUE" | "NEWFALSE":
                stack.append({"NONE": None, "NEWTRUE": True, "NEWFALSE": False}[operation])
            case (
                "BININT" | "BININT1" | "BININT2" | "LONG1" | "BINFLOAT" | "SHORT_BINUNICODE" | "BINUNICODE"
                | "BINUNICODE8" | "SHORT_BINBYTES" | "BINBYTES" | "BINBYTES8" | "BYTEARRAY8"
            ):  # fmt: skip
                stack.append(argument)
            case "EMPTY_LIST" | "EMPTY_DICT" | "EMPTY_TUPLE":
                stack.append({"EMPTY_LIST": list, "EMPTY_DICT": dict, "EMPTY_TUPLE": tuple}[operation]())
            case "TUPLE1" | "TUPLE2" | "TUPLE3":
                stack.append(tuple(self._pop(int(operation[-1]))))
            case "TUPLE":
                stack.append(tuple(self._pop_to_mark()))
            case "APPEND" | "APPENDS":
                items = self._pop(1) if operation == "APPEND" else self._pop_to_mark()
                self._top(list).extend(items)
            case "SETITEM" | "SETITEMS":
                self._set_items(self._pop(2) if operation == "SETITEM" else self._pop_to_mark())
            case "BINPUT" | "LONG_BINPUT" | "MEMOIZE":
                self._memo[len(self._memo) if argument is None else argument] = stack[-1]
            case "BINGET" | "LONG_BINGET":
                stack.append(self._memo[argument])
            case "GLOBAL":
                stack.append(_Name(argument.replace(" ", ".")))
            case "STACK_GLOBAL":
                stack.append(_Name(".".join(self._pop(2))))
            case "REDUCE" | "NEWOBJ":
                name, arguments = self._pop(2)
                if not isinstance(name, _Name):
                    raise _PickleError("a call of something that is no function")
                stack.append(name.call(arguments))
            case "BUILD":
                (state,) = self._pop(1)
                self._top(_State | _Array | _Dtype).build(state)
            case _:
                raise _PickleError(f"the operation {operation}, which files of boards do not use")

    def _top(self, kind: Any) -> Any:
        if not isinstance(self.stack[-1], kind):
            raise _PickleError("an operation on an object of another kind")
        return self.stack[-1]

    def _pop(self, n: int) -> list[Any]:
        items = self.stack[-n:]
        if len(items) < n or _MARK in items:
            raise _PickleError("an operation without operands")
        del self.stack[-n:]
        return items

    def _pop_to_mark(self) -> list[Any]:
        items = []
        while (item := self.stack.pop()) is not _MARK:
            items.append(item)
        return items[::-1]

    def _set_items(self, items: list[Any]) -> None:
        target = self._top(dict)
        for key, value in zip(items[::2], items[1::2], strict=True):
            # Python protects the hashes of str against collisions, not those of numbers and tuples.
            if not isinstance(key, str):
                raise _PickleError("a dict whose keys are not text")
            target[key] = value


def read_board_pickle(path: Path) -> list[npt.NDArray[Any]]:
    """Return the tiles of each state in a file, arrays of integers of one dimension, unchecked.

    Raises `InstanceError` if the file cannot be read, is not such a file, is damaged or too large.
    """
    shown = as_typed(str(path))
    try:
        with path.open("rb") as file:
            content = file.read(_MAX_BYTES + 1)
    except FileNotFoundError:
        raise InstanceError(f"there is no file {shown}; name a file of boards") from None
    except (OSError, ValueError) as error:  # ValueError: a NUL byte in the path
        raise InstanceError(f"cannot read {shown}: {getattr(error, 'strerror', None) or error}; name another") from None
    try:
        if len(content) > _MAX_BYTES:
            raise _PickleError(f"more than {_MAX_BYTES // 10**6} MB")
        return _tiles(content)
    except _PickleError as error:
        fault = f"it has {error}"
    except _FAULTS:
        fault = "it is damaged or truncated"
    raise InstanceError(
        f"{shown} is no pickle of boards of DeepCubeA: {fault}; name a file with a dict whose states are NPuzzleState"
    )


def _tiles(content: bytes) -> list[npt.NDArray[Any]]:
    """Return the tiles of the states of a pickle. Raises `_FAULTS`."""
    machine = _Machine()
    operation = ""
    for opcode, argument, _ in islice(pickletools.genops(content), _MAX_OPERATIONS):
        operation = opcode.name
        machine.execute(operation, argument)
    if operation != "STOP":
        raise _PickleError(f"more than {_MAX_OPERATIONS} operations")
    (data,) = machine.stack
    states = data.get("states") if isinstance(data, dict) else None
    if not isinstance(states, list) or not states:
        raise _PickleError("no list of states")
    if not all(isinstance(state, _State) and isinstance(state.tiles, _Array) for state in states):
        raise _PickleError("a state that is no NPuzzleState with an array of tiles")
    boards: list[npt.NDArray[Any]] = []
    n_cells = 0
    for state in states:
        boards.append(state.tiles.tiles())
        n_cells += len(boards[-1])
        # Few bytes can name the same large array many times.
        if n_cells > len(content):
            raise _PickleError("more cells than bytes")
    return boards
