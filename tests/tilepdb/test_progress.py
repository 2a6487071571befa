"""Progress: a bar on a terminal, lines in a log."""

import io
import re
from unittest.mock import Mock

import pytest

from pdb_build import BuildProgress
from pdb_core.puzzle import Board, blank_last
from solver import Checkpoint, Iteration
from solver.answers.requests import Request
from tests.solving import S4, solvable_boards
from tilepdb.commands.progress import LabelDisplay, SearchDisplay
from tilepdb.named_build import named_plan
from tilepdb.progress import BuildLine, ProgressLine


@pytest.mark.parametrize(
    ("is_terminal", "environment", "has_bar", "has_colour"),
    [
        (True, {"TERM": "xterm"}, True, True),
        (True, {"TERM": "xterm", "NO_COLOR": "1"}, True, False),
        (True, {"TERM": "dumb"}, False, False),
        (False, {"TERM": "xterm", "FORCE_COLOR": "1"}, False, False),
    ],
)
def test_bar_is_only_on_a_terminal_fits_on_a_line_and_is_removed(
    is_terminal: bool, environment: dict[str, str], has_bar: bool, has_colour: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, value in {"COLUMNS": "60", **environment}.items():
        monkeypatch.setenv(name, value)
    stream, plan = io.StringIO(), named_plan("663")
    monkeypatch.setattr(stream, "isatty", lambda: is_terminal)
    monkeypatch.setattr("sys.stderr", stream)
    with BuildLine(plan) as line:
        for index, entry in enumerate(plan.patterns):
            line.show_build(BuildProgress(index, entry.pattern, 1, 1, 2))
    shown = stream.getvalue()
    assert ("pattern 1 of 3" in shown) == ("━" in shown) == has_bar
    assert (re.search(r"\x1b\[[1-9][\d;]*m", shown) is not None) == has_colour
    if not has_bar:
        assert shown == ""
        return
    # A line that wraps could not be removed. At the end the cursor is shown again.
    assert all(len(line) <= 60 for line in re.split(r"\r|\n|\x1b\[\??[\d;]*[a-zA-Z]", shown))
    assert shown.rfind("\x1b[?25l") < shown.rfind("\x1b[?25h") < shown.rfind("\x1b[2K")


def test_work_goes_on_without_a_bar_if_no_thread_can_be_started(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setattr("sys.stderr.isatty", lambda: True, raising=False)
    monkeypatch.setattr("threading.Thread.start", Mock(side_effect=RuntimeError("can't start new thread")))
    with ProgressLine() as line:
        line.show("one", 0.1)
        line.show("two", 0.2)


def test_search_shows_the_finished_share_once_a_minute_in_a_log(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    request = Request("a", Board(solvable_boards(S4, 1, 1)[0]), blank_last(S4))
    now = 0.0
    monkeypatch.setattr("tilepdb.progress.time.monotonic", lambda: now)
    checkpoint, display = Checkpoint(), SearchDisplay()
    for share, now in ((None, 6.0), (0.001, 66.0), (0.25, 100.0), (0.25, 130.0)):
        checkpoint.share = share
        display.show_search(request, Iteration(60, int(now * 1_000_000), 400_000, now), checkpoint)
    assert capsys.readouterr().err.splitlines() == [
        "pdb: board a: threshold 60, 0% done, 66,000,000 nodes, 66.0 s, 1.0 million/s",
        "pdb: board a: threshold 60, 25% done, 130,000,000 nodes, 130.0 s, 1.0 million/s",
    ]


def test_labels_are_shown_with_the_threshold(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    now = 0.0
    monkeypatch.setattr("tilepdb.progress.time.monotonic", lambda: now)
    with pytest.raises(KeyboardInterrupt), LabelDisplay("a.npz", 200) as display:  # noqa: PT012
        display.show_labels(0)
        for now in (1.0, 60.0, 61.0):
            display.show_threshold(Iteration(60, 1_000_000, 400_000, now))
        now = 121.0
        display.show_labels(2)
        raise KeyboardInterrupt
    assert capsys.readouterr().err.splitlines() == [
        "pdb: 0 of 200 boards; threshold 60, 60 s",
        "pdb: 2 of 200 boards",
        "pdb: a.npz.partial has 2 of 200 boards; the same command continues",
    ]
