"""Files in the cache folder: data that can be computed again, kept for the next run."""

import contextlib
import hashlib
from collections.abc import Iterable
from pathlib import Path

from pdb_core.durable_files import written_safely
from pdb_core.errors import PdbError
from pdb_core.jit import cache_home

_DIGEST_BYTES = 32


def cache_path(folder: str, name: str, sources: Iterable[Path]) -> Path:
    """Return the path of a cached file. It depends on the content of `sources`, the files of the code that makes it."""
    digest = hashlib.sha256(b"".join(path.read_bytes() for path in sources)).hexdigest()[:16]
    return cache_home() / folder / f"{name}-{digest}.bin"


def load_cached(path: Path) -> bytes | None:
    """Return the content that `save_cached` wrote under this name. Returns None if it is missing or damaged."""
    try:
        with path.open("rb") as file:
            digest, content = file.read(_DIGEST_BYTES), file.read()
    except OSError:
        return None
    return content if _digest(path, content) == digest else None


def save_cached(path: Path, content: bytes) -> None:
    """Keep `content` for the next run, if the cache can be written."""
    with contextlib.suppress(OSError, PdbError):
        path.parent.mkdir(parents=True, exist_ok=True)
        with written_safely(path, is_text=False) as file:
            file.write(_digest(path, content) + content)


def _digest(path: Path, content: bytes) -> bytes:
    # The digest includes the name, so that a copy of another table's file is not accepted.
    digest = hashlib.sha256(path.name.encode())
    digest.update(content)
    return digest.digest()
