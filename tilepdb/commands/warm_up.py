"""Compilation of the kernels that common commands need, by running these commands on small boards."""

import contextlib
import io
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from solver.algorithms import ALGORITHMS, IDA_STAR
from tilepdb.commands.output import count
from tilepdb.commands.progress import ProgressLine

_LOG_S = 10.0
_BOARD_3X3, _BOARD_4X4 = "1 2 3/4 5 6/0 7 8", "1 2 3 4/5 6 7 8/9 10 11 12/0 13 14 15"
_BOARD_5X5 = "1 2 3 4 5/6 7 8 9 10/11 12 13 14 15/16 17 18 19 20/0 21 22 23 24"
# The patterns are small, but their tables have the types of large ones.
_PATTERNS_4X4 = "1,2,3/4,5,6/7,8,9/10,11,12/13,14,15"
_OTHERS_4X4 = "1,2,5/3,4,6/7,8,9/10,11,12/13,14,15"
_PATTERNS_5X5 = "1,2,3/4,5,6/7,8,9/10,11,12/13,14,15/16,17,18/19,20,21/22,23,24"


def warm_up(program: Any) -> Iterator[tuple[str, float]]:
    """Run the commands of `program` that compile kernels. Yield the line of each and its seconds.

    The standard tables of 3x3 and 4x4 are built in the cache folder too. Raises the errors of the commands.
    """
    with tempfile.TemporaryDirectory() as folder, ProgressLine(log_every_s=_LOG_S) as line:
        lines = _lines(Path(folder))
        for n_done, arguments in enumerate(lines):
            shown = " ".join(argument.replace(f"{folder}/", "") for argument in arguments)
            line.show(f"warm-up, command {count(n_done + 1)} of {len(lines)}: pdb {shown}", n_done / len(lines))
            start = time.perf_counter()
            _run(program, arguments)
            yield f"pdb {shown}", time.perf_counter() - start


def _lines(folder: Path) -> list[list[str]]:
    """Return the arguments of the commands, which write their files to `folder`."""
    bits, byte_file, wide, catalogue = (str(folder / f"{name}.h5") for name in ("bits", "bytes", "wide", "catalogue"))
    others = [name for name in ALGORITHMS if name != IDA_STAR]
    return [
        ["solve", _BOARD_4X4],
        ["solve", _BOARD_3X3],
        ["solve", "--time-limit", "60", "--log", str(folder / "a.log"), _BOARD_4X4],
        ["solve", "--all", _BOARD_4X4],
        ["solve", "--frontier-memory", "1G", _BOARD_4X4],
        ["label", "--random", "10", "--out", str(folder / "labels.npz")],
        ["build", _PATTERNS_4X4, "--out", bits],
        ["build", _PATTERNS_4X4, "--encoding", "bytes", "--out", byte_file],
        ["build", "8", "--encoding", "bytes", "--out", str(folder / "8.h5")],
        ["build", _PATTERNS_5X5, "--size", "5x5", "--out", wide],
        ["build", f"{_PATTERNS_4X4}+{_OTHERS_4X4}", "--out", catalogue],
        ["query", "--db", bits, "--db", byte_file, _BOARD_4X4],
        ["solve", "--db", byte_file, _BOARD_4X4],
        ["solve", "--db", wide, _BOARD_5X5],
        ["solve", "--db", catalogue, _BOARD_4X4],
        ["search", "--heuristic", "manhattan", _BOARD_4X4],
        ["search", "--heuristic", "max(korf-taylor,walking-distance,triples)", _BOARD_3X3],
        *(["search", "--algorithm", name, _BOARD_4X4] for name in others),
        ["search", "--algorithm", others[0], "--db", bits, _BOARD_4X4],
        ["approximate", "--time-limit", "0.1", _BOARD_5X5],
    ]


def _run(program: Any, arguments: list[str]) -> None:
    """Run a command in this process, without its output. Raises its error, or the interrupt that ended it."""
    try:
        with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()):
            program.main(arguments, prog_name="pdb", standalone_mode=False)
    except SystemExit as end:
        # The command has turned its error into an exit code. The command that runs this one does so again.
        raise end.__context__ or end from None
