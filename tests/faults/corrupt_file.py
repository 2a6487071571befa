"""Damages table files in thousands of ways, and counts what becomes of each.

    python -m tests.faults.corrupt_file --tried 5000 --seed 1

Each damaged file must be *refused* when it is opened, or *found* by `verify`, or be *harmless*: what it says and
answers is what the sound file does. All else is *lost*: a wrong answer after `verify`, a traceback, a crash or a hang.
Boards are also looked up in files that open and that `verify` finds: what comes out means nothing, but it has to come.

Children do the work, many files each, and are watched: where one crashes or hangs, another one goes on behind that
file.
"""

import argparse
import json
import os
import random
import resource
import sys
import time
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory

import h5py
import numpy as np

from pdb_core.cost import Cost
from pdb_core.encoding import Encoding
from pdb_core.errors import TableFileDamagedError, TableFileError
from pdb_core.schema import PAGE_BYTES, Header
from pdb_query import Database, open_database
from tests.faults.watched import Case, watched
from tests.tables import table_file

# (partition, size, encoding, cost): a complete table, patterns with tables of their own and some that share, all costs.
SAMPLES: tuple[tuple[str, str, Encoding, Cost], ...] = (
    ("1,2,3", "2x2", "bytes", "additive"),
    ("1,2,5/3,4,6/7,8", "3x3", "bytes", "additive"),
    ("1,2,5/3,4,6/7,8", "3x3", "bits", "additive"),
    ("1,2,3/4,5/6,7,8", "3x3", "bits", "every-move"),
    ("1,2/3,6/4,7/5,8", "3x3", "bytes", "additive"),
    ("1,2,3,4/5,6,7,8/9,10,11", "4x3", "bits", "additive"),
    ("1,2,3/4,5,6/7,8,9/10,11,12/13,14/15", "4x4", "bytes", "additive"),
    ("1,2/3,4", "3x3", "bits", "every-move"),
)
# Far longer than any file here may take; what is still silent then hangs.
_PATIENCE_S = 20.0
# Beyond what a child has when it starts: a file of some kilobytes needs no more.
_MEMORY_BYTES = 256_000_000
OUTCOMES = ("refused", "found", "harmless", "lost")


@dataclass(frozen=True)
class Sound:
    """A file before it is damaged, and what it says."""

    name: str
    content: bytes
    header: Header
    tables: tuple[bytes, ...]
    boards: np.ndarray
    maximum: bytes


def sound_file(partition: str, size: str, encoding: Encoding, cost: Cost) -> Sound:
    path = table_file(partition, size, encoding=encoding, cost=cost)
    with open_database(path) as database:
        database.verify()
        rng = np.random.default_rng(0)
        boards = np.array([rng.permutation(database.size.n_cells) for _ in range(40)], dtype=np.uint8)
        return Sound(
            f"{partition} {size} {encoding} {cost}", path.read_bytes(), database.header, _tables(database), boards,
            _answers(database, boards),
        )  # fmt: skip


def _tables(database: Database) -> tuple[bytes, ...]:
    return tuple(database.table(index).tobytes() for index in range(len(database.header.patterns)))


def _answers(database: Database, boards: np.ndarray) -> bytes:
    return database.probe_batch(boards).maximum.tobytes()


# --- Ways to damage a file: each takes the sound bytes and gives others -----------------------------------------------


def _flipped(content: bytearray, rng: random.Random, places: list[int]) -> None:
    for _ in range(rng.choice((1, 1, 1, 2, 3, 8))):
        content[rng.choice(places)] ^= 1 << rng.randrange(8)


def _overwritten(content: bytearray, rng: random.Random, places: list[int]) -> None:
    start = rng.choice(places)
    length = rng.choice((1, 2, 4, 8, 16, 64))
    content[start : start + length] = rng.randbytes(len(content[start : start + length]))


def _telling_number(content: bytearray, rng: random.Random, places: list[int]) -> None:
    """A field, as like as not, set to one of the numbers that programs stumble over."""
    start, width = rng.choice(places), rng.choice((1, 1, 2, 2, 4, 8, 8, 8))
    start -= start % rng.choice((1, width))
    number = rng.choice(
        (0, 1, 2, 3, 255, 256, 65_535, 65_536, 2**31 - 1, 2**31, 2**32 - 1, 2**32, 10**12, 10**18, 2**63 - 1, 2**63,
         2**64 - 1, 2**64 - 8, start, start - 8, len(content), len(content) - 1, len(content) + 1, rng.choice(places))
    ) % (1 << 8 * width)  # fmt: skip
    # What comes after the end of the file is not there to be overwritten.
    content[start : start + width] = number.to_bytes(width, "little")[: len(content[start : start + width])]


