"""The fit of the values that rank boards: the same values on every machine."""

import hashlib
from pathlib import Path

import numpy as np
import pytest

from scripts import fit_values


@pytest.mark.slow
def test_two_small_rounds_make_the_same_values(tmp_path: Path) -> None:
    out = tmp_path / "values.npz"
    fit_values.main(str(out), ((4, 100, False, 10_000, 0.05), (5, 100, True, 10_000, 0.05)))
    with np.load(out) as file:
        values = b"".join(file[name].tobytes() for name in ("singles", "classes"))
    assert hashlib.sha256(values).hexdigest() == "8b25169244ec95420e896ab6c3ce3206c25800e2e385beb0a00241a29c4b3999"
