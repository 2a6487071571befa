"""`pdb info`, `pdb stats` and `pdb verify`."""

from pathlib import Path

from tests.command_line import BOARD, pdb, records
from tests.tables import copy_of_table, flip, table_file


def test_stats_have_histograms_a_mean_and_a_plot(small_table: str, tmp_path: Path) -> None:
    assert "mean h" in pdb("stats", small_table, "--boards", "2000", "--verify", "--load", "copy").stdout
    plot = tmp_path / "a.svg"
    (record,) = records("stats", small_table, "--plot", str(plot))
    assert [sum(p["histogram"]) for p in record["patterns"]] == [504, 504, 72]
    assert plot.read_text().startswith("<?xml")


def test_commands_describe_and_use_a_catalogue() -> None:
    path = str(table_file("1,2,3,4/5,6,7,8+1,2,3,4/5,6/7,8", "3x3", encoding="bits"))
    assert "  partitions AB ACD" in pdb("info", path).stdout
    assert records("info", path)[0]["partitions"] == [[0, 1], [0, 2, 3]]
    assert records("solve", "--db", path, BOARD)[0]["length"] == 31


def test_verify_says_what_it_proved(small_table: str) -> None:
    (deep,) = records("verify", "--deep", small_table)
    assert [proof["n_entries"] for proof in deep["proofs"]] == [504, 504, 72]
    assert all(proof["n_transitions"] > proof["n_states"] for proof in deep["proofs"])


def test_verify_goes_on_after_a_damaged_file(small_table: str, tmp_path: Path) -> None:
    damaged = copy_of_table(tmp_path)
    flip(damaged, -1)
    command = ("verify", str(damaged), small_table)
    found = records(*command, code=4)
    assert [(record["file"], record["ok"]) for record in found] == [(str(damaged), False), (small_table, True)]
    assert "the bytes outside its tables do not match their digest" in found[0]["error"]
    assert found[0]["error"] in pdb(*command).stderr


def test_info_goes_on_after_a_file_that_is_missing(small_table: str) -> None:
    assert [record["file"] for record in records("info", "none.h5", small_table, code=4)] == [small_table]
