"""Write boards of the 24-puzzle that `pdb solve --log` solved into the table of docs/results.md.

python scripts/korf50.py korf50.ndjson
"""

import json
import re
import sys
from pathlib import Path

from pdb_query import read_instances

PAGE = Path(__file__).parents[1] / "docs" / "results.md"
_SOLVED = re.compile(r"^\| \d+ \| \d+ \| ([\d,]+) \| ([\d,]+) \| ([\d,.]+) \|", re.MULTILINE)


def with_log(page: str, log: str) -> str:
    """Return the text of the page with the boards of a log. Raises `SystemExit` if a length is not the known one."""
    instances = {instance.board: instance for instance in read_instances("korf50-24puzzle", None)}
    for record in map(json.loads, log.splitlines()):
        instance = instances.get(tuple(record.get("board", ())))
        if instance is None or record.get("length") is None:
            continue
        if record["length"] != instance.optimal_length:
            raise SystemExit(f"board {instance.id}: length {record['length']}, not {instance.optimal_length}")
        cells = f"{record['length']} | {record['generated']:,} | {record['expanded']:,} | {record['seconds']:,.1f}"
        page = re.sub(rf"(?m)^\| {instance.id} \|([^|]*\|){{4}}", f"| {instance.id} | {cells} |", page)
    solved = [[float(cell.replace(",", "")) for cell in match.groups()] for match in _SOLVED.finditer(page)]
    generated, expanded, seconds = map(sum, zip(*solved, strict=True))
    return re.sub(
        r"(?m)^\d+ boards? solved: .*$",
        f"{len(solved)} boards solved: {generated:,.0f} nodes generated, {expanded:,.0f} expanded, "
        f"{seconds / 3600:.1f} hours of one thread.",
        page,
    )


if __name__ == "__main__":
    PAGE.write_text(with_log(PAGE.read_text(encoding="utf-8"), Path(sys.argv[1]).read_text(encoding="utf-8")))
