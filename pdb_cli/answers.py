"""Answers of the solving commands: records, text, and files of solutions position by position (docs/files.md)."""

import json
import threading
import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import asdict
from typing import IO, TYPE_CHECKING, Any, NamedTuple, cast

from pdb_cli.options import AnswerOptions
from pdb_cli.output import Format, Record, count, message, plural, write_records
from pdb_cli.tile_names import TileNames
from pdb_core.durable_files import written_safely
from pdb_core.errors import LimitReachedError, MemoryLimitError, PdbError, UnsolvableError, WrongAnswerError

if TYPE_CHECKING:
    from pdb_core.puzzle import Board
    from pdb_query import Instance
    from solver import Solution

    Answer = Solution | UnsolvableError | MemoryLimitError

COLUMNS = (
    "id", "board", "goal", "solvable", "length", "moves", "optimal", "h", "lower_bound", "generated", "expanded",
    "seconds", "thresholds", "search", "heuristic", "bound", "reopened", "peak_open",
)  # fmt: skip
APPROXIMATE = "approximate"
_NO_SOLUTION, _GIVEN_UP = "NO SOLUTION", "NO ANSWER"
_NO_NODES: dict[str, Any] = {
    "generated": 0, "expanded": 0, "seconds": 0.0, "thresholds": [], "reopened": 0, "peak_open": 0,
}  # fmt: skip


class Outcome(NamedTuple):
    """Board, its goal, and its solution or the error that took its place."""

    instance: "Instance"
    goal: "Board"
    answer: "Answer"


class Answers:
    """Records of boards, and totals over all of them.

    `worst` is the error that decides the exit code: one board without a solution does not stop the others.
    """

    def __init__(
        self, search: str, heuristic: str | None, *, names: TileNames | None = None, counts_all: bool = False
    ) -> None:
        """`search` and `heuristic` are their names in each record; with `counts_all`, so are numbers of solutions."""
        self._search = {"search": search, "heuristic": heuristic}
        self._names, self._counts_all = names, counts_all
        self._start = time.perf_counter()
        self._n_boards = self._n_solved = self._generated = 0
        self.worst: PdbError | None = None

    def record(self, outcome: Outcome) -> dict[str, Any]:
        """Return the record of a board. Messages about it go to stderr."""
        instance, goal, answer = outcome
        self._n_boards += 1
        record: dict[str, Any] = {"id": instance.id, "size": str(instance.size)}
        record |= {"board": list(instance.board), "goal": list(goal)}
        solution = self._solution(instance, goal, answer)
        if solution is None:
            nothing = dict.fromkeys(COLUMNS[4:]) | _NO_NODES
            return record | {"solvable": isinstance(answer, MemoryLimitError)} | nothing | self._search
        self._generated += solution.generated
        self._n_solved += solution.length is not None
        if instance.optimal_length is not None and solution.contradicts(instance.optimal_length):
            error = WrongAnswerError(_contradiction(instance, solution, instance.optimal_length))
            message(f"pdb: {error}")
            self._remember(error)
        if self._counts_all:
            record |= {"solutions": solution.n_solutions, "all_solutions": solution.is_complete}
        record |= {"solvable": True} | _fields(solution) | self._search
        if self._search["search"] == APPROXIMATE:  # it counts no nodes
            record |= dict.fromkeys(("generated", "expanded", "reopened", "peak_open"))
        return record

    def _solution(self, instance: "Instance", goal: "Board", answer: "Answer") -> "Solution | None":
        """Return what is known of a board, None if nothing is. Report and remember what is missing."""
        if isinstance(answer, UnsolvableError):
            self._report_unsolvable(instance, goal)
            return None
        if isinstance(answer, MemoryLimitError):
            message(f"pdb: board {instance.id}: {answer}")
            self._remember(LimitReachedError(f"board {instance.id} was given up at the memory limit"))
            return cast("Solution | None", answer.solution)
        if answer.length is None:
            self._remember(
                LimitReachedError(f"board {instance.id} was given up at a limit; raise --time-limit or --max-nodes")
            )
        return answer

    def _report_unsolvable(self, instance: "Instance", goal: "Board") -> None:
        from pdb_core.messages import shorten
        from pdb_core.puzzle import why_unsolvable

        word = str if self._names is None else self._names.word
        shown = shorten(" ".join(map(word, instance.board)))
        message(f"pdb: board {shown} cannot be solved: {why_unsolvable(instance.board, goal, instance.size)}")
        self._remember(UnsolvableError("not all boards can be solved"))

    def _remember(self, error: PdbError) -> None:
        """Keep the worst error: a wrong answer, else a limit, else an unsolvable board."""
        order = (WrongAnswerError, LimitReachedError, UnsolvableError)
        if self.worst is None or order.index(type(error)) < order.index(type(self.worst)):
            self.worst = error

    def write(self, records: Iterable[Record], options: AnswerOptions) -> None:
        """Write records to stdout. With --out, write the solutions to its file, and records only if not as text."""
        named = iter if self._names is None else self._names.named
        if options.out is None:
            write_records(named(records), options.output, columns=COLUMNS, text=_text)
            return
        with written_safely(options.out) as file:
            written = positions_written(records, file, str if self._names is None else self._names.word)
            if options.output is Format.text:
                for _ in written:
                    pass
            else:
                write_records(named(written), options.output, columns=COLUMNS, text=_text)
        message(f"pdb: {options.out} written")

    def finish(self) -> None:
        """Report the totals of several boards on stderr. Raises the worst error."""
        if self._n_boards > 1:
            seconds = time.perf_counter() - self._start
            message(
                f"{plural(self._n_boards, 'board')}, {count(self._n_solved)} solved, {seconds:.2f} s, "
                f"{count(self._generated)} nodes generated, {self._generated / seconds / 1e6:.1f} million/s"
            )
        if self.worst is not None:
            raise self.worst


