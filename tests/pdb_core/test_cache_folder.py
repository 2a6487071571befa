"""Cache folders that are full, forbidden or damaged: results stay the same, and one line says what to do."""

import errno
import os
import time
from pathlib import Path
from typing import Any

import pytest

from pdb_core import jit
from tests import failing

OWN = jit.kernels_digest()


def added(a: int, b: int) -> int:
    return a + b


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return the folder of kernels in a cache folder that is missing."""
    monkeypatch.setenv("TILE_PDB_CACHE", str(tmp_path / "cache"))
    return tmp_path / "cache" / "kernels" / OWN


@pytest.fixture
def kernel_cache(folder: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(jit, "_cache_folder", jit._kernel_folder())
    return folder


@pytest.mark.usefixtures("kernel_cache")
def test_full_disk_loses_only_the_kernel_cache(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("os.replace", failing(errno.ENOSPC))
    message = "No space left.*compiled anew in every run; make room"
    with pytest.warns(RuntimeWarning, match=message) as told:
        assert [jit.kernel(added)(1, 2) for _ in range(2)] == [3, 3]
    assert len(told) == 1


def test_kernels_in_a_read_only_folder_are_used(kernel_cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """As in a container, or in a cache that root has made for all users."""
    assert jit.kernel(added)(1, 2) == 3
    for function in ("tempfile.TemporaryFile", "os.utime"):
        monkeypatch.setattr(function, failing(errno.EROFS))
    assert jit._kernel_folder() == kernel_cache
    compiled: Any = jit.kernel(added)
    assert compiled(1, 2) == 3
    assert compiled.stats.cache_hits


@pytest.mark.parametrize("suffix", ["nbi", "nbc"])
def test_truncated_file_in_the_kernel_cache_is_made_again(kernel_cache: Path, suffix: str) -> None:
    assert jit.kernel(added)(1, 2) == 3
    (damaged,) = kernel_cache.rglob(f"*.{suffix}")
    damaged.write_bytes(damaged.read_bytes()[:40])
    with pytest.warns(RuntimeWarning, match="is damaged: kernels are compiled again"):
        assert jit.kernel(added)(1, 2) == 3
    assert jit.kernel(added)(1, 2) == 3  # warnings are errors


def test_folder_that_cannot_be_made_is_no_kernel_cache(folder: Path) -> None:
    folder.parent.parent.write_text("a file")
    with pytest.warns(
        RuntimeWarning, match="cannot write .*kernels are compiled anew in every run; set TILE_PDB_CACHE"
    ):
        assert jit._kernel_folder() is None


@pytest.mark.parametrize(("which", "mode"), [(".", 0o720), (OWN, 0o702)])
def test_kernel_folder_is_private_and_not_used_otherwise(folder: Path, which: str, mode: int) -> None:
    assert jit._kernel_folder() == folder
    assert {path.stat().st_mode & 0o777 for path in (folder, folder.parent, folder.parent.parent)} == {0o700}
    open_to_others = folder.parent / which
    open_to_others.chmod(mode)
    with pytest.warns(RuntimeWarning, match=f"can write to {open_to_others} .*in every run; remove it, or set"):
        assert jit._kernel_folder() is None


@pytest.mark.skipif(os.geteuid() != 0, reason="only root gives folders to other users")
def test_only_folders_of_this_user_and_of_root_are_used(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert jit._kernel_folder() == folder
    monkeypatch.setattr(os, "geteuid", lambda: 1000)
    for owner in (0, 1000):
        os.chown(folder, owner, -1)
        assert jit._kernel_folder() == folder
    os.chown(folder, 1001, -1)
    with pytest.warns(RuntimeWarning, match=rf"can write to .*{OWN} \(owner 1001, mode 40700\)"):
        assert jit._kernel_folder() is None


def test_old_kernel_folders_are_removed(folder: Path) -> None:
    days_unused = {"a" * 16: jit.KEPT_DAYS + 1, "b" * 16: jit.KEPT_DAYS - 1, "notes": jit.KEPT_DAYS + 1}
    folder.parent.mkdir(parents=True, mode=0o700)
    for name, days in days_unused.items():
        (folder.parent / name).mkdir()
        os.utime(folder.parent / name, (time.time() - days * 86_400,) * 2)
    assert jit._kernel_folder() == folder
    assert {path.name for path in folder.parent.iterdir()} == {OWN, "b" * 16, "notes"}
    os.utime(folder, (0, 0))
    assert jit._kernel_folder() == folder
    assert folder.stat().st_mtime > time.time() - 60  # its use is noted
