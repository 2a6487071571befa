"""Records in data/: every solution leads to the goal and has the published length."""

import gzip
import json

from pdb_core.board_size import BoardSize
from pdb_query import read_instances
from solver.solution import check_replay
from tests import ROOT


def test_solutions_of_the_24_puzzle_have_the_published_lengths() -> None:
    left = {tuple(instance.board): instance for instance in read_instances("korf50-24puzzle")}
    with gzip.open(ROOT / "data" / "korf50.log.gz", "rt") as log:
        answers = list(map(json.loads, list(log)[1:]))
    for answer in answers:
        board, moves, thresholds = tuple(answer["board"]), answer["moves"], answer["thresholds"]
        check_replay(board, moves, tuple(answer["goal"]), BoardSize(5, 5))
        assert len(moves) == answer["length"] == left.pop(board).optimal_length
        # Beams found the solution of one board before the last threshold was searched.
        last = len(moves) - 2 * (thresholds[-1]["threshold"] < len(moves))
        assert [each["threshold"] for each in thresholds] == list(range(answer["h"], last + 1, 2))
        assert sum(each["expanded"] for each in thresholds) == answer["expanded"]
    assert not left
