"""What is installed: the packages, and nothing of what stands beside them."""

import subprocess
import sys
import zipfile
from pathlib import Path

from tests.test_architecture import PACKAGES, ROOT


def test_wheel_holds_the_packages_alone(tmp_path: Path) -> None:
    subprocess.run(
        [sys.executable, "-m", "hatchling", "build", "--target", "wheel", "--directory", str(tmp_path)],
        cwd=ROOT,
        check=True,
        capture_output=True,
    )
    (wheel,) = tmp_path.glob("*.whl")
    with zipfile.ZipFile(wheel) as archive:
        names = archive.namelist()
    folders = {name.split("/")[0] for name in names}
    assert {folder for folder in folders if not folder.endswith(".dist-info")} == set(PACKAGES)
    # No code but Python's: the C that the benchmark compares with stays in the repository.
    assert not [name for name in names if Path(name).suffix in (".c", ".h", ".so", ".pyd")]
    assert "solver/solve.py" in names
    assert "pdb_query/service/page/index.html" in names
