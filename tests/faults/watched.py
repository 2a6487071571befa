"""Numbered cases in watched child processes: a crash or a hang ends one case, and a new child continues."""

import os
import resource
import select
import signal
from collections.abc import Callable
from pathlib import Path

# Takes the number of a case, and returns what became of it, in one line.
Case = Callable[[int], str]


def watched(make_case: Callable[[], Case], n_cases: int, *, patience_s: float, memory_bytes: int) -> list[str]:
    """Return what became of each case, in order: what `Case` returns, or "lost: " and the exception, crash or hang.

    make_case     called once in each child, which is a fork of this process
    patience_s    a case that takes longer hangs; `make_case` and the first case count together
    memory_bytes  that a child may use beyond what it has when it starts
    """
    lines: list[str] = []
    while len(lines) < n_cases:
        told, problem = _watch_over(make_case, range(len(lines), n_cases), patience_s, memory_bytes)
        lines += told
        if problem is not None:
            lines.append(f"lost: {problem}")
    return lines


def _watch_over(
    make_case: Callable[[], Case], numbers: range, patience_s: float, memory_bytes: int
) -> tuple[list[str], str | None]:
    """Return what a child reports of some cases, and the problem that ended the child early, if any."""
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        os.close(reading)
        _work(make_case, numbers, memory_bytes, writing)
    os.close(writing)
    told, left, problem = [], b"", None
    while True:
        if not select.select([reading], [], [], patience_s)[0]:
            os.kill(child, signal.SIGKILL)
            problem = "hang"
            break
        piece = os.read(reading, 65_536)
        if not piece:
            break
        *lines, left = (left + piece).split(b"\n")
        told += [line.decode() for line in lines]
    os.close(reading)
    status = os.waitpid(child, 0)[1]
    if problem is None and status != 0:
        problem = f"crash: {signal.Signals(os.WTERMSIG(status)).name if os.WIFSIGNALED(status) else status}"
    return told, problem


def _work(make_case: Callable[[], Case], numbers: range, memory_bytes: int, writing: int) -> None:
    in_use = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
    resource.setrlimit(resource.RLIMIT_AS, (in_use + memory_bytes, in_use + memory_bytes))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    os.dup2(os.open(os.devnull, os.O_WRONLY), 2)
    status = 1
    try:
        case = make_case()
        for number in numbers:
            try:
                line = case(number)
            except Exception as error:
                line = f"lost: {type(error).__name__}: {error}"
            os.write(writing, line.replace("\n", " ").encode() + b"\n")
        status = 0
    finally:
        os._exit(status)
