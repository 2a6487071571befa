"""The version of the command, and its commit."""

import subprocess
from pathlib import Path
from unittest.mock import Mock

import pytest

from pdb_core import version
from tests.command_line import pdb


def test_version_names_the_commit(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of the clone, or else of the repository that pip installed; without both, the version alone."""
    monkeypatch.setattr(version, "__file__", str(tmp_path / "pdb_core" / "version.py"))
    for content, commit_id in (('{"vcs_info": {"commit_id": "fedcba9876543210"}}', "fedcba9876543210"), (None, "")):
        monkeypatch.setattr(version, "distribution", lambda _, text=content: Mock(read_text=lambda _: text))
        assert version._commit() == commit_id
    for command in ("init", "-c user.name=a -c user.email=a@a commit --allow-empty --message a", "log --format=%H"):
        done = subprocess.run(["git", *command.split()], cwd=tmp_path, stdout=subprocess.PIPE, text=True, check=True)
    assert pdb("--version", code=0).stdout == f"tile-pdb {version.__version__}, commit {done.stdout[:10]}\n"
