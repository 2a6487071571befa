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
    board = list(record["board"])
    cells = {tile: cell for cell, tile in enumerate(board)}

    def row_text(row: int) -> str:
        return " ".join(map(word, board[row * width : (row + 1) * width])) + "\n"

    rows = [row_text(row) for row in range(len(board) // width)]
    yield "".join(rows)
    for tile in record["moves"]:
        blank, cell = cells[0], cells[tile]
        board[blank], board[cell] = tile, 0
        cells[tile], cells[0] = blank, cell
        # Boards can be large: only the rows of the move change.
        for row in {blank // width, cell // width}:
            rows[row] = row_text(row)
        yield "".join(rows)
