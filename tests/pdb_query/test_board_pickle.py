"""Pickles of DeepCubeA: boards are read, and other or damaged files are refused and call nothing."""

import os
import pickle
import random
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from pdb_core.board_size import BoardSize
from pdb_core.errors import BoardError, InstanceError
from pdb_query import read_instances
from tests.fuzzing import outcome
from tests.pdb_study.labels.deepcubea import NPuzzleState, deepcubea, pickled

B3 = [[1, 2, 3, 4, 5, 6, 7, 0, 8], [8, 6, 7, 2, 5, 4, 3, 0, 1]]


def boards_in(content: bytes, folder: Path, size: BoardSize | None = None) -> list[list[int]]:
    path = folder / "data_0.pkl"
    path.write_bytes(content)
    return [list(instance.board) for instance in read_instances(str(path), size)]


@pytest.mark.parametrize(("protocol", "dtype"), [(2, "u1"), (3, "<i8"), (4, ">i4"), (5, "u2")])
def test_boards_of_every_protocol_and_dtype_are_read(protocol: int, dtype: str, tmp_path: Path) -> None:
    content = pickled(B3, dtype, protocol, times=[np.float64(1)])
    assert boards_in(content, tmp_path) == B3
    (found, *_) = read_instances(str(tmp_path / "data_0.pkl"))
    assert (found.id, found.goal) == ("1", "blank-last")


@pytest.mark.parametrize("protocol", [2, 3, 4])
def test_files_of_numpy_1_are_read(protocol: int, tmp_path: Path) -> None:
    content = pickled(B3, "u1", protocol)
    old = content.replace(b"numpy._core.multiarray", b"numpy.core.multiarray")
    if protocol == 4:
        # The length of a name is in the byte before it. The frame, whose length would change, is left out.
        old = (content[:2] + content[11:]).replace(b"\x16numpy._core.multiarray", b"\x15numpy.core.multiarray")
    assert old != content
    assert boards_in(old, tmp_path) == B3


def test_boards_that_are_none_are_named(tmp_path: Path) -> None:
    with pytest.raises(BoardError, match=r"data_0.pkl board 2: board '-2 1"):
        boards_in(pickled([B3[0], [-2, *range(1, 9)]], "i1"), tmp_path)
    assert boards_in(pickled([[*range(6)]]), tmp_path, BoardSize(3, 2)) == [[*range(6)]]


class Calls:
    """Object whose pickle calls a function."""

    def __init__(self, function: Any, *arguments: Any) -> None:
        self.reduced = (function, arguments)

    def __reduce__(self) -> Any:
        return self.reduced


def state_of(tiles: Any) -> bytes:
    with deepcubea():
        return pickle.dumps({"states": [NPuzzleState(tiles)]}, protocol=4)


@pytest.mark.parametrize("protocol", range(6))
def test_names_that_boards_do_not_need_are_refused_and_not_called(protocol: int, tmp_path: Path) -> None:
    marker = tmp_path / "marker"
    for calls in (
        Calls(os.system, f"touch {marker}"), Calls(eval, f"open({str(marker)!r}, 'w')"), Calls(Path.touch, marker),
        Calls(np.empty, 10**12),
    ):  # fmt: skip
        for content in (pickle.dumps({"states": [calls]}, protocol=protocol), state_of(calls)):
            with pytest.raises(InstanceError, match="which files of boards do not use"):
                boards_in(content, tmp_path)
    assert not marker.exists()


@pytest.mark.parametrize(
    ("content", "match"),
    [
        (state_of(np.array([0.5] * 9)), "dtype"),
        (state_of(np.zeros((3, 3), dtype=np.uint8)), "one dimension"),
        (state_of([1, 2, 3, 0]), "no states"),
        (pickled(B3, solutions=[["L"] * 45, ["U"]]), "has solutions, which are not read .* for pdb check, or leave"),
        (b"\x80\x02" + b"N" * 20_000_001, "more than 20 MB"),
    ],
)
def test_other_pickles_are_refused(content: bytes, match: str, tmp_path: Path) -> None:
    with pytest.raises(InstanceError, match=match):
        boards_in(content, tmp_path)


@pytest.mark.parametrize("protocol", [2, 4])
def test_truncated_and_damaged_files_are_refused(protocol: int, tmp_path: Path) -> None:
    content = pickled(B3, "u1", protocol)
    for n_bytes in range(0, len(content), 2):
        with pytest.raises(InstanceError):
            boards_in(content[:n_bytes], tmp_path)
    generator = random.Random(protocol)
    for _ in range(200):
        at = generator.randrange(len(content))
        changed = content[:at] + generator.randbytes(1) + content[at + 1 :]
        outcome(lambda changed=changed: boards_in(changed, tmp_path))  # type: ignore[misc]
