"""Commands when the system starts only a few threads.

    python -m tests.faults.few_threads

A trial is survived if the answer is that of a run without a limit, or if the command ends with one sentence and the
exit code of a limit.
"""

import argparse
import json
import re
from pathlib import Path
from tempfile import TemporaryDirectory

from tests import rows
from tests.command_line import PROGRAM
from tests.faults.driver import Tally, main, run
from tests.tables import table_file

THREADS = (0, 1, 2, 5)
_LIMIT_REACHED = 5
_WITH_BOARD, _BOARD = ("query", "solve", "search"), "0 3 2 1/4 5 6 7/8 9 10 11/12 13 14 15"
# Refuses threads of Python from a number on, as a limit of processes does (which does not hold for root).
FEW_THREADS = """import _thread, threading
start, left = _thread.start_new_thread, iter(range({n_threads}))
def start_or_refuse(*arguments):
    if next(left, None) is None:
        raise RuntimeError("can't start new thread")
    return start(*arguments)
threading._start_new_thread = start_or_refuse
"""


# Name | arguments, TABLE for a table file | the fields of its records, which are compared beside its files.
COMMANDS = """
build | build 663 --out a.h5 --threads 64 |
verify | verify TABLE |
query | query --db TABLE --format ndjson | h
solve | solve --db TABLE --threads 64 --format ndjson | length
search | search --algorithm a-star --db TABLE --format ndjson | length
label | label --db TABLE --random 20 --distances-only --out a.csv --threads 64 |
study | study space 3x3 --threads 64 --format ndjson | counts antipodes
"""


def commands() -> dict[str, tuple[list[str], list[str]]]:
    """Return the arguments of each command, and the fields of its records."""
    table = str(table_file("663", "4x4", encoding="bits"))
    return {
        name: (words.replace("TABLE", table).split() + [_BOARD] * (name in _WITH_BOARD), fields.split())
        for name, words, fields in rows(COMMANDS)
    }


def answer_of(arguments: list[str], fields: list[str], n_threads: int | None = None) -> tuple[object, object] | None:
    """Return the files and records of a command, None at a limit. `AssertionError`: it ended as no command may."""
    program = list(PROGRAM)
    if n_threads is not None:
        program[-1] = FEW_THREADS.format(n_threads=n_threads) + program[-1]
    with TemporaryDirectory() as folder:
        ended = run(arguments, cwd=Path(folder), program=program, patience_s=300)
        problem = ended.problem()
        assert problem is None, problem
        if ended.code == 0:
            records = map(json.loads, ended.stdout.splitlines() if fields else ())
            files = [path.read_bytes() for path in Path(folder).iterdir() if path.suffix in (".h5", ".csv")]
            return files, [[record[field] for field in fields] for record in records]
        said = [line for line in ended.stderr.splitlines() if not re.match("pdb: (warning|compiling|no --db)", line)]
        assert (ended.code, len(said)) == (_LIMIT_REACHED, 1), f"exit code {ended.code}: {said}"
        return None


def attack(tally: Tally, options: argparse.Namespace) -> None:
    """Try each command with each number of threads. `--tried` is the number of trials, spread over all."""
    of_command = commands()
    expected = {name: answer_of(*command) for name, command in of_command.items()}
    trials = [(name, n_threads) for n_threads in THREADS for name in of_command]
    for name, n_threads in trials[:: -(-len(trials) // options.tried)]:
        try:
            found = answer_of(*of_command[name], n_threads)
            loss = None if found in (None, expected[name]) else f"answer {str(found)[:200]}"
        except AssertionError as error:
            loss = str(error)
        tally.count("number of threads", None if loss is None else f"{name} with {n_threads} threads: {loss}")


if __name__ == "__main__":
    main(attack, tried=28)
