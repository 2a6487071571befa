"""scripts/: what `measure` stores, and what the workflow runs."""

import json
from pathlib import Path

import pytest

from pdb_core.version import version_text
from scripts import measure
from tests.tables import table_file


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
