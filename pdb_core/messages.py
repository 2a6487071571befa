"""How messages quote what somebody typed, a sentence staying readable however long that is; sizes for people."""

from collections.abc import Sequence

_SHOWN_CHARACTERS = 80
_SHOWN_NUMBERS = 8
_ELLIPSIS = "..."
# The end is kept too: it tells files apart, and shows where a list stops.
_END_CHARACTERS = 30


def shorten(text: str, n_characters: int = _SHOWN_CHARACTERS) -> str:
    """The text itself where it is short, else its beginning and its end, `n_characters` in all.

    >>> shorten("1,2,3,4,5,6,7,8,9,10,11,12,13,14,15/16,17,18,19,20,21,22,23,24", 40)
    '1,2,3,4,5,6,7,8,9...18,19,20,21,22,23,24'
    """
    if len(text) <= n_characters:
        return text
    n_end = min(_END_CHARACTERS, n_characters // 2)
    return text[: n_characters - len(_ELLIPSIS) - n_end] + _ELLIPSIS + text[-n_end:]


def as_typed(text: str, n_characters: int = _SHOWN_CHARACTERS) -> str:
    """What somebody typed, shortened, on one line."""
    # Escapes are longer than what they stand for.
    return shorten(one_line(shorten(text, n_characters)), n_characters)


def one_line(text: str) -> str:
    """`text` with escapes for line ends and controls: a message is one line, and must not steer the terminal.

    >>> print(one_line("a\\nb.csv"))
    a\\nb.csv
    """
    if text.isprintable():
        return text
    return "".join(at if at.isprintable() else at.encode("unicode_escape").decode() for at in text)


def listed(numbers: Sequence[int]) -> str:
    """The first numbers of a list, with commas between, and dots where there are more.

    >>> listed([1, 2, 3])
    '1, 2, 3'
    """
    return ", ".join(map(str, numbers[:_SHOWN_NUMBERS])) + (", ..." if len(numbers) > _SHOWN_NUMBERS else "")


def format_bytes(n_bytes: float) -> str:
    """A size for people, in decimal units."""
    for unit in ("B", "kB", "MB", "GB"):
        if n_bytes < 1000:
            return f"{n_bytes:.0f} {unit}" if unit in ("B", "kB") else f"{n_bytes:.1f} {unit}"
        n_bytes /= 1000
    return f"{n_bytes:.1f} TB"
