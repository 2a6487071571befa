"""Calls that differ between systems, and durable files: locks, reads and writes at an offset.

tests/project/test_platforms.py runs all of the tool without what only POSIX has.
"""

import errno
import fcntl
import hashlib
import os
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

from pdb_core import system
from pdb_core.durable_files import bytes_of, digest_of, lock_file, read_all, write_all
from pdb_core.errors import OutputError
from solver.answers.journal import Journal
from tests import failing

pytestmark = pytest.mark.tiny


# Reads and writes


def test_threads_read_at_their_own_offsets_on_windows(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delattr(os, "pread")
    (tmp_path / "file").write_bytes(bytes(range(256)))
    with (tmp_path / "file").open("rb", buffering=0) as file, ThreadPoolExecutor(3) as pool:
        file.seek(7)
        offsets = [0, 100, 200] * 500
        read = pool.map(lambda offset: system.read_at(file.fileno(), 4, offset)[0], offsets)
        assert list(read) == offsets
        assert file.tell() == 7


def test_array_is_written_and_read_in_parts_with_its_digest(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(system, "_MOST_BYTES", 1000)
    array = np.arange(1000, dtype=np.uint64).reshape(10, 100)
    buffer, sha256 = bytearray(array.nbytes), hashlib.sha256(array).hexdigest()
    with (tmp_path / "array").open("w+b") as file:
        write_all(file.fileno(), bytes_of(array), 40)
        assert digest_of(file.fileno(), 40, array.nbytes) == sha256
        assert digest_of(file.fileno(), 40, array.nbytes + 1) == sha256  # of the bytes that are there
        read_all(file.fileno(), memoryview(buffer), 40)
        assert buffer == array.tobytes()
        with pytest.raises(OSError, match="Input/output error"):
            read_all(file.fileno(), memoryview(buffer), 41)


# Locks and folders


def test_lock_through_a_link_to_a_missing_folder_is_refused(tmp_path: Path) -> None:
    (tmp_path / "log").symlink_to("none/file")
    with pytest.raises(OutputError, match=r"cannot write .*log: No such file"):
        Journal(tmp_path / "log", "log of tests 1", {}, advice="choose another log")


def test_file_system_without_locks_is_used_without(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(fcntl, "flock", failing(errno.ENOLCK))
    for _ in range(2):
        assert lock_file(tmp_path / "lock") is not None


# Other facts of Windows and macOS


def test_end_of_a_reader_and_text_on_windows(monkeypatch: pytest.MonkeyPatch) -> None:
    invalid, stream = OSError(errno.EINVAL, "Invalid argument"), SimpleNamespace(encoding="cp850")
    assert (system.has_no_reader(BrokenPipeError()), system.has_no_reader(invalid)) == (True, False)
    assert (system.text_encoding(stream), system.text_encoding(None)) == ("cp850", "utf-8")
    monkeypatch.setattr(system, "OPENS_FOLDERS", False)
    assert system.has_no_reader(invalid)
    assert system.text_encoding(stream) == "utf-8"