def _misdirected(content: bytearray, rng: random.Random, _places: list[int]) -> None:
    """One address of the file's structure set to another one: loops, and structures read as others."""
    aligned = [at for at in range(0, len(content) - 7, 8) if int.from_bytes(content[at : at + 8], "little") > 0]
    addresses = [at for at in aligned if int.from_bytes(content[at : at + 8], "little") < len(content)]
    if addresses:  # a file that was cut before may have none left
        target, source = rng.choice(addresses), rng.choice(addresses)
        content[target : target + 8] = content[source : source + 8]


def _cut(content: bytearray, rng: random.Random, places: list[int]) -> None:
    del content[rng.choice((rng.randrange(len(content)), len(content) - 1 - rng.randrange(16), rng.choice(places))) :]


def _appended(content: bytearray, rng: random.Random, _places: list[int]) -> None:
    content += rng.choice((rng.randbytes(rng.randrange(1, 9000)), bytes(rng.randrange(1, 9000)), bytes(content)))


def _inserted(content: bytearray, rng: random.Random, places: list[int]) -> None:
    start = rng.choice(places)
    content[start:start] = rng.randbytes(rng.choice((1, 8, 512, PAGE_BYTES)))


def _swapped_pages(content: bytearray, rng: random.Random, places: list[int]) -> None:
    page = rng.choice((PAGE_BYTES, 512, 64))
    a, b = (at - at % page for at in (rng.choice(places), rng.choice(places)))
    if abs(a - b) >= page and max(a, b) + page <= len(content):
        content[a : a + page], content[b : b + page] = content[b : b + page], content[a : a + page]


def _filled_pages(content: bytearray, rng: random.Random, places: list[int]) -> None:
    page = rng.choice((PAGE_BYTES, 512, 64))
    start = rng.choice(places)
    start -= start % page
    content[start : start + page] = rng.choice((b"\0", b"\0", b"\xff")) * len(content[start : start + page])


def _copied_pages(content: bytearray, rng: random.Random, places: list[int]) -> None:
    length = rng.choice((PAGE_BYTES, 512, 64, 8))
    source, target = rng.choice(places), rng.choice(places)
    piece = content[source : source + length]
    content[target : target + len(piece)] = piece[: len(content) - target]


BYTE_DAMAGES: tuple[Callable[[bytearray, random.Random, list[int]], None], ...] = (
    _flipped, _flipped, _flipped, _overwritten, _telling_number, _telling_number, _telling_number, _misdirected, _cut,
    _appended, _inserted, _swapped_pages, _filled_pages, _copied_pages,
)  # fmt: skip


def _edited_by_hdf5(path: Path, rng: random.Random) -> None:
    """What a person does with an HDF5 tool: attributes and datasets changed, removed, added."""
    with h5py.File(path, "r+") as file:
        group = rng.choice([file, *file.values()])
        names = list(group.attrs)
        name = rng.choice(names)
        choice = rng.randrange(8)
        if choice == 0:
            del group.attrs[name]
        elif choice == 1:
            group.attrs[name] = group.attrs[rng.choice(names)]
        elif choice == 2:
            value = rng.choice(
                (-1, 0, 10**18, 2**63 - 1, float("nan"), float("inf"), "", "x" * 60_000, b"\xff\xfe", np.zeros(7000),
                 np.zeros((3, 3), np.uint8), "\u0663", h5py.Empty("f8"), 1e300, [b"a", b"b"], 1 + 2j, True)
            )  # fmt: skip
            group.attrs[name] = value
        elif choice == 3 and isinstance(group.attrs[name], np.integer | np.ndarray):
            group.attrs[name] = group.attrs[name] + group.attrs[name].dtype.type(rng.choice((1, 2, 7)))
        elif choice == 3:
            group.attrs[name] = str(group.attrs[name])[::-1]
        elif choice == 4:
            group.attrs["remark"] = "seen"  # what nobody reads does no harm
        elif choice == 5:
            file.create_group(f"pattern_{len(file)}")
        elif choice == 6:
            a, b = rng.choice(list(file)), rng.choice(list(file))
            if a != b:
                file.move(a, "x")
                file.move(b, a)
                file.move("x", b)
        else:
            _edited_dataset(file, rng)


