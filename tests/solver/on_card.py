"""Searches on a card have the lengths and counts of the processor. `test_cuda` runs this file in numba's simulator.

`scripts/test-cuda` runs it on a card.
"""

from pathlib import Path

import numpy as np
import pytest

from pdb_core.board_size import parse_size
from pdb_core.errors import InputError, TableFileDamagedError
from pdb_core.puzzle import random_boards
from pdb_query import Database
from solver import Checkpoint, Limits, Solver
from solver.cuda import launches as launches_module, search as search_module
from solver.cuda.search import CardIdaStar
from solver.cuda.tables import CardTables
from solver.engine.rounds.catalogue import distinct_units
from tests import rows
from tests.command_line import pdb, records
from tests.pdb_query.test_lookup import with_table_bytes
from tests.solving import database_for, divide_early, engine_for, node_counts, walked

PAIRS_OF_24 = "/".join(f"{tile},{tile + 1}" for tile in range(1, 25, 2))
TRIPLES_OF_24 = "/".join(f"{tile},{tile + 1},{tile + 2}" for tile in range(1, 25, 3))
THREE_PARTITIONS = "1,2,3,4/5,6,7,8+1,2,3,4/5,6/7,8+1,4,7/2,3,5/6,8"


@pytest.fixture(autouse=True)
def card_searches_all(monkeypatch: pytest.MonkeyPatch) -> None:
    """No board is too easy for the card, and no item too small to be written back."""
    monkeypatch.setattr(search_module, "_LEAST_BOARDS", 1)
    monkeypatch.setattr(search_module, "_MOST_CELLS", 99)
    monkeypatch.setattr(search_module, "_LEAST_NODES", 1)
    monkeypatch.setattr(launches_module, "_SHARES", ((1, 8), (float("inf"), 20)))


@pytest.fixture
def short_launches(monkeypatch: pytest.MonkeyPatch) -> None:
    """Boards are searched alone, first on the processor, in slices and launches that a limit ends soon."""
    for name, value in (("_LEAST_BOARDS", 2), ("_PACE", 1), ("_LOOK_S", 0.0)):
        monkeypatch.setattr(search_module, name, value)
    monkeypatch.setattr("solver.engine.stack._SLICE_NODES", 200)


@pytest.fixture
def database() -> Database:
    return database_for("1,2,5/3,4,6/7,8", "3x3", encoding="bits")


def databases(names: str, size: str, goal: str = "blank-last") -> list[Database]:
    named = {"pairs": PAIRS_OF_24, "triples": TRIPLES_OF_24, "three": THREE_PARTITIONS}
    return [database_for(named.get(name, name), size, goal, "bits", "additive") for name in names.split()]


def near_boards(database: Database, n: int, n_moves: int) -> np.ndarray:
    """Return boards some random moves from the goal, and the goal."""
    generator, size = np.random.default_rng(1), database.size
    boards = [walked(database.goal, size, int(generator.integers(n_moves + 1)), generator) for _ in range(n - 1)]
    return np.array([database.goal, *boards], dtype=np.uint8)


# Tables | size | goal | boards | the longest walk. The last ones have more than 32 units.
MANY = """
1,2,3/4,5 | 2x3 | blank-last | 4 | 30
8 | 3x3 | blank-last | 4 | 60
1,2,5/3,4,6/7,8 | 3x3 | snail | 4 | 20
three 1,2,3,4/5,6,7,8 1,2/3,6/4,7/5,8 | 3x3 | blank-last | 2 | 14
1,2,5,6,9,10/3,4,7,8,11 | 4x3 | blank-last | 3 | 20
78 | 4x4 | blank-last | 4 | 20
pairs triples | 5x5 | blank-last | 4 | 16
"""


@pytest.mark.parametrize(("names", "size", "goal", "n", "n_moves"), rows(MANY))
def test_boards_together_have_the_counts_of_the_processor(
    names: str, size: str, goal: str, n: str, n_moves: str
) -> None:
    """Each solution was replayed. The list of items outgrows the card's memory in the simulator."""
    opened = databases(names, size, goal)
    boards = near_boards(opened[0], int(n), int(n_moves))
    processor, card = Solver(*opened).ida_star, Solver(*opened, device="cuda").ida_star
    *_, expected = processor.search_many(boards)
    *_, found = card.search_many(boards)
    assert found.lengths.tolist() == expected.lengths.tolist()
    for row in range(len(boards)):
        assert node_counts(found.iterations(row)[:-1]) == node_counts(expected.iterations(row)[:-1])
        assert len(found.result(row).moves or ()) == expected.lengths[row]


