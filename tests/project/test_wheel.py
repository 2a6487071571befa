"""The wheel: it contains the packages and the sets of boards, nothing else, and has the version of the code."""

import re
import subprocess
import sys
import tarfile
import zipfile
from email import message_from_bytes
from pathlib import Path

import pytest

from pdb_core import __version__
from tests import ROOT
from tests.project.imports import PACKAGES, source_files

_SETS = "pdb_query/instance_sets"  # data/instances, in a wheel
_RELEASE = re.compile(r"## \[(\d+)\.(\d+)\.(\d+)\] - \d{4}-\d{2}-\d{2}")


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


def test_version_is_written_in_one_file(wheel: Path) -> None:
    with zipfile.ZipFile(wheel) as archive:
        metadata = message_from_bytes(archive.read(f"tile_pdb-{__version__}.dist-info/METADATA"))
    assert metadata["Version"] == __version__
    quoted = {
        path.relative_to(ROOT).as_posix() for path in source_files() if f'"{__version__}"' in path.read_text("utf-8")
    }
    assert quoted == {"pdb_core/__init__.py"}
    assert not re.search(r"^version\s*=", (ROOT / "pyproject.toml").read_text("utf-8"), re.MULTILINE)


def test_citation_names_this_version() -> None:
    citation = (ROOT / "CITATION.cff").read_text("utf-8")
    assert re.findall(r"^version: (.+)$", citation, re.MULTILINE) == [__version__]


def test_changelog_has_a_section_for_this_version() -> None:
    headings = [line for line in (ROOT / "CHANGELOG.md").read_text("utf-8").splitlines() if line.startswith("## ")]
    if headings[0] == "## [Unreleased]":
        headings.pop(0)
    releases = [match for match in map(_RELEASE.fullmatch, headings) if match]
    assert len(releases) == len(headings), "a heading is `## [1.2.3] - 2030-12-31`; only the first may be Unreleased"
    numbers = [tuple(map(int, match.groups())) for match in releases]
    assert numbers == sorted(set(numbers), reverse=True), "the newest comes first"
    assert ".".join(map(str, numbers[0])) == __version__
