"""Damage to the tables of files that are opened without verification and given to every reader of tables.

    python -m tests.faults.damaged_tables --tried 2000 --seed 1
    NUMBA_BOUNDSCHECK=1 python -m tests.faults.damaged_tables --tried 2000 --seed 1

Each reader must end: with an error, at a limit, or with an answer. A solution must lead to the goal. Every other
outcome is *lost*: another exception, a crash, a hang, an access outside an array. With the second command, kernels
check the indices of arrays; it compiles them once more. Kernels that read tables by address do not check, so the pages
before or after the tables are not accessible. Each file is read in a child process.
"""

import argparse
import ctypes
import mmap
import random
import warnings
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import NamedTuple

import numpy as np

from pdb_core.errors import LimitReachedError, TableFileDamagedError
from pdb_core.puzzle import Tiles, random_boards
from pdb_core.schema import PAGE_BYTES
from pdb_core.types import Bytes
from pdb_query import Database, open_database
from pdb_query.lookup import lookup_tables
from pdb_query.table_file import LOAD_MODES
from solver import Checkpoint, GraphSolver, Iteration, Limits, Solver, WorkerPool, replay
from solver.algorithms import A_STAR, GREEDY, WEIGHTED_A_STAR
from solver.engine.database_engine import CATALOGUE, ROWS, SCALAR, VECTOR, WIDE, DatabaseEngine
from solver.engine.rounds.round import Round
from solver.engine.search import IdaStar
from solver.engine.threads import Wanted
from solver.engine.tuning import Tuning
from tests import rows
from tests.faults.driver import Tally, in_child, main
from tests.solving import engine_for, walked
from tests.tables import table_file

# Partition | size | encoding | cost: boards of 2 to 6 rows and columns, shared tables, catalogues.
SAMPLES = rows("""
1,2,5/3,4,6/7,8 | 3x3 | bits | additive
1,2,5/3,4,6/7,8 | 3x3 | bytes | additive
1,2,3/4,5/6,7,8 | 3x3 | bits | every-move
1,2,3,4/5,6,7,8+1,2,3,4/5,6/7,8+1,4,7/2,3,5/6,8 | 3x3 | bits | additive
1,2/3,6/4,7/5,8 | 3x3 | bits | additive
1,2,3/4,5,6/7,8,9/10,11,12/13,14,15/16,17,18/19,20,21/22,23,24 | 5x5 | bits | additive
1,2,3/4,5,6/7,8,9/10,11,12/13,14,15/16,17,18/19,20,21/22,23,24 | 5x5 | bytes | additive
555 | 4x4 | bits | additive
555 | 4x4 | bytes | additive
1,2,3,4/5,6,9,10/7,8,11,12/13,14,15+1,2,5,6/3,4,7,8/9,10,13,14/11,12,15 | 4x4 | bits | additive
1,2/3,4/5,6/7,8/9,10/11,12/13,14/15,16/17,18/19,20/21,22/23,24/25,26/27,28/29,30/31,32/33,34/35 | 6x6 | bits | additive
1,2/3,4,5 | 3x2 | bytes | additive
1,2/3,4,5 | 2x3 | bits | every-move
1,2,3/4,5,6/7,8,9 | 2x5 | bits | additive
78 | 4x4 | bits | additive
""")
KINDS = (VECTOR, ROWS, WIDE, CATALOGUE, SCALAR)
_PATIENCE_S = 60.0
_MEMORY_BYTES = 4_000_000_000
# The seconds are far more than a search up to the limit of nodes takes.
_LIMITS = Limits(max_nodes=10_000, time_limit=20)
_GRAPH_LIMITS = Limits(max_nodes=20_000, time_limit=20)
_GRAPH_BYTES = 64_000_000
# Outcomes of a reader.
ERROR, LIMIT, ANSWER, LONGER, EXACT = ("error", "limit", "answer", "longer", "exact")


class _LostError(Exception):
    """Answer that no damage excuses."""


