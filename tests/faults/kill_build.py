"""Builds that are killed at random moments (SIGKILL) and continued.

    python -m tests.faults.kill_build [--kills 200] [--seed 1]

A build of the 8-puzzle with a checkpoint at every level runs in a forked process, which is killed: half of the times
at any moment, half of the times while the table file is closed, checked and renamed, with pauses between these steps.
Some builds are killed again after they have continued. Then one build runs to its end. A kill is survived if a file
under the final name was always the right one, and if the last build made it, from a checkpoint if there was one.

Nothing is synced here: a process that is killed, unlike a machine that loses power, loses nothing it has written.
"""

import argparse
import os
import random
import shutil
import signal
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

from pdb_build import BuildPlan, build_database, checkpoint, frontier
from pdb_build.partial_folder import PartialFolder
from pdb_build.writer import TableFileWriter
from tests.faults.counting import Tally, small_plan

_PARTITION, _SIZE = "1,2,5/3,4,6/7,8", "3x3"
_SLAB_STATES = 200  # so that levels have several slabs
_MAX_KILLS_IN_A_ROW = 3
_BETWEEN_S = 0.004
ANY_MOMENT, CLOSING = "builder killed at a random moment", "builder killed while it closes the file"


class Target:
    """Build that is killed, the right file, and the time that the build takes."""

    def __init__(self, folder: Path, encoding: str) -> None:
        folder.mkdir()
        self.folder = folder
        self.plan: BuildPlan = small_plan(folder / "a.h5", _PARTITION, _SIZE, encoding)  # type: ignore[arg-type]
        build_database(self.plan)
        self.expected = self.plan.out.read_bytes()
        self.clear()
        self.seconds, self.closing_s = self._times()
        self.clear()

    def clear(self) -> None:
        """Remove all files."""
        shutil.rmtree(self.folder)
        self.folder.mkdir()

    def is_right(self) -> bool:
        """Return whether the file is the right one."""
        return self.plan.out.read_bytes() == self.expected

    def _times(self) -> tuple[float, float]:
        """Return the seconds of a build in its own process, and those after it begins to close the file."""
        begin = time.perf_counter()
        with self.process() as (pid, events):
            while os.read(events, 1) not in (b"c", b""):
                pass
            closed = time.perf_counter()
            os.waitpid(pid, 0)
        return time.perf_counter() - begin, time.perf_counter() - closed

    @contextmanager
    def process(self) -> Iterator[tuple[int, int]]:
        """Fork a process that builds. Yield its number, and a pipe with its events, see `_build`."""
        reader, writer = os.pipe()
        pid = os.fork()
        if pid == 0:
            _build(self.plan, writer)
        os.close(writer)
        try:
            yield pid, reader
        finally:
            os.close(reader)


def _build(plan: BuildPlan, pipe: int) -> None:
    """Build and exit. Write `k` to the pipe after each checkpoint, and `c` when the file is about to be closed."""
    close, write_manifest = TableFileWriter.close, checkpoint._write_manifest

    def report_and_close(self: TableFileWriter) -> object:
        os.write(pipe, b"c")
        return close(self)

    def write_and_report(folder: PartialFolder, kept: checkpoint.Checkpoint) -> None:
        write_manifest(folder, kept)
        os.write(pipe, b"k")

    read_back, clear = TableFileWriter._read_back, PartialFolder.clear

    def wait_and_read_back(self: TableFileWriter) -> None:
        time.sleep(_BETWEEN_S)
        read_back(self)

    def wait_and_clear(self: PartialFolder) -> None:
        time.sleep(_BETWEEN_S)
        clear(self)

    code = 1
    try:
        TableFileWriter._read_back = wait_and_read_back  # type: ignore[method-assign]
        PartialFolder.clear = wait_and_clear  # type: ignore[method-assign]
        TableFileWriter.close = report_and_close  # type: ignore[assignment, method-assign]
        checkpoint._write_manifest = write_and_report
        build_database(plan, checkpoint_every_s=0)
        code = 0
    finally:
        os._exit(code)


@dataclass(frozen=True)
class Kill:
    """Effect of a kill: whether the build still ran, whether it had a checkpoint, and what is wrong, if anything."""

    in_time: bool
    has_checkpoint: bool
    loss: str | None


def kill_one(target: Target, fault: str, chance: random.Random) -> Kill:
    """Start a build and kill it."""
    with target.process() as (pid, events):
        seen = b""
        if fault == CLOSING:
            while (byte := os.read(events, 1)) not in (b"c", b""):
                seen += byte
            time.sleep(chance.uniform(0, target.closing_s))
        else:
            time.sleep(chance.uniform(0, target.seconds))
        os.kill(pid, signal.SIGKILL)
        _pid, status = os.waitpid(pid, 0)
        seen += os.read(events, 10_000)
    loss = None
    if os.WIFEXITED(status) and os.WEXITSTATUS(status) != 0:
        loss = "the build failed by itself"
    elif target.plan.out.exists() and not target.is_right():
        loss = "a wrong file under the final name"
    return Kill(os.WIFSIGNALED(status), b"k" in seen, loss)


def _finish(target: Target, kills: list[Kill]) -> str | None:
    """Let a build run to its end. Return what is wrong with it, if anything."""
    was_done = target.plan.out.exists()
    try:
        result = build_database(target.plan)
    except Exception as error:
        return f"the build that continued ended with {type(error).__name__}: {error}"
    if not target.is_right():
        return "the build that continued made another file"
    if (target.folder / "a.h5.partial").exists():
        return "the folder was left behind"
    if result.n_runs == 1 and not was_done and any(kill.has_checkpoint for kill in kills):
        return "the checkpoint was not found"
    return None


def kill_builds(n_kills: int, seed: int, folder: Path) -> Tally:
    """Kill `n_kills` builds, of both encodings in turns."""
    chance, tally = random.Random(seed), Tally()
    targets = [Target(folder / encoding, encoding) for encoding in ("bits", "bytes")]
    while tally.tried.total() < n_kills:
        target = targets[tally.tried.total() % 2]
        faults: list[str] = []
        kills: list[Kill] = []
        for _kill in range(min(n_kills - tally.tried.total(), chance.randint(1, _MAX_KILLS_IN_A_ROW))):
            fault = chance.choice((ANY_MOMENT, CLOSING))
            kills.append(kill_one(target, fault, chance))
            if kills[-1].in_time or kills[-1].loss:
                faults.append(fault)
        loss = next((kill.loss for kill in kills if kill.loss), None) or _finish(target, kills)
        for fault in faults:
            tally.count(fault, loss)
        target.clear()
    return tally


def main() -> None:
    """Kill builds and print the results."""
    parser = argparse.ArgumentParser(description="Kill builds at random moments.")
    parser.add_argument("--kills", type=int, default=200)
    parser.add_argument("--seed", type=int, default=1)
    arguments = parser.parse_args()
    os.fsync = lambda _descriptor: None  # type: ignore[assignment]
    frontier._SLAB_STATES = _SLAB_STATES
    with TemporaryDirectory(prefix="tile-pdb-kills-") as folder:
        print(kill_builds(arguments.kills, arguments.seed, Path(folder)).to_json())


if __name__ == "__main__":
    main()
