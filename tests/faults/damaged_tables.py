"""Damage to the tables of files that are opened without verification and given to every reader of tables.

    python -m tests.faults.damaged_tables --tried 2000 --seed 1
    NUMBA_BOUNDSCHECK=1 python -m tests.faults.damaged_tables --tried 2000 --seed 1

Each reader must end: with an error, at a limit, or with an answer. A solution must lead to the goal, and may be too
long. Every other outcome is *lost*: another exception, a crash, a hang, an access outside an array. With the second
command, kernels check the indices of arrays; it compiles them once more. Kernels that read tables by address do not
check, so the pages before or after the tables are not accessible. Each file is read in a child process.
"""

import argparse
import ctypes
import mmap
import random
import warnings
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, NamedTuple

import numpy as np

from pdb_core.errors import LimitReachedError, TableFileDamagedError
from pdb_core.puzzle import Tiles, random_boards
from pdb_core.schema import PAGE_BYTES
from pdb_core.types import Bytes
from pdb_query import open_database
from pdb_query.lookup import lookup_tables
from pdb_query.table_file import LOAD_MODES
from solver.algorithms import A_STAR, GREEDY, WEIGHTED_A_STAR
from solver.engine.checkpoint import Checkpoint
from solver.engine.database_engine import CATALOGUE, ROWS, SCALAR, VECTOR, WIDE, DatabaseEngine
from solver.engine.rounds.round import Round
from solver.engine.search import IdaStar
from solver.engine.threads import Wanted
from solver.engine.tuning import Tuning
from solver.engine.worker_pool import WorkerPool
from solver.graph_search.graph_search import GraphSolver
from solver.progress import Iteration, Limits
from solver.solution import replay
from solver.solve import Solver
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
# Thresholds and slices are small, so that few nodes reach all of the engine.
_TUNED = {"slice_nodes": 1000, "long_nodes": 5}
# The seconds are far more than a search up to the limit of nodes takes.
_LIMITS = Limits(max_nodes=10_000, time_limit=20)
_GRAPH_BYTES = 64_000_000


class _LostError(Exception):
    """Answer that no damage excuses."""


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


class Subject:
    """Sound file, a copy of its tables to damage, and the engines that search in this copy.

    sound     uint8: the bytes of the sound file at `path`
    tables    the part of the file from its first table to its last
    content   uint8, writable: the tables of the database, next to pages that are not accessible
    lengths   of solvable boards, their optimal lengths
    """

    def __init__(self, sample: list[str], *, at_end: bool) -> None:
        """Build the file, solve some boards with it, and prepare its memory for damage."""
        partition, size, encoding, cost = sample
        self.path = table_file(partition, size, encoding=encoding, cost=cost)
        self.database = database = open_database(self.path)
        self.sound = np.frombuffer(self.path.read_bytes(), dtype=np.uint8)
        solved, generator = Solver(database), np.random.default_rng(1)
        boards = [walked(database.goal, database.size, n, generator) for n in (1, 2, 5, 8, 11, 14, 17, 20, 25, 40, 60)]
        self.lengths = {board: solved.solve(board).length or 0 for board in boards}
        header = database.header
        extents = [(entry.offset, entry.offset + entry.n_bytes) for entry in header.tables.values()]
        self.tables = slice(min(extents)[0], max(extents)[1])
        self.content = _guarded(self.tables.stop - self.tables.start, at_end=at_end)
        self.content[:] = database.lookup_tables.memory[self.tables]
        read_only = self.content.view()
        read_only.flags.writeable = False
        starts = [entry.offset - self.tables.start for entry in header.patterns]
        database._tables = lookup_tables(header.spec, header.uses, read_only, starts)
        made = (engine_for([database], 8, source=str(self.path), rounds=(kind, SCALAR), **_TUNED) for kind in KINDS)
        engines = (each.engine for each in made)
        # The kinds of rounds that suit the tables.
        self.engines = {each.kind: each for each in engines if isinstance(each, DatabaseEngine)}


class Trial(NamedTuple):
    """Subject with damaged tables, a file with these tables, and a board to solve."""

    subject: Subject
    damaged: Path
    board: Tiles
    rng: random.Random

    def check(self, board: Tiles, tiles: tuple[int, ...] | None) -> None:
        """Replay a solution, if there is one."""
        if tiles is not None:
            replay(board, tiles, self.subject.database.goal, self.subject.database.size)
            if len(tiles) < self.subject.lengths[board]:
                raise _LostError(f"{len(tiles)} moves for a board of {self.subject.lengths[board]}")


def _damage(content: Bytes, rng: random.Random) -> None:
    """Overwrite a piece of the tables, from a byte to all of them."""
    start = rng.choice((0, rng.randrange(len(content))))
    piece = content[start : start + rng.choice((1, 1, 16, 512, PAGE_BYTES, len(content)))]
    random_bytes = np.frombuffer(rng.randbytes(len(piece)), dtype=np.uint8)
    piece[:] = rng.choice((random_bytes, random_bytes, piece ^ 1, 0, 255, 254))


# --- Readers -------------------------------------------------------------------------------------------------------


