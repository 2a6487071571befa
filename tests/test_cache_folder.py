"""A cache folder that is full, forbidden or damaged: the answers are the same, one line says what to do."""

import errno
import os
from pathlib import Path

import pytest
from numba.core.caching import IndexDataCacheFile

from pdb_cli.databases import standard_table
from pdb_core import jit
from pdb_core.errors import DiskFullError, OutputError
from pdb_core.puzzle import BoardSize, blank_last


def added(a: int, b: int) -> int:
    return a + b


@pytest.fixture
def kernel_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = tmp_path / "kernels"
    folder.mkdir()
    monkeypatch.setattr(jit, "_cache_folder", folder)
    monkeypatch.setattr(jit, "_has_warned_of_cache", False)
    return folder


def files_in(folder: Path) -> list[Path]:
    return [path for path in folder.rglob("*") if path.is_file()]


@pytest.mark.usefixtures("kernel_cache")
def test_full_disk_costs_the_kernel_cache_and_nothing_else(monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_arguments: object) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(IndexDataCacheFile, "_save_data", full)
    with pytest.warns(RuntimeWarning, match="No space left on device.*compiled anew in every run; make room") as told:
        assert [jit.kernel(added)(1, 2) for _ in range(2)] == [3, 3]
    assert len(told) == 1


@pytest.mark.parametrize("keep", [0, 1, 40, -1])
@pytest.mark.parametrize("suffix", ["nbi", "nbc"])
def test_cut_file_in_the_kernel_cache_is_made_anew(
    kernel_cache: Path, suffix: str, keep: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert jit.kernel(added)(1, 2) == 3
    (damaged,) = [path for path in files_in(kernel_cache) if path.suffix == f".{suffix}"]
    damaged.write_bytes(damaged.read_bytes()[:keep])
    with pytest.warns(RuntimeWarning, match="is damaged .*: kernels are compiled again"):
        assert jit.kernel(added)(1, 2) == 3
    monkeypatch.setattr(jit, "_has_warned_of_cache", False)
    assert jit.kernel(added)(1, 2) == 3  # warnings are errors


def test_folder_without_room_for_a_file_is_no_kernel_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TILE_PDB_CACHE", str(tmp_path))

    def full(**_arguments: object) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(jit.tempfile, "TemporaryFile", full)
    with pytest.warns(RuntimeWarning, match="cannot write .*compiled anew in every run; set TILE_PDB_CACHE"):
        assert jit._choose_cache_folder() is None


@pytest.mark.parametrize("problem", ["blocked", "forbidden", "full"])
def test_standard_table_that_cannot_be_kept_says_what_to_do(
    tmp_path: Path, problem: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """No folder can be made there, or nothing written to it: root may write anywhere, so the writer is told so."""
    monkeypatch.setenv("TILE_PDB_CACHE", str(tmp_path / "cache"))
    number = {"blocked": errno.ENOTDIR, "forbidden": errno.EROFS, "full": errno.ENOSPC}[problem]
    if problem == "blocked":
        (tmp_path / "cache").write_bytes(b"")
    else:

        def fail(*_arguments: object) -> int:
            raise OSError(number, os.strerror(number))

        monkeypatch.setattr(os, "pwrite", fail)
    size = BoardSize(3, 3)
    with pytest.raises(DiskFullError if problem == "full" else OutputError) as caught:
        standard_table(size, blank_last(size))
    text = str(caught.value)
    assert ("the disk is full" if problem == "full" else os.strerror(number)) in text
    assert text.endswith("; set TILE_PDB_CACHE to another folder, or name a table file with --db")
    assert "--out" not in text
    assert not list(tmp_path.rglob("*.h5*"))
