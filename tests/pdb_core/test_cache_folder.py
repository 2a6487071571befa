"""Cache folders that are full, forbidden or damaged: results stay the same, and one line says what to do."""

import errno
import os
import time
from pathlib import Path

import pytest
from numba.core.caching import IndexDataCacheFile

from pdb_core import jit, kernel_folder
from pdb_core.errors import DiskFullError
from pdb_core.kernel_folder import KEPT_DAYS, UnsafeFolderError, use_kernel_folder
from pdb_core.puzzle import BoardSize, blank_last
from tests.failing import failing
from tilepdb.standard import standard_table


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
def test_full_disk_loses_only_the_kernel_cache(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(IndexDataCacheFile, "_save_data", failing(errno.ENOSPC))
    with pytest.warns(RuntimeWarning, match="No space left on device.*compiled anew in every run; make room") as told:
        assert [jit.kernel(added)(1, 2) for _ in range(2)] == [3, 3]
    assert len(told) == 1


@pytest.mark.parametrize("keep", [0, 40])
@pytest.mark.parametrize("suffix", ["nbi", "nbc"])
def test_truncated_file_in_the_kernel_cache_is_made_again(
    kernel_cache: Path, suffix: str, keep: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert jit.kernel(added)(1, 2) == 3
    (damaged,) = [path for path in files_in(kernel_cache) if path.suffix == f".{suffix}"]
    damaged.write_bytes(damaged.read_bytes()[:keep])
    with pytest.warns(RuntimeWarning, match="is damaged .*: kernels are compiled again"):
        assert jit.kernel(added)(1, 2) == 3
    monkeypatch.setattr(jit, "_has_warned_of_cache", False)
    assert jit.kernel(added)(1, 2) == 3  # warnings are errors


@pytest.mark.parametrize(
    ("problem", "match"),
    [
        ("full", "cannot write .*: kernels are compiled anew in every run; set TILE_PDB_CACHE"),
        ("unsafe", r"kernels \(mode 0777\): kernels are compiled anew in every run; remove it, or set TILE_PDB_CACHE"),
    ],
)
def test_folder_that_cannot_be_used_is_no_kernel_cache(
    tmp_path: Path, problem: str, match: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TILE_PDB_CACHE", str(tmp_path))
    if problem == "full":
        monkeypatch.setattr(kernel_folder.tempfile, "TemporaryFile", failing(errno.ENOSPC))
    else:
        (tmp_path / "kernels").mkdir()
        (tmp_path / "kernels").chmod(0o777)
    with pytest.warns(RuntimeWarning, match=match):
        assert jit._choose_cache_folder() is None
    assert not files_in(tmp_path)


def test_error_of_a_standard_table_that_cannot_be_kept_says_what_to_do(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TILE_PDB_CACHE", str(tmp_path / "cache"))
    monkeypatch.setattr(os, "pwrite", failing(errno.ENOSPC))
    size = BoardSize(3, 3)
    with pytest.raises(DiskFullError, match=r"; set TILE_PDB_CACHE to another folder, or give a table file$") as caught:
        standard_table(size, blank_last(size))
    assert "--out" not in str(caught.value)
    assert not list(tmp_path.rglob("*.h5*"))


OWN = "0123456789abcdef"


def mode_of(path: Path) -> int:
    return path.stat().st_mode & 0o777


def test_kernel_folder_is_private(tmp_path: Path) -> None:
    before = os.umask(0)
    try:
        folder = use_kernel_folder(tmp_path / "kernels", OWN)
        assert [mode_of(path) for path in (folder, folder.parent)] == [0o700, 0o700]
        folder.chmod(0o755)
        use_kernel_folder(tmp_path / "kernels", OWN)
    finally:
        os.umask(before)
    assert mode_of(folder) == 0o700


@pytest.mark.parametrize("mode", [0o720, 0o702, 0o1777])
@pytest.mark.parametrize("which", ["kernels", f"kernels/{OWN}"])
def test_kernel_folder_that_others_can_write_to_is_refused(tmp_path: Path, which: str, mode: int) -> None:
    folder = tmp_path / "kernels" / OWN
    folder.mkdir(mode=0o700, parents=True)
    folder.parent.chmod(0o700)
    (tmp_path / which).chmod(mode)
    with pytest.raises(UnsafeFolderError, match=rf"other users can write to .*{which} \(mode 0?{mode:o}\)"):
        use_kernel_folder(folder.parent, OWN)
    assert mode_of(tmp_path / which) == mode & 0o777


def test_kernel_folder_of_another_user_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = use_kernel_folder(tmp_path / "kernels", OWN)
    monkeypatch.setattr(os, "geteuid", lambda: folder.stat().st_uid + 1)
    with pytest.raises(UnsafeFolderError, match=r"kernels belongs to another user \(number \d+\)"):
        use_kernel_folder(folder.parent, OWN)


def make_old(folder: Path, days: float) -> None:
    moment = time.time() - days * 86_400
    os.utime(folder, (moment, moment))


def test_old_kernel_folders_are_removed_when_a_new_one_is_made(tmp_path: Path) -> None:
    parent = tmp_path / "kernels"
    old, recent = (use_kernel_folder(parent, digit * 16) for digit in "ab")
    (old / "solver").mkdir()
    (old / "solver" / "kernel.nbc").write_bytes(b"code")
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
