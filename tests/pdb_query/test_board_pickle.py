"""Pickles of DeepCubeA: boards are read, and hostile or damaged files are refused and do nothing."""

import builtins
import csv
import io
import itertools
import os
import pickle
import random
import struct
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, strategies as st

from pdb_core.errors import BoardError, InstanceError
from pdb_core.puzzle import BoardSize, blank_last
from pdb_query import board_pickle as module, read_instances
from tests.command_line import pdb, refused
from tests.fuzzing import fuzz, outcome, sentence
from tests.pdb_study.labels.deepcubea import MODULE, NPuzzleState, deepcubea, pickled

B3 = [[1, 2, 3, 4, 5, 6, 7, 0, 8], [8, 6, 7, 2, 5, 4, 3, 0, 1]]


def boards_in(content: bytes, folder: Path, size: BoardSize | None = None) -> list[tuple[int, ...]]:
    path = folder / "data_0.pkl"
    path.write_bytes(content)
    return [instance.board for instance in read_instances(str(path), size)]


@pytest.mark.parametrize("protocol", [2, 3, 4, 5])
@pytest.mark.parametrize("dtype", ["u1", "<i8", ">i4", "u2"])
def test_boards_of_every_protocol_and_dtype_are_read(protocol: int, dtype: str, tmp_path: Path) -> None:
    content = pickled(B3, dtype, protocol, solutions=[["L"], ["U", "D"]], times=[0.5, np.float64(1)], num=[3, 4])
    assert boards_in(content, tmp_path) == [tuple(board) for board in B3]
    (found, *_) = read_instances(str(tmp_path / "data_0.pkl"), None)
    assert (found.id, found.goal, found.optimal_length, found.size) == ("1", "blank-last", None, BoardSize(3, 3))


@pytest.mark.parametrize("protocol", [2, 3, 4])
def test_files_of_numpy_1_are_read(protocol: int, tmp_path: Path) -> None:
    content = pickled(B3, "u1", protocol)
    old = content.replace(b"numpy._core.multiarray", b"numpy.core.multiarray")
    if protocol == 4:
        # The length of a name is in the byte before it.
        old = content.replace(b"\x16numpy._core.multiarray", b"\x15numpy.core.multiarray")
    assert old != content
    assert boards_in(old, tmp_path) == [tuple(board) for board in B3]


def test_test_sets_of_all_sizes_are_read(tmp_path: Path) -> None:
    for side in (4, 5, 6, 7):
        size = BoardSize(side, side)
        boards = np.random.default_rng(1).permuted(np.tile(np.arange(side**2), (500, 1)), axis=1)
        assert boards_in(pickled(boards.tolist(), "u1", 4), tmp_path) == list(map(tuple, boards.tolist()))
        assert boards_in(pickled([blank_last(size)], "i8", 4), tmp_path) == [blank_last(size)]


def test_boards_that_are_none_are_named(tmp_path: Path) -> None:
    with pytest.raises(BoardError, match=r"data_0.pkl board 2: board '1 1"):
        boards_in(pickled([B3[0], [1] * 9]), tmp_path)
    with pytest.raises(BoardError, match="no square"):
        boards_in(pickled([list(range(6))]), tmp_path)
    with pytest.raises(BoardError, match="-1"):
        boards_in(pickled([[-1, *range(8)]], "i1"), tmp_path)
    assert boards_in(pickled([list(range(6))]), tmp_path, BoardSize(3, 2)) == [tuple(range(6))]


class Calls:
    """Object whose pickle calls a function."""

    def __init__(self, function: Any, *arguments: Any) -> None:
        self.reduced = (function, arguments)

    def __reduce__(self) -> Any:
        return self.reduced


class Persistent(pickle.Pickler):
    """Pickler that writes persistent ids."""

    def persistent_id(self, _object: Any) -> Any:
        return "id"


def persistent() -> bytes:
    file = io.BytesIO()
    Persistent(file, protocol=4).dump({"states": []})
    return file.getvalue()


def state_of(tiles: Any) -> bytes:
    with deepcubea():
        state = NPuzzleState(tiles)
        return pickle.dumps({"states": [state]}, protocol=4)


