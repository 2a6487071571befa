"""scripts/reproduce.py and scripts/korf50.py, which measure rows of docs/results.md."""

import json
from pathlib import Path

import pytest

from pdb_core.puzzle import random_boards
from pdb_query import open_database, read_instances
from scripts.figures import store
from scripts.korf50 import rows_of_log
from scripts.reproduce import GOAL, ROWS, SIZE, measure
from tests.tables import table_file


def test_measured_rows_agree_with_lookups(tmp_path: Path) -> None:
    (tmp_path / "663-bytes.h5").symlink_to(table_file("663", "4x4"))
    both, one = (measure(ROWS[name], 6, 2, tmp_path) for name in ("6-6-3 and reflection", "6-6-3"))
    with open_database(tmp_path / "663-bytes.h5") as database:
        batch = database.probe_batch(random_boards(SIZE, GOAL, 600, 1))
    assert both["mean_h"] == f"{batch.maximum.mean():.2f}"
    assert one["mean_h"] == f"{batch.sums[:, 0].mean():.2f}"
    assert both["boards"] == one["boards"] == 6
    assert one["nodes"] > both["nodes"] > 0


def test_data_file_has_a_row_for_each_measurement() -> None:
    figures = store.load()
    named = set(figures["published"]["rows"]) | set(figures["steps"]["rows"])
    assert named == set(ROWS)


def test_boards_of_a_log_have_the_published_length() -> None:
    instances = {instance.id: instance for instance in read_instances("korf50-24puzzle", None)}
    lines = [
        {"log": "tile-pdb solve log"},
        {"board": instances["40"].board, "length": 82, "generated": 20, "expanded": 10, "seconds": 1.04},
        {"board": instances["2"].board, "length": 96, "generated": 4000, "expanded": 200, "seconds": 7200},
        {"board": instances["3"].board, "thresholds": []},
    ]
    rows = rows_of_log("\n".join(map(json.dumps, lines)))
    assert rows == {
        "40": {"generated": 20, "expanded": 10, "seconds_s": 1.0},
        "2": {"generated": 4000, "expanded": 200, "seconds_s": 7200.0},
    }
    with pytest.raises(SystemExit, match="length 84, not 82"):
        rows_of_log(json.dumps(lines[1] | {"length": 84}))
    assert set(store.load()["korf50"]["rows"]) == set(instances)
