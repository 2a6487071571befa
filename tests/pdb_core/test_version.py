"""The version of the command, and its commit."""

import subprocess
from pathlib import Path

from pdb_core.version import commit_of, version_text
from tests.command_line import pdb


def test_version_names_the_commit(tmp_path: Path) -> None:
    """Of the clone, or else of the repository that pip installed; without both, the version alone."""
    assert pdb("--version", code=0).stdout == f"tile-pdb {version_text()}\n"
    assert commit_of(tmp_path) == ""
    installed = tmp_path / "tile_pdb-1.0.dist-info"
    installed.mkdir()
    assert commit_of(tmp_path) == ""
    (installed / "direct_url.json").write_text('{"vcs_info": {"commit_id": "fedcba9876543210"}}')
    assert commit_of(tmp_path) == "fedcba9876543210"
    for command in ("init", "-c user.name=a -c user.email=a@a commit --allow-empty --message a", "log --format=%H"):
        done = subprocess.run(["git", *command.split()], cwd=tmp_path, stdout=subprocess.PIPE, text=True, check=True)
    assert commit_of(tmp_path) == done.stdout.strip()
