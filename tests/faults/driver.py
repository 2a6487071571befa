"""Shared by the programs that attack: counts of trials, the command line, and forks.

A program defines `attack(tally, options)` and ends with `main(attack, tried=60, seed=1)`; then
`python -m tests.faults.PROGRAM --tried 60 --seed 1` prints a JSON record for each fault and exits with 1 if a trial is
lost.
"""

import argparse
import json
import multiprocessing
import os
import resource
import signal
import sys
from collections.abc import Callable
from contextlib import suppress
from typing import Any

import psutil


class Tally:
    """Counts of each fault: tried, lost, with the reasons for the first losses."""

    def __init__(self) -> None:
        self.records: dict[str, dict[str, Any]] = {}

    def count(self, fault: str, loss: str | None) -> None:
        """Count one trial. `loss` names what was lost, None if nothing was."""
        record = self.records.setdefault(fault, {"tried": 0, "lost": 0, "examples": []})
        record["tried"] += 1
        if loss is not None:
            record["lost"] += 1
            record["examples"] = [*record["examples"], loss][:5]


def main(attack: Callable[[Tally, argparse.Namespace], None], **defaults: int) -> None:
    """Run `attack` with the options of the command line, print the counts, and exit with 1 if anything is lost."""
    parser = argparse.ArgumentParser()
    for name, default in defaults.items():
        parser.add_argument(f"--{name}", type=int, default=default, help=f"(default {default})")
    tally = Tally()
    attack(tally, parser.parse_args())
    print(json.dumps(tally.records, indent=2))
    sys.exit(1 if any(record["lost"] for record in tally.records.values()) else 0)


# A child hangs if it takes longer. It may use so much memory beyond what it has when it starts.
_PATIENCE_S = 60.0
_MEMORY_BYTES = 4_000_000_000


def in_child(work: Callable[[], Any]) -> Any:
    """Return the result of `work` in a fork of this process: what it returns, or "lost: " and an error, crash or hang.

    It writes no core.
    """
    context = multiprocessing.get_context("fork")
    reading, writing = context.Pipe(duplex=False)

    def run() -> None:
        most = psutil.Process().memory_info().vms + _MEMORY_BYTES
        for limit, n_bytes in ((resource.RLIMIT_CORE, 0), (resource.RLIMIT_AS, most)):
            resource.setrlimit(limit, (n_bytes, n_bytes))
        os.dup2(os.open(os.devnull, os.O_WRONLY), 2)
        try:
            writing.send(work())
        except Exception as error:
            writing.send(f"lost: {type(error).__name__}: {error}")
        finally:
            os._exit(0)  # waits for no thread

    child = context.Process(target=run)
    child.start()
    writing.close()
    try:
        if not reading.poll(_PATIENCE_S):
            child.kill()
            return "lost: hang"
        with suppress(EOFError):  # without a result, the pipe ends
            return reading.recv()
    finally:
        child.join()
    code = child.exitcode
    return f"lost: crash: {signal.Signals(-code).name if code < 0 else 'no result'}"
