"""Answers of the solving commands as records and as text."""

from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack
from dataclasses import asdict
from functools import partial
from typing import TYPE_CHECKING, Any

from pdb_core.errors import LimitReachedError, MemoryLimitError, PdbError, UnsolvableError, WrongAnswerError
from pdb_core.messages import shorten
from tilepdb.commands.method import APPROXIMATE, Method
from tilepdb.commands.options import AnswerOptions
from tilepdb.commands.output import Record, board_record, clock, message, plural, write_records
from tilepdb.commands.tile_names import TileNames
from tilepdb.progress import ProgressLine

if TYPE_CHECKING:
    from solver.answers.log import AnswerLog
    from solver.answers.requests import Answer, Request, Result
    from solver.solution import Solution

_COLUMNS = (
    "id", "size", "board", "goal", "solvable", "length", "moves", "optimal", "h", "lower_bound", "generated",
    "expanded", "seconds", "thresholds", "algorithm", "heuristic", "suboptimality_bound", "reopened", "peak_open",
    "gap", "blank_directions", "tile_directions",
)  # fmt: skip
_ALL_COLUMNS = ("solutions", "all_solutions")  # of --all
# Of the rates that are shown, in million nodes a second.
_LEAST_RATE = 0.05
_NODE_COUNTS = ("generated", "expanded", "reopened", "peak_open")


class AnswerWriter:
    """Writer of the answers of boards, and totals over all of them, such as `n_boards`.

    One board without a solution does not stop the others: the worst error is raised at the end.
    """

    def __init__(self, method: Method, names: TileNames | None, display: ProgressLine) -> None:
        self._method_fields = {"algorithm": method.algorithm, "heuristic": method.heuristic}
        self._method, self._names, self._display = method, names, display
        self._columns = (*_COLUMNS, *(_ALL_COLUMNS if method.all_solutions else ()))
        self._word: Callable[[int], str] = str if names is None else names.word
        self._start = clock()
        self.n_boards = self._n_solved = self._n_given_up = self._generated = 0
        self._errors: dict[type[PdbError], PdbError] = {}  # one of each kind

    def record(self, answer: "Answer") -> dict[str, Any]:
        """Return the record of one board. Messages about the board go to stderr."""
        self._display.clear()
        request, result = answer.request, answer.result
        self.n_boards += 1
        record: dict[str, Any] = dict.fromkeys(self._columns) | board_record(request) | self._method_fields
        record |= dict.fromkeys(_NODE_COUNTS, 0) | {"optimal": False, "seconds": 0.0, "thresholds": []}
        record["solvable"] = not isinstance(result, UnsolvableError)
        if isinstance(result, MemoryLimitError):
            message(f"board {request.id}: {result}")
            self._give_up(request, "at the memory limit")
        if isinstance(result, UnsolvableError):
            self._report_unsolvable(request)
        solution = _solution_of(result)
        if solution is None:
            return record
        is_complete = solution.is_complete if self._method.all_solutions else solution.length is not None
        if not is_complete and not isinstance(result, MemoryLimitError):
            self._give_up(request, "at a limit; raise --time-limit or --max-nodes")
        self._generated += solution.generated
        self._n_solved += solution.length is not None
        if error := contradiction(answer):
            message(str(error))
            self._remember(error)
        record |= {name: getattr(solution, name) for name in _COLUMNS[5:-2] if name not in self._method_fields}
        if self._method.all_solutions:
            record |= {"solutions": solution.n_solutions, "all_solutions": solution.is_complete}
        record |= {f"{of}_directions": solution.directions(of) for of in ("blank", "tile")}
        record["seconds"] = round(solution.seconds, 6)
        record["thresholds"] = [asdict(at) | {"seconds": round(at.seconds, 6)} for at in solution.thresholds]
        if self._method.algorithm == APPROXIMATE:  # it counts no nodes
            record |= dict.fromkeys(_NODE_COUNTS)
        return record

    def _report_unsolvable(self, request: "Request") -> None:
        from pdb_core.puzzle import why_unsolvable

        board, goal = (" ".join(map(self._word, tiles)) for tiles in (request.board, request.goal))
        reason = why_unsolvable(request.board, request.goal, request.size, None if self._names is None else goal)
        message(f"board {shorten(board)} cannot be solved: {reason}")
        self._remember(UnsolvableError("not all boards can be solved"))

    def _give_up(self, request: "Request", why: str) -> None:
        self._n_given_up += 1
        boards = f"board {request.id} was" if self._n_given_up == 1 else f"{self._n_given_up:,} boards were"
        self._errors[LimitReachedError] = LimitReachedError(f"{boards} given up {why}")

    def _remember(self, error: PdbError) -> None:
        self._errors.setdefault(type(error), error)

    def write(self, answers: "Iterable[Answer]", options: AnswerOptions) -> None:
        """Write records to stdout. With --out, write the solutions to its file, and records only if not as text."""
        from pdb_core.durable_files import written_safely

        with ExitStack() as stack:
            file = None if options.out is None else stack.enter_context(written_safely(options.out))

            def record(answer: "Answer") -> Record:
                found = self.record(answer)
                if file is not None:
                    file.writelines(self._positions(answer))
                return found if self._names is None else self._names.named(found)

            text = partial(_text, options.notation) if file is None else lambda _: ()
            write_records(map(record, answers), options.output, text, self._columns)
        if options.out is not None:
            message(f"{options.out} written")

    def _positions(self, answer: "Answer") -> Iterator[str]:
        """Yield the parts of the text of an answer, position by position (docs/files.md)."""
        from solver.solution import played

        request, solution = answer.request, _solution_of(answer.result)
        if self.n_boards > 1:
            yield "\n"
        if solution is None or solution.moves is None:
            yield "NO SOLUTION\n" if isinstance(answer.result, UnsolvableError) else "NO ANSWER\n"
            return
        yield f"{solution.length}\n"
        size = request.size
        for step, cells in enumerate(played(request.board, solution.moves, request.goal, size)):
            if step:
                yield "\n"
            for start in range(0, size.n_cells, size.width):
                yield " ".join(map(self._word, cells[start : start + size.width])) + "\n"

    def finish(self, seconds_made: float, log: "AnswerLog | None") -> None:
        """Report the totals of several boards on stderr, with the seconds after those of making tables and solvers.

        Answers of a log have nodes of earlier runs. Raises the worst error.
        """
        if self.n_boards > 1:
            seconds = clock() - self._start - seconds_made
            of_run = self._generated - (0 if log is None else log.generated_before)
            rate = of_run / seconds / 1e6
            nodes = f", {self._generated:,} nodes generated" if self._generated else ""
            if of_run != self._generated:
                nodes += f", {of_run:,} of them in this run"
            shown_rate = f", {rate:.1f} million/s" if rate >= _LEAST_RATE else ""
            message(f"{plural(self.n_boards, 'board')}, {self._n_solved:,} solved, {seconds:.2f} s{nodes}{shown_rate}")
        for kind in (WrongAnswerError, LimitReachedError, UnsolvableError):
            if kind in self._errors:
                raise self._errors[kind]