def with_name(name: str, *, call: bytes = b"(tR.") -> bytes:
    head, _, last = name.rpartition(".")
    return b"\x80\x02" + f"c{head}\n{last}\n".encode() + call


def hostile(marker: Path) -> Iterator[tuple[str, bytes]]:
    """Yield files that would create `marker`, call something, or exhaust memory, stack or time; and what is refused."""
    for protocol in range(6):
        for calls in (
            Calls(os.system, f"touch {marker}"), Calls(eval, f"open({str(marker)!r}, 'w')"),
            Calls(exec, f"open({str(marker)!r}, 'w')"),
            Calls(open, str(marker), "w"), Calls(builtins.__import__, "os"),
            Calls(Path.touch, marker), Calls(bytearray, 10**12), Calls(np.empty, 10**12), Calls(np.load, str(marker)),
            Calls(print, "x"),
        ):  # fmt: skip
            yield "", pickle.dumps({"states": [calls]}, protocol=protocol)
            yield "", pickle.dumps({"states": calls}, protocol=protocol)
            yield "", state_of(calls)
    yield "PERSID", b"\x80\x02Pid\n."
    yield "BINPERSID", persistent()
    for code in (b"\x82\x01.", b"\x83\x01\x00.", b"\x84\x01\x00\x00\x00."):
        yield "EXT", b"\x80\x02" + code
    for name in (
        "os.system", "builtins.eval", "builtins.getattr", "numpy.load", "numpy.core.multiarray.array", "numpy.ndarray",
        "environments.n_puzzle.NPuzzle", "environments.n_puzzle.NPuzzleState.__init__",
        "pdb_query.board_pickle._Machine",
    ):  # fmt: skip
        yield "", with_name(name)
        yield "", with_name(name, call=b"(t\x81.")
        yield "", with_name(name, call=b")}b.")
    yield "dtype", state_of(np.array([None] * 9, dtype=object))
    yield "dtype", state_of(np.array([0.5] * 9))
    yield "dtype", state_of(np.array(["a"] * 9))
    yield "dtype", state_of(np.zeros(9, dtype=[("a", "u1")]))
    yield "dtype", state_of(np.zeros(9, dtype="M8[s]"))
    yield "one dimension", state_of(np.zeros((3, 3), dtype=np.uint8))
    yield "one dimension", state_of(np.array(3, dtype=np.uint8))
    yield "cells", state_of(np.zeros(2000, dtype=np.uint8))
    yield "cells", state_of(np.zeros(0, dtype=np.uint8))
    yield "no NPuzzleState", state_of([1, 2, 3, 0])
    yield "no NPuzzleState", pickle.dumps({"states": [np.arange(9)]})
    for no_states in ({}, [], {"states": []}, {"states": 5}, None, 7, "states", {"states": {}}):
        yield "no list of states", pickle.dumps(no_states)
    yield from exhausting()


def exhausting() -> Iterator[tuple[str, bytes]]:
    """Yield small files that a plain reader would need much memory, a deep stack or a long time for."""
    yield "", b"\x80\x04\x8e" + struct.pack("<Q", 1 << 62) + b"."  # bytes
    yield "", b"\x80\x04\x8d" + struct.pack("<Q", 1 << 40) + b"."  # text
    yield "", b"\x80\x05\x96" + struct.pack("<Q", 1 << 40) + b"."  # bytearray
    yield "", b"\x80\x04\x95" + struct.pack("<Q", 1 << 62) + b"."  # frame
    yield "", b"\x80\x02]r" + struct.pack("<I", 0xFFFFFFF0) + b"."  # memo
    yield "LONG4", b"\x80\x02\x8b" + struct.pack("<i", 1_000_000) + b"\xff" * 1_000_000 + b"."
    yield "", b"\x80\x02" + b"]" * 300_000 + b"a" * 299_999 + b"."
    yield "", b"\x80\x02" + b")" + b"\x85" * 300_000 + b"."
    yield "keys", b"\x80\x02})" + b"\x85" * 300_000 + b"Ns."  # the hash of nested tuples is recursive
    yield "keys", b"\x80\x02}(" + b"".join(b"J" + struct.pack("<i", 4096 * n) + b"N" for n in range(9)) + b"u."
    yield "operations", b"\x80\x02" + b"]" * 1_100_000 + b"."
    yield "MB", b"\x80\x02" + b"N" * 20_000_001
    yield "cells than bytes", shared_array()


