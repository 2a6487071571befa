"""Inputs for fuzz tests that are nearly valid, and checks of error messages.

conftest.py defines the profile `fuzz`: the same examples in each run; with --slow, sixty times as many, different ones
in each run.
"""

import time
import tracemalloc
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TypeVar

from hypothesis import settings, strategies as st

from pdb_core.board_size import BoardSize
from pdb_core.errors import PdbError
from pdb_core.puzzle import Tiles, format_board

Parsed = TypeVar("Parsed")

fuzz = settings.get_profile("fuzz")

_MAX_SENTENCE = 1000

# Pieces that are difficult for parsers: almost numbers, Unicode whitespace and line ends, quotes, brackets, controls.
ODD_PIECES = (
    "", " ", "\t", "\n", "\r", "\r\n", "\0", "\x1b[31m", "\x7f", "\x85", "\xa0", "\ufeff", "\u2028", "\u202e",
    "\U0001f600", "\ud800", "\udcff", "\uff11", "\xb2", "\u0661", "-1", "+1", "00", "1.0", "1e999", "0x1", "1_0",
    "9223372036854775808", "9" * 400, "/", "//", ",", ";", ":", "#", "'", '"', "\\", "(", "[", "]", "{", "}", "null",
    "NaN", "max(", "%s", "{0}", "_", "..", "*", "-", "|", "&", "?", "<",
)  # fmt: skip

SIZES = st.builds(BoardSize, st.integers(2, 6), st.integers(2, 6))


def sentence(error: PdbError) -> str:
    """Return the message of an error, and check that it is one printable line that is not too long."""
    text = str(error)
    assert text, repr(error)
    assert text.isprintable(), text
    assert len(text) <= _MAX_SENTENCE, text
    return text


def outcome(parse: Callable[[], Parsed], patience_s: float = 10.0) -> Parsed | None:
    """Return the parsed value, or None if it was rejected by a `PdbError` with a one-line message.

    Fails after `patience_s` seconds of processor time, which other work on the machine does not change.
    """
    started = time.thread_time()
    try:
        return parse()
    except PdbError as error:
        sentence(error)
        return None
    finally:
        assert time.thread_time() - started < patience_s


@contextmanager
def little_memory(n_bytes: int) -> Iterator[None]:
    """Allow less than `n_bytes` of Python's memory."""
    tracemalloc.start()
    try:
        yield
        assert tracemalloc.get_traced_memory()[1] < n_bytes
    finally:
        tracemalloc.stop()


@st.composite
def boards(draw: st.DrawFn, size: BoardSize | None = None) -> tuple[Tiles, BoardSize]:
    """Draw boards, solvable or not; without a size, of up to 6x6."""
    size = size or draw(SIZES)
    return tuple(draw(st.permutations(range(size.n_cells)))), size


def board_texts(size: BoardSize) -> st.SearchStrategy[str]:
    return boards(size).map(lambda drawn: format_board(*drawn))


@st.composite
def mutated(draw: st.DrawFn, valid: st.SearchStrategy[str]) -> str:
    """Draw valid text with up to four pieces replaced, doubled or exchanged."""
    text = draw(valid)
    for _ in range(draw(st.integers(0, 4))):
        first, last = sorted((draw(st.integers(0, len(text))), draw(st.integers(0, len(text)))))
        changed = (
            text[:first] + draw(st.sampled_from(ODD_PIECES)) + text[last:],
            text[:last] + text[first:],
            text[last:] + text[first:last] + text[:first],
        )
        text = draw(st.sampled_from(changed))
    return text
