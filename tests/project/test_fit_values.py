"""The fit of the values that rank boards: the same values on every machine."""

import hashlib
from pathlib import Path

import numpy as np
import pytest

from pdb_core.board_size import BoardSize
from pdb_core.puzzle import blank_last
from scripts import fit_values
from solver.beams.fitted_values import embedding
from solver.beams.pieces import in_pieces
from solver.beams.solutions import fitted_aim
from tests.solving import solvable_boards


@pytest.mark.slow
def test_two_small_rounds_make_the_same_values(tmp_path: Path) -> None:
    out = tmp_path / "values.npz"
    fit_values.main(str(out), ((4, 100, False, 10_000, 0.05), (5, 100, True, 10_000, 0.05)))
    with np.load(out) as file:
        values = b"".join(file[name].tobytes() for name in ("singles", "classes"))
    assert hashlib.sha256(values).hexdigest() == "8b25169244ec95420e896ab6c3ce3206c25800e2e385beb0a00241a29c4b3999"


def test_strays_are_boards_with_solutions() -> None:
    size = BoardSize(6, 6)
    board = in_pieces(solvable_boards(size, 1, 2)[0], blank_last(size))
    strays = fit_values.solve_strays(board, fitted_aim(embedding(size, range(6), range(6))), 100, 1, width=100)
    assert strays
    for path in strays:
        assert sorted(path[0]) == path[-1].tolist() == list(range(36))
