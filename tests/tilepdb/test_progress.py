"""Progress: a bar on a terminal, lines in a log."""

import io
import re
from contextlib import redirect_stderr, suppress

import pytest

from pdb_build import BuildProgress
from pdb_core.puzzle import Board, blank_last
from solver.answers.requests import Request
from solver.engine.checkpoint import Checkpoint
from solver.progress import Iteration
from tests.solving import S4, solvable_boards
from tilepdb.commands.progress import LabelDisplay, show_search
from tilepdb.named_build import named_plan
from tilepdb.progress import ProgressLine, show_build


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


@pytest.mark.parametrize(
    ("stream", "environment", "has_bar", "has_colour"),
    [
        (Terminal(), {"TERM": "xterm"}, True, True),
        (Terminal(), {"TERM": "xterm", "NO_COLOR": "1"}, True, False),
        (Terminal(), {"TERM": "dumb"}, False, False),
        (io.StringIO(), {"TERM": "xterm", "FORCE_COLOR": "1"}, False, False),
    ],
)
def test_bar_is_only_on_a_terminal_fits_on_a_line_and_is_removed(
    stream: io.StringIO, environment: dict[str, str], has_bar: bool, has_colour: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, value in {"COLUMNS": "60", **environment}.items():
        monkeypatch.setenv(name, value)
    plan = named_plan("1,2,3,4,5,6,7/8,9,10,11,12,13,14,15")
    with redirect_stderr(stream), ProgressLine() as line:
        for index, entry in enumerate(plan.patterns):
            show_build(line, plan, BuildProgress(index, entry.pattern, 1, 1, 2))
            line.show("...", 0.5)
    shown = stream.getvalue()
    assert ("pattern 1 of 2" in shown) == ("━" in shown) == has_bar
    assert (re.search(r"\x1b\[[1-9][\d;]*m", shown) is not None) == has_colour
    if not has_bar:
        assert shown == ""
        return
    # A line that wraps could not be removed. At the end the cursor is shown again.
    assert all(len(line) <= 60 for line in re.split(r"\r|\n|\x1b\[\??[\d;]*[a-zA-Z]", shown))
    assert shown.rfind("\x1b[?25l") < shown.rfind("\x1b[?25h") < shown.rfind("\x1b[2K")


def test_text_is_logged_from_time_to_time(monkeypatch: pytest.MonkeyPatch) -> None:
    logged: list[str] = []
    line = ProgressLine(logged.append)
    for second in (1, 10, 11, 12, 70, 71, 72):
        monkeypatch.setattr("tilepdb.progress.time.monotonic", lambda second=second: second)
        line.show(f"at {second}")
    assert logged == ["after 10 s: at 11", "after 70 s: at 71"]


def test_search_shows_the_finished_share(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "200")
    monkeypatch.setenv("TERM", "xterm")
    request = Request("a", Board(solvable_boards(S4, 1, 1)[0]), blank_last(S4))
    checkpoint = Checkpoint()
    with redirect_stderr(Terminal()) as stream, ProgressLine() as line:
        for checkpoint.share, seconds in ((None, 66.0), (0.25, 130.0)):
            show_search(line, request, Iteration(60, int(seconds * 1_000_000), 400_000, seconds), checkpoint)
    shown = stream.getvalue()
    assert "board a: threshold 60, 66,000,000 nodes, 66.0 s, 1.0 million/s" in shown
    assert "board a: threshold 60, 25% done, 130,000,000 nodes, 130.0 s, 1.0 million/s" in shown


def test_labels_are_shown_with_the_threshold(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "200")
    monkeypatch.setenv("TERM", "xterm")
    with redirect_stderr(Terminal()) as stream, suppress(KeyboardInterrupt), LabelDisplay("a.npz", 200) as display:
        display.show_labels(0)
        display.show_threshold(Iteration(60, 1_000_000, 400_000, 60.0))
        display.show_labels(2)
        raise KeyboardInterrupt
    shown = stream.getvalue()
    assert "0 of 200 boards; threshold 60, 60 s" in shown
    assert "2 of 200 boards" in shown
    assert shown.endswith("pdb: a.npz.partial has 2 of 200 boards; the same command continues\n")
