"""Durable files: locks, reads and writes at an offset."""

import hashlib
from pathlib import Path

import numpy as np
import pytest

from pdb_core.durable_files import bytes_of, digest_of, read_all, write_all

pytestmark = pytest.mark.tiny


def test_array_is_written_and_read_with_its_digest(tmp_path: Path) -> None:
    array = np.arange(1000, dtype=np.uint64).reshape(10, 100)
    buffer, sha256 = bytearray(array.nbytes), hashlib.sha256(array).hexdigest()
    with (tmp_path / "array").open("w+b") as file:
        write_all(file.fileno(), bytes_of(array), 40)
        assert digest_of(file, 40, array.nbytes) == sha256
        assert digest_of(file, 40, array.nbytes + 1) == sha256  # of the bytes that are there
        read_all(file.fileno(), memoryview(buffer), 40)
        assert buffer == array.tobytes()
        with pytest.raises(OSError, match="Input/output error"):
            read_all(file.fileno(), memoryview(buffer), 41)
