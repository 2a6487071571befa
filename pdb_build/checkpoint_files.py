"""The files of checkpoints: written so that a crash at any byte leaves an older one, and read with doubt.

A checkpoint is a file for each array of the search, and a manifest that has their digests. The manifest gets its name
when everything is on the disk; without it the other files are nothing. Two checkpoints are kept, so that there is one
more where the newest turns out to be damaged. The oldest goes before a new one is written, which bounds the room.
"""

import hashlib
import os
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path
from threading import Event
from typing import Any

import numpy as np
import numpy.typing as npt

from pdb_build.checkpoint import Checkpoint, KeptFile, KeptSearch, identity, read_manifest
from pdb_build.durable import digest_of, sync, write_and_sync, writing_errors
from pdb_build.frontier import Arrays
from pdb_build.partial_folder import CHECKPOINT_PREFIX, MANIFEST_SUFFIX, PartialFolder
from pdb_build.plan import BuildPlan
from pdb_build.search import SearchPosition
from pdb_build.writer import WrittenTable
from pdb_core.errors import CheckpointMismatchError, OutputError
from pdb_core.messages import shorten

Say = Callable[[str], None]
_PIECE_BYTES = 16 * 1024 * 1024


def make_room(folder: PartialFolder, keep: int | None) -> int:
    """Remove all checkpoints but number `keep`, and what is left of unfinished ones. Returns the number of the next.

    Raises `OSError`.
    """
    newest = next(iter(folder.manifests()), 0)
    # Manifests first: without them the other files are nothing.
    for path in sorted(folder.checkpoint_files(), key=lambda path: path.suffix != MANIFEST_SUFFIX):
        if _number_of(path) != keep:
            path.unlink(missing_ok=True)
    return newest + 1


def write_checkpoint(
    folder: PartialFolder,
    number: int,
    build: dict[str, Any],
    tables: dict[int, WrittenTable],
    search: tuple[int, SearchPosition, Arrays] | None,
    *,
    seconds: float,
    n_runs: int,
) -> Checkpoint:
    """Write a checkpoint; when this returns it will survive a crash. Raises `OSError`, having removed what it wrote."""
    prefix = f"{CHECKPOINT_PREFIX}{number}"
    try:
        kept = None
        if search is not None:
            index, position, arrays = search
            kept = KeptSearch(index, position, _write_arrays(folder.path, prefix, arrays))
        checkpoint = Checkpoint(number, build, tables, kept, seconds, n_runs)
        new = folder.path / f"{prefix}.new"
        with new.open("xb") as file:
            file.write(checkpoint.to_json().encode())
            file.flush()
            os.fsync(file.fileno())
        sync(folder.path)
        new.rename(folder.path / f"{prefix}{MANIFEST_SUFFIX}")
        sync(folder.path)
        sync(folder.path.parent)
    except OSError:
        for path in folder.checkpoint_files():
            if _number_of(path) == number:
                with suppress(OSError):
                    path.unlink()
        raise
    return checkpoint


def _write_arrays(folder: Path, prefix: str, arrays: Arrays) -> dict[str, KeptFile]:
    cancelled = Event()

    def write(name: str) -> KeptFile:
        path = folder / f"{prefix}.{name}"
        descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o644)
        try:
            sha256 = write_and_sync(descriptor, arrays[name], cancelled=cancelled.is_set)
        finally:
            os.close(descriptor)
        return KeptFile(path.name, arrays[name].nbytes, sha256 or "")

    with ThreadPoolExecutor(2) as pool:
        try:
            return dict(zip(arrays, pool.map(write, arrays), strict=True))
        except BaseException:
            cancelled.set()
            raise


def find_checkpoint(folder: PartialFolder, plan: BuildPlan, say: Say) -> Checkpoint | None:
    """The checkpoint to go on from: the newest whose files are whole.

    Where none is, tables that are whole still count. Raises `CheckpointMismatchError` where it is of another build, and
    `OutputError` where the disk does not let it be read: that may be over soon.
    """
    try:
        return _find(folder, plan, say)
    except OSError as error:
        raise OutputError(
            f"the checkpoint in {folder.path} cannot be read: {error.strerror}; try again, or start over with --fresh"
        ) from error


