"""Commands and service in a process without the modules and calls that only POSIX systems have."""

import json
from pathlib import Path

from tests.command_line import BOARD, python
from tests.pdb_service.server import serving
from tests.tables import table_file

_HIDE = "import tests.hidden_posix\n"
_PROGRAM = """
import json, sys
from tilepdb.commands.main import run
for words in json.loads(sys.argv[1]):
    sys.argv[1:] = words
    try:
        run()
    except SystemExit as end:
        assert not end.code, words
import fcntl
"""


def test_commands_run_without_posix_calls(tmp_path: Path) -> None:
    """Build, solve, look up, verify, label; then see that modules were hidden."""
    table = str(tmp_path / "8.h5")
    lookups = [[command, "--db", table, BOARD] for command in ("solve", "query")]
    labels = ["label", "--db", table, "--random", "10", "--out", str(tmp_path / "labels.npz")]
    commands = [["build", "8", "--out", table], *lookups, ["verify", table], labels]
    result = python(_HIDE + _PROGRAM, json.dumps(commands))
    assert "ModuleNotFoundError: No module named 'fcntl'" in result.stderr.splitlines()[-1], result.stderr
    expected = ("362,880 entries", "31 moves, optimal", "h            31", "8.h5: sound")
    found = 0
    for text in expected:
        found = result.stdout.find(text, found) + 1
        assert found, (text, result.stdout)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["8.h5", "8.h5.build.json", "labels.npz"]
    assert (tmp_path / "8.h5").read_bytes() == table_file("8", "3x3", encoding="bits").read_bytes()


def test_service_runs_without_posix_calls() -> None:
    with serving(table_file("8", "3x3"), prelude=_HIDE) as server:
        body = json.dumps({"boards": [[8, 6, 7, 2, 5, 4, 3, 0, 1]]}).encode()
        answer = server.ask("/v1/lookup", body, content_type="application/json")
        assert answer.status == 200, answer.body
        assert answer.json["answers"][0]["h"] == 31
