"""Run the installed `pdb` in the current folder as a new user would; called by scripts/wheel.

python -I run_installed.py VERSION [--serve]
"""

import json
import subprocess
import sys
import urllib.request
from pathlib import Path
from typing import Any

import pdb_core
from pdb_query import instance_sets, read_instances

_FAR = "8 6 7/2 5 4/3 0 1"


def output_of(*words: str, code: int = 0) -> str:
    """Run `pdb`, and return its standard output; if it must fail with `code`, its standard error."""
    result = subprocess.run(["pdb", *words], capture_output=True, text=True, timeout=300, check=False)
    assert result.returncode == code, (words, result.stderr)
    assert "Traceback" not in result.stderr, result.stderr
    return result.stderr if code else result.stdout


def records(*words: str) -> list[Any]:
    return [json.loads(line) for line in output_of(*words, "--format", "ndjson").splitlines()]


def run_commands(version: str) -> None:
    """Build, query and solve, with the installed sets of boards."""
    assert output_of("--version") == f"tile-pdb {version}\n"
    assert subprocess.check_output(["tilepdb", "--version"], text=True) == f"tile-pdb {version}\n"
    output_of("build", "663", "8")
    (solved,) = records("solve", "--db", "8.h5", _FAR)
    assert solved["length"] == 31, solved
    assert instance_sets()
    for name in instance_sets():
        assert list(read_instances(name, None)), name
    assert len(records("query", "--db", "663.h5", "--instances", "hardest80")) == 17
    assert len(records("solve", "--db", "663.h5", "--instances", "korf100")) == 100  # compares the lengths


def run_service() -> None:
    """Check the service and every file of its page."""
    from tilepdb import Client  # needs the extra

    command = ["pdb", "serve", "--db", "663.h5", "--port", "0"]
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as server:
        assert server.stderr is not None
        try:
            url = next(line.split()[-1] for line in server.stderr if "listening on" in line).rstrip("/")
            with urllib.request.urlopen(f"{url}/", timeout=60) as answer:
                assert "<title>" in answer.read().decode()
            page = Path(pdb_core.__file__).parent.parent / "pdb_service" / "page"
            for path in page.iterdir():
                with urllib.request.urlopen(f"{url}/page/{path.name}", timeout=60) as answer:
                    assert answer.read() == path.read_bytes(), path
            board = next(read_instances("hardest80", None)).board
            with Client(url) as client:
                assert client.probe(board).maximum > 40
        finally:
            server.terminate()
        assert server.wait(60) == 0


def main() -> None:
    version, *options = sys.argv[1:]
    place = Path(pdb_core.__file__)
    assert place.is_relative_to(sys.prefix), f"imported from {place}, not from the installed wheel"
    if options == ["--serve"]:
        run_service()
    else:
        run_commands(version)
        assert "tile-pdb[serve]" in output_of("serve", "--db", "663.h5", code=2)


if __name__ == "__main__":
    main()