def shared_array() -> bytes:
    """Return a file that names one array of 1024 cells many times."""
    with deepcubea():
        state = NPuzzleState(np.arange(1024))
        return pickle.dumps({"states": [state] * 200_000}, protocol=4)


def test_hostile_files_are_refused_and_do_nothing(tmp_path: Path, pytestconfig: pytest.Config) -> None:
    """Read every third file, and all of them with --slow."""
    marker = tmp_path / "marker"
    n_files = 0
    is_slow = pytestconfig.getoption("--slow")
    for match, content in itertools.islice(hostile(marker), 0, None, 1 if is_slow else 3):
        started = time.thread_time()
        with pytest.raises(InstanceError, match=match or None) as refusal:
            boards_in(content, tmp_path)
        assert "is no pickle of boards of DeepCubeA" in sentence(refusal.value)
        assert time.thread_time() - started < 8
        n_files += 1
    assert n_files > (200 if is_slow else 70)
    assert not marker.exists()


def test_truncated_and_damaged_files_are_refused(tmp_path: Path) -> None:
    for protocol in (2, 4):
        content = pickled(B3, "u1", protocol)
        for n_bytes in range(0, len(content), 2):
            with pytest.raises(InstanceError):
                boards_in(content[:n_bytes], tmp_path)
        generator = random.Random(protocol)
        for _ in range(200):
            changed = bytearray(content)
            for _ in range(generator.randint(1, 3)):
                changed[generator.randrange(len(changed))] = generator.randrange(256)
            outcome(lambda changed=changed: boards_in(bytes(changed), tmp_path))  # type: ignore[misc]


@fuzz
@given(
    st.lists(st.sampled_from([*"(.0Nq)}]tabsuR", "\x81", "\x85", "\x86", "\x93", "\x94", "h\0", "q\0", "K\1", "U\1a"]))
)
def test_any_operations_are_boards_or_refused(tmp_path_factory: pytest.TempPathFactory, operations: list[str]) -> None:
    content = b"\x80\x02" + "".join(operations).encode("latin-1") + b"."
    outcome(lambda: boards_in(content, tmp_path_factory.getbasetemp()))


def test_missing_file_and_folder_are_refused(tmp_path: Path) -> None:
    (tmp_path / "folder.pkl").mkdir()
    for name in ("none.pkl", "folder.pkl", "nul\0.pkl"):
        with pytest.raises(InstanceError, match="name"):
            list(read_instances(str(tmp_path / name), None))


def test_reader_imports_nothing() -> None:
    text = Path(module.__file__).read_text(encoding="utf-8")
    assert not {"import_module", "__import__", "getattr(sys", "pickle.load", "Unpickler("} & set(text.split())
    assert MODULE in text


def test_commands_read_such_files(tmp_path: Path, small_table: str) -> None:
    path = tmp_path / "data_0.pkl"
    path.write_bytes(pickled(B3))
    command = ["--db", small_table, "--format", "csv"]
    by_name, by_option = pdb("solve", str(path), *command), pdb("solve", "--instances", str(path), *command)
    for result in (by_name, by_option):
        assert result.returncode == 0, result.stderr
        rows = list(csv.DictReader(result.stdout.splitlines()))
        assert [row["length"] for row in rows] == ["1", "31"]
    assert "data_0.pkl:2" in by_name.stdout
    assert pdb("approximate", str(path), "--time-limit", "0").returncode == 0
    assert pdb("query", "--db", small_table, "--instances", str(path)).returncode == 0
    path.write_bytes(pickle.dumps({"states": [Calls(os.system, "true")]}))
    refused(pdb("solve", "--db", small_table, str(path)), 2, "system, which files of boards do not use")
    refused(pdb("solve", "--db", small_table, str(tmp_path / "none.pkl")), 2, "there is no file")
