"""Builds on a disk that is full or fails, at each call in turn.

    python -m tests.faults.broken_disk [--every 1]

A small build with a checkpoint at every level is repeated. In each run one call that uses the disk fails: the first
call in the first run, then the second, and so on. Each is tried twice: only that call fails, or all later ones too.
The same is done with a build that continues from a checkpoint. A fault is survived if the build ended with
`DiskFullError` or `OutputError`, or continued, and only the right file was ever under the final name. A later build on
a sound disk must make that file and leave nothing else.
"""

import argparse
import errno
import shutil
from pathlib import Path
from tempfile import TemporaryDirectory

from pdb_build import BuildPlan, build_database
from pdb_core.errors import DiskFullError, OutputError
from tests.faults.counting import Tally, small_plan
from tests.faults.disk import Disk, mounted

_PARTITION, _SIZE = "1,2/3,4,5", "2x3"
_ERRORS = {errno.ENOSPC: ("disk full", DiskFullError), errno.EIO: ("disk error", OutputError)}


def break_builds(every: int, folder: Path) -> Tally:
    """Let every `every`-th call fail, with both errors, in a new build and in one that continues."""
    tally = Tally()
    expected = build_database(small_plan(folder / "whole.h5", _PARTITION, _SIZE, "bits")).path.read_bytes()
    half = _half_a_build(folder)
    for number, (name, kind) in _ERRORS.items():
        for start, what in ((None, "a build"), (half, "a build that continues")):
            for stays_broken in (False, True):
                fault = f"{name}, {'from a call on' if stays_broken else 'at one call'} of {what}"
                call, is_over = 1, False
                while not is_over:
                    disk = Disk(folder / "trial", number, call, stays_broken)
                    loss = _try(disk, kind, start, expected)
                    is_over = disk.n_calls < call
                    if not is_over:
                        tally.count(fault, None if loss is None else f"call {call}: {loss}")
                    call += every
    return tally


def _half_a_build(folder: Path) -> Path:
    """Return a folder with the checkpoints of a build that was stopped in its second pattern."""
    n_left = 14

    def stop(_progress: object) -> None:
        nonlocal n_left
        n_left -= 1
        if n_left == 0:
            raise KeyboardInterrupt

    plan = small_plan(folder / "half.h5", _PARTITION, _SIZE, "bits")
    try:
        build_database(plan, progress=stop, checkpoint_every_s=0)
    except KeyboardInterrupt:
        return folder / "half.h5.partial"
    raise AssertionError("the build was not stopped")


def _try(disk: Disk, kind: type[Exception], start: Path | None, expected: bytes) -> str | None:
    """Build on the disk, then on a sound one. Return what was lost, if anything."""
    shutil.rmtree(disk.folder, ignore_errors=True)
    disk.folder.mkdir()
    plan = small_plan(disk.folder / "a.h5", _PARTITION, _SIZE, "bits")
    if start is not None:
        shutil.copytree(start, disk.folder / "a.h5.partial")
    loss = None
    try:
        with mounted(disk):
            build_database(plan, checkpoint_every_s=0)
        if not plan.out.exists():
            loss = "no error, and no file"
    except kind:
        pass
    except Exception as error:
        loss = f"ended with {type(error).__name__}: {error}"
    if plan.out.exists() and plan.out.read_bytes() != expected:
        loss = loss or "a wrong file under the final name"
    return loss or _build_again(plan, expected)


def _build_again(plan: BuildPlan, expected: bytes) -> str | None:
    try:
        build_database(plan)
    except Exception as error:
        return f"the next build ended with {type(error).__name__}: {error}"
    if plan.out.read_bytes() != expected:
        return "the next build made another file"
    names = sorted(path.name for path in plan.out.parent.iterdir())
    return None if names == ["a.build.json", "a.h5"] else f"left behind: {names}"


def main() -> None:
    """Break disks and print the results."""
    parser = argparse.ArgumentParser(description="Build on disks that fail.")
    parser.add_argument("--every", type=int, default=1, help="try every so many calls")
    arguments = parser.parse_args()
    with TemporaryDirectory(prefix="tile-pdb-disks-") as folder:
        print(break_builds(arguments.every, Path(folder)).to_json())


if __name__ == "__main__":
    main()
