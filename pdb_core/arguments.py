"""Arguments of public functions: each is converted here, or refused with a sentence (`InputError`).

Sizes, goals and boards are converted in `pdb_core.puzzle`, databases in `pdb_query.database`, limits in
`solver.progress`, and heuristics in `solver.heuristics.heuristic`.
"""

import math
import operator
import os
from collections.abc import Callable, Collection, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from pdb_core.errors import InputError
from pdb_core.messages import as_typed, did_you_mean

FilePath = str | os.PathLike[str]
# Kernels count in words of 64 bits.
_MOST = (1 << 63) - 1
_MOST_THREADS = 1024


def shown(value: object) -> str:
    """Return a value for a message: on one line and shortened.

    >>> shown("a\\nb")
    "'a\\\\nb'"
    """
    try:
        return as_typed(repr(value), 40)
    except ValueError:  # a number of thousands of digits
        return f"a {type(value).__name__}"


def refusal(value: object, name: str, wanted: str) -> InputError:
    """Return the error for an argument; `wanted` is what to give instead."""
    return InputError(f"{name} is {shown(value)}; give {wanted}")


def as_count(value: Any, name: str, least: int = 0, most: int = _MOST) -> int:
    """Return a whole number from `least` to `most`. Raises `InputError`."""
    try:
        number = least - 1 if isinstance(value, bool) else operator.index(value)
    except TypeError:
        number = least - 1
    if not least <= number <= most:
        upper = f" to {most:,}" if most < _MOST or number > most else " on"
        raise refusal(value, name, f"a whole number from {least:,}{upper}")
    return number


def as_number(value: Any, name: str, least: float = 0.0, most: float = math.inf) -> float:
    """Return a number from `least` to `most`. Raises `InputError`."""
    try:
        number = math.nan if isinstance(value, str | bytes) else float(value)
    except (TypeError, ValueError, OverflowError):
        number = math.nan
    if not least <= number <= most:
        raise refusal(value, name, f"a number from {least:g}" + (f" to {most:g}" if most < math.inf else " on"))
    return number


def as_threads(n_threads: Any, name: str = "n_threads") -> int:
    """Return a number of threads, by default all cores. Raises `InputError`."""
    from pdb_core.resources import available_cores

    return available_cores() if n_threads is None else as_count(n_threads, name, 1, _MOST_THREADS)


def as_path(path: Any, name: str = "path") -> Path:
    """Return the path of a file. Raises `InputError`."""
    text = os.fspath(path) if isinstance(path, str | os.PathLike) else path
    if not isinstance(text, str) or not text or "\0" in text:
        raise refusal(path, name, "the path of a file")
    return Path(text)


def as_choice(value: Any, name: str, choices: Iterable[str]) -> Any:
    """Return one of some words. Raises `InputError`."""
    if not isinstance(value, str) or value not in choices:
        raise refusal(value, name, f"one of {', '.join(choices)}{did_you_mean(value, choices)}")
    return value


def as_names(value: Any, name: str) -> tuple[str, ...]:
    """Return names, given as one string or several. Raises `InputError`."""
    return as_all(value, str, name, "a name, or several")


def as_all(value: Any, kind: Any, name: str, wanted: str) -> tuple[Any, ...]:
    """Return items of one kind, given as one or several. Raises `InputError`."""
    items = (value,) if isinstance(value, kind) else value
    if not isinstance(items, Collection) or not all(isinstance(item, kind) for item in items):
        raise refusal(value, name, wanted)
    return tuple(items)


def check_kind(value: Any, kind: Any, name: str, wanted: str) -> None:
    """Raise `InputError` for an object of another kind."""
    if not isinstance(value, kind):
        raise refusal(value, name, wanted)


def as_function(function: Any, name: str) -> Callable[..., Any]:
    """Return a function; for None, one that does nothing. Raises `InputError`."""
    check_functions(**{name: function})
    return function or (lambda *_: None)


def check_functions(**functions: Any) -> None:
    """Raise `InputError` for the first argument that is neither None nor a function."""
    for name, function in functions.items():
        if function is not None and not callable(function):
            raise refusal(function, name, "a function, or None")


@contextmanager
def located(where: str) -> Iterator[None]:
    """Begin the message of an `InputError` with the place of the input."""
    try:
        yield
    except InputError as error:
        raise type(error)(f"{where}: {error}") from None
