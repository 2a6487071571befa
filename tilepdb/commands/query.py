"""`pdb query`: lookups of boards in databases."""

from collections.abc import Iterator
from itertools import groupby
from typing import TYPE_CHECKING

from pdb_core.errors import UnsolvableError
from tilepdb.commands.board_input import read_boards
from tilepdb.commands.opened_tables import OpenDatabases
from tilepdb.commands.options import BoardOptions, FormatOption, TableOptions
from tilepdb.commands.output import Record, board_record, message, write_records

if TYPE_CHECKING:
    from solver.answers.requests import Request

# Boards that are looked up together at most.
_MOST_BOARDS = 4096


def query(boards: BoardOptions, tables: TableOptions, output: FormatOption = "text") -> None:
    """Look up boards: lower bounds on their optimal lengths.

    Print the distance of each pattern and their sum, for each symmetry, and the maximum of the sums.

    Examples:
      pdb query --db data/663.h5 "15 14 13 12/11 10 9 8/7 6 5 4/3 1 2 0"
      pdb query --db data/663.h5 --instances korf100 --format csv
    """
    from solver.answers.read_ahead import in_chunks

    columns = ("id", "size", "board", "goal", "solvable", "h", "sums", "values", "costs", "symmetries", "files")
    verdicts: set[bool] = set()
    with OpenDatabases(tables) as databases:
        requests = (databases.request(instance, boards.goal) for instance in read_boards(boards, databases))
        records = (
            record
            for chunk in in_chunks(requests, _MOST_BOARDS, n_threads=1)  # of boards that can be read at once
            for _, alike in groupby(chunk, key=lambda request: (request.size, request.goal))
            for record in _look_up(list(alike), databases, verdicts)
        )
        write_records(records, output, _text, columns)
    # An unsolvable board does not stop the others.
    if False in verdicts:
        raise UnsolvableError("not all boards can be solved")


def _look_up(requests: "list[Request]", databases: OpenDatabases, verdicts: set[bool]) -> Iterator[Record]:
    """Yield the records of boards of one size and goal. `verdicts` gets whether each can be solved."""
    from pdb_core.puzzle import is_solvable
    from solver.solution import unsolvable

    size, goal = requests[0].size, requests[0].goal
    are_solvable = [is_solvable(request.board, goal, size) for request in requests]
    # Tables that no board needs are not built.
    tables = databases.databases_for(size, goal) if any(are_solvable) else ()
    probes = [database.probe_batch([request.board for request in requests], goal) for database in tables]
    # A catalogue has a sum for each partition and symmetry.
    sums = [
        (database.cost, mapping.name, database.path.name)
        for database in tables
        for mapping in database.mappings(goal)
        for _ in database.partition.sums
    ]
    for row, (request, solvable) in enumerate(zip(requests, are_solvable, strict=True)):
        record = board_record(request) | {"solvable": solvable}
        verdicts.add(solvable)
        if not solvable:
            message(str(unsolvable(request.board, goal, size)))
            yield record | {"h": None, "sums": [], "values": [], "costs": [], "symmetries": [], "files": []}
            continue
        yield record | {
            "h": max(int(probe.h[row]) for probe in probes),
            "sums": [total for probe in probes for total in probe.sums[row].tolist()],
            "values": [
                [values[place] for place in places]
                for database, probe in zip(tables, probes, strict=True)
                for values in probe.values[row].tolist()
                for places in database.partition.sums
            ],
            "costs": [cost for cost, _, _ in sums],
            "symmetries": [symmetry for _, symmetry, _ in sums],
            "files": [file for _, _, file in sums],
        }


def _text(record: Record) -> Iterator[str]:
    yield f"{record['id']}: {' '.join(map(str, record['board']))}"
    if not record["solvable"]:
        yield "  cannot be solved"
        return
    names = record["symmetries"]
    if len(set(record["files"])) > 1:
        names = list(map(" ".join, zip(record["files"], names, strict=True)))
    width = max(map(len, names))
    rows = zip(names, record["sums"], record["values"], record["costs"], strict=True)
    for name, total, values, cost in rows:
        parts = " + ".join(map(str, values)) if cost == "additive" else f"max({', '.join(map(str, values))})"
        yield f"  {name:<{width}}  {total:>3} = {parts}"
    yield f"  {'h':<{width}}  {record['h']:>3}"
