"""Files of solutions position by position (docs/files.md)."""

from collections.abc import Callable, Iterable, Iterator
from typing import IO

from tilepdb.commands.output import Record


def positions_written(records: Iterable[Record], file: IO[str], word: Callable[[int], str] = str) -> Iterator[Record]:
    """Yield the records, and write the solution of each to `file`; `word` returns the name of a tile."""
    for number, record in enumerate(records):
        if number:
            file.write("\n")
        if not record["solvable"]:
            file.write("NO SOLUTION\n")
        elif record["length"] is None:
            file.write("NO ANSWER\n")
        else:
            file.write(f"{record['length']}\n")
            for step, position in enumerate(_positions(record, word)):
                file.write(f"\n{position}" if step else position)
        yield record


def _positions(record: Record, word: Callable[[int], str]) -> Iterator[str]:
    """Yield the board after each move as rows of tiles; the first and the last board included."""
    width = int(record["size"].partition("x")[0])
    words = list(map(word, record["board"]))
    cells = {tile: cell for cell, tile in enumerate(record["board"])}

    def rows() -> str:
        return "".join(" ".join(words[start : start + width]) + "\n" for start in range(0, len(words), width))

    yield rows()
    for tile in record["moves"]:
        blank, cell = cells[0], cells[tile]
        words[blank], words[cell] = words[cell], words[blank]
        cells[tile], cells[0] = blank, cell
        yield rows()
