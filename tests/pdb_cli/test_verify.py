"""`pdb verify` as its users meet it."""

import json
from pathlib import Path

from tests.command_line import pdb, refused
from tests.tables import table_file


def test_verify_says_what_it_checked(small_table: str) -> None:
    shallow = pdb("verify", small_table)
    assert shallow.returncode == 0
    assert "3 digests and histograms over 1,080 entries agree" in shallow.stdout
    deep = json.loads(pdb("verify", "--deep", "--format", "ndjson", small_table).stdout)
    assert [proof["n_entries"] for proof in deep["proofs"]] == [504, 504, 72]
    assert all(proof["n_transitions"] > proof["n_states"] for proof in deep["proofs"])


def test_verify_deep_finds_a_wrong_table_with_right_digests(tmp_path: Path) -> None:
    """The worst case: a faulty builder that signs what it wrote."""
    import hashlib

    import h5py

    from pdb_core.schema import Header, PatternHeader, read_header, write_header

    path = tmp_path / "wrong.h5"
    path.write_bytes(table_file("1,2,5/3,4,6/7,8", "3x3").read_bytes())
    with h5py.File(path, "r+") as file:
        table = file["pattern_2/table"][:]
        a, b = table.argmax(), 5
        table[a], table[b] = table[b], table[a]
        file["pattern_2/table"][:] = table
        header = read_header(file, "")
        last = header.patterns[2]
        signed = PatternHeader(
            last.pattern,
            last.n_entries,
            last.n_bytes,
            last.histogram,
            last.n_unreached,
            hashlib.sha256(table.tobytes()).hexdigest(),
        )
        write_header(
            file, Header(header.size, header.goal, header.partition, header.encoding, (*header.patterns[:2], signed))
        )
    assert pdb("verify", str(path)).returncode == 0
    refused(pdb("verify", "--deep", str(path)), 4, "7,8|entry")
