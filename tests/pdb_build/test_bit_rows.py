"""Rows of bits in memory and in a file: they hold the same, and builds make the same files with either."""

import errno
import math
import os
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest

from pdb_build import bit_rows, build_database
from pdb_build.bit_rows import BitRows, Spill
from pdb_build.search_kernels import sort_bits, transpose_bits
from pdb_build.word_layout import word_layout
from pdb_core.errors import DiskFullError, OutputError
from tests.tables import small_plan, stopped

pytestmark = pytest.mark.tiny


def slabs_of(lengths: list[list[int]]) -> list[list[np.ndarray]]:
    """Return slabs of the given lengths, whose blocks are in random order."""
    blocks = np.random.default_rng(3).permutation(sum(map(sum, lengths)))
    parts = iter(np.split(blocks, np.cumsum([length for of_level in lengths for length in of_level])))
    return [[next(parts) for _ in of_level] for of_level in lengths]


@pytest.mark.parametrize("n_bytes", [0, 1, 200, 1000, 10**9])
@pytest.mark.parametrize("lengths", [[[4, 4, 4, 2], [4, 4, 1]], [[3], []], [[], [1]]])
def test_rows_keep_what_is_written(tmp_path: Path, n_bytes: int, lengths: list[list[int]]) -> None:
    n_row = 5
    slabs = slabs_of(lengths)
    rows = BitRows(slabs, n_row, Spill(tmp_path, n_bytes))
    expected = np.zeros((sum(map(sum, lengths)), n_row), dtype=np.uint64)
    generator = np.random.default_rng(7)

    def add(slab: np.ndarray, value: np.ndarray) -> None:
        read = rows.read(slab)
        assert np.array_equal(read, expected[slab])
        read |= value
        rows.write(slab, read)
        expected[slab] |= value

    with ThreadPoolExecutor(3) as pool:
        for _ in range(3):
            values = [generator.integers(0, 2**63, (len(slab), n_row), dtype=np.uint64) for slab in rows.slabs]
            list(pool.map(add, rows.slabs, values))
    assert all(np.array_equal(rows.read(slab), expected[slab]) for slab in rows.slabs)
    # Checkpoints: the same rows in the same order, which can be filled, wherever they are.
    arrays = rows.arrays()
    assert np.array_equal(np.concatenate(arrays), expected[np.concatenate(rows.slabs)])
    assert [slab.tolist() for slab in rows.slabs] == [slab.tolist() for slab in BitRows(slabs, n_row).slabs]
    for array in arrays:
        array[:] = 3
    assert all((rows.read(slab) == 3).all() for slab in rows.slabs)
    assert list(tmp_path.iterdir()) == []  # the file has no name


def test_spill_takes_at_most_what_is_asked_for_and_less_than_a_slab_fewer(tmp_path: Path) -> None:
    slabs = slabs_of([[2] * 9, [2] * 9])
    for n_bytes in range(1, 700, 30):
        held = len(BitRows(slabs, 2, Spill(tmp_path, n_bytes)).arrays()[0])
        assert min(n_bytes, 36 * 16) - 2 * 16 < (36 - held) * 16 <= n_bytes


def test_transposed_bits_equal_numpy() -> None:
    square = np.random.default_rng(1).integers(0, 2**64, 64, dtype=np.uint64)
    bits = np.unpackbits(square.view(np.uint8), bitorder="little").reshape(64, 64)
    transpose_bits(square)
    assert np.array_equal(np.unpackbits(square.view(np.uint8), bitorder="little").reshape(64, 64), bits.T)


@pytest.mark.parametrize("n_blocks", [1, 63, 64, 65, 130])
@pytest.mark.parametrize("n_tiles", [1, 2, 3, 4, 5, 6])
def test_sorted_bits_equal_those_taken_one_by_one(n_tiles: int, n_blocks: int) -> None:
    words = word_layout(n_tiles, 3)
    generator = np.random.default_rng(n_blocks)
    bits = generator.integers(0, 2**63, (n_blocks, words.row_bytes // 8), dtype=np.uint64)
    blocks = generator.permutation(n_blocks + 5)[:n_blocks]
    table = np.zeros((n_blocks + 5, (math.factorial(n_tiles) + 7) // 8), dtype=np.uint8)
    sort_bits(blocks, bits, words.slot_of_rank, table)
    one_by_one = np.unpackbits(bits.view(np.uint8), axis=1, bitorder="little")[:, words.slot_of_rank]
    assert np.array_equal(table[blocks], np.packbits(one_by_one, axis=1, bitorder="little"))
    assert not np.delete(table, blocks, axis=0).any()


@pytest.mark.parametrize("slab_states", [40, 5_000_000])
def test_build_with_bits_in_a_file_makes_the_same_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, slab_states: int
) -> None:
    expected = build_database(small_plan(tmp_path / "memory.h5")).path.read_bytes()
    monkeypatch.setattr("pdb_build.level_search._SLAB_STATES", slab_states)
    monkeypatch.setattr("pdb_build.plan._MEMORY_SHARE", 0.0)
    plan = small_plan(tmp_path / "file.h5")
    assert plan.spilled_bytes > 0
    assert not plan.overlaps_writing
    assert build_database(plan).path.read_bytes() == expected


@pytest.mark.parametrize("shares", [(0.0, 0.7), (0.7, 0.0), (0.0, 0.0)])
def test_checkpoint_does_not_depend_on_where_the_bits_are(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, shares: tuple[float, float]
) -> None:
    monkeypatch.setattr(os, "fsync", lambda _descriptor: None)
    expected = build_database(small_plan(tmp_path / "whole.h5")).path.read_bytes()
    monkeypatch.setattr("pdb_build.level_search._SLAB_STATES", 100)
    out = tmp_path / "a.h5"
    monkeypatch.setattr("pdb_build.plan._MEMORY_SHARE", shares[0])
    stopped(small_plan(out), n_calls=8)
    monkeypatch.setattr("pdb_build.plan._MEMORY_SHARE", shares[1])
    assert build_database(small_plan(out)).n_runs == 2
    assert out.read_bytes() == expected


def test_full_or_broken_disk_ends_the_build(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("pdb_build.plan._MEMORY_SHARE", 0.0)

    def fail(number: int) -> Callable[..., None]:
        def refuse(*_args: object) -> None:
            raise OSError(number, os.strerror(number))

        return refuse

    with monkeypatch.context() as patch:
        patch.setattr(os, "posix_fallocate", fail(errno.ENOSPC))
        with pytest.raises(DiskFullError, match="the disk is full"):
            build_database(small_plan(tmp_path / "a.h5"))
    for function in ("read_all", "write_all"):
        with monkeypatch.context() as patch:
            patch.setattr(bit_rows, function, fail(errno.EIO))
            with pytest.raises(OutputError, match="Input/output error"):
                build_database(small_plan(tmp_path / "a.h5"))
    assert list(tmp_path.iterdir()) == []