def _fields(solution: "Solution") -> dict[str, Any]:
    """Return the fields of a record that a search finds."""
    return {
        "length": solution.length,
        "moves": None if solution.tiles is None else list(solution.tiles),
        "optimal": solution.is_optimal,
        "h": solution.h,
        "lower_bound": solution.lower_bound,
        "generated": solution.generated,
        "expanded": solution.expanded,
        "seconds": round(solution.seconds, 6),
        "thresholds": [asdict(at) | {"seconds": round(at.seconds, 6)} for at in solution.iterations],
        "bound": solution.bound,
        "reopened": solution.reopened,
        "peak_open": solution.peak_open,
    }


def _contradiction(instance: "Instance", solution: "Solution", optimal: int) -> str:
    found = f"no solution has less than {solution.lower_bound} moves"
    if solution.length is not None and (solution.is_optimal or solution.lower_bound <= optimal):
        kind = "optimal solution" if solution.is_optimal else "solution found"
        found = f"the {kind} has {solution.length} moves"
    return (
        f"board {instance.id}: {found}, the instance file says {optimal}; if that is the optimal length, please report "
        "this board"
    )


def _text(records: Iterable[Record]) -> Iterator[str]:
    """Yield the lines of `--format text`."""
    for record in records:
        nodes = "" if record["generated"] is None else f"{count(record['generated'])} nodes, "
        effort = f"{nodes}{record['seconds']:.2f} s"
        if not record["solvable"]:
            yield f"{record['id']}: cannot be solved"
        elif record["length"] is None:
            least = "" if record["lower_bound"] is None else f" at least {record['lower_bound']} moves,"
            yield f"{record['id']}: given up,{least} {effort}"
        else:
            yield f"{record['id']}: {plural(record['length'], 'move')}, {_quality(record)}; h {record['h']}, {effort}"
            yield f"  {' '.join(map(str, record['moves']))}"


def _quality(record: Record) -> str:
    """Return what is proved of the length of a solution."""
    if record["optimal"]:
        if "solutions" not in record:
            return "optimal"
        if not record["all_solutions"]:
            return "optimal, one of many"
        return "optimal, the only one" if record["solutions"] == 1 else f"optimal, one of {count(record['solutions'])}"
    least = f"the optimal length is at least {record['lower_bound']}"
    return least if record["bound"] is None else f"at most {record['bound']:g} times the optimal length; {least}"


class SolutionList:
    """Writer of all optimal solutions to stdout, one per line, as they are found. Thread-safe."""

    def __init__(self, output: Format, names: TileNames | None) -> None:
        self._output = output
        self._word: Callable[[int], str | int] = int if names is None else names.word
        self._lock = threading.Lock()

    def writer_of(self, board_id: str) -> Callable[[tuple[int, ...]], None]:
        """Return the function that writes a solution of a board."""

        def write(tiles: tuple[int, ...]) -> None:
            words = list(map(self._word, tiles))
            line = f"{board_id}: {' '.join(map(str, words))}"
            if self._output is Format.ndjson:
                line = json.dumps({"id": board_id, "solution": words})
            with self._lock:
                print(line, flush=True)

        return write


def positions_written(records: Iterable[Record], file: IO[str], word: Callable[[int], str] = str) -> Iterator[Record]:
    """Yield the records, and write the solution of each to `file`; `word` returns the name of a tile."""
    for number, record in enumerate(records):
        if number:
            file.write("\n")
        if not record["solvable"]:
            file.write(f"{_NO_SOLUTION}\n")
        elif record["length"] is None:
            file.write(f"{_GIVEN_UP}\n")
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
