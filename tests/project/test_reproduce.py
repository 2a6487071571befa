"""scripts/reproduce: it measures rows, keeps them, and writes them as a page."""

import json
import re
from dataclasses import replace
from pathlib import Path

import pytest

from pdb_core.puzzle import random_boards
from pdb_query import open_database, read_instances
from scripts.reproduction import korf50
from scripts.reproduction.measure import GOAL, SIZE, Record, measure
from scripts.reproduction.page import page
from scripts.reproduction.rows import PUBLISHED_ROWS, ROWS, STEPS
from tests import ROOT


def test_measured_row_agrees_with_lookups(tmp_path: Path) -> None:
    row = next(row for row in PUBLISHED_ROWS if row.name == "6-6-3 and reflection")
    measured = measure(row, 6, 1, folder=tmp_path, n_threads=2)
    with open_database(tmp_path / "663-bytes.h5") as database:
        batch = database.probe_batch(random_boards(SIZE, GOAL, 600, 1))
        assert measured.mean_h == batch.maximum.mean()
        alone = measure(replace(row, reflects=False), 6, 1, folder=tmp_path, n_threads=2)
        assert alone.mean_h == batch.sums[:, 0].mean()
    assert alone.mean_length == measured.mean_length
    assert alone.nodes > measured.nodes
    record = Record(tmp_path / "measured.jsonl")
    assert record.find(row, 6, 1) is None
    record.add(row, 6, 1, measured)
    assert record.find(row, 6, 1) == measured
    assert record.find(replace(row, plain=False), 6, 1) is None
    assert record.find(row, 7, 1) is None
    text = page([(row, measured)], [(row, measured), (STEPS[0], alone)], seed=1, n_threads=2)
    assert f"| 6-6-3 and reflection | 42.92 | {measured.mean_h:.2f} +- " in text
    assert f"| 617,555 | {measured.nodes:,.0f} +- " in text


def test_results_page_has_every_row() -> None:
    text = (ROOT / "docs" / "results.md").read_text(encoding="utf-8")
    for row in ROWS:
        known = f"{row.published.mean_h:.2f} |" if row.published else ""
        assert re.search(rf"^\| (\*\*)?{re.escape(row.name)}(\*\*)? \| {re.escape(known)}", text, re.MULTILINE), (
            row.name
        )


def test_table_of_the_50_boards_is_made_from_logs(tmp_path: Path) -> None:
    instances = {instance.id: instance for instance in read_instances("korf50-24puzzle", None)}
    log = tmp_path / "log.ndjson"
    lines = [
        {"log": "tile-pdb solve log"},
        {"board": instances["40"].board, "length": 82, "generated": 20, "expanded": 10, "seconds": 1.04},
        {"board": instances["4"].board, "length": 98, "generated": 400, "expanded": 200, "seconds": 2},
        {"board": instances["3"].board, "thresholds": []},
    ]
    log.write_text("".join(json.dumps(line) + "\n" for line in lines), encoding="utf-8")
    solved = korf50.solved_in([log])
    assert solved == {
        "40": korf50.Solved("40", 82, 20, 10, 1.0),
        "4": korf50.Solved("4", 98, 400, 200, 2.0),
    }
    text = korf50.section(solved, korf50.read_published())
    rows = [line for line in text.splitlines() if re.match(r"\| \d", line)]
    assert len(rows) == 50
    assert "| 40 | 82 | 20 | 10 | 1.0 | 65,099,578 | 19,188,906 | 7,166,383 |" in rows
    assert sum("estimate" in row for row in rows) == 48
    lines[1]["length"] = 84
    log.write_text("".join(json.dumps(line) + "\n" for line in lines), encoding="utf-8")
    with pytest.raises(SystemExit, match="length 84, not 82"):
        korf50.solved_in([log])


def test_published_lengths_are_those_of_the_instances() -> None:
    rows = {row["id"]: row for row in korf50.read_published()}
    for instance in read_instances("korf50-24puzzle", None):
        assert int(rows[instance.id]["optimal_length"]) == instance.optimal_length
    assert set(korf50.read_solved()) <= set(rows)
