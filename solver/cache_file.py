"""Files in the cache folder: what can be computed again, kept for the next run."""

import contextlib
import hashlib
import os
from collections.abc import Iterable
from pathlib import Path

from pdb_core.jit import cache_home

_DIGEST_BYTES = 32


def cache_path(folder: str, name: str, sources: Iterable[Path]) -> Path:
    """The place of a cached file, which depends on what makes it: a change of `sources` must not find the one of
    before.
    """
    digest = hashlib.sha256(b"".join(path.read_bytes() for path in sources)).hexdigest()[:16]
    return cache_home() / folder / f"{name}-{digest}.bin"


def load_cached(path: Path) -> bytes | None:
    """The content that `save_cached` wrote under this name, or None where it is not there, damaged or another's."""
    try:
        with path.open("rb") as file:
            digest, content = file.read(_DIGEST_BYTES), file.read()
    except OSError:
        return None
    return content if _digest(path, content) == digest else None


def save_cached(path: Path, content: bytes) -> None:
    """Keep `content` for the next run; a cache that cannot be written is none."""
    temporary = path.with_name(f"{path.name}.{os.getpid()}")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        temporary.write_bytes(_digest(path, content) + content)
        temporary.replace(path)
    except OSError:
        with contextlib.suppress(OSError):
            temporary.unlink()


def _digest(path: Path, content: bytes) -> bytes:
    # The name is part of it: a sound file of another table that was copied here is no file of this one.
    digest = hashlib.sha256(path.name.encode())
    digest.update(content)
    return digest.digest()
