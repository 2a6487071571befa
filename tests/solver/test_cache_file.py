"""Arrays in the cache folder."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from solver.cache_file import cached_array
from solver.heuristics import walking_distance


@pytest.mark.tiny
def test_array_is_loaded_or_computed_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """If it is damaged, or in a folder that cannot be made, it is computed."""
    monkeypatch.setenv("TILE_PDB_CACHE", str(tmp_path))
    computed: list[str] = []

    def array(name: str) -> list[int]:
        def compute() -> Any:
            computed.append(name)
            return np.full(3, len(name), dtype=np.uint8)

        return cached_array(name, walking_distance.__file__, np.uint8, compute).tolist()

    assert [array("a"), array("a"), array("bb")] == [[1, 1, 1], [1, 1, 1], [2, 2, 2]]
    assert computed == ["a", "bb"]
    kept = min(tmp_path.iterdir())
    sound = kept.read_bytes()
    for damaged in (b"", sound[:-1], sound[:-1] + b"\x02"):
        kept.write_bytes(damaged)
        assert array("a") == [1, 1, 1]
        assert kept.read_bytes() == sound
    monkeypatch.setenv("TILE_PDB_CACHE", str(kept / "no folder"))
    assert array("a") == [1, 1, 1]
    assert computed[2:] == 4 * ["a"]
