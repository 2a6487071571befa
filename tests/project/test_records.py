"""Records in data/: every solution leads to the goal and has the published length."""

import gzip
import json
from typing import Any

import pytest

from pdb_core.puzzle import Board
from pdb_query import read_instances
from tests import ROOT, text_of

GOAL = tuple(range(25))


def records_of(name: str) -> list[dict[str, Any]]:
    with gzip.open(ROOT / "data" / f"{name}.log.gz", "rt") as log:
        return list(map(json.loads, list(log)[1:]))


@pytest.mark.parametrize(("name", "n_boards"), [("korf50", 50), ("random400", 304)])
def test_solutions_of_the_24_puzzle_have_the_published_lengths(name: str, n_boards: int) -> None:
    left = {instance.board: instance for instance in read_instances(f"{name}-24puzzle")}
    answers = [record for record in records_of(name) if "moves" in record]
    assert len(answers) == n_boards
    for answer in answers:
        board, moves, thresholds = Board(answer["board"]), answer["moves"], answer["thresholds"]
        assert board.play(moves) == GOAL
        assert len(moves) == answer["length"]
        assert left.pop(board).optimal_length in (len(moves), None)
        # Beams find many solutions before the last threshold is searched.
        last = len(moves) - 2 * (thresholds[-1]["threshold"] < len(moves))
        assert [each["threshold"] for each in thresholds] == list(range(answer["h"], last + 1, 2))


def test_open_boards_of_the_24_puzzle_have_the_solutions_that_the_page_counts() -> None:
    instances = read_instances("random400-24puzzle")
    unsolved = {each.board: each.id for each in instances if each.optimal_length is None}
    (proved,) = [record for record in records_of("random400") if tuple(record["board"]) in unsolved]
    name = unsolved[tuple(proved["board"])]
    lengths = []
    for instance in read_instances(ROOT / "data" / "random400-open.csv"):
        assert instance.board.play(instance.moves) == GOAL
        del unsolved[instance.board]
        lengths.append(len(instance.moves.split()))
    assert not unsolved
    solved = [each.optimal_length or 0 for each in read_instances("random400-24puzzle")]
    page = " ".join(text_of("docs/results.md").split())
    assert f"{name}, needs exactly {proved['length']} moves" in page
    assert f"{sum(each['generated'] for each in proved['thresholds']) / 1e9:.0f} billion generated nodes" in page
    assert f"of {min(lengths)} to {max(lengths)} moves for them, {sum(lengths) / 14:.1f} on average" in page
    assert f"is at most {sum(solved + lengths) / 400:.2f}" in page
