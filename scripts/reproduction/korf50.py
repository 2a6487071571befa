"""Table of Korf and Felner's 50 boards of the 24-puzzle in docs/results.md, from logs of pdb solve.

    pdb build 24-small --goal blank-first
    pdb solve --db 24-small.h5 --load huge --instances korf50-24puzzle --frontier-memory 8G --log korf50.ndjson
    python -m scripts.reproduction.korf50 korf50.ndjson

Adds the boards in the logs to data/korf50.csv, and replaces the section of the page.
"""

import csv
import json
import sys
from collections.abc import Iterable
from dataclasses import asdict, dataclass
from pathlib import Path

from pdb_query import read_instances

DATA = Path(__file__).parent / "data"
SOLVED, PUBLISHED = DATA / "korf50.csv", DATA / "korf50-published.csv"
PAGE = Path(__file__).parents[2] / "docs" / "results.md"
HEADING = "## Korf and Felner's 50 boards of the 24-puzzle"
FIRST, CATALOGUE, LEAST = "korf_felner_6666_reflection", "clausecker_small_7_partitions", "maximum_of_large_sets"
# Boards with fewer published nodes do not count for the estimate.
_MANY = 1_000_000_000

_HEAD = """
`24-small` (249 MB, 14 partitions with their reflections, 11 tables), duplicates of up to 17 moves pruned,
`--frontier-memory 8G`, two cores, otherwise idle, one thread per board (two for 23):

<!-- slow -->
```console
$ pdb build 24-small --goal blank-first
$ pdb solve --db 24-small.h5 --load huge --instances korf50-24puzzle --frontier-memory 8G --log korf50.ndjson
```

Published are expanded nodes: of 6-6-6-6 with its reflection (Korf and Felner 2002), of the partitions of `24-small`
without their reflections (Clausecker and Reinefeld 2019), and of the maximum of all their large tables, over 1 TB.
Every solution found here was replayed, and has the published length.

| board | length | generated | expanded | seconds | 6-6-6-6, 2002 | 7 partitions, 2019 | large tables, 2019 |
|---|---|---|---|---|---|---|---|
"""


@dataclass(frozen=True)
class Solved:
    """Length, nodes and seconds of a board, from a log."""

    id: str
    length: int
    generated: int
    expanded: int
    seconds: float


def solved_in(logs: Iterable[Path]) -> dict[str, Solved]:
    """Return the boards of logs by their names. Raises `SystemExit` if a length is not the published one."""
    names = {instance.board: instance for instance in read_instances("korf50-24puzzle", None)}
    found: dict[str, Solved] = {}
    for line in (line for log in logs for line in log.read_text(encoding="utf-8").splitlines()):
        record = json.loads(line)
        instance = names.get(tuple(record.get("board", ())))
        if instance is None or record.get("length") is None:
            continue
        if record["length"] != instance.optimal_length:
            raise SystemExit(f"board {instance.id}: length {record['length']}, not {instance.optimal_length}")
        counts = (record["generated"], record["expanded"], round(record["seconds"], 1))
        found[instance.id] = Solved(instance.id, record["length"], *counts)
    return found


def read_solved() -> dict[str, Solved]:
    """Return the boards that were solved, by their names."""
    if not SOLVED.exists():
        return {}
    with SOLVED.open(encoding="utf-8", newline="") as file:
        return {
            row["id"]: Solved(
                row["id"], int(row["length"]), int(row["generated"]), int(row["expanded"]), float(row["seconds"])
            )
            for row in csv.DictReader(file)
        }


def write_solved(solved: dict[str, Solved]) -> None:
    """Write the boards that were solved, in the order of their names."""
    with SOLVED.open("w", encoding="utf-8", newline="") as file:
        writer = csv.DictWriter(file, ["id", "length", "generated", "expanded", "seconds"], lineterminator="\n")
        writer.writeheader()
        writer.writerows(asdict(solved[name]) for name in sorted(solved, key=int))


def read_published() -> list[dict[str, str]]:
    """Return the rows of published nodes."""
    with PUBLISHED.open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(line for line in file if not line.startswith("#")))


def section(solved: dict[str, Solved], published: list[dict[str, str]]) -> str:
    """Return the section of the page: each board, solved or estimated."""
    hard = [row for row in published if row["id"] in solved and int(row[CATALOGUE]) >= _MANY]
    hard = hard or [row for row in published if row["id"] in solved]
    ratio = sum(solved[row["id"]].expanded for row in hard) / sum(int(row[CATALOGUE]) for row in hard)
    seconds_a_node = sum(each.seconds for each in solved.values()) / sum(each.expanded for each in solved.values())
    text, left = HEADING + "\n" + _HEAD, 0.0
    for row in published:
        known = " | ".join(f"{int(row[name]):,}" if row[name] else "-" for name in (FIRST, CATALOGUE, LEAST))
        if row["id"] in solved:
            each = solved[row["id"]]
            nodes = f"{each.generated:,} | {each.expanded:,}"
            text += f"| {each.id} | {each.length} | {nodes} | {each.seconds:,.1f} | {known} |\n"
            continue
        estimate = ratio * int(row[CATALOGUE])
        left += estimate
        text += f"| {row['id']} | not run | - | estimate: {estimate:.1e} | - | {known} |\n"
    done = solved.values()
    return text + (
        f"\n{len(done)} boards solved: {sum(each.generated for each in done):,} nodes generated, "
        f"{sum(each.expanded for each in done):,} expanded, {sum(each.seconds for each in done) / 3600:.1f} hours of "
        f"one thread. Estimates are {ratio:.2f} times the nodes of the 7 partitions, as on the boards solved with 10^9 "
        f"of them and more: {left:.1e} expanded nodes for the boards not run, {left * seconds_a_node / 7200:.0f} hours "
        "on two cores.\n"
    )


def write_section(text: str) -> None:
    """Replace the section at the end of the page."""
    page = PAGE.read_text(encoding="utf-8").split(HEADING)[0].rstrip("\n")
    PAGE.write_text(f"{page}\n\n{text}", encoding="utf-8")


if __name__ == "__main__":
    boards = read_solved() | solved_in(map(Path, sys.argv[1:]))
    write_solved(boards)
    write_section(section(boards, read_published()))
