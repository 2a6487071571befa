"""Files as DeepCubeA writes them, made with a class of its name, and read as it reads them."""

import pickle
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from types import ModuleType
from typing import Any

import numpy as np
import numpy.typing as npt

MODULE = "environments.n_puzzle"


class NPuzzleState:
    """Class with the attributes and the slots of DeepCubeA's."""

    __slots__ = ("hash", "tiles")

    def __init__(self, tiles: npt.NDArray[Any]) -> None:
        self.tiles, self.hash = tiles, None


NPuzzleState.__module__ = MODULE


@contextmanager
def deepcubea() -> Iterator[None]:
    """Provide the module of the class, which pickle imports."""
    modules = {name: ModuleType(name) for name in ("environments", MODULE)}
    modules[MODULE].NPuzzleState = NPuzzleState  # type: ignore[attr-defined]
    sys.modules.update(modules)
    try:
        yield
    finally:
        for name in modules:
            del sys.modules[name]


def pickled(
    boards: Sequence[Sequence[int]], dtype: Any = np.uint8, protocol: int = pickle.HIGHEST_PROTOCOL, **more: Any
) -> bytes:
    """Return the bytes of a file of boards; `more` are other entries of its dict."""
    with deepcubea():
        states = [NPuzzleState(np.array(board).astype(dtype)) for board in boards]
        return pickle.dumps({"states": states, **more}, protocol=protocol)
