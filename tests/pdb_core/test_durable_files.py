"""Durable files: locks, reads and writes at an offset.

tests/tilepdb/commands/test_board_files.py tests `written_safely`.
"""

import errno
import fcntl
import os
from pathlib import Path

import numpy as np
import pytest

from pdb_build.partial_folder import PartialFolder
from pdb_core.durable_files import digest_of, lock_file, read_all, write_and_sync

pytestmark = pytest.mark.tiny


def test_lock_is_held_until_its_descriptor_is_closed(tmp_path: Path) -> None:
    first = lock_file(tmp_path / "lock")
    assert first is not None
    with pytest.raises(BlockingIOError):
        lock_file(tmp_path / "lock")
    os.close(first)
    second = lock_file(tmp_path / "lock")
    assert second is not None
    os.close(second)


@pytest.mark.parametrize("moment", ["before", "after"])
def test_lock_of_a_removed_folder_is_taken_in_a_new_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, moment: str
) -> None:
    """The holder removes the folder before or after this process opens the lock."""
    real, calls = os.open, []

    def open_late(path: Path, *args: int) -> int:
        calls.append(path)
        if len(calls) == 1 and moment == "before":
            path.parent.rmdir()
        descriptor = real(path, *args)
        if len(calls) == 1 and moment == "after":
            path.unlink()
        return descriptor

    monkeypatch.setattr(os, "open", open_late)
    with PartialFolder(tmp_path / "a.h5") as folder:
        assert len(calls) == 2
        assert (folder.path / "lock").exists()
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("number", [errno.ENOLCK, errno.EOPNOTSUPP])
def test_file_system_without_locks_is_used_without(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, number: int
) -> None:
    def refuse(*_args: int) -> None:
        raise OSError(number, os.strerror(number))

    monkeypatch.setattr(fcntl, "flock", refuse)
    for _ in range(2):
        assert lock_file(tmp_path / "lock") is not None


def test_array_is_written_at_its_offset_with_its_digest(tmp_path: Path) -> None:
    path = tmp_path / "array"
    array = np.arange(1000, dtype=np.uint64).reshape(10, 100)
    with path.open("w+b") as file:
        sha256 = write_and_sync(file.fileno(), array, 40, cancelled=lambda: False)
        assert digest_of(file.fileno(), 40, array.nbytes) == sha256
        buffer = bytearray(array.nbytes)
        read_all(file.fileno(), memoryview(buffer), 40)
        assert buffer == array.tobytes()
        assert write_and_sync(file.fileno(), array, cancelled=lambda: True) is None
        with pytest.raises(OSError, match="Input/output error"):
            read_all(file.fileno(), memoryview(buffer), 41)
