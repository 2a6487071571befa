"""`pdb query`: lookups of boards in databases."""

from collections.abc import Iterator
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from pdb_core.errors import UnsolvableError
from tilepdb.commands.board_input import STDIN, read_boards
from tilepdb.commands.databases import OpenDatabases
from tilepdb.commands.options import BoardOptions, FormatOption, TableOptions
from tilepdb.commands.output import Record, message, prepare, write_records

if TYPE_CHECKING:
    from pdb_query import Instance


def query(boards: BoardOptions, tables: TableOptions, output: FormatOption = "text") -> None:
    """Look up boards: lower bounds on their optimal lengths.

    Print the distance of each pattern and their sum, for each symmetry, and the maximum of the sums.
    """
    prepare()
    if not boards.boards and boards.instances is None:
        boards = replace(boards, instances=STDIN)
    instances = read_boards(boards, tables.db)
    columns = ("id", "board", "goal", "solvable", "h", "sums", "values")
    are_solvable = []
    with tables.open() as databases:

        def record(instance: "Instance") -> Record:
            found = _record(instance, databases, boards.goal)
            are_solvable.append(found["solvable"])
            return found

        write_records(map(record, instances), output, columns=columns, text=_text)
    # An unsolvable board does not stop the others.
    if not all(are_solvable):
        raise UnsolvableError("not all boards can be solved")


def _record(instance: "Instance", databases: OpenDatabases, goal_text: str | None) -> dict[str, Any]:
    """Return the record of `instance`. Raises `BoardError`, `GoalError`, `TableMismatchError`."""
    from pdb_core.puzzle import format_board, is_solvable, why_unsolvable

    board, size, goal = instance.board, instance.size, databases.goal_of(instance, goal_text)
    record: dict[str, Any] = {"id": instance.id, "board": list(board), "goal": list(goal)}
    if not is_solvable(board, goal, size):  # before tables are built
        message(f"board {format_board(board)} cannot be solved: {why_unsolvable(board, goal, size)}")
        return record | {"solvable": False, "h": None, "sums": [], "values": [], "costs": [], "symmetries": []}
    tables = databases.databases_for(size, goal)
    probes = [database.probe(board, goal) for database in tables]
    # A catalogue has a sum for each partition and symmetry.
    sums = [
        (database.cost, mapping.name)
        for database in tables
        for mapping in database.mappings(goal)
        for _ in database.partition.sums
    ]
    return record | {
        "solvable": True,
        "h": max(probe.h for probe in probes),
        "sums": [total for probe in probes for total in probe.sums],
        "values": [
            [values[place] for place in places]
            for database, probe in zip(tables, probes, strict=True)
            for values in probe.values
            for places in database.partition.sums
        ],
        "costs": [cost for cost, _ in sums],
        "symmetries": [symmetry for _, symmetry in sums],
    }


def _text(record: Record) -> Iterator[str]:
    yield f"{record['id']}: {' '.join(map(str, record['board']))}"
    if not record["solvable"]:
        yield "  cannot be solved"
        return
    width = max(map(len, record["symmetries"]))
    rows = zip(record["symmetries"], record["sums"], record["values"], record["costs"], strict=True)
    for name, total, values, cost in rows:
        parts = " + ".join(map(str, values)) if cost == "additive" else f"max({', '.join(map(str, values))})"
        yield f"  {name:<{width}}  {total:>3} = {parts}"
    yield f"  {'h':<{width}}  {record['h']:>3}"
