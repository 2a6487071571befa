"""Progress on a terminal: a line with a bar on stderr, which leaves the terminal and stdout as they were."""

import os
import pty
import re
import signal
import subprocess
from pathlib import Path

import pytest

from pdb_core.pattern import parse_partition
from pdb_core.puzzle import BoardSize, blank_last
from tests.command_line import PROGRAM, on_terminal
from tests.tables import table_file

_HIDDEN, _SHOWN = b"\x1b[?25l", b"\x1b[?25h"
_COLOUR = re.compile(rb"\x1b\[[1-9][\d;]*m")


def run(
    *arguments: str, interrupt: bool = False, is_terminal: bool = True, **environment: str
) -> tuple[int, bytes, bytes]:
    """Return the exit code, stdout (a pipe) and stderr (a terminal, or a pipe too) of a command.

    With `interrupt`, send SIGINT when the line is drawn.
    """
    ours, theirs = pty.openpty() if is_terminal else os.pipe()
    settings = {"TERM": "xterm", "COLUMNS": "100"} | environment
    inherited = {name: value for name, value in os.environ.items() if name not in ("NO_COLOR", "FORCE_COLOR")}
    with subprocess.Popen(
        [*PROGRAM, *arguments], stdout=subprocess.PIPE, stderr=theirs, env=inherited | settings
    ) as process:
        os.close(theirs)
        shown = b""
        try:
            while piece := os.read(ours, 65536):
                shown += piece
                if interrupt and _HIDDEN in shown:
                    process.send_signal(signal.SIGINT)
                    interrupt = False
        except OSError:  # the terminal has no writer any more
            pass
        os.close(ours)
        out, _ = process.communicate(timeout=60)
        return process.returncode, out, shown


def test_build_draws_a_bar_and_removes_it(tmp_path: Path) -> None:
    code, out, shown = run("build", "663", "--out", str(tmp_path / "a.h5"))
    assert code == 0
    assert out.splitlines()[0].startswith(b"pattern 1,5,6,9,10,13: ")
    assert b"\x1b" not in out
    assert "━".encode() in shown
    assert re.search(rb"pattern \d of 3 \([\d,]+\): depth \d+, \d+ % of", shown)
    assert _COLOUR.search(shown)
    # The line is erased, and the cursor is shown again.
    assert shown.rfind(_HIDDEN) < shown.rfind(_SHOWN) < shown.rfind(b"\x1b[2K")


def test_no_color_is_respected(tmp_path: Path) -> None:
    _, _, shown = run("build", "663", "--out", str(tmp_path / "a.h5"), NO_COLOR="1")
    assert "━".encode() in shown
    assert not _COLOUR.search(shown)


@pytest.mark.parametrize(("is_terminal", "environment"), [(False, {"FORCE_COLOR": "1"}), (True, {"TERM": "dumb"})])
def test_log_has_no_control_codes(is_terminal: bool, environment: dict[str, str], tmp_path: Path) -> None:
    code, out, shown = run("build", "663", "--out", str(tmp_path / "a.h5"), is_terminal=is_terminal, **environment)
    assert code == 0
    assert b"\x1b" not in out + shown


def test_interrupt_leaves_the_terminal_in_order() -> None:
    code, out, shown = run("solve", "--db", str(table_file("663", "4x4")), "--instances", "hardest80", interrupt=True)
    assert code == -signal.SIGINT
    assert b"\x1b" not in out
    assert shown.endswith(b"pdb: interrupted\r\n")
    assert shown.count(_HIDDEN) == shown.count(_SHOWN) >= 1
    assert b"threshold" in shown


def test_long_line_is_cut_to_the_terminal() -> None:
    """A line that wraps could not be removed."""
    shown = on_terminal(
        ["solve", "--db", str(table_file("663", "4x4"))], seconds=4, environment={"COLUMNS": "30", "NO_COLOR": "1"}
    )
    lines = [line for line in re.split(r"\r|\n|\x1b\[\??[\d;]*[a-zA-Z]", shown) if "threshold" in line]
    assert lines
    assert all(len(line) <= 30 for line in lines)


def test_finished_share_of_a_build(tmp_path: Path) -> None:
    from pdb_build import plan_build

    size = BoardSize(4, 4)
    partition = parse_partition("663", size)
    plan = plan_build(size, blank_last(size), partition, tmp_path / "a.h5")
    assert [plan.finished_share(0, 0.0), plan.finished_share(2, 1.0)] == [0.0, 1.0]
    assert plan.finished_share(1, 0.5) == pytest.approx(0.75, abs=0.001)