def _looked_up(trial: Trial) -> None:
    database = trial.subject.database
    boards = random_boards(database.size, database.goal, 100, trial.rng.randrange(1 << 30))
    database.probe_batch(np.concatenate([boards, boards[:, ::-1], np.array([*trial.subject.lengths])]), strict=False)


def _searched(trial: Trial, kind: Round | None = None, **options: Any) -> None:
    """Search with rounds of a kind, by default a random one."""
    engines = trial.subject.engines
    engine = engines.get(trial.rng.choice(list(engines)) if kind is None else kind)
    if engine is not None:
        trial.check(trial.board, IdaStar(engine).search(trial.board, _LIMITS, **options).moves)


def _searched_by_workers(trial: Trial) -> None:
    with WorkerPool(2) as pool:
        _searched(trial, pool=pool)


def _all_found(trial: Trial) -> None:
    found: list[tuple[int, ...]] = []
    _searched(trial, wanted=Wanted(finds_all=True, listed=found.append))
    for tiles in found:
        trial.check(trial.board, tiles)


def _batch_solved(trial: Trial) -> None:
    """The boards of a batch, by the solver, with the file itself."""

    def stop(_index: int, _iteration: Iteration) -> None:
        raise LimitReachedError("enough")

    with open_database(trial.damaged, load=trial.rng.choice(LOAD_MODES)) as database:
        boards = iter(trial.subject.lengths)
        solver = Solver(database, plain=True, tuning=Tuning(**_TUNED))
        for answers in solver.solve_batch([*trial.subject.lengths], report=stop):
            for answer in answers:
                trial.check(next(boards), getattr(answer, "moves", None))


def _graph_searched(search: str, trial: Trial) -> None:
    with open_database(trial.damaged, load=trial.rng.choice(LOAD_MODES)) as database:
        options: Any = {"databases": [database], "memory_limit_bytes": _GRAPH_BYTES}
        solver = GraphSolver(database.size, database.goal, algorithm=search, **options)
        solution = solver.solve(trial.board, limits=_LIMITS)
        trial.check(trial.board, solution.moves)
        if solution.optimal and solution.lower_bound != solution.length:
            raise _LostError("an optimal solution is not as long as the lower bound")


READERS: dict[str, Callable[[Trial], None]] = {
    "lookup of many boards": _looked_up,
    **{f"IDA*, {kind.name} rounds": partial(_searched, kind=kind) for kind in KINDS},
    # Thresholds are divided into subtrees, as those of long runs are.
    "IDA*, divided thresholds": lambda trial: _searched(trial, checkpoint=Checkpoint()),
    "IDA*, two workers": _searched_by_workers,
    "IDA*, all solutions": _all_found,
    "IDA*, a batch of boards": _batch_solved,
    **{search: partial(_graph_searched, search) for search in (A_STAR, WEIGHTED_A_STAR, GREEDY)},
}


def _loss(reader: Callable[[Trial], None], trial: Trial) -> str | None:
    """Return what is lost if a reader reads damaged tables, None for nothing."""
    try:
        reader(trial)
    except TableFileDamagedError as error:
        return None if "damaged" in str(error) or "rebuild it" in str(error) else f"message {error}"
    except LimitReachedError:
        return None
    except Exception as error:
        return f"{type(error).__name__}: {error}"
    return None


# --- Trials ----------------------------------------------------------------------------------------------------------


def _losses(subject: Subject, damaged: Path, rng: random.Random) -> dict[str, str | None]:
    """Damage the tables of a subject, and return what each reader loses."""
    content = subject.sound.copy()
    tables = content[subject.tables]
    _damage(tables, rng)
    damaged.unlink(missing_ok=True)
    damaged.write_bytes(content.tobytes())
    subject.content[:] = tables
    trial = Trial(subject, damaged, rng.choice([*subject.lengths]), rng)
    return {name: _loss(reader, trial) for name, reader in READERS.items()}


def attack(tally: Tally, options: argparse.Namespace) -> None:
    """Damage files of the first `options.samples` kinds of tables, and count what each reader loses."""
    warnings.simplefilter("error")
    subjects = [
        Subject(sample, at_end=(number + options.seed) % 2 == 0)
        for number, sample in enumerate(SAMPLES[: options.samples])
    ]
    for subject in subjects:  # sound tables, for which all kernels are loaded or compiled before the first fork
        trial = Trial(subject, subject.path, [*subject.lengths][-1], random.Random(options.seed))
        for reader in READERS.values():
            with suppress(LimitReachedError):
                reader(trial)
    with TemporaryDirectory(prefix="tile-pdb-faults-") as folder:
        for number in range(options.tried):
            rng = random.Random(f"{options.seed} {number}")
            found = in_child(partial(_losses, subjects[number % len(subjects)], Path(folder, "damaged.h5"), rng))
            for reader, loss in ({"case": found} if isinstance(found, str) else found).items():
                tally.count(reader, None if loss is None else f"{number}: {loss}")


if __name__ == "__main__":
    main(attack, tried=100, seed=1, samples=len(SAMPLES))
