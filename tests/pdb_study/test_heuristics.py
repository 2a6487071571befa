"""Statistics of heuristics, and all boards of small sizes with their distances."""

import math
import statistics

import numpy as np
import pytest

from pdb_core.board_size import BoardSize
from pdb_core.puzzle import Board, blank_first
from pdb_study.complete_search import all_boards
from pdb_study.heuristics import studied_values, study_values
from tests.command_line import records
from tests.naive.boards_and_tables import naive_distances, naive_manhattan
from tests.naive.heuristics import naive_misplaced
from tests.solving import S3


@pytest.mark.parametrize("text", [pytest.param("1 2 3/4 0 5", marks=pytest.mark.tiny), "1 2 3/8 0 4/7 6 5"])
def test_all_boards_are_those_of_a_naive_search(text: str) -> None:
    goal = Board(text)
    boards, distances = all_boards(goal.size, goal)
    assert len(boards) == math.factorial(len(goal)) // 2
    assert dict(zip(map(tuple, boards.tolist()), distances.tolist(), strict=True)) == naive_distances(goal.size, goal)
    assert np.all(np.diff(distances.astype(int)) >= 0)


@pytest.mark.tiny
def test_statistics_agree_with_python() -> None:
    size, goal = BoardSize(3, 2), blank_first(BoardSize(3, 2))
    boards, distances = all_boards(size, goal)
    names = ("misplaced", "manhattan")
    study = study_values(size, names, studied_values(boards, size, goal, names), distances.astype(np.int64))
    naive = [
        [function(tuple(board), goal, size) for function in (naive_misplaced, naive_manhattan)]
        for board in boards.tolist()
    ]
    assert study.mean_distance == pytest.approx(statistics.mean(distances.tolist()))
    for row in study.all_rows:
        for i, spread in enumerate(row.spreads):
            values = [h[i] for h, d in zip(naive, distances.tolist(), strict=True) if row.distance in (None, d)]
            assert spread.mean == pytest.approx(statistics.mean(values))
            assert spread.standard_deviation == pytest.approx(statistics.pstdev(values))
            assert (spread.minimum, spread.maximum) == (min(values), max(values))
    assert sum(row.n_boards for row in study.rows) == len(boards)
    assert study.standard_error(study.overall[0], study.n_boards) is None


@pytest.mark.tiny
def test_standard_error_is_of_a_sample() -> None:
    values = np.array([[3], [5], [10]])
    study = study_values(S3, ("one",), values, None, is_sample=True)
    assert study.standard_error(study.overall[0], 3) == pytest.approx(statistics.stdev([3, 5, 10]) / math.sqrt(3))


def test_published_means_of_the_8_puzzle() -> None:
    # Means at two depths, for the blank in a corner, as published: 7.0, 21.0, 7.3, 14.8 and 2.4. The mean of misplaced
    # tiles at depth 24 is 7.246 over all 24,047 boards, by the naive twin too.
    options = ("--heuristic", "misplaced", "--heuristic", "manhattan", "--heuristic", "max(misplaced,manhattan)")
    rows = records("study", "heuristics", "3x3", *options)
    known = {(row["distance"], row["heuristic"]): row for row in rows}
    assert [known[31, name]["mean"] for name in options[1::2]] == [7, 21, 21]
    assert round(known[24, "misplaced"]["mean"], 3) == 7.246
    at_24 = known[24, "manhattan"]
    assert at_24["boards"] == 24047
    assert (round(at_24["mean"], 1), round(at_24["standard_deviation"], 1)) == (14.8, 2.4)
