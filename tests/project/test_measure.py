"""scripts/measure: rows of published results agree with lookups, and the data file has a row for each measurement."""

from pathlib import Path

from pdb_core.puzzle import random_boards
from pdb_query import open_database, read_instances
from scripts.figures import store
from scripts.figures.sections import GOAL, RESULTS, SECTIONS, SIZE, Settings
from tests.tables import table_file


def test_measured_rows_agree_with_lookups(tmp_path: Path) -> None:
    (tmp_path / "663-bytes.h5").symlink_to(table_file("663", "4x4"))
    rows = SECTIONS["published"](Settings(tmp_path, 6))
    both, one = rows["6-6-3 and reflection"](), rows["6-6-3"]()
    with open_database(tmp_path / "663-bytes.h5") as database:
        batch = database.probe_batch(random_boards(SIZE, GOAL, 600, 1))
    assert both["mean_h"] == f"{batch.h.mean():.2f}"
    assert one["mean_h"] == f"{batch.sums[:, 0].mean():.2f}"
    assert both["boards"] == one["boards"] == 6
    assert one["nodes"] > both["nodes"] > 0


def test_data_file_has_a_row_for_each_measurement(tmp_path: Path) -> None:
    figures = store.load()
    for section, rows in SECTIONS.items():
        assert set(figures[section]["rows"]) == set(rows(Settings(tmp_path, 6)))
    assert set(figures["published"]["rows"]) <= set(RESULTS)
    assert set(figures["korf50"]["rows"]) == {instance.id for instance in read_instances("korf50-24puzzle", None)}
