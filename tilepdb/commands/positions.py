"""Files of solutions position by position (docs/files.md)."""

from collections.abc import Callable, Iterable, Iterator
from typing import IO

from tilepdb.commands.output import Record


def positions_written(records: Iterable[Record], file: IO[str], word: Callable[[int], str]) -> Iterator[Record]:
    """Yield the records, and write the solution of each to `file`; `word` returns the name of a tile."""
    from pdb_core.board_size import parse_size
    from solver.solution import played

    for number, record in enumerate(records):
        if number:
            file.write("\n")
        if not record["solvable"]:
            file.write("NO SOLUTION\n")
        elif record["length"] is None:
            file.write("NO ANSWER\n")
        else:
            file.write(f"{record['length']}\n")
            size = parse_size(record["size"])
            for step, cells in enumerate(played(record["board"], record["moves"], tuple(record["goal"]), size)):
                if step:
                    file.write("\n")
                for start in range(0, size.n_cells, size.width):
                    file.write(" ".join(map(word, cells[start : start + size.width])) + "\n")
        yield record
