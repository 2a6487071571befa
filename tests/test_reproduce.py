"""scripts/reproduce: rows are measured as they say, kept, and written as a page."""

from dataclasses import replace
from pathlib import Path

from pdb_core.pattern import parse_partition
from pdb_core.puzzle import random_boards
from pdb_query import open_database
from scripts.reproduction.measure import GOAL, SIZE, Record, measure
from scripts.reproduction.page import page
from scripts.reproduction.rows import PUBLISHED_ROWS, ROWS, STEPS


def test_row_is_what_its_tables_say(tmp_path: Path) -> None:
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


def test_every_row_can_be_asked() -> None:
    assert len({row.name for row in ROWS}) == len(ROWS)
    for row in ROWS:
        assert (row.heuristic is None) == bool(row.databases)
        for name, _ in row.databases:
            assert parse_partition(name, SIZE).name == name