def _find(folder: PartialFolder, plan: BuildPlan, say: Say) -> Checkpoint | None:
    if not folder.table.exists():
        folder.clear()  # the file got its name, and nothing but tidying up was left to do
        return None
    best = None
    for number, path in folder.manifests().items():
        checkpoint = _read(path, number, plan)
        if checkpoint is None:
            say(f"{path} is damaged")
            continue
        _check_identity(checkpoint, plan, folder)
        tables = {index: table for index, table in checkpoint.tables.items() if _is_whole_table(folder.table, table)}
        search = checkpoint.search
        is_whole = len(tables) == len(checkpoint.tables)
        if is_whole and (search is None or all(_is_whole(folder.path, file) for file in search.files.values())):
            return checkpoint
        say(f"{path} or a file it names is damaged")
        if best is None or len(tables) > len(best.tables):
            best = Checkpoint(number, checkpoint.build, tables, None, checkpoint.seconds, checkpoint.n_runs)
    return best if best is not None and best.tables else None


def refuse_checkpoints(folder: PartialFolder, *, fresh: bool) -> None:
    """Raise `CheckpointMismatchError` where there is a checkpoint that cannot be used, or remove it, where `fresh`.

    Raises `OutputError`.
    """
    with writing_errors(folder.out):
        has_checkpoint = bool(folder.manifests())
    if has_checkpoint and not fresh:
        raise CheckpointMismatchError(
            f"{folder.path} has a checkpoint of a build on this machine alone, and a cluster does not go on from it: "
            "build without one, or give --fresh to remove it and start over"
        )
    folder.clear()


def restore_arrays(folder: PartialFolder, search: KeptSearch, arrays: Arrays) -> None:
    """Fill the arrays of a search with what a checkpoint holds.

    Raises `OutputError` where that is no longer what it was when the checkpoint was found.
    """
    for name, array in arrays.items():
        file = search.files.get(name)
        if file is None or file.n_bytes != array.nbytes or not _fill(folder.path / file.name, array, file.sha256):
            raise OutputError(
                f"the checkpoint in {folder.path} cannot be read as it was written: the disk or the memory is faulty; "
                "start over with --fresh, best at another place"
            )


def _fill(path: Path, array: npt.NDArray[Any], sha256: str) -> bool:
    view = array.reshape(-1).view(np.uint8).data
    digest, done = hashlib.sha256(), 0
    with suppress(OSError), path.open("rb", buffering=0) as file:
        while done < len(view) and (n_read := file.readinto(view[done : done + _PIECE_BYTES])):
            digest.update(view[done : done + n_read])
            done += n_read
    return done == len(view) and digest.hexdigest() == sha256


def _read(path: Path, number: int, plan: BuildPlan) -> Checkpoint | None:
    try:
        return read_manifest(path, number, plan)
    except FileNotFoundError:
        return None


def _check_identity(checkpoint: Checkpoint, plan: BuildPlan, folder: PartialFolder) -> None:
    differences = list(_differences(checkpoint.build, identity(plan)))
    if differences:
        raise CheckpointMismatchError(
            f"{folder.path} has a checkpoint of another build: {'; '.join(differences)}. Give the same options to go "
            "on from it, or --fresh to remove it and start over"
        )


def _differences(kept: dict[str, Any], ours: dict[str, Any]) -> Iterator[str]:
    for key, value in ours.items():
        if kept.get(key) != value:
            yield f"its {key} is {shorten(str(kept.get(key, 'unknown')))}, not {shorten(str(value))}"


def _is_whole(folder: Path, kept: KeptFile) -> bool:
    path = folder / kept.name
    if not path.exists() or path.stat().st_size != kept.n_bytes:
        return False
    with path.open("rb") as file:
        return digest_of(file.fileno(), 0, kept.n_bytes) == kept.sha256


def _is_whole_table(path: Path, written: WrittenTable) -> bool:
    with path.open("rb") as file:
        return digest_of(file.fileno(), written.offset, written.table.n_bytes) == written.sha256


def _number_of(path: Path) -> int:
    number = path.name.removeprefix(CHECKPOINT_PREFIX).partition(".")[0]
    return int(number) if number.isdecimal() else -1
