"""`pdb doctor`."""

from pathlib import Path
from types import SimpleNamespace

import pytest

from pdb_cli.doctor import _huge_pages, _self_test
from pdb_core.errors import WrongAnswerError
from tests.command_line import pdb


def test_doctor_finds_this_installation_well() -> None:
    result = pdb("doctor")
    assert result.returncode == 0
    assert "self-test         passed" in result.stdout


def test_doctor_says_what_is_wrong(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("solver.Solver.solve", lambda *_: SimpleNamespace(length=29))
    with pytest.raises(WrongAnswerError, match="takes 31 moves, found h 31 and length 29; please report this"):
        _self_test()


@pytest.mark.parametrize(
    ("setting", "told"),
    [
        ("always [madvise] never\n", "madvise"),
        ("always madvise [never]\n", "never: copied tables are looked up more slowly"),
        (None, "unknown"),
    ],
)
def test_huge_pages_are_told(setting: str | None, told: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "enabled"
    if setting is not None:
        path.write_text(setting, encoding="ascii")
    monkeypatch.setattr("pdb_cli.doctor._HUGE_PAGES", path)
    assert _huge_pages() == told
