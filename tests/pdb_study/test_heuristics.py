"""Statistics of heuristics, and all boards of small sizes with their distances."""

import json
import math
import statistics
from pathlib import Path

import numpy as np
import pytest

from pdb_core.errors import InputError
from pdb_core.puzzle import BoardSize, blank_first, blank_last
from pdb_study.heuristics import heuristic_values, study_values
from pdb_study.layer_search import all_boards
from tests.command_line import pdb
from tests.naive.boards_and_tables import naive_distances, naive_manhattan
from tests.naive.heuristics import naive_misplaced

S3 = BoardSize(3, 3)


@pytest.mark.parametrize(
    ("size", "goal"),
    [
        pytest.param(BoardSize(3, 2), (1, 2, 3, 4, 0, 5), marks=pytest.mark.tiny),
        (S3, (1, 2, 3, 8, 0, 4, 7, 6, 5)),
    ],
)
def test_all_boards_are_those_of_a_naive_search(size: BoardSize, goal: tuple[int, ...]) -> None:
    boards, distances = all_boards(size, goal)
    assert len(boards) == math.factorial(size.n_cells) // 2
    assert dict(zip(map(tuple, boards.tolist()), distances.tolist(), strict=True)) == naive_distances(size, goal)
    assert np.all(np.diff(distances.astype(int)) >= 0)


def test_all_boards_of_larger_sizes_are_rejected() -> None:
    with pytest.raises(InputError, match="the largest sizes have 10 cells"):
        all_boards(BoardSize(4, 3), blank_last(BoardSize(4, 3)))


@pytest.mark.tiny
def test_statistics_agree_with_python() -> None:
    size, goal = BoardSize(3, 2), blank_first(BoardSize(3, 2))
    boards, distances = all_boards(size, goal)
    names = ("misplaced", "manhattan")
    study = study_values(size, names, heuristic_values(boards, size, goal, names), distances.astype(np.int64))
    naive = [
        [function(tuple(board), goal, size) for function in (naive_misplaced, naive_manhattan)]
        for board in boards.tolist()
    ]
    assert study.mean_distance == pytest.approx(statistics.mean(distances.tolist()))
    for row in [*study.rows, None]:
        spreads = study.overall if row is None else row.spreads
        for i, spread in enumerate(spreads):
            values = [h[i] for h, d in zip(naive, distances.tolist(), strict=True) if row is None or d == row.distance]
            assert spread.mean == pytest.approx(statistics.mean(values))
            assert spread.standard_deviation == pytest.approx(statistics.pstdev(values))
            assert (spread.minimum, spread.maximum) == (min(values), max(values))
    assert sum(row.n_boards for row in study.rows) == len(boards)
    assert study.exceeds[1][0] == sum(manhattan > misplaced for misplaced, manhattan in naive)
    assert study.exceeds[0] == (0, 0)
    assert study.standard_error(study.overall[0], study.n_boards) is None


@pytest.mark.tiny
def test_standard_error_is_of_a_sample() -> None:
    values = np.array([[3], [5], [10]])
    study = study_values(S3, ("one",), values, None, is_sample=True)
    assert study.standard_error(study.overall[0], 3) == pytest.approx(statistics.stdev([3, 5, 10]) / math.sqrt(3))
    assert study.standard_error(study.overall[0], 1) is None


def test_published_means_of_the_8_puzzle() -> None:
    # Means at two depths, for the blank in a corner, as published: 7.0, 21.0, 7.3, 14.8 and 2.4. The mean of misplaced
    # tiles at depth 24 is 7.246 over all 24,047 boards, by the naive twin too.
    names = ("misplaced", "manhattan", "max(misplaced,manhattan)")
    options = [option for name in names for option in ("--heuristic", name)]
    shown = pdb("study", "heuristics", "3x3", *options, "--format", "ndjson").stdout
    records = [json.loads(line) for line in shown.splitlines()]
    at = {(record["distance"], record["heuristic"]): record for record in records}
    assert at[31, "misplaced"]["mean"] == 7
    assert at[31, "manhattan"]["mean"] == 21
    assert at[24, "misplaced"]["boards"] == 24047
    assert round(at[24, "misplaced"]["mean"], 3) == 7.246
    assert round(at[24, "manhattan"]["mean"], 1) == 14.8
    assert round(at[24, "manhattan"]["standard_deviation"], 1) == 2.4
    largest = at[31, "max(misplaced,manhattan)"]
    assert (largest["mean"], largest["maximum"]) == (21, at[31, "manhattan"]["maximum"])
    assert set(at[None, "misplaced"]["larger_than"].values()) == {0}
    assert at[None, "max(misplaced,manhattan)"]["larger_than"]["manhattan"] == 0


def test_text_and_plot(tmp_path: Path) -> None:
    shown = pdb("study", "heuristics", "3x2", "--plot", str(tmp_path / "a.svg")).stdout
    assert "360 boards of 3x2, mean distance" in shown
    assert "<svg" in (tmp_path / "a.svg").read_text(encoding="utf-8")


def test_random_boards_are_solved_for_their_distances() -> None:
    shown = pdb("study", "heuristics", "4x3", "--heuristic", "manhattan", "--boards", "20", "--format", "ndjson").stdout
    records = [json.loads(line) for line in shown.splitlines()]
    assert sum(record["boards"] for record in records if record["distance"] is not None) == 20
    assert all(record["maximum"] <= record["distance"] for record in records if record["distance"] is not None)


def test_distances_of_large_boards_are_unknown() -> None:
    shown = pdb("study", "heuristics", "5x5", "--heuristic", "manhattan", "--boards", "1000").stdout
    assert "1,000 random boards of 5x5; mean" in shown
    *_, overall, errors = shown.splitlines()
    assert errors.split()[0] == "+-"
    # The output has the standard deviation with three digits; the standard error is computed from it.
    assert float(errors.split()[1]) == pytest.approx(float(overall.split()[3]) / math.sqrt(999), abs=0.001)
