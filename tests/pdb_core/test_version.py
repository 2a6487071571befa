"""The version of the command, and its commit."""

import subprocess
from unittest.mock import Mock

import pytest

from pdb_core import version
from tests.command_line import pdb


def test_version_names_the_commit(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of the clone, or else of the repository that pip installed; without both, the version alone."""
    monkeypatch.setattr(version.Path, "exists", lambda _: True)
    commit = Mock(stdout="0123456789abcdef\n")
    monkeypatch.setattr(subprocess, "run", lambda *_, **__: commit)
    assert pdb("--version", code=0).stdout == f"tile-pdb {version.__version__}, commit 0123456789\n"
    monkeypatch.setattr(version.Path, "exists", lambda _: False)
    for content, commit_id in (('{"vcs_info": {"commit_id": "fedcba9876543210"}}', "fedcba9876543210"), (None, "")):
        monkeypatch.setattr(version, "distribution", lambda _, text=content: Mock(read_text=lambda _: text))
        assert version._commit() == commit_id
