"""Try mutants in a copy of the files that are staged, and write which test caught each.

    python -m tests.mutants [NAME ...]

By default all are tried, which takes 20 minutes. `mutants.json` has their edits (a file, a text that occurs once in
it, and what replaces it), and the tests that may catch them. `caught.csv` gets the first of these tests that fails.
Ends with code 1 if none does.
"""

import csv
import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterable
from pathlib import Path
from tempfile import TemporaryDirectory

from tests import ROOT, text_of

MUTANTS = {mutant["name"]: mutant for mutant in json.loads(text_of("tests/mutants/mutants.json"))}
CAUGHT = ROOT / "tests/mutants/caught.csv"
# A test that hangs ends the run.
OPTIONS = ["-xq", "-pno:cacheprovider", "-ofaulthandler_timeout=600", "-ofaulthandler_exit_on_timeout=true"]


def first_failure(tree: Path, cache: Path, tests: Iterable[str]) -> str:
    """Return the first test that fails in a copy, or nothing if all pass."""
    command = [sys.executable, "-m", "pytest", *OPTIONS, *tests]
    environment = os.environ | {"PYTHONPATH": str(tree), "TILE_PDB_CACHE": str(cache)}
    run = subprocess.run(command, cwd=tree, env=environment, capture_output=True, text=True, check=False)
    if run.returncode == 0:
        return ""
    failed = re.search("^(?:FAILED|ERROR) (.*?)( - |$)", run.stdout, re.MULTILINE)
    assert failed, run.stdout + run.stderr
    return failed[1]


def copy_staged(tree: Path, *files: str) -> None:
    """Copy files, by default all, to another folder."""
    command = ["git", "checkout-index", "--force", f"--prefix={tree}/", *(files or ["--all"])]
    subprocess.run(command, cwd=ROOT, check=True)


def main(names: list[str]) -> None:
    if unknown := {*names}.difference(MUTANTS):
        sys.exit(f"there is no mutant {', '.join(sorted(unknown))}; their names are in tests/mutants/mutants.json")
    caught = dict(csv.reader(CAUGHT.read_text().splitlines()))
    with TemporaryDirectory() as folder:
        # In one place, so that kernels that a mutant does not change are compiled once.
        tree, cache = Path(folder, "tree"), Path(folder, "cache")
        copy_staged(tree)
        tests = sorted({test for name in names for test in MUTANTS[name]["tests"]})
        if failed := first_failure(tree, cache, tests):
            sys.exit(f"without a mutant, this fails: {failed}")
        for name in names:
            edits, own_cache = MUTANTS[name]["edits"], Path(folder, "own")
            shutil.copytree(cache / "kernels", own_cache / "kernels")
            for path, before, after in edits:
                file = tree / path
                file.write_text(file.read_text().replace(before, after))
            caught[name] = first_failure(tree, own_cache, MUTANTS[name]["tests"])
            print(f"{name}: {caught[name] or 'not caught'}", flush=True)
            copy_staged(tree, *(path for path, _, _ in edits))
            shutil.rmtree(own_cache)
            with CAUGHT.open("w", encoding="utf-8", newline="") as file:
                csv.writer(file, lineterminator="\n").writerows((at, caught[at]) for at in MUTANTS if at in caught)
    sys.exit(not all(caught[name] for name in names))


if __name__ == "__main__":
    main(sys.argv[1:] or list(MUTANTS))
