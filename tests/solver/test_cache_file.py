"""Arrays in the cache folder."""

from pathlib import Path
from unittest.mock import Mock

import numpy as np
import pytest

from solver.cache_file import cached_array
from solver.heuristics import walking_distance


@pytest.mark.tiny
def test_array_is_loaded_or_computed_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """If it is damaged, or in a folder that cannot be made, it is computed."""
    compute = Mock(return_value=np.arange(3, dtype=np.uint8))

    def array(folder: Path = tmp_path) -> list[int]:
        monkeypatch.setenv("TILE_PDB_CACHE", str(folder))
        return cached_array("a", walking_distance.__file__, np.uint8, compute).tolist()

    assert array() == array() == [0, 1, 2]
    (kept,) = tmp_path.iterdir()
    sound = kept.read_bytes()
    for damaged in (b"", sound[:-1], sound[:-1] + b"\x07"):
        kept.write_bytes(damaged)
        assert array() == [0, 1, 2]
        assert kept.read_bytes() == sound
    assert array(kept / "no folder") == [0, 1, 2]
    assert compute.call_count == 5
