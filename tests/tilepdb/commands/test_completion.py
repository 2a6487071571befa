"""Completion of names, by the protocol of bash."""

import os
import subprocess
import sys

import pytest

from pdb_core.pattern import named_partitions
from pdb_query import instance_sets
from solver.algorithms import ALGORITHMS
from solver.heuristics import HEURISTICS
from tilepdb.commands.main import COMMANDS


def completed(line: str) -> set[str]:
    """Return what bash offers at the end of a line."""
    words = line.split(" ")
    program = "import sys; sys.argv = ['pdb']; from tilepdb.commands.main import run; run()"
    environment = {"_PDB_COMPLETE": "complete_bash", "COMP_WORDS": line, "COMP_CWORD": str(len(words) - 1)}
    result = subprocess.run(
        [sys.executable, "-c", program], env=os.environ | environment, capture_output=True, text=True, check=True
    )
    assert result.stderr == ""
    return set(result.stdout.split())


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("pdb ", {function.__name__ for function, _ in COMMANDS} | {"study"}),
        ("pdb build ", {*named_partitions(), "auto"}),
        ("pdb build 663 24", {"24-small", "24-large"}),
        ("pdb bench 7", {name for name in named_partitions() if name.startswith("7")}),
        ("pdb solve --instances ", set(instance_sets())),
        ("pdb bench --set kor", {name for name in instance_sets() if name.startswith("kor")}),
        ("pdb solve --goal ", {"blank-last", "blank-first", "snail"}),
        ("pdb search --algorithm ", set(ALGORITHMS)),
        ("pdb search --heuristic ", {*HEURISTICS, "db"}),
        ("pdb study compare --algorithm b", {"breadth-first", "bidirectional"}),
        ("pdb study heuristics --heuristic wa", {"walking-distance"}),
        ("pdb solve --frontier", {"--frontier-memory"}),
    ],
)
def test_names_are_completed(line: str, expected: set[str]) -> None:
    assert completed(line) == expected
