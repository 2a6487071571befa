"""Records in data/: every solution leads to the goal and has the published length."""

import gzip
import json

import pytest

from pdb_core.board_size import BoardSize
from pdb_core.puzzle import blank_first
from pdb_query import read_instances
from solver.moves import parse_moves
from solver.solution import check_replay
from tests import ROOT, text_of


@pytest.mark.parametrize(
    ("name", "instances", "n_boards"), [("korf50", "korf50-24puzzle", 50), ("random400", "random400-24puzzle", 303)]
)
def test_solutions_of_the_24_puzzle_have_the_published_lengths(name: str, instances: str, n_boards: int) -> None:
    left = {tuple(instance.board): instance for instance in read_instances(instances)}
    with gzip.open(ROOT / "data" / f"{name}.log.gz", "rt") as log:
        answers = list(map(json.loads, list(log)[1:]))
    assert len(answers) == n_boards
    for answer in answers:
        board, moves, thresholds = tuple(answer["board"]), answer["moves"], answer["thresholds"]
        check_replay(board, moves, tuple(answer["goal"]), BoardSize(5, 5))
        assert len(moves) == answer["length"] == left.pop(board).optimal_length
        # Beams find many solutions before the last threshold is searched.
        last = len(moves) - 2 * (thresholds[-1]["threshold"] < len(moves))
        assert [each["threshold"] for each in thresholds] == list(range(answer["h"], last + 1, 2))
        assert sum(each["expanded"] for each in thresholds) == answer["expanded"]


def test_open_boards_of_the_24_puzzle_have_the_solutions_that_the_page_counts() -> None:
    unsolved = {tuple(each.board) for each in read_instances("random400-24puzzle") if each.optimal_length is None}
    lengths = []
    for instance in read_instances(ROOT / "data" / "random400-open.csv"):
        moves = parse_moves(str(instance.moves))
        check_replay(tuple(instance.board), moves, blank_first(BoardSize(5, 5)), BoardSize(5, 5))
        unsolved.remove(tuple(instance.board))
        lengths.append(len(moves))
    assert not unsolved
    solved = [each.optimal_length or 0 for each in read_instances("random400-24puzzle")]
    page = text_of("docs/performance.md")
    assert f"of {min(lengths)} to {max(lengths)} moves for them,\n{sum(lengths) / 14:.1f} on average" in page
    assert f"is at most {sum(solved + lengths) / 400:.2f}" in page
