"""Kernels that read boards from lines of JSON and write answers as JSON.

They read only lists of numbers such as `[1, 2, 3]`. `batches` reads all other lines and reports errors.
"""

from typing import Any

import numpy as np

from pdb_core.jit import kernel

_NEW_LINE, _RETURN, _BLANK, _TAB, _COMMA, _OPEN, _CLOSE = 10, 13, 32, 9, 44, 91, 93
_ZERO, _NINE = 48, 57
# Parts of `{"h":3,"sums":[2,3]}`, and the answer for a board that cannot be solved.
_HEAD = np.frombuffer(b'{"h":', dtype=np.uint8)
_SUMS = np.frombuffer(b',"sums":[', dtype=np.uint8)
_TAIL = np.frombuffer(b"]}", dtype=np.uint8)
_UNSOLVABLE = np.frombuffer(b'{"h":null,"solvable":false}', dtype=np.uint8)
_NUMBER_BYTES = 6


def answer_bytes(n_sums: int) -> int:
    """Return the maximum number of bytes of an answer and the byte after it."""
    numbers = (n_sums + 1) * (_NUMBER_BYTES + 1)
    return max(len(_HEAD) + len(_SUMS) + len(_TAIL) + numbers, len(_UNSOLVABLE) + 1)


@kernel
def is_space(character: int) -> bool:
    """Return whether a character is whitespace of JSON within a line."""
    return character in (_BLANK, _TAB, _RETURN)


@kernel
def count_lines(text: Any) -> int:
    """Return the number of lines with more than whitespace; text: uint8[n]."""
    n_lines = 0
    is_blank = True
    for at in range(len(text)):
        if text[at] == _NEW_LINE:
            is_blank = True
        elif is_blank and not is_space(text[at]):
            n_lines += 1
            is_blank = False
    return n_lines


@kernel
def find_lines(text: Any, starts: Any, ends: Any) -> None:
    """Write the starts and ends of lines with more than whitespace (int64[n_lines], mutated)."""
    n_lines = 0
    is_blank = True
    for at in range(len(text)):
        if text[at] == _NEW_LINE:
            if not is_blank:
                ends[n_lines - 1] = at
            is_blank = True
        elif is_blank and not is_space(text[at]):
            starts[n_lines] = at
            n_lines += 1
            is_blank = False
    if not is_blank:
        ends[n_lines - 1] = len(text)


@kernel
def parse_lines(text: Any, starts: Any, ends: Any, rows: Any, is_read: Any) -> None:
    """Read the lines that are boards as lists of numbers.

    starts, ends  int64[m]           see `find_lines`
    rows          uint8[m, n_cells]  mutated: the boards
    is_read       uint8[m]           mutated: 1 if the line was such a board
    """
    n_cells = rows.shape[1]
    for line in range(len(starts)):
        at, end = starts[line], ends[line]
        is_read[line] = 0
        if text[at] != _OPEN:
            continue
        at += 1
        seen = 0
        n_tiles = 0
        is_good = True
        while is_good:
            while at < end and is_space(text[at]):
                at += 1
            first = at
            tile = 0
            while at < end and _ZERO <= text[at] <= _NINE and at < first + 3:
                tile = 10 * tile + int(text[at]) - _ZERO
                at += 1
            # JSON has no leading zeros.
            is_good = at > first and tile < n_cells and n_tiles < n_cells and (text[first] != _ZERO or at == first + 1)
            if not is_good:
                break
            is_good = (seen >> tile) & 1 == 0
            seen |= 1 << tile
            rows[line, n_tiles] = tile
            n_tiles += 1
            while at < end and is_space(text[at]):
                at += 1
            if at >= end or (text[at] != _COMMA and text[at] != _CLOSE):
                is_good = False
            elif text[at] == _CLOSE:
                at += 1
                break
            else:
                at += 1
        while at < end and is_space(text[at]):
            at += 1
        is_read[line] = is_good and at == end and n_tiles == n_cells


@kernel
def write_bytes(source: Any, text: Any, at: int) -> int:
    """Copy bytes to `text` from `at` on. Return their end."""
    for i in range(len(source)):
        text[at + i] = source[i]
    return at + len(source)


@kernel
def write_number(number: int, text: Any, at: int) -> int:
    """Write a number from 0 to 32767. Return its end."""
    n_digits = 1
    rest = number
    while rest >= 10:
        rest //= 10
        n_digits += 1
    rest = number
    for i in range(n_digits):
        text[at + n_digits - 1 - i] = _ZERO + rest % 10
        rest //= 10
    return at + n_digits


@kernel
def write_answers(maximum: Any, sums: Any, end: int, text: Any, offsets: Any) -> None:
    """Write the answers for boards, each followed by the byte `end`.

    maximum, sums  int16[m], int16[m, s]  see `BatchProbe`
    text           uint8[m * answer_bytes(s)]  mutated
    offsets        int64[m + 1]           mutated: the start of each answer, and the end of the last
    """
    at = 0
    for row in range(len(maximum)):
        offsets[row] = at
        if maximum[row] < 0:
            at = write_bytes(_UNSOLVABLE, text, at)
        else:
            at = write_bytes(_HEAD, text, at)
            at = write_number(int(maximum[row]), text, at)
            at = write_bytes(_SUMS, text, at)
            for s in range(sums.shape[1]):
                if s > 0:
                    text[at] = _COMMA
                    at += 1
                at = write_number(int(sums[row, s]), text, at)
            at = write_bytes(_TAIL, text, at)
        text[at] = end
        at += 1
    offsets[len(maximum)] = at
