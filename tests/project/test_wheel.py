"""The wheel: it contains the packages and the sets of boards, nothing else, and has the version of the code."""

import subprocess
import sys
import tarfile
import zipfile
from email import message_from_bytes
from pathlib import Path

import pytest

from pdb_core import __version__
from tests import PACKAGES, ROOT

_SETS = "pdb_query/instance_sets"  # data/instances, in a wheel


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Build the source archive, and from it the wheel, with the installed tools."""
    folder = tmp_path_factory.mktemp("dist")
    built("sdist", ROOT, folder)
    (archive,) = folder.glob("*.tar.gz")
    with tarfile.open(archive) as file:
        file.extractall(folder, filter="data")
    built("wheel", folder / archive.name.removesuffix(".tar.gz"), folder)
    (wheel,) = folder.glob("*.whl")
    return wheel


def built(target: str, source: Path, folder: Path) -> None:
    command = [sys.executable, "-m", "hatchling", "build", "--target", target, "--directory", str(folder)]
    subprocess.run(command, cwd=source, check=True, capture_output=True)


def files_below(folder: Path) -> set[str]:
    """Return the paths of all files in a folder, relative to the repository, without compiled files."""
    paths = (path.relative_to(ROOT) for path in folder.rglob("*") if path.is_file())
    return {path.as_posix() for path in paths if "__pycache__" not in path.parts}


def test_wheel_contains_the_packages_and_the_sets_of_boards_only(wheel: Path) -> None:
    with zipfile.ZipFile(wheel) as archive:
        names = archive.namelist()
    about = f"tile_pdb-{__version__}.dist-info"
    expected = {f"{about}/{name}" for name in ("METADATA", "RECORD", "WHEEL", "entry_points.txt")}
    expected |= set.union(*(files_below(ROOT / package) for package in PACKAGES))
    expected |= {name.replace("data/instances", _SETS) for name in files_below(ROOT / "data" / "instances")}
    assert sorted(names) == sorted(expected)
    # Not an empty folder.
    assert {"solver/solve.py", "pdb_service/page/index.html", f"{_SETS}/hardest80.csv"} <= expected
    assert {f"{package}/py.typed" for package in PACKAGES} <= expected
    # No C: the program that benchmarks compare with stays in the repository.
    kinds = {Path(name).suffix for name in names if about not in name}
    assert kinds == {".py", ".typed", ".csv", ".npz", ".html", ".css", ".js", ".svg"}


def test_wheel_and_citation_have_the_version_of_the_code(wheel: Path) -> None:
    with zipfile.ZipFile(wheel) as archive:
        metadata = message_from_bytes(archive.read(f"tile_pdb-{__version__}.dist-info/METADATA"))
    assert metadata["Version"] == __version__
    assert f"\nversion: {__version__}\n" in (ROOT / "CITATION.cff").read_text("utf-8")