class Subject(NamedTuple):
    """Sound file, a copy of its tables to damage, and the engines that search in this copy.

    content   uint8, writable: the tables of the database
    sound     uint8: the bytes of the sound file at `path`
    boards    solvable boards, and their optimal lengths
    """

    path: Path
    database: Database
    content: Bytes
    sound: Bytes
    boards: tuple[Tiles, ...]
    lengths: dict[Tiles, int]
    engines: dict[Round, DatabaseEngine]


# Thresholds and slices are small, so that few nodes reach all of the engine.
TUNED = {"slice_nodes": 1000, "long_nodes": 5}


class Trial(NamedTuple):
    """Subject with damaged tables, a file with these tables, and a board to solve."""

    subject: Subject
    damaged: Path
    board: Tiles
    rng: random.Random

    @property
    def engine(self) -> DatabaseEngine:
        """Engine of a random kind of rounds."""
        return self.subject.engines[self.rng.choice(list(self.subject.engines))]

    def checked(self, board: Tiles, tiles: tuple[int, ...] | None) -> str:
        """Replay a solution, if there is one, and return the outcome."""
        if tiles is None:
            return LIMIT
        replay(board, tiles, self.subject.database.goal, self.subject.database.size)
        least = self.subject.lengths[board]
        if len(tiles) < least:
            raise _LostError(f"{len(tiles)} moves for a board of {least}")
        return EXACT if len(tiles) == least else LONGER


# --- Subjects -------------------------------------------------------------------------------------------------------


