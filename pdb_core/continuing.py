"""Work that another run began: it is continued only with the settings that it was begun with."""

import json
from pathlib import Path
from typing import Any

from pdb_core.errors import CheckpointMismatchError
from pdb_core.messages import as_typed

# Names and JSON values.
Settings = dict[str, Any]


def check_settings(path: Path, found: Settings, given: Settings, advice: str) -> None:
    """Raise `CheckpointMismatchError` if the settings of the work in `path` are not those given.

    `advice` is what else to do.
    """
    difference = _first_difference(found, given)
    if difference is not None:
        raise CheckpointMismatchError(
            f"{path} is of another command: {difference}; give the same options to continue, or {advice}"
        )


def _first_difference(found: Settings, given: Settings, prefix: str = "") -> str | None:
    """Return the first difference of settings as `NAME there, not here`; None if they are equal."""
    for name in found | given:
        there, here = found.get(name), given.get(name)
        if isinstance(there, dict) and isinstance(here, dict):
            nested = _first_difference(there, here, f"{prefix}{name} ")
            if nested is not None:
                return nested
        elif there != here:
            return f"{as_typed(prefix + name)} {_shown(there)}, not {_shown(here)}"
    return None


def _shown(value: Any) -> str:
    if isinstance(value, list):
        # Digests, whose first digits tell them apart.
        value = " ".join(str(item)[:8] for item in value)
    return "none" if value is None else as_typed(value if isinstance(value, str) else json.dumps(value), 60)
