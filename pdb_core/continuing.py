"""Work that another run began: it is continued only with the settings that it was begun with."""

import json
from pathlib import Path
from typing import Any

from pdb_core.errors import CheckpointMismatchError
from pdb_core.messages import as_typed

# Names and JSON values.
Settings = dict[str, Any]


def check_settings(path: Path, found: Settings, given: Settings, advice: str) -> None:
    """Raise `CheckpointMismatchError`, with the first difference, if the settings of the work in `path` are not those
    given. `advice` is what else to do.
    """
    there, here = _flat(found), _flat(given)
    for name in there | here:
        if there.get(name) != here.get(name):
            raise CheckpointMismatchError(
                f"{path} is of another command: {as_typed(name)} {_shown(there.get(name))}, not "
                f"{_shown(here.get(name))}; give the same options to continue, or {advice}"
            )


def _flat(settings: Settings, prefix: str = "") -> Settings:
    """Return settings in which the names of nested ones follow the name of the object that they are in."""
    flat: Settings = {}
    for name, value in settings.items():
        flat |= _flat(value, f"{prefix}{name} ") if isinstance(value, dict) else {prefix + name: value}
    return flat


def _shown(value: Any) -> str:
    if isinstance(value, list):
        # Digests, whose first digits tell them apart.
        value = " ".join(str(item)[:8] for item in value)
    return "none" if value is None else as_typed(value if isinstance(value, str) else json.dumps(value), 60)
