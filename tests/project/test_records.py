"""Records in data/: every solution leads to the goal and has the published length."""

import gzip
import json

from pdb_core.puzzle import BoardSize
from pdb_query import read_instances
from solver.solution import check_solution
from tests import ROOT


def test_solutions_of_the_24_puzzle_have_the_published_lengths() -> None:
    left = {tuple(instance.board): instance for instance in read_instances("korf50-24puzzle")}
    with gzip.open(ROOT / "data" / "korf50.log.gz", "rt") as log:
        answers = [record for record in map(json.loads, log) if "moves" in record]
    for answer in answers:
        board, moves, thresholds = tuple(answer["board"]), answer["moves"], answer["thresholds"]
        check_solution(board, moves, tuple(answer["goal"]), BoardSize(5, 5))
        assert len(moves) == answer["length"] == left.pop(board).optimal_length
        assert [each["threshold"] for each in thresholds] == list(range(answer["h"], len(moves) + 1, 2))
        assert sum(each["expanded"] for each in thresholds) == answer["expanded"]
    unsolved = "10 50"
    assert sorted(int(instance.id) for instance in left.values()) == [int(name) for name in unsolved.split()]
