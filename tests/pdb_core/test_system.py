"""Calls that differ between systems: each fallback alone. tests/project/test_platforms.py runs all of the tool."""

import errno
import os
import random
import sys
import threading
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from pdb_build.partial_folder import PartialFolder
from pdb_build.sparse_file import SparseFile
from pdb_core import durable_files, system
from pdb_core.errors import BuildRunningError, TableFileError
from pdb_query import read_table_header
from pdb_query.private_memory import private_memory

pytestmark = pytest.mark.tiny


@pytest.fixture
def on_windows(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let the program take the ways that it takes on Windows."""
    monkeypatch.setattr(system, "OPENS_FOLDERS", False)
    monkeypatch.setattr(system, "REMOVES_OPEN_FILES", False)
    for name in ("pread", "preadv", "pwrite", "posix_fallocate", "posix_fadvise", "geteuid"):
        monkeypatch.delattr(os, name)


@pytest.mark.usefixtures("on_windows")
def test_reads_and_writes_at_an_offset_keep_the_position(tmp_path: Path) -> None:
    with (tmp_path / "file").open("w+b", buffering=0) as file:
        descriptor = file.fileno()
        system.reserve(descriptor, 100)
        assert os.fstat(descriptor).st_size == 100
        system.read_ahead(descriptor, 0, 100)
        file.seek(7)
        assert system.write_at(descriptor, memoryview(b"abcdef"), 50) == 6
        assert system.read_at(descriptor, 3, 51) == b"bcd"
        buffer = bytearray(60)
        assert system.read_into(descriptor, memoryview(buffer), 48) == 52
        assert buffer == b"\0\0abcdef" + bytes(52)
        assert file.tell() == 7


@pytest.mark.usefixtures("on_windows")
def test_threads_read_at_their_own_offsets(tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes(bytes(range(256)))
    wrong = []
    with (tmp_path / "file").open("rb", buffering=0) as file:

        def read(offset: int) -> None:
            for _ in range(500):
                if system.read_at(file.fileno(), 4, offset) != bytes(range(offset, offset + 4)):
                    wrong.append(offset)

        threads = [threading.Thread(target=read, args=(offset,)) for offset in (0, 100, 200)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    assert wrong == []


def test_large_reads_and_writes_are_divided(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(system, "_MOST_BYTES", 10)
    data = bytes(range(25))
    with (tmp_path / "file").open("w+b") as file:
        assert system.write_at(file.fileno(), memoryview(data), 0) == 10
        durable_files.write_all(file.fileno(), memoryview(data), 3)
        buffer = bytearray(25)
        assert system.read_into(file.fileno(), memoryview(buffer), 3) == 10
        durable_files.read_all(file.fileno(), memoryview(buffer), 3)
        assert buffer == data


@pytest.mark.usefixtures("on_windows")
def test_folder_is_not_synced_where_it_cannot_be_opened(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    synced = []
    monkeypatch.setattr(os, "fsync", lambda descriptor: synced.append(os.fstat(descriptor).st_ino))
    durable_files.sync(tmp_path)
    assert synced == []
    (tmp_path / "file").write_bytes(b"a")
    durable_files.sync(tmp_path / "file")
    assert synced == [(tmp_path / "file").stat().st_ino]


def test_lock_of_a_build_is_closed_before_it_is_removed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Windows does not remove an open file."""
    monkeypatch.setattr(system, "REMOVES_OPEN_FILES", False)
    closed = []
    real_close, real_unlink = os.close, Path.unlink
    monkeypatch.setattr(os, "close", lambda descriptor: (closed.append(descriptor), real_close(descriptor))[1])

    def unlink(path: Path, **options: Any) -> None:
        assert path.name != "lock" or closed
        real_unlink(path, **options)

    monkeypatch.setattr(Path, "unlink", unlink)
    with PartialFolder(tmp_path / "a.h5"):
        closed.clear()
    assert list(tmp_path.iterdir()) == []


def test_builder_is_named_without_the_locked_byte(tmp_path: Path) -> None:
    """Windows refuses to read byte 0 of the lock."""
    with PartialFolder(tmp_path / "a.h5") as folder:
        lock = folder.path / "lock"
        assert lock.read_bytes()[:1] == b" "
        os.pwrite(folder._lock or 0, b"\xff", 0)
        with pytest.raises(BuildRunningError, match=f"is being built by process {os.getpid()} on "):
            PartialFolder(tmp_path / "a.h5").__enter__()


@pytest.mark.usefixtures("on_windows")
def test_disk_bytes_without_blocks_are_the_size() -> None:
    class Status:
        st_size = 1234

    status: Any = Status()
    assert system.disk_bytes(status) == 1234
    status.st_blocks = 3
    assert system.disk_bytes(status) == 1536
    assert system.user_number() is None


def test_end_of_a_reader_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    invalid = OSError(errno.EINVAL, "Invalid argument")
    assert system.has_no_reader(BrokenPipeError())
    assert not system.has_no_reader(invalid)
    monkeypatch.setattr(system, "OPENS_FOLDERS", False)
    assert system.has_no_reader(invalid)


def test_text_on_windows_is_utf_8(monkeypatch: pytest.MonkeyPatch) -> None:
    file = SimpleNamespace(encoding="cp850")
    assert [system.text_encoding(stream) for stream in (file, None)] == ["cp850", "utf-8"]
    monkeypatch.setattr(system, "OPENS_FOLDERS", False)
    assert system.text_encoding(file) == "utf-8"


def test_folder_is_no_table_file_where_opening_is_forbidden(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Windows reports a missing permission."""

    def refuse(*_: object) -> int:
        raise PermissionError(errno.EACCES, "Permission denied")

    monkeypatch.setattr(os, "open", refuse)
    with pytest.raises(TableFileError, match="is a folder"):
        read_table_header(tmp_path)


def test_memory_of_other_systems_is_whole_words(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "platform", "darwin")
    memory = private_memory(13, huge=True)
    assert memory.shape == (13,)
    assert memory.base.nbytes == 16
    assert memory.flags.writeable
    system.lower_thread_priority(10)
    assert os.getpriority(os.PRIO_PROCESS, threading.get_native_id()) == os.getpriority(os.PRIO_PROCESS, os.getpid())


def test_sparse_file_is_like_a_file(tmp_path: Path) -> None:
    """Random reads and writes, compared with those of a file."""
    chosen = random.Random(1)
    with (tmp_path / "file").open("w+b", buffering=0) as file, SparseFile() as sparse:
        for _ in range(3000):
            offset, n_bytes = chosen.randrange(60_000), chosen.randrange(9000)
            action = chosen.choice(("write", "read", "end"))
            results = []
            for each in (file, sparse):
                if action == "end":
                    results.append(each.seek(0, os.SEEK_END))
                    continue
                each.seek(offset)
                if action == "write":
                    results.append(each.write(bytes([offset % 255 + 1]) * n_bytes))
                else:
                    results.append(each.read(n_bytes))
            assert results[0] == results[1], action
            assert file.tell() == sparse.tell()
        sparse.truncate(30_000)
        assert sparse.seek(0, os.SEEK_END) == 30_000
