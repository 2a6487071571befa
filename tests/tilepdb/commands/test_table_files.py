"""`pdb info`, `pdb stats` and `pdb verify`."""

import json
from pathlib import Path

from tests.command_line import pdb
from tests.tables import table_file


def test_info_draws_the_partition_and_names_its_source() -> None:
    path = str(table_file("663", "4x4"))
    first, *lines = pdb("info", path).stdout.splitlines()
    assert " partition 663 (Felner, Korf and Hanan 2004) of a 4x4 board, goal blank-last, " in first
    assert lines[:4] == [
        "    A C C C     1  2  3  4",
        "    A A B B     5  6  7  8",
        "    A A B B     9 10 11 12",
        "    A B B .    13 14 15  .",
    ]
    assert "maximum 28" in lines[4]
    (record,) = json.loads(pdb("info", path, "--format", "json").stdout)
    assert record["partition_source"] == "Felner, Korf and Hanan 2004"


def test_stats_have_histograms_a_mean_and_a_plot(small_table: str, tmp_path: Path) -> None:
    assert "mean h" in pdb("stats", small_table, "--boards", "2000", "--verify", "--load", "copy").stdout
    plot = tmp_path / "a.svg"
    record = json.loads(pdb("stats", small_table, "--plot", str(plot), "--format", "ndjson").stdout)
    assert [sum(p["histogram"]) for p in record["patterns"]] == [504, 504, 72]
    assert plot.read_text(encoding="utf-8").startswith("<?xml")


def test_verify_says_what_it_checked(small_table: str) -> None:
    shallow = pdb("verify", small_table)
    assert shallow.returncode == 0
    assert "3 digests and histograms over 1,080 entries agree" in shallow.stdout
    deep = json.loads(pdb("verify", "--deep", "--format", "ndjson", small_table).stdout)
    assert [proof["n_entries"] for proof in deep["proofs"]] == [504, 504, 72]
    assert all(proof["n_transitions"] > proof["n_states"] for proof in deep["proofs"])


def test_verify_goes_on_after_a_damaged_file(small_table: str, tmp_path: Path) -> None:
    damaged = tmp_path / "damaged.h5"
    content = bytearray(Path(small_table).read_bytes())
    content[-1] ^= 1
    damaged.write_bytes(content)
    result = pdb("verify", str(damaged), small_table, "--format", "ndjson")
    assert result.returncode == 4
    records = [json.loads(line) for line in result.stdout.splitlines()]
    assert [(record["file"], record["ok"]) for record in records] == [(str(damaged), False), (small_table, True)]
    assert records[0]["error"] in result.stderr
    assert "the bytes outside its tables do not match their digest" in result.stderr
