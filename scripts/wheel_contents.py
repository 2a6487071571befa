"""Check that a wheel has the packages and the sets of boards, nothing else, and the version of the code.

python -m scripts.wheel_contents WHEEL
"""

import sys
import zipfile

from pdb_core import __version__
from tests import PACKAGES, ROOT, text_of


def main(wheel: str) -> None:
    """Compare the names in a wheel with the files of the repository. Raises `AssertionError` if they differ."""
    about = f"tile_pdb-{__version__}.dist-info"
    expected = {f"{about}/{name}" for name in ("METADATA", "RECORD", "WHEEL", "entry_points.txt")}
    for folder in (*PACKAGES, "data/instances"):
        files = [path for path in (ROOT / folder).rglob("*") if path.is_file() and path.suffix != ".pyc"]
        expected |= {path.relative_to(ROOT).as_posix() for path in files}
    with zipfile.ZipFile(wheel) as archive:
        names = {name.replace("pdb_query/instance_sets", "data/instances") for name in archive.namelist()}
        assert f"\nVersion: {__version__}\n" in archive.read(f"{about}/METADATA").decode()
    assert names == expected, sorted(names ^ expected)
    # CITATION.cff keeps the last release while the version is one of the development.
    is_cited = "dev" in __version__ or f"\nversion: {__version__}\n" in text_of("CITATION.cff")
    assert is_cited, "CITATION.cff has another version"


if __name__ == "__main__":
    main(sys.argv[1])
