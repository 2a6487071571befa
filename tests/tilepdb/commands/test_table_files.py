"""`pdb info`, `pdb stats` and `pdb verify`."""

from pathlib import Path

from tests.command_line import pdb, records


def test_stats_have_histograms_a_mean_and_a_plot(small_table: str, tmp_path: Path) -> None:
    assert "mean h" in pdb("stats", small_table, "--boards", "2000", "--verify", "--load", "copy").stdout
    plot = tmp_path / "a.svg"
    (record,) = records("stats", small_table, "--plot", str(plot))
    assert [sum(p["histogram"]) for p in record["patterns"]] == [504, 504, 72]
    assert plot.read_text().startswith("<?xml")


def test_verify_says_what_it_proved(small_table: str) -> None:
    (deep,) = records("verify", "--deep", small_table)
    assert [proof["n_entries"] for proof in deep["proofs"]] == [504, 504, 72]
    assert all(proof["n_transitions"] > proof["n_states"] for proof in deep["proofs"])


def test_verify_goes_on_after_a_damaged_file(small_table: str, tmp_path: Path) -> None:
    damaged = tmp_path / "damaged.h5"
    content = bytearray(Path(small_table).read_bytes())
    content[-1] ^= 1
    damaged.write_bytes(content)
    command = ("verify", str(damaged), small_table)
    found = records(*command, code=4)
    assert [(record["file"], record["ok"]) for record in found] == [(str(damaged), False), (small_table, True)]
    assert "the bytes outside its tables do not match their digest" in found[0]["error"]
    assert found[0]["error"] in pdb(*command).stderr
