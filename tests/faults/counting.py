"""Counts of faults, and the build after one."""

import json
from collections import Counter

from pdb_build import BuildPlan, build_database


class Tally:
    """Counts of each fault: tried, survived, lost, with the reasons for losses."""

    def __init__(self) -> None:
        self.tried: Counter[str] = Counter()
        self.survived: Counter[str] = Counter()
        self.lost: dict[str, list[str]] = {}
        self._figures: dict[str, dict[str, float]] = {}

    def count(self, fault: str, loss: str | None) -> None:
        """Count one trial. `loss` names what was lost, None if nothing was."""
        self.tried[fault] += 1
        if loss is None:
            self.survived[fault] += 1
        else:
            self.lost.setdefault(fault, []).append(loss)

    def measure(self, fault: str, figures: dict[str, float]) -> None:
        """Keep the largest of each figure that is measured in the trials of a fault."""
        kept = self._figures.setdefault(fault, {})
        for name, value in figures.items():
            kept[name] = max(value, kept.get(name, value))

    def to_json(self) -> str:
        """Return a record for each fault."""
        return json.dumps(
            {
                fault: {
                    "tried": self.tried[fault],
                    "survived": self.survived[fault],
                    "lost": len(self.lost.get(fault, [])),
                    "examples": self.lost.get(fault, [])[:5],
                    **self._figures.get(fault, {}),
                }
                for fault in self.tried
            }
        )


def build_again(plan: BuildPlan, expected: bytes) -> str | None:
    """Build after a fault, from a checkpoint if there is one. Return what was lost, if anything."""
    was_there = plan.out.exists()
    if was_there and plan.out.read_bytes() != expected:
        return "a wrong file under the final name"
    has_checkpoint = plan.out.with_name(f"{plan.out.name}.partial").joinpath("checkpoint").exists()
    try:
        result = build_database(plan)
    except Exception as error:
        return f"the next build ended with {type(error).__name__}: {error}"
    if plan.out.read_bytes() != expected:
        return "the next build made another file"
    if has_checkpoint and not was_there and result.n_runs == 1:
        return "the checkpoint could not be used"
    names = sorted(path.name for path in plan.out.parent.iterdir())
    return None if names == ["a.build.json", "a.h5"] else f"left behind: {names}"
