"""JSON of the answers."""

from typing import Any

import orjson

from pdb_core.puzzle import Board


def json_text(value: Any) -> bytes:
    """Return a value as JSON in UTF-8. Boards become lists: orjson takes plain tuples only."""
    return orjson.dumps(value, default=_plain)


def _plain(value: Any) -> tuple[int, ...]:
    if isinstance(value, Board):
        return tuple(value)
    raise TypeError(f"{type(value).__name__} has no form in JSON")
