"""scripts/: what is installed is said before, and --help installs nothing; what the workflow runs."""

import json
import os
import re
import subprocess
from pathlib import Path

import pytest
import yaml

from pdb_core.version import version_text
from scripts import measure
from tests import ROOT, source_files
from tests.project.test_pages import page_paths
from tests.tables import table_file

SCRIPTS = sorted(
    path for path in (ROOT / "scripts").iterdir() if path.is_file() and path.read_bytes().startswith(b"#!")
)


def bash(environment: Path, *words: str) -> str:
    """Return all that bash prints, with an environment for the scripts."""
    named = {**os.environ, "VENV": str(environment)}
    shown = subprocess.run(
        ["bash", *words], cwd=ROOT, env=named, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=True, text=True
    )
    return shown.stdout


@pytest.mark.parametrize("script", SCRIPTS, ids=lambda path: path.name)
def test_help_is_the_comment_at_the_top_and_installs_nothing(script: Path, tmp_path: Path) -> None:
    comment = script.read_text().partition("\n# ")[2].partition("\n")[0]
    assert bash(tmp_path / "venv", str(script), "--help").startswith(f"{comment}\n")
    assert not [*tmp_path.iterdir()]


def test_help_of_measure_names_every_section(tmp_path: Path) -> None:
    assert bash(tmp_path, "scripts/measure", "--help").splitlines()[-1] == f"Sections: {' '.join(measure.SECTIONS)}"


def test_measured_rows_are_stored_and_printed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    figures = tmp_path / "figures.json"
    figures.write_text('{"few": {"other": {"seconds": 1}}}')
    (tmp_path / "8.h5").symlink_to(table_file("8", "3x3", encoding="bits"))
    monkeypatch.setattr(measure, "FIGURES", figures)
    monkeypatch.setattr(measure, "TABLES", tmp_path)
    boards = ("3x3-antipode-1", "3x3-antipode-2")
    monkeypatch.setitem(measure.SECTIONS, "few", {"8": lambda: measure.searched("classic", "8 --plain", boards)})
    measure.main("few", "8")
    stored = json.loads(figures.read_text())["few"]
    assert stored["other"] == {"seconds": 1}
    assert stored["8"]["mean_h"] == "31.00 ± 0.00"
    assert stored["8"]["version"] == version_text()
    assert "| few | mean_h | nodes |" in capsys.readouterr().out
    with pytest.raises(SystemExit, match="'none'; choose from 8"):
        measure.main("few", "none")


def test_what_is_installed_is_said_before(tmp_path: Path) -> None:
    """In one place, lib.sh: no other script calls pip or apt-get to install something."""
    for script in SCRIPTS:
        assert "pip install" not in script.read_text(), script
        assert "apt-get install" not in script.read_text(), script
    python = tmp_path / "bin" / "python"
    python.parent.mkdir()
    python.write_text('#!/bin/sh\n[ "$*" = "-m pip --version" ] || echo "$*"\n')
    python.chmod(0o755)
    shown = bash(tmp_path, "-c", 'source scripts/lib.sh; install "[serve]" pytest; install "[serve]" pytest')
    said, uv, _no_uv, done = shown.splitlines()
    assert said == f"installing into {tmp_path}: --editable .[serve] pytest"
    assert re.fullmatch("-m pip install .* uv", uv)
    assert re.fullmatch(r"-m pip install .* --editable \.\[serve\] pytest", done)


def test_workflow_runs_only_commands_of_the_readme_and_test_arm() -> None:
    """These run elsewhere, because the workflow has never run."""
    jobs = yaml.safe_load((ROOT / ".github" / "workflows" / "tests.yml").read_text())["jobs"]
    lines = {line for job in jobs.values() for step in job["steps"] for line in step.get("run", "").splitlines()}
    readme = (ROOT / "README.md").read_text()
    assert [line for line in lines if line not in readme] == ["scripts/test-arm --native"]


def test_no_text_says_that_a_package_index_has_tile_pdb() -> None:
    for path in [*source_files(), *page_paths(), *(ROOT / "docs").rglob("*.ipynb")]:
        assert not re.search(r"tile-pdb\[|(install|pipx run|uvx) '?tile-?pdb", path.read_text()), path
