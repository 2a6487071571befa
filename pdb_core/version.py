"""The version of tile-pdb with its commit, as commands, build reports and datasets state it."""

import json
import subprocess
from contextlib import suppress
from importlib.metadata import distributions
from pathlib import Path

from pdb_core import __version__


def version_text() -> str:
    """Return the version, and the commit of the clone it runs from, or of the repository that pip installed it from."""
    commit = commit_of(Path(__file__).parents[1])
    return f"{__version__}, commit {commit[:10]}" if commit else __version__


def commit_of(root: Path) -> str:
    """Return the commit of the program in a folder: a clone, or one into which pip installed it. Empty if unknown."""
    if (root / ".git").exists():
        with suppress(OSError, subprocess.SubprocessError):
            command = ["git", "-C", str(root), "rev-parse", "HEAD"]
            return subprocess.run(command, capture_output=True, text=True, check=True, timeout=5).stdout.strip()
    for installed in distributions(name="tile-pdb", path=[str(root)]):
        source = json.loads(installed.read_text("direct_url.json") or "{}")
        return str(source.get("vcs_info", {}).get("commit_id", ""))
    return ""
