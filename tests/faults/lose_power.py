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
from pathlib import Path
from tempfile import TemporaryDirectory
from unittest.mock import patch

from pdb_build import build_database
from tests.faults.driver import Tally, main
from tests.faults.failing_builds import build_again, expected_file, plan_in

# Disks of the last moments, when the file gets its name: they are always tried.
_LAST = 20
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

    def write_to(self, target: Path, *, newest_names: bool, folder: Path | None = None) -> None:
        """Write the content of `folder` that is on the disk after the power loss, by default of all."""
        folder = folder or self._root
        target.mkdir()
        known = self._names.get(folder, {})
        for name, number in (names_in(folder) if newest_names and folder.exists() else known).items():
            if (folder / name) in self._names or (folder / name).is_dir():
                self.write_to(target / name, newest_names=newest_names, folder=folder / name)
            else:
                (target / name).write_bytes(self._bytes.get(number, b""))


def names_in(folder: Path) -> Names:
    """Return the names in a folder, with the numbers of the files."""
    return {path.name: path.lstat().st_ino for path in folder.iterdir()}


def attack(tally: Tally, options: argparse.Namespace) -> None:
    """Lose power at every `options.every`-th moment of a build and at its last ones, on both disks."""
    with TemporaryDirectory(prefix="tile-pdb-power-") as name:
        root = Path(name).resolve()
        (root / "built").mkdir()
        disk = SyncedDisk(root / "built")
        back: list[tuple[Path, str]] = []

        def at_moment() -> None:
            for fault in (FORGETS, KEEPS_NAMES):
                back.append((root / str(len(back)), fault))
                disk.write_to(back[-1][0], newest_names=fault == KEEPS_NAMES)

        def sync(descriptor: int) -> None:
            at_moment()
            disk.sync(descriptor)
            at_moment()

        with patch.object(os, "fsync", sync):
            build_database(plan_in(root / "built"), checkpoint_every_s=0)
        expected = expected_file()
        for number, (folder, fault) in enumerate(back):
            if number // 2 % options.every == 0 or number >= len(back) - _LAST:
                loss = build_again(folder, expected)
                tally.count(fault, None if loss is None else f"{number} of {len(back)}: {loss}")


if __name__ == "__main__":
    main(attack, every=1)
