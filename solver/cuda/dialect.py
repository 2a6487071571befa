"""Numba's CUDA dialect, whose names have no types, and its kernels, which are kept on disk.

Files named `device_*.py` run on the card.
"""

import hashlib
from collections.abc import Callable
from importlib.metadata import version
from pathlib import Path
from typing import Any, TypeVar

import numba
from numba import cuda as _cuda

from pdb_core.jit import cache_home
from pdb_core.kernel_folder import use_kernel_folder

cuda: Any = _cuda
int32: Any = numba.int32
int64: Any = numba.int64
uint8: Any = numba.uint8
uint16: Any = numba.uint16
uint32: Any = numba.uint32
uint64: Any = numba.uint64

_settings: Any = numba.config
# Whether the simulator takes the place of a card.
IS_SIMULATED = bool(_settings.ENABLE_CUDASIM)


Function = TypeVar("Function", bound=Callable[..., Any])


def device_function(function: Function) -> Function:
    """Mark a function that kernels call. Only they can call it."""
    marked: Function = cuda.jit(device=True)(function)
    return marked


def compiled(function: Any, *, registers: int | None = None) -> Any:
    """Compile a kernel at its first launch, for a number of registers of a thread, and keep it on disk."""
    if IS_SIMULATED:
        return cuda.jit(function)
    from numba.cuda.core import config

    before = config.CACHE_DIR
    try:
        config.CACHE_DIR = str(use_kernel_folder(cache_home() / "kernels", _digest()))
        return cuda.jit(function, cache=True, max_registers=registers)
    except OSError:
        return cuda.jit(function, max_registers=registers)
    finally:
        config.CACHE_DIR = before


def _digest() -> str:
    """Return the digest of all that the kernels are compiled from: numba looks at the file of the outermost function
    alone.
    """
    files = sorted(Path(__file__).parent.glob("d*.py"))
    sources = b"".join(path.read_bytes() for path in files) + version("numba-cuda").encode()
    return hashlib.sha256(sources).hexdigest()[:16]
