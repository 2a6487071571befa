"""`pdb verify`."""

import hashlib
import json
from pathlib import Path

import h5py

from pdb_query import read_table_header
from tests.command_line import pdb, refused
from tests.tables import rewrite_header, sign_structures, table_file


def test_verify_says_what_it_checked(small_table: str) -> None:
    shallow = pdb("verify", small_table)
    assert shallow.returncode == 0
    assert "3 digests and histograms over 1,080 entries agree" in shallow.stdout
    deep = json.loads(pdb("verify", "--deep", "--format", "ndjson", small_table).stdout)
    assert [proof["n_entries"] for proof in deep["proofs"]] == [504, 504, 72]
    assert all(proof["n_transitions"] > proof["n_states"] for proof in deep["proofs"])


def test_verify_deep_finds_a_wrong_table_with_right_digests(tmp_path: Path) -> None:
    """The worst case: a faulty builder that signs what it wrote."""
    path = tmp_path / "wrong.h5"
    content = bytearray(table_file("1,2,5/3,4,6/7,8", "3x3").read_bytes())
    entry = read_table_header(table_file("1,2,5/3,4,6/7,8", "3x3")).patterns[2]
    stop = entry.offset + entry.n_bytes
    table = content[entry.offset : stop]
    a, b = table.index(max(table)), 5
    table[a], table[b] = table[b], table[a]
    content[entry.offset : stop] = table
    path.write_bytes(content)
    digest = hashlib.sha256(table).hexdigest()
    with h5py.File(path, "r+") as file:
        file["pattern_2"].attrs["sha256"] = digest
    rewrite_header(path, lambda fields: fields["patterns"][2].update(sha256=digest))
    sign_structures(path)
    assert pdb("verify", str(path)).returncode == 0
    refused(pdb("verify", "--deep", str(path)), 4, "7,8|entry")


def test_damaged_file_does_not_end_the_command(small_table: str, tmp_path: Path) -> None:
    damaged = tmp_path / "damaged.h5"
    content = bytearray(Path(small_table).read_bytes())
    content[-1] ^= 1
    damaged.write_bytes(content)
    result = pdb("verify", str(damaged), small_table, "--format", "ndjson")
    assert result.returncode == 4
    records = [json.loads(line) for line in result.stdout.splitlines()]
    assert [(record["file"], record["ok"]) for record in records] == [(str(damaged), False), (small_table, True)]
    assert records[0]["error"] in result.stderr


def test_verify_finds_hdf5_attributes_that_differ_from_the_header(tmp_path: Path) -> None:
    path = tmp_path / "wrong.h5"
    path.write_bytes(table_file("1,2,5/3,4,6/7,8", "3x3").read_bytes())
    with h5py.File(path, "r+") as file:
        file.attrs["partition"] = "other"
    sign_structures(path)
    refused(pdb("verify", str(path)), 4, "its HDF5 objects differ from its header; build it again")


def test_verify_compares_digests_before_hdf5_reads_the_file(tmp_path: Path) -> None:
    path = tmp_path / "wrong.h5"
    content = bytearray(table_file("1,2,5/3,4,6/7,8", "3x3").read_bytes())
    content[-1] ^= 1
    path.write_bytes(content)
    refused(pdb("verify", str(path)), 4, "the bytes outside its tables do not match their digest; build it again")
