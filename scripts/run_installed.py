"""Run the installed `pdb` in the current folder as a new user would; called by scripts/wheel.

python -I run_installed.py VERSION [--serve]
"""

import json
import subprocess
import sys
import urllib.request
from pathlib import Path

import pdb_core
from pdb_query import read_instances


def output_of(*words: str, program: str = "pdb", code: int = 0) -> str:
    """Run a command, and return its standard output; if it must fail with `code`, its standard error."""
    result = subprocess.run([program, *words], capture_output=True, text=True, timeout=300, check=False)
    assert result.returncode == code, (words, result.stderr)
    assert "Traceback" not in result.stderr, result.stderr
    return result.stderr if code else result.stdout


def run_commands(version: str) -> None:
    """Build, query and solve, with the installed sets of boards."""
    for program in ("pdb", "tilepdb"):
        assert output_of("--version", program=program) == f"tile-pdb {version}\n"
    output_of("build", "663", "8")
    solved = json.loads(output_of("solve", "--db", "data/8.h5", "8 6 7/2 5 4/3 0 1", "--format", "ndjson"))
    assert solved["length"] == 31, solved
    # Solving compares the lengths with those of the set.
    output_of("solve", "--db", "data/663.h5", "--instances", "korf100")
    assert "'.[serve]'" in output_of("serve", "--db", "data/663.h5", code=2)


def run_service() -> None:
    """Check the service, its page and its client."""
    from tilepdb import Client  # needs the extra

    command = ["pdb", "serve", "--db", "data/663.h5", "--port", "0"]
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as server:
        try:
            url = next(line.split()[-1] for line in server.stderr if "listening on" in line)
            with urllib.request.urlopen(url, timeout=300) as answer:
                assert b"</html>" in answer.read()
            with Client(url) as client:
                assert client.probe(next(read_instances("hardest80")).board).h > 40
        finally:
            server.terminate()
        assert server.wait(60) == 0


if __name__ == "__main__":
    assert Path(pdb_core.__file__).is_relative_to(sys.prefix), f"imported from {pdb_core.__file__}"
    if "--serve" in sys.argv:
        run_service()
    else:
        run_commands(sys.argv[1])
