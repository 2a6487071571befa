"""Counts of faults, and small builds to try them on."""

import json
from collections import Counter
from pathlib import Path

from pdb_build import BuildPlan, plan_build
from pdb_core.encoding import Encoding
from pdb_core.pattern import parse_partition
from pdb_core.puzzle import blank_last, parse_size


class Tally:
    """Counts of each fault: tried, survived, lost, with the reasons for losses."""

    def __init__(self) -> None:
        self.tried: Counter[str] = Counter()
        self.survived: Counter[str] = Counter()
        self.lost: dict[str, list[str]] = {}

    def count(self, fault: str, loss: str | None) -> None:
        """Count one trial. `loss` names what was lost, None if nothing was."""
        self.tried[fault] += 1
        if loss is None:
            self.survived[fault] += 1
        else:
            self.lost.setdefault(fault, []).append(loss)

    def to_json(self) -> str:
        """Return a record for each fault."""
        return json.dumps(
            {
                fault: {
                    "tried": self.tried[fault],
                    "survived": self.survived[fault],
                    "lost": len(self.lost.get(fault, [])),
                    "examples": self.lost.get(fault, [])[:5],
                }
                for fault in self.tried
            }
        )


def small_plan(out: Path, partition: str, size_text: str, encoding: Encoding) -> BuildPlan:
    """Return the plan of a build of some milliseconds, on two threads."""
    size = parse_size(size_text)
    goal = blank_last(size)
    return plan_build(size, goal, parse_partition(partition, size, goal), out, encoding=encoding, n_threads=2)
