"""The version of tile-pdb with its commit, as commands, build reports and datasets state it."""

import json
import subprocess
from contextlib import suppress
from importlib.metadata import PackageNotFoundError, distribution
from pathlib import Path

from pdb_core import __version__


def version_text() -> str:
    """Return the version, and the commit of the clone it runs from, or of the repository that pip installed it from."""
    commit = _commit()
    return f"{__version__}, commit {commit[:10]}" if commit else __version__


def _commit() -> str:
    root = Path(__file__).parents[1]
    if (root / ".git").exists():
        with suppress(OSError, subprocess.SubprocessError):
            command = ["git", "-C", str(root), "rev-parse", "HEAD"]
            return subprocess.run(command, capture_output=True, text=True, check=True, timeout=5).stdout.strip()
    with suppress(PackageNotFoundError, KeyError):
        found: str = json.loads(distribution("tile-pdb").read_text("direct_url.json") or "{}")["vcs_info"]["commit_id"]
        return found
    return ""