def _edited_dataset(file: h5py.File, rng: random.Random) -> None:
    group = rng.choice([group for group in file.values() if "table" in group])
    name = rng.choice(("table", "table", "histogram"))
    data = group[name][:]
    del group[name]
    choice = rng.randrange(9)
    if choice == 0:
        group.create_dataset(name, data=data, compression="gzip")
    elif choice == 1:
        group.create_dataset(name, data=data, chunks=(1,) if len(data) < 600 else (64,))
    elif choice == 2:
        group.create_dataset(name, data=data.astype(rng.choice(("u1", "i1", "<u2", ">u8", "f8"))))
    elif choice == 3:
        group.create_dataset(name, data=data, external=[("elsewhere.bin", 0, data.nbytes)])
    elif choice == 4:
        layout = h5py.VirtualLayout(shape=data.shape, dtype=data.dtype)
        layout[:] = h5py.VirtualSource("elsewhere.h5", "x", shape=data.shape)
        group.create_virtual_dataset(name, layout)
    elif choice == 5:
        soft = (h5py.SoftLink("/nowhere"), h5py.SoftLink(f"/pattern_0/{name}"))
        group[name] = rng.choice((*soft, h5py.ExternalLink("elsewhere.h5", "/x"), h5py.ExternalLink("/dev/zero", "/x")))
    elif choice == 6:
        others = (data[:-1], data[::-1], data.reshape(1, -1), np.append(data, data))
        group.create_dataset(name, data=rng.choice(others))
    elif choice == 7:
        group.create_dataset(name, data=data, fletcher32=True)
    else:
        group.create_group(name)


def damage(sound: Sound, places: tuple[list[int], list[int]], path: Path, seed: str) -> None:
    """Write a damaged file to `path`: the same for the same seed."""
    rng = random.Random(seed)
    if rng.random() < 0.15:
        path.write_bytes(sound.content)
        _edited_by_hdf5(path, rng)
        return
    content = bytearray(sound.content)
    structure, tables = places
    for _ in range(rng.choice((1, 1, 1, 1, 2, 3))):
        # Tables are most of a file, but what is not table is where programs stumble.
        near = [at for at in (tables if rng.random() < 0.25 else structure) if at < len(content)] or [0]
        if content:
            rng.choice(BYTE_DAMAGES)(content, rng, near)
    path.write_bytes(content)


def places_of(sound: Sound) -> tuple[list[int], list[int]]:
    """Every place in the file outside the tables that is not 0, and those near it; and every place in a table."""
    in_table = np.zeros(len(sound.content), dtype=bool)
    for table in sound.tables:
        start = sound.content.find(table)
        in_table[start : start + len(table)] = True
    used = np.frombuffer(sound.content, dtype=np.uint8) != 0
    near = np.convolve(used, np.ones(9), mode="same") > 0
    return np.flatnonzero(near & ~in_table).tolist(), np.flatnonzero(in_table).tolist()


# --- What becomes of it -----------------------------------------------------------------------------------------------


def outcome(path: Path, sound: Sound, load: str) -> str:
    """One of `OUTCOMES`; after `lost` what was wrong."""
    try:
        database = open_database(path, load=load)  # type: ignore[arg-type]
    except TableFileError as error:
        return "refused" if str(path) in str(error) and "\n" not in str(error) else f"lost: message {error}"
    with database:
        boards = sound.boards[:, : database.size.n_cells]
        lookups_fail = False
        if database.size.n_cells <= sound.boards.shape[1]:
            try:
                database.probe_batch(boards, strict=False)
            except TableFileDamagedError:
                lookups_fail = True
        try:
            database.verify()
        except TableFileDamagedError:
            return "found"
        if lookups_fail:
            return "lost: lookups found damage that verify did not"
        if database.header != sound.header:
            return "lost: another header"
        if _tables(database) != sound.tables:
            return "lost: another table"
        if _answers(database, sound.boards) != sound.maximum:
            return "lost: another answer"
    return "harmless"


def _case_of(sounds: list[Sound], seed: int, folder: Path) -> Case:
    os.chdir(folder)  # HDF5 writes external data there
    places = [places_of(sound) for sound in sounds]
    path = folder / "damaged.h5"

    def case(number: int) -> str:
        sound = sounds[number % len(sounds)]
        path.unlink(missing_ok=True)
        damage(sound, places[number % len(sounds)], path, f"{seed} {number}")
        return outcome(path, sound, ("map", "map", "copy", "huge")[number // len(sounds) % 4])

    return case


def run(tried: int, seed: int) -> dict[str, object]:
    """Damage so many files and count; `lost` files are listed by their numbers."""
    sounds = [sound_file(*sample) for sample in SAMPLES]
    start = time.process_time()
    with TemporaryDirectory(prefix="tile-pdb-faults-") as folder:
        make_case = partial(_case_of, sounds, seed, Path(folder))
        lines = watched(make_case, tried, patience_s=_PATIENCE_S, memory_bytes=_MEMORY_BYTES)
    counts = Counter(line.split(":")[0] for line in lines)
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return {
        "tried": len(lines),
        **{name: counts[name] for name in OUTCOMES},
        "cpu_s": round(time.process_time() - start + used.ru_utime + used.ru_stime, 1),
        "losses": [f"{number}: {line}" for number, line in enumerate(lines) if line.startswith("lost")],
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--tried", type=int, default=500)
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    result = run(options.tried, options.seed)
    print(json.dumps(result, indent=2))
    sys.exit(1 if result["lost"] else 0)


if __name__ == "__main__":
    main()
