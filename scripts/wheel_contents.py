"""Check that a wheel has the packages and the sets of boards, nothing else, and the version of the code.

python -m scripts.wheel_contents WHEEL
"""

import sys
import zipfile
from email import message_from_bytes
from pathlib import Path

from pdb_core import __version__
from tests import PACKAGES, ROOT

_SETS = "data/instances"
_SETS_IN_WHEEL = "pdb_query/instance_sets"


def files_below(folder: str) -> set[str]:
    """Return the paths of all files in a folder, relative to the repository, without compiled files."""
    paths = (path.relative_to(ROOT) for path in (ROOT / folder).rglob("*") if path.is_file())
    return {path.as_posix() for path in paths if "__pycache__" not in path.parts}


def main(wheel: Path) -> None:
    """Compare the names in a wheel with the files of the repository. Raises `AssertionError` if they differ."""
    about = f"tile_pdb-{__version__}.dist-info"
    expected = {f"{about}/{name}" for name in ("METADATA", "RECORD", "WHEEL", "entry_points.txt")}
    expected |= set.union(*map(files_below, PACKAGES))
    expected |= {name.replace(_SETS, _SETS_IN_WHEEL) for name in files_below(_SETS)}
    with zipfile.ZipFile(wheel) as archive:
        names = set(archive.namelist())
        metadata = message_from_bytes(archive.read(f"{about}/METADATA"))
    assert names == expected, sorted(names ^ expected)
    kinds = {Path(name).suffix for name in names if about not in name}
    assert kinds == {".py", ".typed", ".csv", ".npz", ".html", ".css", ".js", ".svg"}, kinds
    assert metadata["Version"] == __version__, metadata["Version"]
    # CITATION.cff keeps the last release while the version is one of the development.
    assert "dev" in __version__ or f"\nversion: {__version__}\n" in (ROOT / "CITATION.cff").read_text("utf-8"), (
        "CITATION.cff has another version"
    )


if __name__ == "__main__":
    main(Path(sys.argv[1]))
