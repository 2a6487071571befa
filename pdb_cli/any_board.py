"""`pdb solve --any`: good solutions of boards of any size, one board after another, without tables."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import typer

from pdb_cli.board_files import write_answers
from pdb_cli.output import Format, Record, plural
from pdb_cli.solve_output import tell_unsolvable
from pdb_cli.tile_names import TileNames
from pdb_core.errors import UnsolvableError, WrongAnswerError

if TYPE_CHECKING:
    from pathlib import Path

    from pdb_core.puzzle import Board
    from pdb_query import Instance


def refuse_with_any(options: Mapping[str, object]) -> None:
    """Raise a usage error where an option is given that means nothing to --any."""
    for name, value in options.items():
        if value:
            raise typer.BadParameter("does not go with --any, which uses no tables", param_hint=name)


def solve_any(
    instances: "Iterable[Instance]",
    goal: str | None,
    time_limit: float | None,
    output: Format,
    out: "Path | None",
    names: TileNames | None,
    columns: Sequence[str],
) -> None:
    """Write a good solution of each board. Raises `UnsolvableError` at the end where a board had none."""
    answers = AnyBoards(goal, time_limit, str if names is None else names.word)
    write_answers(answers.records(instances), output, out, columns=columns, text=any_text, names=names)
    if answers.worst is not None:
        raise answers.worst


class AnyBoards:
    """Solves boards one by one and remembers the worst that happened."""

    def __init__(self, goal: str | None, time_limit: float | None, word: Callable[[int], str]) -> None:
        """`word` is what a tile is called in messages."""
        self._goal, self._time_limit, self._word = goal, time_limit, word
        self.worst: UnsolvableError | WrongAnswerError | None = None

    def records(self, instances: "Iterable[Instance]") -> Iterator[dict[str, Any]]:
        """The answers in the order of the boards."""
        from pdb_core.puzzle import blank_last, parse_goal

        for instance in instances:
            wanted = instance.goal if instance.goal is not None else self._goal
            goal = blank_last(instance.size) if wanted is None else parse_goal(wanted, instance.size)
            yield self._record(instance, goal)

    def _record(self, instance: "Instance", goal: "Board") -> dict[str, Any]:
        from solver import find_suboptimal_solution

        record: dict[str, Any] = {"id": instance.id, "size": str(instance.size)}
        record |= {"board": list(instance.board), "goal": list(goal)}
        nothing: dict[str, Any] = {"generated": None, "expanded": None, "thresholds": []}
        try:
            found = find_suboptimal_solution(instance.board, goal, instance.size, time_limit=self._time_limit)
        except UnsolvableError:
            tell_unsolvable(instance, goal, self._word)
            self.worst = self.worst or UnsolvableError("not all boards can be solved")
            absent = dict.fromkeys(("length", "moves", "optimal", "h", "lower_bound"))
            return record | {"solvable": False} | absent | nothing | {"seconds": 0.0}
        tiles = found.tiles or ()
        if instance.optimal_length is not None and len(tiles) < instance.optimal_length:
            self.worst = WrongAnswerError(
                f"board {instance.id}: a solution of {len(tiles)} moves was found, the instance file says that the "
                f"shortest has {instance.optimal_length}"
            )
        return record | nothing | {
            "solvable": True,
            "length": len(tiles),
            "moves": list(tiles),
            "optimal": found.is_optimal,
            "h": found.h,
            "lower_bound": found.lower_bound,
            "seconds": round(found.seconds, 6),
        }  # fmt: skip


def any_text(records: Iterable[Record]) -> Iterator[str]:
    """The lines of `--format text`."""
    for record in records:
        if not record["solvable"]:
            yield f"{record['id']}: cannot be solved"
            continue
        proved = "the shortest" if record["optimal"] else f"the shortest has at least {record['lower_bound']}"
        yield f"{record['id']}: {plural(record['length'], 'move')}, {proved}; {record['seconds']:.2f} s"
        yield f"  {' '.join(map(str, record['moves']))}"
