"""Cache folders that are full, forbidden or damaged: results stay the same, and one line says what to do."""

import errno
import os
import stat
import time
from pathlib import Path
from typing import Any
from unittest.mock import Mock

import pytest
from numba.core.caching import IndexDataCacheFile

from pdb_core import jit
from pdb_core.kernel_folder import KEPT_DAYS, UnsafeFolderError, use_kernel_folder
from tests import failing


def added(a: int, b: int) -> int:
    return a + b


@pytest.fixture
def kernel_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = tmp_path / "kernels"
    folder.mkdir()
    monkeypatch.setattr(jit, "_cache_folder", folder)
    monkeypatch.setattr(jit, "_has_warned_of_cache", False)
    return folder


@pytest.mark.usefixtures("kernel_cache")
def test_full_disk_loses_only_the_kernel_cache(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(IndexDataCacheFile, "_save_data", failing(errno.ENOSPC))
    with pytest.warns(RuntimeWarning, match="No space left on device.*compiled anew in every run; make room") as told:
        assert [jit.kernel(added)(1, 2) for _ in range(2)] == [3, 3]
    assert len(told) == 1


def test_kernels_in_a_read_only_folder_are_used(kernel_cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """As in a container, or in a cache that root has made for all users."""
    assert jit.kernel(added)(1, 2) == 3
    for function in ("tempfile.TemporaryFile", "os.utime"):
        monkeypatch.setattr(function, failing(errno.EROFS))
    assert use_kernel_folder(kernel_cache.parent, kernel_cache.name) == kernel_cache
    compiled: Any = jit.kernel(added)
    assert compiled(1, 2) == 3
    assert compiled.stats.cache_hits
    with pytest.warns(RuntimeWarning, match="cannot write .*Read-only file system.*compiled anew in every run"):
        assert compiled(1.5, 2.0) == 3.5


@pytest.mark.parametrize("suffix", ["nbi", "nbc"])
def test_truncated_file_in_the_kernel_cache_is_made_again(
    kernel_cache: Path, suffix: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert jit.kernel(added)(1, 2) == 3
    (damaged,) = kernel_cache.rglob(f"*.{suffix}")
    damaged.write_bytes(damaged.read_bytes()[:40])
    with pytest.warns(RuntimeWarning, match="is damaged .*: kernels are compiled again"):
        assert jit.kernel(added)(1, 2) == 3
    monkeypatch.setattr(jit, "_has_warned_of_cache", False)
    assert jit.kernel(added)(1, 2) == 3  # warnings are errors


@pytest.mark.parametrize(
    ("mode", "advice"), [(None, "set TILE_PDB_CACHE to a folder that can be written"), (0o777, "remove it, or set")]
)
def test_folder_that_cannot_be_used_is_no_kernel_cache(
    tmp_path: Path, mode: int | None, advice: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    kernels = tmp_path / "kernels"
    kernels.write_text("a file")
    if mode is not None:
        kernels.unlink()
        kernels.mkdir()
        kernels.chmod(mode)
    monkeypatch.setenv("TILE_PDB_CACHE", str(tmp_path))
    with pytest.warns(RuntimeWarning, match=f"kernels are compiled anew in every run; {advice}"):
        assert jit._choose_cache_folder() is None


def test_cache_folder_may_be_below_the_home_directory(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TILE_PDB_CACHE", "~/x")
    assert jit.cache_home() == Path.home() / "x"


@pytest.mark.parametrize("chosen", ["", "~/x"])
def test_unknown_user_without_a_home_directory_has_no_cache_folder(
    chosen: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As in a container: commands work, and say that the folder cannot be written."""
    for name in ("HOME", "XDG_CACHE_HOME"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("TILE_PDB_CACHE", chosen)
    monkeypatch.setattr("pwd.getpwuid", {}.__getitem__)
    assert jit.cache_home() == Path("/nonexistent", chosen)


OWN = "0123456789abcdef"


def mode_of(path: Path) -> int:
    return path.stat().st_mode & 0o777


def test_kernel_folder_is_private(tmp_path: Path) -> None:
    before = os.umask(0)
    try:
        folder = use_kernel_folder(tmp_path / "cache" / "kernels", OWN)
        assert [mode_of(path) for path in (folder, folder.parent, folder.parent.parent)] == [0o700] * 3
    finally:
        os.umask(before)


@pytest.mark.parametrize("mode", [0o720, 0o702])
@pytest.mark.parametrize("which", ["kernels", f"kernels/{OWN}"])
def test_kernel_folder_that_others_can_write_to_is_refused(tmp_path: Path, which: str, mode: int) -> None:
    folder = tmp_path / "kernels" / OWN
    folder.mkdir(mode=0o700, parents=True)
    folder.parent.chmod(0o700)
    (tmp_path / which).chmod(mode)
    with pytest.raises(UnsafeFolderError, match=f"other users can write to .*{which} "):
        use_kernel_folder(folder.parent, OWN)
    assert mode_of(tmp_path / which) == mode


def test_only_folders_of_this_user_and_of_root_are_used(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = use_kernel_folder(tmp_path / "kernels", OWN)
    monkeypatch.setattr(os, "geteuid", lambda: 1000)
    for owner in (0, 1000, 1001):
        status = Mock(st_mode=stat.S_IFDIR | 0o755, st_uid=owner)
        monkeypatch.setattr(Path, "stat", lambda *_, status=status, **__: status)
        if owner != 1001:
            assert use_kernel_folder(folder.parent, OWN) == folder
        else:
            with pytest.raises(UnsafeFolderError, match=r"kernels belongs to another user \(number 1001\)"):
                use_kernel_folder(folder.parent, OWN)


def make_old(folder: Path, days: float) -> None:
    os.utime(folder, (time.time() - days * 86_400,) * 2)


def test_old_kernel_folders_are_removed_when_a_new_one_is_made(tmp_path: Path) -> None:
    parent = tmp_path / "kernels"
    old, recent = (use_kernel_folder(parent, digit * 16) for digit in "ab")
    (old / "kernel.nbc").write_bytes(b"code")
    of_another_program = parent / "notes"
    of_another_program.mkdir()
    for folder in (old, of_another_program):
        make_old(folder, KEPT_DAYS + 1)
    make_old(recent, KEPT_DAYS - 1)
    own = use_kernel_folder(parent, OWN)
    assert sorted(parent.iterdir()) == sorted([own, recent, of_another_program])
    make_old(own, KEPT_DAYS + 1)
    # A folder that is there is used: nothing is looked for, and its use is noted.
    assert use_kernel_folder(parent, OWN) == own
    assert own.stat().st_mtime > time.time() - 60
