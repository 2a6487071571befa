"""Calls that differ between systems, and durable files: locks, reads and writes at an offset.

tests/project/test_platforms.py runs all of the tool without what only POSIX has; tests/tilepdb/commands/
test_board_files.py tests `written_safely`.
"""

import errno
import fcntl
import os
import sys
import threading
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from pdb_build.partial_folder import PartialFolder
from pdb_core import system
from pdb_core.durable_files import digest_of, lock_file, read_all, write_and_sync
from pdb_core.errors import BuildRunningError, TableFileError
from pdb_query import read_table_header
from pdb_query.private_memory import private_memory
from tests.failing import failing

pytestmark = pytest.mark.tiny


@pytest.fixture
def on_windows(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let the program take the ways that it takes on Windows."""
    monkeypatch.setattr(system, "OPENS_FOLDERS", False)
    monkeypatch.setattr(system, "REMOVES_OPEN_FILES", False)
    for name in ("pread", "preadv", "pwrite", "posix_fallocate", "posix_fadvise", "geteuid"):
        monkeypatch.delattr(os, name)


# Reads and writes


@pytest.mark.usefixtures("on_windows")
def test_threads_read_at_their_own_offsets(tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes(bytes(range(256)))
    wrong = []
    with (tmp_path / "file").open("rb", buffering=0) as file:

        def read(offset: int) -> None:
            for _ in range(500):
                if system.read_at(file.fileno(), 4, offset) != bytes(range(offset, offset + 4)):
                    wrong.append(offset)

        file.seek(7)
        threads = [threading.Thread(target=read, args=(offset,)) for offset in (0, 100, 200)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert file.tell() == 7
    assert wrong == []


def test_array_is_written_and_read_in_parts_with_its_digest(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(system, "_MOST_BYTES", 1000)
    array = np.arange(1000, dtype=np.uint64).reshape(10, 100)
    buffer = bytearray(array.nbytes)
    with (tmp_path / "array").open("w+b") as file:
        sha256 = write_and_sync(file.fileno(), array, 40, cancelled=lambda: False)
        assert digest_of(file.fileno(), 40, array.nbytes) == sha256
        assert digest_of(file.fileno(), 40, array.nbytes + 1) == sha256  # of the bytes that are there
        read_all(file.fileno(), memoryview(buffer), 40)
        assert buffer == array.tobytes()
        assert write_and_sync(file.fileno(), array, cancelled=lambda: True) is None
        with pytest.raises(OSError, match="Input/output error"):
            read_all(file.fileno(), memoryview(buffer), 41)


# Locks and folders


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
    monkeypatch.setattr(fcntl, "flock", failing(number))
    for _ in range(2):
        assert lock_file(tmp_path / "lock") is not None


def test_builder_is_named_without_the_locked_byte(tmp_path: Path) -> None:
    """Windows refuses to read byte 0 of the lock."""
    with PartialFolder(tmp_path / "a.h5") as folder:
        os.pwrite(folder._lock or 0, b"\xff", 0)
        with pytest.raises(BuildRunningError, match=f"is being built by process {os.getpid()} on "):
            PartialFolder(tmp_path / "a.h5").__enter__()


def test_lock_of_a_build_is_closed_before_it_is_removed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Windows does not remove an open file."""
    monkeypatch.setattr(system, "REMOVES_OPEN_FILES", False)
    real_unlink = Path.unlink

    def unlink(path: Path, **options: Any) -> None:
        assert str(path) not in [os.path.realpath(entry.path) for entry in os.scandir("/proc/self/fd")]
        real_unlink(path, **options)

    monkeypatch.setattr(Path, "unlink", unlink)
    with PartialFolder(tmp_path / "a.h5"):
        pass
    assert list(tmp_path.iterdir()) == []


def test_folder_is_no_table_file_where_opening_is_forbidden(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Windows reports a missing permission."""
    monkeypatch.setattr(os, "open", failing(errno.EACCES))
    with pytest.raises(TableFileError, match="is a folder"):
        read_table_header(tmp_path)


# Other facts of Windows and macOS


def test_end_of_a_reader_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    invalid = OSError(errno.EINVAL, "Invalid argument")
    assert system.has_no_reader(BrokenPipeError())
    assert not system.has_no_reader(invalid)
    monkeypatch.setattr(system, "OPENS_FOLDERS", False)
    assert system.has_no_reader(invalid)


def test_disk_bytes_without_blocks_are_the_size() -> None:
    assert system.disk_bytes(SimpleNamespace(st_size=1234)) == 1234  # type: ignore[arg-type]
    assert system.disk_bytes(SimpleNamespace(st_size=1234, st_blocks=3)) == 1536  # type: ignore[arg-type]


def test_text_on_windows_is_utf_8(monkeypatch: pytest.MonkeyPatch) -> None:
    file = SimpleNamespace(encoding="cp850")
    assert [system.text_encoding(stream) for stream in (file, None)] == ["cp850", "utf-8"]
    monkeypatch.setattr(system, "OPENS_FOLDERS", False)
    assert system.text_encoding(file) == "utf-8"


@pytest.mark.parametrize("system_name", ["darwin", "linux"])
def test_memory_without_huge_pages_is_whole_words(monkeypatch: pytest.MonkeyPatch, system_name: str) -> None:
    monkeypatch.setattr(sys, "platform", system_name)
    monkeypatch.delattr("mmap.MADV_HUGEPAGE")
    memory = private_memory(13, huge=True)
    assert memory.shape == (13,)
    assert memory.base.nbytes == 16
    assert memory.flags.writeable
