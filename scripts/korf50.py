"""Write boards of the 24-puzzle that `pdb solve --log` solved into docs/figures.json and docs/results.md.

python -m scripts.korf50 korf50.ndjson
"""

import json
import sys
from pathlib import Path
from typing import Any

from pdb_query import read_instances
from scripts.figures import store
from scripts.figures.pages import write_pages


def rows_of_log(log: str) -> dict[str, dict[str, Any]]:
    """Return rows by id for the solved boards of a log. Raises `SystemExit` if a length is not the known one."""
    instances = {instance.board: instance for instance in read_instances("korf50-24puzzle", None)}
    rows = {}
    for record in map(json.loads, log.splitlines()):
        instance = instances.get(tuple(record.get("board", ())))
        if instance is None or record.get("length") is None:
            continue
        if record["length"] != instance.optimal_length:
            raise SystemExit(f"board {instance.id}: length {record['length']}, not {instance.optimal_length}")
        rows[instance.id] = {
            "generated": record["generated"],
            "expanded": record["expanded"],
            "seconds_s": round(float(record["seconds"]), 1),
        }
    return rows


if __name__ == "__main__":
    store.save_rows("korf50", rows_of_log(Path(sys.argv[1]).read_text(encoding="utf-8")))
    write_pages()
