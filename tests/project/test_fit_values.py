"""The fit of the values that rank boards: the same values on every machine."""

import hashlib
from pathlib import Path

import numpy as np
import pytest

from scripts import fit_values


@pytest.mark.slow
def test_two_small_rounds_make_the_same_values(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    out = tmp_path / "values.npz"
    monkeypatch.setattr("sys.argv", ["fit_values", str(out)])
    monkeypatch.setattr(fit_values, "_ROUNDS", ((4, 100, False, 10_000, 0.05), (5, 100, True, 10_000, 0.05)))
    fit_values.main()
    with np.load(out) as file:
        values = b"".join(file[name].tobytes() for name in ("singles", "classes"))
    assert hashlib.sha256(values).hexdigest() == "8fa27b19ad216aae00b035532cb94718001725e8f8a4eac34cb4f302d8630b2c"
