"""scripts/reproduce.py and scripts/korf50.py, which write the rows of docs/results.md."""

import json
import re
from pathlib import Path

import pytest

from pdb_core.puzzle import random_boards
from pdb_query import open_database, read_instances
from scripts.korf50 import with_log
from scripts.reproduce import GOAL, ROWS, SIZE, measure, with_cells
from tests import ROOT
from tests.tables import table_file

PAGE = (ROOT / "docs" / "results.md").read_text(encoding="utf-8")


def test_measured_rows_agree_with_lookups_and_are_written(tmp_path: Path) -> None:
    (tmp_path / "663-bytes.h5").symlink_to(table_file("663", "4x4"))
    both, one = (measure(ROWS[name], 6, 2, tmp_path) for name in ("6-6-3 and reflection", "6-6-3"))
    with open_database(tmp_path / "663-bytes.h5") as database:
        batch = database.probe_batch(random_boards(SIZE, GOAL, 600, 1))
    assert both.startswith(f"{batch.maximum.mean():.2f} +- ")
    assert one.startswith(f"{batch.sums[:, 0].mean():.2f} +- ")
    page = with_cells(PAGE, "6-6-3 and reflection", both)
    assert f"\n| 6-6-3 and reflection | 42.92 | 617,555 | {both} |\n" in page
    assert page.count("\n") == PAGE.count("\n")


@pytest.mark.parametrize("name", ROWS)
def test_page_has_every_row(name: str) -> None:
    assert "| 0 | 1 | 2 | 3 | 4 |" in with_cells(PAGE, name, "0 | 1 | 2 | 3 | 4")


def test_boards_of_a_log_are_written_and_have_the_published_length() -> None:
    instances = {instance.id: instance for instance in read_instances("korf50-24puzzle", None)}
    lines = [
        {"log": "tile-pdb solve log"},
        {"board": instances["40"].board, "length": 82, "generated": 20, "expanded": 10, "seconds": 1.04},
        {"board": instances["2"].board, "length": 96, "generated": 4000, "expanded": 200, "seconds": 7200},
        {"board": instances["3"].board, "thresholds": []},
    ]
    page = with_log(PAGE, "\n".join(map(json.dumps, lines)))
    assert "\n| 40 | 82 | 20 | 10 | 1.0 | 65,099,578 | 19,188,906 | 7,166,383 |\n" in page
    assert "\n| 2 | 96 | 4,000 | 200 | 7,200.0 | 211,884,984,525 | " in page
    assert "\n32 boards solved: 25,979,620,048 nodes generated, " in page
    with pytest.raises(SystemExit, match="length 84, not 82"):
        with_log(PAGE, json.dumps(lines[1] | {"length": 84}))
    rows = re.findall(r"^\| (\d+) \| (\d+|not run) \| ", PAGE, re.MULTILINE)
    assert len(rows) == len(instances) == 50
    assert all(length in ("not run", str(instances[name].optimal_length)) for name, length in rows)
