"""Arrays in the cache folder: data that can be computed again, kept for the next run."""

import contextlib
import hashlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from pdb_core.durable_files import written_safely
from pdb_core.errors import PdbError
from pdb_core.jit import cache_home

_DIGEST_BYTES = 32


def cached_array(
    name: str, module: str, dtype: type[np.generic], compute: Callable[[], npt.NDArray[Any]]
) -> npt.NDArray[Any]:
    """Return the array that `compute` returns, read-only and one-dimensional, from the cache folder if it is there.

    Parameters
    ----------
    name
        Path of the file below the cache folder, without its ending.
    module
        File that computes the array, with kernels in the file ``MODULE_kernels.py`` beside it. The cached array is
        used only as long as both files stay as they are.
    """
    glue = Path(module)
    sources = hashlib.sha256(glue.read_bytes() + glue.with_name(f"{glue.stem}_kernels.py").read_bytes())
    path = cache_home() / f"{name}-{sources.hexdigest()[:16]}.bin"
    content = _load(path)
    if content is None:
        content = compute().tobytes()
        # The cache need not be writable.
        with contextlib.suppress(OSError, PdbError):
            path.parent.mkdir(parents=True, exist_ok=True)
            with written_safely(path, is_text=False) as file:
                file.write(_digest(content) + content)
    return np.frombuffer(content, dtype=dtype)


def _load(path: Path) -> bytes | None:
    """Return the content of a file, or None if it is missing or damaged."""
    try:
        with path.open("rb") as file:
            digest, content = file.read(_DIGEST_BYTES), file.read()
    except OSError:
        return None
    return content if digest == _digest(content) else None


def _digest(content: bytes) -> bytes:
    return hashlib.sha256(content).digest()
