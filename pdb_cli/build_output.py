"""Output of `pdb build`: records and text of plans and results, and the display of a build under way."""

import time
from typing import TYPE_CHECKING, Any

from pdb_cli.output import count, message, on_terminal

if TYPE_CHECKING:
    from pdb_build import BuildPlan, BuildProgress, BuildResult

# Seconds between two lines of a log.
_LOG_S = 10.0

PLAN_COLUMNS = ("file", "partition", "size", "entries", "memory_bytes", "disk_bytes")
RESULT_COLUMNS = ("file", "partition", "size", "entries", "seconds", "peak_memory_bytes", "report")


def plan_record(plan: "BuildPlan") -> dict[str, Any]:
    """Return the record of a plan."""
    return {
        "file": str(plan.out),
        "partition": plan.spec.partition.name,
        "size": str(plan.spec.size),
        "encoding": plan.spec.encoding,
        "cost": plan.spec.cost,
        "patterns": [
            {
                "tiles": list(entry.pattern.tiles),
                "same_as": None if entry.use is None else entry.use.index,
                "entries": entry.n_entries,
                "states": entry.n_states,
                "states_are_exact": entry.states_are_exact,
                "memory_bytes": entry.held_bytes,
            }
            for entry in plan.patterns
        ],
        "entries": plan.n_entries,
        "memory_bytes": plan.memory_bytes,
        "memory_available_bytes": plan.available_memory,
        "disk_bytes": plan.disk_bytes,
        "temporary_disk_bytes": plan.spilled_bytes,
        "checkpoint_bytes": plan.checkpoint_bytes,
        "disk_available_bytes": plan.available_disk,
        "threads": plan.n_threads,
    }


def plan_text(records: Any) -> Any:
    """Return the lines of records of plans."""
    from pdb_core.messages import format_bytes

    for record in records:
        cost = "" if record["cost"] == "additive" else ", every move counts"
        yield (
            f"{record['file']}: partition {record['partition']} of a {record['size']} board, {record['encoding']}{cost}"
        )
        for entry in record["patterns"]:
            if entry["same_as"] is not None:
                yield _same_table(entry, record)
                continue
            about = "" if entry["states_are_exact"] else "about "
            yield (
                f"  pattern {','.join(map(str, entry['tiles']))}: {count(entry['entries'])} entries, "
                f"{about}{count(entry['states'])} states, {format_bytes(entry['memory_bytes'])} of memory"
            )
        yield (
            f"  memory {format_bytes(record['memory_bytes'])} of {format_bytes(record['memory_available_bytes'])} "
            "available, "
            f"disk {format_bytes(record['disk_bytes'])} of {format_bytes(record['disk_available_bytes'])} free, "
            f"{record['threads']} threads"
        )
        if record["temporary_disk_bytes"]:
            room = format_bytes(record["temporary_disk_bytes"])
            yield f"  bits that do not fit into the memory, in a temporary file: up to {room} of disk more"
        room = format_bytes(record["checkpoint_bytes"])
        yield f"  checkpoints, in a build of over a minute: up to {room} of disk more"


def result_record(result: "BuildResult") -> dict[str, Any]:
    """Return the record of a finished build."""
    return {
        "file": str(result.path),
        "partition": result.header.spec.partition.name,
        "size": str(result.header.spec.size),
        "encoding": result.header.spec.encoding,
        "cost": result.header.spec.cost,
        "patterns": [
            {
                "tiles": list(entry.pattern.tiles),
                "same_as": None if entry.use is None else entry.use.index,
                "entries": entry.n_entries,
                "maximum": entry.maximum,
                "mean": entry.mean,
                "sha256": entry.sha256,
                "seconds": search.seconds,
            }
            for entry, search in zip(result.header.patterns, result.searches, strict=True)
        ],
        "entries": sum(entry.n_entries for entry in result.header.tables.values()),
        "seconds": result.seconds,
        "peak_memory_bytes": result.peak_memory_bytes,
        "report": str(result.report),
    }


def result_text(records: Any) -> Any:
    """Return the lines of records of finished builds."""
    for record in records:
        for entry in record["patterns"]:
            if entry["same_as"] is not None:
                yield _same_table(entry, record).strip()
                continue
            yield (
                f"pattern {','.join(map(str, entry['tiles']))}: {count(entry['entries'])} entries, "
                f"mean {entry['mean']:.2f}, maximum {entry['maximum']}, {entry['seconds']:.2f} s"
            )
        yield f"{record['file']} written in {record['seconds']:.2f} s; report in {record['report']}"


def _same_table(entry: dict[str, Any], record: dict[str, Any]) -> str:
    """Return the line of a pattern that uses the table of another."""
    tiles, first = (",".join(map(str, of["tiles"])) for of in (entry, record["patterns"][entry["same_as"]]))
    return f"  pattern {tiles}: the table of {first}, by a symmetry of the board"


class BuildDisplay:
    """Display of a build: a bar for each pattern on a terminal, a line every ten seconds in a log."""

    def __init__(self, plan: "BuildPlan") -> None:
        self._plan = plan
        self._bars: Any = None
        self._tasks: dict[int, Any] = {}
        self._last_log = time.monotonic()

    def __enter__(self) -> "BuildDisplay":
        if on_terminal():
            from rich.console import Console
            from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn

            self._bars = Progress(
                TextColumn("{task.description}"),
                BarColumn(),
                TextColumn("{task.percentage:>3.0f} %  depth {task.fields[depth]}"),
                TimeElapsedColumn(),
                console=Console(stderr=True),
            )
            self._bars.start()
        return self

    def __exit__(self, *_: object) -> None:
        if self._bars is not None:
            self._bars.stop()

    def say(self, text: str) -> None:
        """Print a sentence, above the bars if there are any."""
        if self._bars is None:
            message(f"pdb: {text}")
        else:
            self._bars.console.print(f"pdb: {text}", markup=False, highlight=False, soft_wrap=True)

    def show(self, progress: "BuildProgress") -> None:
        """Show the progress; called once for each depth."""
        if self._bars is not None:
            task = self._tasks.get(progress.pattern_index)
            if task is None:
                task = self._bars.add_task(str(progress.pattern), total=progress.n_states, depth=0)
                self._tasks[progress.pattern_index] = task
            self._bars.update(task, completed=progress.n_reached, depth=progress.depth)
        elif time.monotonic() - self._last_log >= _LOG_S:
            self._last_log = time.monotonic()
            message(
                f"pdb: pattern {progress.pattern_index + 1} of {len(self._plan.patterns)} ({progress.pattern}): depth "
                f"{progress.depth}, {100 * progress.n_reached / progress.n_states:.0f} % of "
                f"{count(progress.n_states)} states"
            )
