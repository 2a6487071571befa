"""`pdb query`: lookups of boards in databases."""

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Any

from pdb_cli.board_input import boards_to_look_up
from pdb_cli.databases import OpenDatabases
from pdb_cli.options import BoardOptions, FormatOption, TableOptions
from pdb_cli.output import Format, Record, command, message, prepare, write_records
from pdb_core.errors import PdbError, UnsolvableError

if TYPE_CHECKING:
    from pdb_query import Instance

_COLUMNS = ("id", "board", "goal", "solvable", "h", "sums", "values")


@command
def query(boards: BoardOptions, tables: TableOptions, output: FormatOption = Format.text) -> None:
    """Look up boards: h of each pattern, their sum, the sum through each symmetry, and the maximum."""
    prepare()
    instances = boards_to_look_up(boards, tables.db)
    with tables.open() as databases:
        answers = _Answers(databases, boards.goal)
        write_records(map(answers.record, instances), output, columns=_COLUMNS, text=_text)
    if answers.first_error is not None:
        raise answers.first_error


class _Answers:
    """Records of boards. An unsolvable board does not stop the others."""

    def __init__(self, databases: OpenDatabases, goal: str | None) -> None:
        self._databases = databases
        self._goal = goal
        self.first_error: PdbError | None = None

    def record(self, instance: "Instance") -> dict[str, Any]:
        """Return the record of a board. Raises `BoardError`, `GoalError`, `TableMismatchError`."""
        goal = self._databases.goal_of(instance, self._goal)
        databases = self._databases.databases_for(instance.size, goal)
        record: dict[str, Any] = {"id": instance.id, "board": list(instance.board), "goal": list(goal)}
        try:
            probes = [database.probe(instance.board, goal) for database in databases]
        except UnsolvableError as error:
            message(f"pdb: {error}")
            self.first_error = self.first_error or UnsolvableError("not all boards can be solved")
            return record | {"solvable": False, "h": None, "sums": [], "values": [], "costs": [], "symmetries": []}
        return record | {
            "solvable": True,
            "h": max(probe.maximum for probe in probes),
            "sums": [total for probe in probes for total in probe.sums],
            "values": [list(values) for probe in probes for values in probe.values],
            "costs": [database.cost for database in databases for _ in database.mappings(goal)],
            "symmetries": [mapping.name for database in databases for mapping in database.mappings(goal)],
        }


def _text(records: Iterable[Record]) -> Iterator[str]:
    for record in records:
        yield f"{record['id']}: {' '.join(map(str, record['board']))}"
        if not record["solvable"]:
            yield "  cannot be solved"
            continue
        width = max(map(len, record["symmetries"]))
        rows = zip(record["symmetries"], record["sums"], record["values"], record["costs"], strict=True)
        for name, total, values, cost in rows:
            parts = " + ".join(map(str, values)) if cost == "additive" else f"max({', '.join(map(str, values))})"
            yield f"  {name:<{width}}  {total:>3} = {parts}"
        yield f"  {'maximum':<{width}}  {record['h']:>3}"
