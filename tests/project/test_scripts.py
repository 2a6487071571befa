"""scripts/: what `measure` stores, and the values of `fit_values`, the same on every machine."""

import hashlib
import json
from pathlib import Path

import numpy as np
import pytest

from pdb_core.version import version_text
from scripts import fit_values, measure
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


@pytest.mark.slow
def test_two_small_rounds_make_the_same_values(tmp_path: Path) -> None:
    out = tmp_path / "values.npz"
    fit_values.main(str(out), ((4, 100, False, 10_000, 0.05), (5, 100, True, 10_000, 0.05)))
    with np.load(out) as file:
        values = b"".join(file[name].tobytes() for name in ("singles", "classes"))
    assert hashlib.sha256(values).hexdigest() == "8b25169244ec95420e896ab6c3ce3206c25800e2e385beb0a00241a29c4b3999"
