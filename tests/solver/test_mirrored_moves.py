"""Boards that are their own image: only some first moves are searched, and nothing is lost."""

from dataclasses import replace

import numpy as np
import pytest

from pdb_core.board_size import BoardSize, parse_size
from pdb_core.puzzle import Tiles, as_goal, is_solvable
from pdb_core.symmetry import BoardMapping, mappings_between
from solver.engine.search import IdaStar
from solver.heuristics.heuristic_solver import HeuristicSolver
from solver.pruning.fsm import START
from solver.solve import Solver
from tests.naive.boards_and_tables import naive_distances
from tests.solving import S3, database_for

# Goals with the blank in a corner, in the centre or at an edge, and how many boards are their own image.
GOALS = {"blank-last": 144, "1 2 3/4 0 5/6 7 8": 736, "1 0 2/3 4 5/6 7 8": 144}


def own_mappings(goal: Tiles, size: BoardSize) -> tuple[BoardMapping, ...]:
    return mappings_between(goal, goal, size)[1:]


@pytest.mark.tiny
@pytest.mark.parametrize(("name", "n_boards"), GOALS.items())
def test_boards_of_the_8_puzzle_keep_their_lengths(name: str, n_boards: int) -> None:
    """With the state of the FSM after the first move, some of them would not."""
    goal = as_goal(name, S3)
    distances = naive_distances(S3, goal)
    own_images = [board for board in distances if any(each.apply(board) == board for each in own_mappings(goal, S3))]
    assert len(own_images) == n_boards
    solver = HeuristicSolver(S3, goal, "manhattan")
    tried = own_images[:: n_boards // 72]
    assert [solver.solve(board).length for board in tried] == [distances[board] for board in tried]


def random_own_images(size: BoardSize, n: int, orbits: slice) -> list[Tiles]:
    """Return random boards that are their own image at the diagonal.

    Only the tiles of some `orbits` move, the blank and tiles on the diagonal not counted.
    """
    goal, generator = as_goal("blank-first", size), np.random.default_rng(1)
    mapping = own_mappings(goal, size)[0]
    pairs = [(cell, image) for cell, image in enumerate(mapping.cell_map) if cell < image][orbits]
    found: list[Tiles] = []
    while len(found) < n:
        board = list(goal)
        for (cell, image), (tile, other) in zip(pairs, generator.permutation(pairs).tolist(), strict=True):
            board[cell], board[image] = (tile, other) if generator.random() < 0.5 else (other, tile)
        if tuple(board) != goal and is_solvable(tuple(board), goal, size):
            assert mapping.apply(board) == tuple(board)
            found.append(tuple(board))
    return found


@pytest.mark.parametrize(("size", "partition", "orbits"), [("4x4", "663", slice(None)), ("5x5", "55554", slice(0, 3))])
def test_random_boards_keep_their_lengths_with_fewer_nodes(size: str, partition: str, orbits: slice) -> None:
    boards = random_own_images(parse_size(size), 6, orbits)
    with database_for(partition, size, encoding="bits") as database:
        solver = Solver(database)
        found = [solver.solve(board, "blank-first") for board in boards]
        engine, mapping = solver.ida_star.engine, database.mappings("blank-first")[0]
        like_others = IdaStar(replace(engine, fsm=replace(engine.fsm, own_image=START)))
        whole = [like_others.search(mapping.apply(board)) for board in boards]
    assert [each.length for each in found] == [len(each.moves) for each in whole]
    assert sum(each.generated for each in found) < 0.75 * sum(each.generated for each in whole)
