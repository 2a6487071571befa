"""Try mutants: apply each to a copy of the checkout, and run its tests there. Exits with 1 if a mutant survives.

The tests must pass without mutants: run scripts/test first. Options of pytest can be given in PYTEST_ADDOPTS.
"""

import argparse
import os
import re
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path
from tempfile import TemporaryDirectory

from tests import ROOT
from tests.mutants import Mutant, all_mutants

# A mutant may search without end. Kernels are compiled again for a mutant of them.
_MOST_S = 600
_LEFT_OUT = shutil.ignore_patterns(".*", "__pycache__", "*.h5", "*.partial", "build", "dist", "site")


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m tests.mutants", description=__doc__)
    parser.add_argument("names", nargs="*", metavar="NAME", help="mutants to try; all by default")
    parser.add_argument("--list", action="store_true", help="list the mutants")
    parser.add_argument("--folder", type=Path, help="keep the copy and its compiled kernels here, for the next run")
    arguments = parser.parse_args()
    known = {mutant.name: mutant for mutant in all_mutants()}
    if unknown := [name for name in arguments.names if name not in known]:
        parser.error(f"there are no mutants {', '.join(unknown)}; --list lists them")
    chosen = [known[name] for name in arguments.names or known]
    if problems := [mutant.problem for mutant in chosen if mutant.problem]:
        parser.error("\n".join(problems))
    if arguments.list:
        for mutant in chosen:
            print(f"{mutant.name:28} {mutant.file}")
        return
    with TemporaryDirectory(prefix="tile-pdb-mutants-") as temporary:
        folder = arguments.folder or Path(temporary)
        shutil.rmtree(folder / "copy", ignore_errors=True)
        shutil.copytree(ROOT, folder / "copy", ignore=_LEFT_OUT)
        n_survived = 0
        for mutant in chosen:
            started = time.monotonic()
            killer = _killer(mutant, folder)
            n_survived += killer is None
            end = "SURVIVED" if killer is None else f"killed by {killer}"
            print(f"{mutant.name:28} {time.monotonic() - started:4.0f} s  {end}", flush=True)
    print(f"{len(chosen)} mutants: {len(chosen) - n_survived} killed, {n_survived} survived")
    raise SystemExit(min(1, n_survived))


def _killer(mutant: Mutant, folder: Path) -> str | None:
    """Return the test that fails with a mutant, None if all pass."""
    path = folder / "copy" / mutant.file
    status, text = path.stat(), path.read_text()
    path.write_text(text.replace(mutant.old, mutant.new))
    try:
        code, output = _run_tests(mutant, folder)
    finally:
        path.write_text(text)
        # Kernels that are compiled for a file are used again only if its time is the same.
        os.utime(path, ns=(status.st_atime_ns, status.st_mtime_ns))
    if code == 0:
        return None
    if code is None:
        return f"the limit of {_MOST_S} s"
    if failed := re.search(r"^(?:FAILED|ERROR) (\S+::.+?)(?: - |$)", output, re.MULTILINE):
        return failed[1]
    if code < 0:
        return f"signal {-code}"
    # Tests that cannot be collected prove nothing.
    raise SystemExit(f"{mutant.name}: pytest ended with {code}\n{output}")


def _run_tests(mutant: Mutant, folder: Path) -> tuple[int | None, str]:
    """Return the exit code of the tests and their output. The code is None if they take too long."""
    options = ["-x", "-q", "--tb=no", "-p", "no:cacheprovider", *(["-k", mutant.k] if mutant.k else [])]
    output = folder / "output"  # a process that the tests leave behind would keep a pipe open
    with output.open("w") as stream:
        tests = subprocess.Popen(
            [sys.executable, "-m", "pytest", *options, *mutant.tests],
            cwd=folder / "copy",
            env=os.environ | {"PYTHONPATH": str(folder / "copy"), "TILE_PDB_CACHE": str(folder / "cache")},
            stdout=stream,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
    try:
        code = tests.wait(_MOST_S)
    except subprocess.TimeoutExpired:
        code = None
    finally:
        if tests.poll() is None:
            os.killpg(tests.pid, signal.SIGKILL)
            tests.wait()
    return code, output.read_text()


if __name__ == "__main__":
    main()
