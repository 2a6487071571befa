"""Text of messages: quoted input, shortened and on one line; lists; sizes."""

import difflib
from collections.abc import Iterable, Sequence
from typing import Any

_SHOWN_CHARACTERS = 80
_SHOWN_NUMBERS = 8
# The end is kept too: it distinguishes files, and shows where a list stops.
_END_CHARACTERS = 30


def shorten(text: str, n_characters: int = _SHOWN_CHARACTERS) -> str:
    """Return a short text as it is, a long one as its beginning and its end, `n_characters` in all.

    >>> shorten("1,2,3,4,5,6,7,8,9,10,11,12,13,14,15/16,17,18,19,20,21,22,23,24", 40)
    '1,2,3,4,5,6,7,8,9...18,19,20,21,22,23,24'
    """
    if len(text) <= n_characters:
        return text
    n_end = min(_END_CHARACTERS, n_characters // 2)
    return f"{text[: n_characters - 3 - n_end]}...{text[-n_end:]}"


def as_typed(text: str, n_characters: int = _SHOWN_CHARACTERS) -> str:
    """Return input of a user, shortened, on one line."""
    # Escapes are longer than the characters that they replace.
    return shorten(one_line(shorten(text, n_characters)), n_characters)


def one_line(text: str) -> str:
    """Return `text` with escapes for line ends and control characters, which could steer the terminal.

    >>> print(one_line("a\\nb.csv"))
    a\\nb.csv
    """
    if text.isprintable():
        return text
    return "".join(at if at.isprintable() else at.encode("unicode_escape").decode() for at in text)


class ShortRepr:
    """Base of dataclasses with arrays and long tuples: `repr` shows the types and shapes of arrays, on one line."""

    def __repr__(self) -> str:
        return f"{type(self).__name__}({', '.join(f'{name}={_brief(of)}' for name, of in vars(self).items())})"


def _brief(value: Any) -> str:
    if hasattr(value, "shape"):
        return f"{value.dtype}[{', '.join(map(str, value.shape))}]"
    return shorten(repr(value))


def listed(numbers: Sequence[int]) -> str:
    """Return the first numbers of a list, separated by commas, with dots if there are more.

    >>> listed([1, 2, 3])
    '1, 2, 3'
    """
    return ", ".join(map(str, numbers[:_SHOWN_NUMBERS])) + (", ..." if len(numbers) > _SHOWN_NUMBERS else "")


def did_you_mean(name: object, known: Iterable[str]) -> str:
    """Return a question with the nearest known names, to follow a message; nothing if none is near.

    Those that begin with the name are near; otherwise one that is spelled much like it.

    >>> did_you_mean("snial", ["blank-last", "snail"])
    '; did you mean snail?'
    >>> did_you_mean("tile", ["tiles", "blank", "tile-directions"])
    '; did you mean tiles or tile-directions?'
    """
    if not name or not isinstance(name, str):
        return ""
    known = list(known)
    near = [other for other in known if other.startswith(name)][:3] or difflib.get_close_matches(name[:40], known, n=1)
    return f"; did you mean {' or '.join(near)}?" if near else ""


def how_to_install(extra: str) -> str:
    """Return what to do if a package of an extra is missing: tile-pdb is on no package index."""
    return f"in the clone of tile-pdb, install the extra {extra}, for example with pip install '.[{extra}]'"


def format_bytes(n_bytes: float) -> str:
    """Return a size in decimal units."""
    for unit in ("B", "kB", "MB", "GB"):
        if n_bytes < 1000:
            return f"{n_bytes:.0f} {unit}" if unit in ("B", "kB") else f"{n_bytes:.1f} {unit}"
        n_bytes /= 1000
    return f"{n_bytes:.1f} TB"
