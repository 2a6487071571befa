"""The search on a card, in numba's simulator; and what a machine without a card says."""

import os
import subprocess
import sys
from unittest.mock import Mock

import pytest

from pdb_core.errors import InputError
from solver import Solver
from solver.cuda import card
from tests import ROOT, rows
from tests.command_line import pdb, refused
from tests.solving import database_for


def test_search_in_the_simulator_has_the_counts_of_the_processor() -> None:
    """In a process of its own: the simulator takes the place of numba's CUDA when that is imported."""
    program = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "tests/solver/on_card.py"]
    # Unsigned numbers wrap around on a card; there Python warns.
    program += ["-W", "ignore:overflow encountered:RuntimeWarning"]
    ended = subprocess.run(
        program, cwd=ROOT, env=os.environ | {"NUMBA_ENABLE_CUDASIM": "1"}, capture_output=True, text=True, check=False
    )
    assert ended.returncode == 0, ended.stdout[-3000:] + ended.stderr[-1000:]


# What is there: the package, the driver, cards | what is said.
MISSING = """
0 | 0 | 0 | needs numba-cuda, which is not installed; use the processor, or in the clone
1 | 0 | 0 | the driver of NVIDIA cards was not found; install it
1 | 1 | 0 | no NVIDIA card was found; look at CUDA_VISIBLE_DEVICES
"""


@pytest.mark.parametrize(("package", "driver", "n_cards", "said"), rows(MISSING))
def test_missing_card_is_named_in_a_sentence(
    package: str, driver: str, n_cards: str, said: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    from numba.cuda.cudadrv.error import CudaSupportError

    class Cards:
        def __len__(self) -> int:
            if driver == "0":
                raise CudaSupportError("no driver")
            return int(n_cards)

    monkeypatch.setattr(card, "find_spec", lambda _: package == "1" or None)
    monkeypatch.setattr("solver.cuda.dialect.cuda", Mock(gpus=Cards()))
    with database_for("555", "4x4", encoding="bits") as database, pytest.raises(InputError, match=said):
        Solver(database, device="cuda")
    for command in ("solve", "label --random 1 --out x.npz", "bench"):
        refused(pdb(*command.split(), "--device", "cuda"), 2, said)


def test_cluster_and_other_algorithms_refuse_a_card(monkeypatch: pytest.MonkeyPatch) -> None:
    import tilepdb

    monkeypatch.setattr(card, "check_card", lambda: None)
    refused(pdb("solve", "--device", "cuda", "--scheduler", "tcp://127.0.0.1:1"), 2, "--device or --scheduler")
    with pytest.raises(InputError, match="a card searches by ida-star with tables"):
        tilepdb.solve("1 2 3/4 5 6/7 0 8", heuristic="manhattan", device="cuda")