def test_boards_that_are_their_own_image_have_the_counts_of_the_processor(
    database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Together, and alone: only some of their first moves are searched."""
    processor, card = Solver(database), Solver(database, device="cuda")
    boards = [(1, 2, 3, 4, 0, 8, 7, 6, 5), (0, 4, 3, 2, 1, 8, 7, 6, 5), (1, 8, 2, 6, 0, 3, 4, 7, 5)]
    for least in (1, 2):
        monkeypatch.setattr(search_module, "_LEAST_BOARDS", least)
        for board in boards:
            expected, found = processor.solve(board), card.solve(board)
            assert found.length == expected.length
            assert node_counts(found.thresholds[:-1]) == node_counts(expected.thresholds[:-1])


@pytest.mark.usefixtures("short_launches")
@pytest.mark.parametrize(("names", "size", "n_moves"), rows("555 | 4x4 | 30\n1,2,5/3,4,6/7,8 | 3x3 | 60"))
def test_hard_board_continues_on_the_card_from_a_checkpoint(
    names: str, size: str, n_moves: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A threshold that is begun on the processor, divided or not, has the same nodes, however often it is paused."""
    divide_early(monkeypatch, 50, 5_000, 0.3)
    opened = databases(names, size)
    board = walked(opened[0].goal, parse_size(size), int(n_moves), np.random.default_rng(2))
    processor, card = Solver(*opened), Solver(*opened, device="cuda")
    expected, whole, checkpoint, n_runs = processor.solve(board), card.solve(board), Checkpoint(), 0
    paused = None
    while paused is None or not paused.optimal:
        n_runs += 1
        generated = sum(at.generated for at in checkpoint.finished)
        paused = card.solve(board, limits=Limits(max_nodes=generated + 120 * n_runs), checkpoint=checkpoint)
    assert n_runs > 1
    for found in (whole, paused):
        assert found.length == expected.length
        assert node_counts(found.thresholds[:-1]) == node_counts(expected.thresholds[:-1])


@pytest.mark.usefixtures("short_launches")
def test_search_that_has_found_a_solution_continues_as_one_that_has_not(monkeypatch: pytest.MonkeyPatch) -> None:
    """Its checkpoint notes only subtrees that were searched."""
    divide_early(monkeypatch, 1, 5_000, 0.1)
    monkeypatch.setattr(launches_module, "_LAUNCH_S", 1e9)
    (database,) = databases("1,2,3/4,5,6/7,8", "3x3")
    processor, card = Solver(database), Solver(database, device="cuda")
    board, checkpoint = walked(database.goal, database.size, 60, np.random.default_rng(3)), Checkpoint()
    found = [solver.solve(board, checkpoint=checkpoint) for solver in (card, card, processor)]
    assert [solution.length for solution in found] == [processor.solve(board).length] * 3


def test_labels_are_those_of_the_processor(database: Database) -> None:
    boards = near_boards(database, 3, 12)
    boards[2, [0, 1]] = boards[2, [1, 0]]  # cannot be solved
    expected, found = Solver(database).label(boards), Solver(database, device="cuda").label(boards)
    for name in ("distances", "first_moves", "after"):
        np.testing.assert_array_equal(getattr(found, name), getattr(expected, name))


def test_board_that_is_too_hard_for_many_is_searched_alone(database: Database, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(search_module, "_MOST_NODES", 100)
    boards = [near_boards(database, 2, 4)[1], *random_boards("3x3", n_boards=1, seed=5)]
    expected, found = (Solver(database, device=device).solve_many(boards, moves=True) for device in ("cpu", "cuda"))
    np.testing.assert_array_equal(found.lengths, expected.lengths)
    assert found.moves is not None
    assert found.moves.shape[1] == expected.lengths.max()
    # The checkpoints are those of the boards that are left.
    monkeypatch.setattr("solver.engine.stack._SLICE_NODES", 200)
    checkpoints = [Checkpoint() for _ in boards]
    list(Solver(database, device="cuda").solve_batch(boards, checkpoints=checkpoints.__getitem__))
    assert [bool(checkpoint.finished) for checkpoint in checkpoints] == [False, True]


def test_distances_of_units_are_those_of_the_processor() -> None:
    for names, size, n_moves in (("555", "4x4", 200), ("triples", "5x5", 200), ("1,2,3/4,5", "2x3", 30)):
        (database,) = databases(names, size)
        engine = Solver(database).ida_star.engine
        boards = near_boards(database, 4, n_moves)
        values = database.probe_batch(boards).values
        units = distinct_units(engine.sums).values()
        expected = np.stack([values[:, unit.view, unit.pattern] for unit in units], axis=1)
        np.testing.assert_array_equal(CardTables(engine).distances(boards), expected)


def test_damaged_table_is_reported(database: Database, monkeypatch: pytest.MonkeyPatch) -> None:
    """Walks that end nowhere, and a search that ends elsewhere than at the goal."""
    monkeypatch.setattr(launches_module, "_SHARES", ((float("inf"), 1 << 20),))
    boards = near_boards(database, 12, 12)
    roots = CardIdaStar(engine_for([database]).engine).roots(boards)
    with with_table_bytes(database, np.zeros_like(database.lookup_tables.memory)) as damaged:
        card = CardIdaStar(engine_for([damaged]).engine)
        with pytest.raises(TableFileDamagedError):
            card.roots(boards[-1:])
        with pytest.raises(TableFileDamagedError):
            list(card.search_many(roots.within(np.array([11]), roots.thresholds[[11]])))


def test_tables_that_a_card_cannot_search_are_refused() -> None:
    with pytest.raises(InputError, match=r"additive tables in bits .* use the processor"):
        Solver(database_for("555", "4x4", encoding="bytes"), device="cuda")


def test_command_solves_and_labels_on_the_card(database: Database, tmp_path: Path) -> None:
    board = "1 2 3/4 0 6/7 5 8"
    (answer,) = records("solve", "--db", str(database.path), "--device", "cuda", board)
    assert (answer["length"], answer["moves"], answer["optimal"]) == (2, [5, 8], True)
    contents = []
    for device in ("cpu", "cuda"):
        out = tmp_path / f"{device}.npz"
        pdb("label", "--db", str(database.path), "--device", device, "--random", "3", "--walks", "8", "--out", str(out))
        with np.load(out) as arrays:
            contents.append({name: arrays[name].tolist() for name in arrays if arrays[name].dtype.kind in "iu"})
    assert contents[0] == contents[1]
