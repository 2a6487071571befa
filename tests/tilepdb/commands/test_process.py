"""Commands as processes: broken streams, limits, signals; and errors as exit codes."""

import os
import re
import shlex
import signal
import subprocess
from pathlib import Path

import pytest

from tests import rows
from tests.command_line import BOARD, PROGRAM, UNSOLVABLE, on_terminal, pdb, python, start
from tests.tables import table_file
from tilepdb.commands.process import errors_as_exit_codes

# A line of bash | exit code | beginning of stdout | beginning of stderr. $T is a table.
SHELL_LINES = rows("""
pdb --version >&- | 2 | | pdb: there is no standard output; write it to another place
pdb --version 2>&- | 0 | tile-pdb |
pdb --version <&- >&- 2>&- | 2 | |
pdb query --db $T --instances - <&- | 2 | | pdb: there is no standard input; name a file or a set of boards
pdb query --db $T '1 2 3/4 5 6/8 7 0' 2>/dev/full | 3 | 1: 1 2 3 4 5 6 8 7 0 |
pdb info $T >/dev/full | 5 | | pdb: the disk is full, standard output was not written; make room or write it to
pdb info $T 1</dev/null | 2 | | pdb: cannot write standard output: Bad file descriptor; write it to another place
pdb info $T| true | 141 | |
ln -s $T →; PYTHONIOENCODING=latin-1 pdb info → | 0 | \\u2192: partition |
ulimit -f 0; pdb approximate '1 2/0 3' --out a | 2 | | pdb: cannot write a: File too large; choose another place
ulimit -f 5; pdb build 1,2,3 --size 2x2 --out a | 2 | | pdb: cannot write a: File too large; choose another place
pdb approximate '1 2/0 3' --out /dev/stdout | 0 | 1 | pdb: /dev/stdout written
echo 1 2/3 0 >b; pdb approximate --out b <b; echo $? $(cat b) | 0 | 2 1 2/3 0 | pdb: --out b would overwrite another
""")


@pytest.mark.parametrize(("line", "code", "out", "err"), SHELL_LINES)
def test_broken_streams_and_limits_of_a_shell(
    line: str, code: str, out: str, err: str, small_table: str, tmp_path: Path
) -> None:
    """A command writes all its results, or ends with an exit code and one line. Messages are no results."""
    script = f'set -o pipefail; pdb() {{ {shlex.join(PROGRAM)} "$@"; }}; T={shlex.quote(small_table)}; {line}'
    ended = subprocess.run(["bash", "-c", script], cwd=tmp_path, capture_output=True, text=True, check=False)
    # The HDF5 library would print more; kernels that are not compiled yet come with a message.
    said = [text for text in ended.stderr.splitlines() if "compil" not in text]
    assert ended.returncode == int(code), said
    assert ended.stdout.startswith(out) if out else ended.stdout == ""
    assert [text[: len(err)] for text in said] == [err] * bool(err)
    assert not list(tmp_path.glob("a*"))


def test_ctrl_c_ends_a_loop_of_a_shell_and_leaves_the_terminal_in_order() -> None:
    loop = f"for i in 1 2 3; do {shlex.join([*PROGRAM, 'solve', '--db', str(table_file('663', '4x4'))])}; done"
    code, shown = on_terminal(program=["bash", "-c", loop], until=r"threshold \d+, [\d,]+ nodes", keys=b"\x03")
    assert code == -signal.SIGINT
    assert re.match(r"pdb: no board given: solving the 17 boards .* to solve your own, give a file", shown)
    assert shown.endswith("pdb: interrupted\r\n")
    assert shown.count("interrupted") == 1
    hidden, visible = "\x1b[?25l", "\x1b[?25h"  # the cursor
    assert shown.count(hidden) == shown.count(visible) >= 1


