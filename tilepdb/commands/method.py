"""Search method that options choose."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pdb_core.arguments import as_choice
from pdb_core.errors import InputError
from solver.algorithms import ALGORITHMS, DEFAULT_WEIGHT, IDA_STAR, WEIGHTED_A_STAR
from tilepdb.commands.opened_tables import OpenDatabases
from tilepdb.commands.options import AlgorithmOptions, parse_bytes

APPROXIMATE = "approximate"
DATABASES = "db"
_DEFAULT_HEURISTIC = "manhattan"


@dataclass(frozen=True)
class Method:
    """Search method: the algorithm and its settings. `heuristics` are those beside the databases."""

    algorithm: str = IDA_STAR
    uses_databases: bool = True
    heuristics: tuple[str, ...] = ()
    weight: float | None = None
    memory_limit_bytes: int | None = None
    plain: bool = False
    all_solutions: bool = False

    @property
    def heuristic(self) -> str | None:
        """Return the heuristic as it is written on the command line, None if there is none."""
        names = ((DATABASES,) if self.uses_databases else ()) + self.heuristics
        return (names[0] if len(names) == 1 else f"max({','.join(names)})") if names else None

    def logged(self, databases: OpenDatabases) -> dict[str, Any]:
        """Return the settings that all answers in a log share."""
        digests = [database.header.digest() for database in databases.given]
        return {
            "algorithm": self.algorithm,
            "heuristic": self.heuristic,
            "weight": self.weight,
            "plain": self.plain,
            "all": self.all_solutions,
            "tables": (digests or "standard") if self.uses_databases else None,
        }


def unused_options(algorithm: str) -> dict[str, str]:
    """Return the options that an algorithm does not use, and why not. Raises `InputError` for an unknown algorithm."""
    unused: dict[str, str] = {}
    if not ALGORITHMS[as_choice(algorithm, "--algorithm", ALGORITHMS)].uses_heuristic:
        unused |= dict.fromkeys(("heuristic", "db"), f"--algorithm {algorithm} uses no heuristic")
    if algorithm == IDA_STAR:
        unused["memory_limit"] = "IDA* stores no nodes"
    else:
        unused |= dict.fromkeys(("plain", "all"), f"it needs --algorithm {IDA_STAR}")
    if algorithm != WEIGHTED_A_STAR:
        unused["weight"] = f"it needs --algorithm {WEIGHTED_A_STAR}"
    return unused


def parse_method(options: AlgorithmOptions, db: list[Path] | None, *, all_solutions: bool = False) -> Method:
    """Return the method of these options. Raises `InputError` if they do not fit together."""
    algorithm, unused = options.algorithm, unused_options(options.algorithm)
    given = vars(options) | {"db": db, "all": all_solutions}
    for name, why in unused.items():
        if given[name]:
            raise InputError(f"--{name.replace('_', '-')} cannot be given here: {why}")
    names: tuple[str, ...] = ()
    if "heuristic" not in unused:
        heuristic = options.heuristic or (DATABASES if db else _DEFAULT_HEURISTIC)
        names = (DATABASES,)
        if heuristic != DATABASES:
            from solver.heuristics import parse_heuristic  # imports numba

            names = parse_heuristic(heuristic, also=(DATABASES,))
    others = tuple(name for name in names if name != DATABASES)
    if db and DATABASES not in names:
        raise InputError(f"--heuristic {options.heuristic} does not use the tables of --db; leave out one of them")
    if algorithm == IDA_STAR and others and DATABASES in names:
        raise InputError("IDA* uses either tables or other heuristics; for the maximum of both give --algorithm a-star")
    return Method(
        algorithm=algorithm,
        uses_databases=DATABASES in names,
        heuristics=others,
        weight=DEFAULT_WEIGHT if algorithm == WEIGHTED_A_STAR and options.weight is None else options.weight,
        memory_limit_bytes=None if options.memory_limit is None else parse_bytes(options.memory_limit),
        plain=options.plain,
        all_solutions=all_solutions,
    )