def contradiction(answer: "Answer") -> WrongAnswerError | None:
    """Return the error if a solution or its lower bound contradicts the known optimal length or a known solution."""
    solution, request = _solution_of(answer.result), answer.request
    optimal, published = request.optimal_length, request.published_length
    if solution is not None and optimal is None and published is not None and published < solution.lower_bound:
        optimal = published
    if solution is None or optimal is None or not solution.contradicts(optimal):
        return None
    found = f"no solution has less than {solution.lower_bound} moves"
    if solution.length is not None and (solution.optimal or solution.lower_bound <= optimal):
        kind = "optimal solution" if solution.optimal else "solution found"
        found = f"the {kind} has {solution.length} moves"
    return WrongAnswerError(
        f"board {request.id}: {found}, the instance file says {optimal}; if that is the optimal length, please "
        "report this board"
    )


def _solution_of(result: "Result") -> "Solution | None":
    """Return the solution, also of a search that was given up at the memory limit."""
    found: Solution | None = getattr(result, "solution", None) if isinstance(result, PdbError) else result
    return found


def _text(notation: str, record: Record) -> Iterator[str]:
    nodes = "" if record["generated"] is None else f"{record['generated']:,} nodes, "
    effort = f"{nodes}{record['seconds']:.2f} s"
    if not record["solvable"]:
        yield f"{record['id']}: cannot be solved"
    elif record["length"] is None:
        least = "" if record["lower_bound"] is None else f" at least {record['lower_bound']} moves,"
        yield f"{record['id']}: given up,{least} {effort}"
    else:
        yield f"{record['id']}: {plural(record['length'], 'move')}, {_quality(record)}; h {record['h']}, {effort}"
        of = notation.removesuffix("-directions")
        tiles = " ".join(map(str, record["moves"]))
        yield f"  {tiles}" if of == "tiles" else f"  the {of} moves {record[f'{of}_directions']}"


def _quality(record: Record) -> str:
    """Return what is proved of the length of a solution."""
    if record["optimal"]:
        if "solutions" not in record:
            return "optimal"
        if not record["all_solutions"]:
            return f"optimal, one of {record['solutions']:,} or more"
        return "optimal, the only one" if record["solutions"] == 1 else f"optimal, one of {record['solutions']:,}"
    least = f"the optimal length is at least {record['lower_bound']} (gap {record['gap']})"
    return (
        least
        if record["suboptimality_bound"] is None
        else f"at most {record['suboptimality_bound']:g} times the optimal length; {least}"
    )