# numba imports the second from C, where Python's own handler would become an ImportError.
@pytest.mark.parametrize("imported", ["typer", "numba._devicearray"])
def test_ctrl_c_while_packages_are_imported_ends_the_process_without_a_traceback(imported: str) -> None:
    pressed = f"""
import sys

class PressesCtrlC:
    def find_spec(name, *_):
        if name == "{imported}":
            signal.raise_signal(signal.SIGINT)

sys.argv = ["pdb", "doctor"]
sys.meta_path.insert(0, PressesCtrlC)
run()
"""
    result = python(PROGRAM[-1].removesuffix("run()") + pressed)
    assert (result.returncode, result.stdout, result.stderr) == (-signal.SIGINT, "", "")


def test_signal_in_a_compilation_ends_the_command_after_it(tmp_path: Path) -> None:
    environment = os.environ | {"TILE_PDB_CACHE": str(tmp_path)}
    with start("study", "space", "2x3", env=environment) as process:
        lines = [process.stderr.readline()]
        process.send_signal(signal.SIGTERM)
        out, said = process.communicate()
    lines += said.splitlines(keepends=True)
    assert [re.sub(" .*", "", line[5:-1]) for line in lines] == ["compiling", "terminated"], lines
    assert (process.returncode, out) == (-signal.SIGTERM, "")


@pytest.mark.parametrize("name", ["SIGHUP", "SIGINT"])
def test_ignored_signal_stays_ignored(name: str) -> None:
    """As `nohup` starts a command, and as a shell starts one in the background."""
    program = f"""
import signal, typer
from tilepdb.commands.process import command

signal.signal(signal.{name}, signal.SIG_IGN)

@command
def work():
    signal.raise_signal(signal.{name})
    print("done")

typer.run(work)
"""
    result = python(program, timeout=20)
    assert (result.returncode, result.stdout, result.stderr) == (0, "done\n", "")


@pytest.mark.parametrize(
    "words",
    [
        "info TABLE",
        "info TABLE --format csv",
        "verify OTHER TABLE",
        "query --db TABLE --instances BOARDS",
        "solve --db TABLE --instances BOARDS --log TABLE.log",
        "label --instances BOARDS --out TABLE.csv",
    ],
)
def test_control_characters_in_names_and_files_are_escaped(words: str, tmp_path: Path, small_table: str) -> None:
    """They could steer the terminal: escape sequences, ends of lines, the bell, a C1 control."""
    name = "a\x1b[31m\nb\x07\x9b"
    table, other, boards = (tmp_path / f"{name}{end}" for end in (".h5", ".txt", ".csv"))
    table.write_bytes(Path(small_table).read_bytes())
    other.write_text("no table")
    boards.write_text(f'id,board\n"{name}",{BOARD}\n"{name}2",{UNSOLVABLE}\n')
    places = {"TABLE": str(table), "OTHER": str(other), "BOARDS": str(boards)}
    result = pdb(*(re.sub("[A-Z]{5,}", lambda at: places[at[0]], word) for word in words.split()))
    shown = (result.stdout + result.stderr).replace("\n", "")
    assert shown.isprintable(), shown
    assert r"a\x1b[31m\nb\x07\x9b" in shown


@pytest.mark.parametrize(
    ("error", "match"),
    [
        (RuntimeError("can't start new thread"), "the system starts no more threads; raise its limit"),
        (MemoryError(), "not enough memory; pdb build --dry-run"),
    ],
)
def test_memory_or_thread_that_the_system_refuses_is_one_sentence(
    error: Exception, match: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as ended, errors_as_exit_codes():
        raise error
    said = capsys.readouterr().err
    assert (ended.value.code, said.count("\n")) == (5, 1)
    assert match in said


def test_libraries_start_no_threads(small_table: str) -> None:
    """If it could not start them, OpenBLAS would send SIGINT to the process."""
    program = (
        f"import sys, psutil; sys.argv = ['pdb', 'info', {small_table!r}]; from tilepdb.commands.main import app; "
        "app(standalone_mode=False); print(psutil.Process().num_threads(), 'numpy' in sys.modules)"
    )
    environment = {name: value for name, value in os.environ.items() if name != "OPENBLAS_NUM_THREADS"}
    assert python(program, env=environment).stdout.splitlines()[-1] == "1 True"
