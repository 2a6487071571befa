"""Progress: a bar on a terminal and in a notebook, lines in a log, estimates of the time left."""

import io
import re

import pytest

from pdb_build import BuildProgress
from pdb_core.puzzle import Board, blank_last
from solver import Checkpoint, Iteration, checkpoint as checkpoint_module
from solver.requests import Request
from tests.solving import S4, solvable_boards
from tilepdb import progress as progress_module
from tilepdb.commands.progress import SearchDisplay
from tilepdb.named_build import named_plan


class Terminal(io.StringIO):
    """Stream that is a terminal."""

    def isatty(self) -> bool:
        return True


def show_build(partition: str = "663") -> None:
    plan = named_plan(partition)
    with progress_module.BuildLine(plan) as line:
        for index, entry in enumerate(plan.patterns):
            line.show_build(BuildProgress(index, entry.pattern, 1, 1, 2))


@pytest.mark.parametrize(
    ("environment", "has_bar", "has_colour"),
    [
        ({"TERM": "xterm"}, True, True),
        ({"TERM": "xterm", "NO_COLOR": "1"}, True, False),
        ({"TERM": "dumb"}, False, False),
    ],
)
def test_bar_on_a_terminal_fits_on_a_line_and_is_removed(
    environment: dict[str, str], has_bar: bool, has_colour: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, value in {"COLUMNS": "60", **environment}.items():
        monkeypatch.setenv(name, value)
    stream = Terminal()
    monkeypatch.setattr("sys.stderr", stream)
    show_build()
    shown = stream.getvalue()
    assert ("pattern 1 of 3" in shown) == ("━" in shown) == has_bar
    assert (re.search(r"\x1b\[[1-9][\d;]*m", shown) is not None) == has_colour
    if not has_bar:
        assert shown == ""
        return
    # A line that wraps could not be removed. At the end the cursor is shown again.
    assert all(len(line) <= 60 for line in re.split(r"\r|\n|\x1b\[\??[\d;]*[a-zA-Z]", shown))
    assert shown.rfind("\x1b[?25l") < shown.rfind("\x1b[?25h") < shown.rfind("\x1b[2K")


def test_log_has_no_bar(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FORCE_COLOR", "1")
    show_build()
    assert capsys.readouterr() == ("", "")


def test_search_has_estimates_of_the_time_left(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    finished = tuple(Iteration(40 + 2 * i, 10 * 8**i, 5 * 8**i, 0.5 * i) for i in range(10))
    board, goal = solvable_boards(S4, blank_last(S4), 1, 1)[0], blank_last(S4)
    monkeypatch.setattr(checkpoint_module, "DIVIDE_ABOVE", 1000)
    now = 0.0
    monkeypatch.setattr("tilepdb.progress.time.monotonic", lambda: now)
    checkpoint, display = Checkpoint(), SearchDisplay()
    checkpoint.finish_threshold(finished)
    for share, seconds in ((None, 6.0), (0.001, 12.0), (0.25, 100.0), (0.25, 101.0), (0.5, 200.0), (0.6, 259.0)):
        checkpoint.share, now = share, seconds
        display.show_search(
            Request("a", Board(board, S4), goal), Iteration(60, 1_000_000, 400_000, seconds), checkpoint
        )
    shown = [line.split(", 1,000,000 nodes")[0] for line in capsys.readouterr().err.splitlines()]
    assert shown == [
        "pdb: board a: threshold 60, 0% done",
        "pdb: board a: threshold 60, 25% done, about 5 min left (next: 53 min)",
        "pdb: board a: threshold 60, 50% done, about 3 min left (next: 53 min)",
        "pdb: board a: threshold 60, 60% done, about 3 min left (next: 58 min)",
    ]
