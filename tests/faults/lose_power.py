"""Builds whose machine loses power before and after each sync, and which are continued.

    python -m tests.faults.lose_power [--every 1]

A disk keeps what was synced: the bytes of a file at its last sync, and the names in a folder at the folder's last
sync. Later changes may be lost. Two disks are simulated at each moment. One loses all that was not synced. The other
keeps the newest names; the files have the bytes of their last sync, or are empty without one. A build continues from
each. The loss is survived if the right file or nothing is under the final name, and if that build makes the right file,
from a checkpoint if there was one.
"""

import argparse
import os
import stat
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from unittest.mock import patch

from pdb_build import build_database
from tests.faults.counting import Tally, small_plan

_PARTITION, _SIZE = "1,2/3,4,5", "2x3"
FORGETS = "power lost, what was not synced is gone"
KEEPS_NAMES = "power lost, names are there, bytes that were not synced are gone"

Names = dict[str, int]


class SyncedDisk:
    """Synced content of a disk: bytes by the number of the file, and the names in each folder."""

    def __init__(self, root: Path) -> None:
        self._root = root
        self._bytes: dict[int, bytes] = {}
        self._names: dict[Path, Names] = {}

    def sync(self, descriptor: int) -> None:
        """Sync a file or folder, in place of os.fsync."""
        state = os.fstat(descriptor)
        path = Path(f"/proc/self/fd/{descriptor}").readlink()
        if stat.S_ISDIR(state.st_mode):
            self._names[path] = names_in(path)
        else:
            self._bytes[state.st_ino] = path.read_bytes()

    def write_to(self, target: Path, *, newest_names: bool) -> None:
        """Write the content that is on the disk after the power loss."""
        self._write_folder(self._root, target, newest_names=newest_names)

    def _write_folder(self, folder: Path, target: Path, *, newest_names: bool) -> None:
        target.mkdir()
        known = self._names.get(folder, {})
        for name, number in (names_in(folder) if newest_names and folder.exists() else known).items():
            if (folder / name) in self._names or (folder / name).is_dir():
                self._write_folder(folder / name, target / name, newest_names=newest_names)
            else:
                (target / name).write_bytes(self._bytes.get(number, b""))


def names_in(folder: Path) -> Names:
    """Return the names in a folder, with the numbers of the files."""
    return {path.name: path.lstat().st_ino for path in folder.iterdir()}


@contextmanager
def watched(disk: SyncedDisk, at_moment: Callable[[], None]) -> Iterator[None]:
    """Send all syncs of this process to the disk. `at_moment` is called before and after each."""

    def sync(descriptor: int) -> None:
        at_moment()
        disk.sync(descriptor)
        at_moment()

    with patch.object(os, "fsync", sync):
        yield


def lose_power(every: int, folder: Path) -> Tally:
    """Lose power at every `every`-th moment of a build, on both disks."""
    tally = Tally()
    expected = build_database(small_plan(folder / "whole.h5", _PARTITION, _SIZE, "bits")).path.read_bytes()
    (folder / "built").mkdir()
    disk = SyncedDisk(folder / "built")
    back: list[tuple[Path, str]] = []
    n_moments = 0

    def at_moment() -> None:
        nonlocal n_moments
        n_moments += 1
        if n_moments % every == 0:
            for fault in (FORGETS, KEEPS_NAMES):
                back.append((folder / str(len(back)), fault))
                disk.write_to(back[-1][0], newest_names=fault == KEEPS_NAMES)

    with watched(disk, at_moment):
        build_database(small_plan(folder / "built" / "a.h5", _PARTITION, _SIZE, "bits"), checkpoint_every_s=0)
    for place, fault in back:
        loss = _continue(place, expected)
        tally.count(fault, None if loss is None else f"{place.name}: {loss}")
    return tally


def _continue(folder: Path, expected: bytes) -> str | None:
    """Build from the content of a disk. Return what was lost, if anything."""
    plan = small_plan(folder / "a.h5", _PARTITION, _SIZE, "bits")
    was_there = plan.out.exists()
    if was_there and plan.out.read_bytes() != expected:
        return "a wrong file under the final name"
    has_checkpoint = any((folder / "a.h5.partial").glob("checkpoint-*.json"))
    try:
        result = build_database(plan)
    except Exception as error:
        return f"the next build ended with {type(error).__name__}: {error}"
    if plan.out.read_bytes() != expected:
        return "the next build made another file"
    if has_checkpoint and not was_there and result.n_runs == 1:
        return "the checkpoint could not be used"
    return None


def main() -> None:
    """Lose power and print the results."""
    parser = argparse.ArgumentParser(description="Lose power while a build runs.")
    parser.add_argument("--every", type=int, default=1, help="try every so many moments")
    arguments = parser.parse_args()
    with TemporaryDirectory(prefix="tile-pdb-power-") as folder:
        print(lose_power(arguments.every, Path(folder).resolve()).to_json())


if __name__ == "__main__":
    main()
