"""Records in data/: every solution leads to the goal and has the published length."""

import gzip
import json
from typing import Any

import numpy as np
import pytest

from pdb_core.puzzle import Board
from pdb_query import instance_sets, read_instances
from solver.board_arrays import blank_moved, neighbours_by_move
from tests import ROOT, text_of
from tests.solving import S4, solver_for

GOAL = tuple(range(25))


def records_of(name: str) -> list[dict[str, Any]]:
    with gzip.open(ROOT / "data" / f"{name}.log.gz", "rt") as log:
        return list(map(json.loads, list(log)[1:]))


@pytest.mark.parametrize(("name", "n_boards"), [("korf50", 50), ("random400", 306)])
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


# All boards that need these moves, by Korf and Schultze 2005, table 1.
DEEPEST = 272_198, 26_638, 3_406, 70, 17


@pytest.mark.parametrize("n_boards", [20, pytest.param(2000, marks=pytest.mark.slow)])
def test_deepest15_has_boards_of_the_deepest_layers(n_boards: int) -> None:
    with np.load(instance_sets()["deepest15"]) as arrays:
        boards, distances = arrays["board"], arrays["distance"]
    places = 4 * np.arange(S4.n_cells, dtype=np.uint64)
    keys = (boards.astype(np.uint64) << places).sum(axis=1)
    assert [*np.unique(distances, return_counts=True)[1]] == [*DEEPEST]
    assert (distances.min(), distances[0]) == (76, 80)
    assert " | ".join(f"{n:,}" for n in reversed(DEEPEST)) in text_of("docs/results.md")
    assert len(np.unique(keys)) == len(keys)
    # Each move changes the distance by one, and a neighbour that is not in the set needs 75 moves.
    order = np.argsort(keys)
    after = np.full((len(boards), 4), 99)
    for move, cells in enumerate(neighbours_by_move(S4)[boards.argmin(axis=1)].T):
        moved = (blank_moved(boards[cells >= 0], cells[cells >= 0]).astype(np.uint64) << places).sum(axis=1)
        row = order[np.minimum(np.searchsorted(keys, moved, sorter=order), len(keys) - 1)]
        after[cells >= 0, move] = np.where(keys[row] == moved, distances[row], 75)
    assert (after.min(axis=1) == distances - 1).all()
    assert np.isin(after - distances[:, None], (-1, 1))[after < 99].all()
    some = np.random.default_rng(1).choice(len(boards), n_boards)
    assert (solver_for("78", "4x4", "bits").solve_many(boards[some]).lengths == distances[some]).all()
    assert next(read_instances("deepest15")).optimal_length == 80