def _guarded(n_bytes: int, *, at_end: bool) -> Bytes:
    """Return uint8[n_bytes] that ends at a page that is not accessible, or begins behind one.

    Kernels read whole words of 64 bits, the last one, too.
    """
    n_words_bytes = -(-n_bytes // 8) * 8
    n_room = -(-n_words_bytes // mmap.PAGESIZE) * mmap.PAGESIZE
    room = np.frombuffer(mmap.mmap(-1, n_room + 2 * mmap.PAGESIZE), dtype=np.uint8)
    protect = ctypes.CDLL(None, use_errno=True).mprotect
    for first in (0, mmap.PAGESIZE + n_room):
        if protect(ctypes.c_void_p(room.ctypes.data + first), ctypes.c_size_t(mmap.PAGESIZE), 0) != 0:
            raise OSError(ctypes.get_errno(), "mprotect failed")
    start = mmap.PAGESIZE + (n_room - n_words_bytes if at_end else 0)
    return room[start : start + n_bytes]


def subject_of(sample: list[str], *, at_end: bool) -> Subject:
    """Build a sound file, solve some boards with it, and prepare its memory for damage."""
    partition, size, encoding, cost = sample
    path = table_file(partition, size, encoding=encoding, cost=cost)
    database = open_database(path)
    sound = np.frombuffer(path.read_bytes(), dtype=np.uint8)
    solved = Solver(database)
    generator = np.random.default_rng(1)
    boards = tuple(
        walked(database.goal, database.size, n, generator) for n in (1, 2, 5, 8, 11, 14, 17, 20, 23, 25, 40, 60)
    )
    lengths = {board: solved.solve(board).length or 0 for board in boards}
    # The tables only, so that they lie next to the pages that are not accessible.
    extent = _extent(database)
    content = _guarded(extent.stop - extent.start, at_end=at_end)
    content[:] = database.lookup_tables.memory[extent]
    read_only = content.view()
    read_only.flags.writeable = False
    header = database.header
    starts = [entry.offset - extent.start for entry in header.patterns]
    database._tables = lookup_tables(header.spec, header.uses, read_only, starts)
    return Subject(path, database, content, sound, boards, lengths, dict(_engines(database)))


def _extent(database: Database) -> slice:
    """Return the part of the file from its first table to its last."""
    tables = database.header.tables.values()
    return slice(min(entry.offset for entry in tables), max(entry.offset + entry.n_bytes for entry in tables))


def _engines(database: Database) -> Iterator[tuple[Round, DatabaseEngine]]:
    """Yield an engine for each kind of rounds that suits the tables."""
    for kind in KINDS:
        engine = engine_for([database], 8, source=str(database.path), rounds=(kind, SCALAR), **TUNED).engine
        if isinstance(engine, DatabaseEngine) and engine.kind == kind:
            yield kind, engine


# --- Damage to the bytes of all tables ------------------------------------------------------------------------------


def _flipped(content: Bytes, rng: random.Random) -> None:
    for _ in range(rng.choice((1, 1, 10, 1000))):
        content[rng.randrange(len(content))] ^= 1 << rng.randrange(8)


def _filled(content: Bytes, rng: random.Random) -> None:
    start, length = rng.randrange(len(content)), rng.choice((1, 16, 512, PAGE_BYTES, len(content)))
    content[start : start + length] = rng.choice((0, 0, 255, 1, 254))


def _randomized(content: Bytes, rng: random.Random) -> None:
    start, length = rng.choice((0, rng.randrange(len(content)))), rng.choice((16, 512, PAGE_BYTES, len(content)))
    piece = content[start : start + length]
    piece[:] = np.frombuffer(rng.randbytes(len(piece)), dtype=np.uint8)


def _swapped(content: Bytes, rng: random.Random) -> None:
    page = rng.choice([size for size in (1, 8, 64, 512, PAGE_BYTES) if 2 * size <= len(content)])
    a, b = (page * rng.randrange(len(content) // page) for _ in range(2))
    content[a : a + page], content[b : b + page] = content[b : b + page].copy(), content[a : a + page].copy()


DAMAGES = (_flipped, _flipped, _filled, _filled, _randomized, _swapped, _swapped)


# --- Readers: each returns an outcome ------------------------------------------------------------------------------


def _looked_up(trial: Trial) -> str:
    database = trial.subject.database
    boards = random_boards(database.size, database.goal, 100, trial.rng.randrange(1 << 30))
    database.probe_batch(np.concatenate([boards, boards[:, ::-1], np.array(trial.subject.boards)]), strict=False)
    return ANSWER


def _searched(trial: Trial, kind: Round | None = None, *, checkpoint: Checkpoint | None = None) -> str:
    engine = trial.engine if kind is None else trial.subject.engines.get(kind)
    if engine is None:
        return ""
    return trial.checked(trial.board, IdaStar(engine).search(trial.board, _LIMITS, checkpoint=checkpoint).moves)


def _searched_by_workers(trial: Trial) -> str:
    with WorkerPool(2) as pool:
        return trial.checked(trial.board, IdaStar(trial.engine).search(trial.board, _LIMITS, pool=pool).moves)


def _all_found(trial: Trial) -> str:
    found: list[tuple[int, ...]] = []
    result = IdaStar(trial.engine).search(trial.board, _LIMITS, wanted=Wanted(finds_all=True, listed=found.append))
    for tiles in found:
        trial.checked(trial.board, tiles)
    return trial.checked(trial.board, result.moves)


def _batch_solved(trial: Trial) -> str:
    """The boards of a batch, by the solver, with the file itself."""

    def stop(_index: int, _iteration: Iteration) -> None:
        raise LimitReachedError("enough")

    with open_database(trial.damaged, load=trial.rng.choice(LOAD_MODES)) as database:
        boards = trial.subject.boards
        found: list[str] = []
        for answers in Solver(database, plain=True, tuning=Tuning(**TUNED)).solve_batch(boards, report=stop):
            for answer in answers:
                found.append(trial.checked(boards[len(found)], getattr(answer, "moves", None)))
        return LONGER if LONGER in found else EXACT


def _graph_searched(search: str, trial: Trial) -> str:
    with open_database(trial.damaged, load=trial.rng.choice(LOAD_MODES)) as database:
        graph_solver = GraphSolver(
            database.size, database.goal, algorithm=search, databases=[database],
            memory_limit_bytes=_GRAPH_BYTES,
        )  # fmt: skip
        solution = graph_solver.solve(trial.board, limits=_GRAPH_LIMITS)
        found = trial.checked(trial.board, solution.moves)
        if solution.optimal and solution.lower_bound != solution.length:
            raise _LostError("an optimal solution is not as long as the lower bound")
        if search == A_STAR and solution.length is not None and solution.length < solution.h:
            raise _LostError("a solution is shorter than h at its root")
        return found


READERS: dict[str, Callable[[Trial], str]] = {
    "lookup of many boards": _looked_up,
    **{f"IDA*, {kind.name} rounds": partial(_searched, kind=kind) for kind in KINDS},
    # Thresholds are divided into subtrees, as those of long runs are.
    "IDA*, divided thresholds": lambda trial: _searched(trial, checkpoint=Checkpoint()),
    "IDA*, two workers": _searched_by_workers,
    "IDA*, all solutions": _all_found,
    "IDA*, a batch of boards": _batch_solved,
    **{search: partial(_graph_searched, search) for search in (A_STAR, WEIGHTED_A_STAR, GREEDY)},
}


def _outcome(reader: Callable[[Trial], str], trial: Trial) -> str:
    """Return an outcome, or "lost: " and why; empty if the reader has nothing to do with these tables."""
    try:
        return reader(trial)
    except TableFileDamagedError as error:
        return ERROR if "damaged" in str(error) or "rebuild it" in str(error) else f"lost: message {error}"
    except LimitReachedError:
        return LIMIT
    except Exception as error:
        return f"lost: {type(error).__name__}: {error}"


# --- Trials ----------------------------------------------------------------------------------------------------------


def _sound_subject(number: int, seed: int) -> Subject:
    """Return a subject that all readers find sound. This loads or compiles their kernels, too."""
    subject = subject_of(SAMPLES[number], at_end=(number + seed) % 2 == 0)
    trial = Trial(subject, subject.path, subject.boards[-1], random.Random(seed))
    found = {name: _outcome(reader, trial) for name, reader in READERS.items()}
    if not set(found.values()) <= {"", LIMIT, ANSWER, LONGER, EXACT}:
        raise RuntimeError(f"sound tables of {SAMPLES[number]} are not read as sound: {found}")
    return subject


def _outcomes(subject: Subject, damaged: Path, rng: random.Random) -> dict[str, str]:
    """Damage the tables of a subject, and return the outcome of each reader."""
    content = subject.sound.copy()
    tables = content[_extent(subject.database)]
    rng.choice(DAMAGES)(tables, rng)
    damaged.unlink(missing_ok=True)
    damaged.write_bytes(content.tobytes())
    subject.content[:] = tables
    trial = Trial(subject, damaged, rng.choice(subject.boards), rng)
    return {name: found for name, reader in READERS.items() if (found := _outcome(reader, trial))}


def attack(tally: Tally, options: argparse.Namespace) -> None:
    """Damage files of the first `options.samples` kinds of tables, and count the outcomes of each reader."""
    warnings.simplefilter("error")
    subjects = [_sound_subject(number, options.seed) for number in range(options.samples)]
    with TemporaryDirectory(prefix="tile-pdb-faults-") as folder:
        for number in range(options.tried):
            rng = random.Random(f"{options.seed} {number}")
            work = partial(_outcomes, subjects[number % len(subjects)], Path(folder, "damaged.h5"), rng)
            found = in_child(work, patience_s=_PATIENCE_S, memory_bytes=_MEMORY_BYTES)
            for reader, outcome in ({"case": found} if isinstance(found, str) else found).items():
                is_lost = outcome.startswith("lost")
                tally.count(reader, f"{number}: {outcome}" if is_lost else None, outcome=None if is_lost else outcome)


if __name__ == "__main__":
    main(attack, tried=100, seed=1, samples=len(SAMPLES))
