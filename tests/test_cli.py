"""The command line as its users meet it: a process, its two streams, its exit code."""

import csv
import io
import json
import os
import pty
import re
import select
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from pdb_core import __version__
from pdb_core.jit import cache_home
from tests.tables import table_file

PROGRAM = [sys.executable, "-c", "from pdb_cli.main import run; run()"]
BOARD = "8 6 7/2 5 4/3 0 1"
UNSOLVABLE = "1 2 3/4 5 6/8 7 0"


def pdb(
    *arguments: str, stdin: str = "", cwd: Path | None = None, **environment: str
) -> subprocess.CompletedProcess[str]:
    """Run the command; whatever happens, no traceback."""
    result = subprocess.run(
        [*PROGRAM, *arguments],
        input=stdin,
        capture_output=True,
        text=True,
        cwd=cwd,
        env=os.environ | environment,
        timeout=120,
    )
    assert "Traceback" not in result.stderr, result.stderr
    return result


def refused(result: subprocess.CompletedProcess[str], code: int, match: str) -> None:
    """The exit code, and one sentence on stderr."""
    assert result.returncode == code, result.stderr
    told = [line for line in result.stderr.splitlines() if not line.startswith("pdb: compiling")]
    assert len(told) == 1, told
    assert re.search(match, told[0]), told


@pytest.fixture
def own_cache(tmp_path: Path) -> str:
    """A cache folder with no tables in it, that shares the compiled kernels."""
    folder = tmp_path / "cache"
    folder.mkdir()
    (folder / "kernels").symlink_to(cache_home() / "kernels")
    return str(folder)


@pytest.fixture(scope="module")
def small() -> str:
    return str(table_file("1,2,5/3,4,6/7,8", "3x3"))


def test_help_is_quick_and_lists_the_commands() -> None:
    pdb("--help")
    seconds = []
    for _ in range(5):
        start = time.perf_counter()
        result = pdb("--help")
        seconds.append(time.perf_counter() - start)
    assert result.returncode == 0
    for command in ("build", "solve", "query", "info", "stats", "verify", "bench", "doctor"):
        assert re.search(rf"^  {command} ", result.stdout, re.MULTILINE)
    # 0.3 s is promised; twice that, so that a busy machine does not fail the test.
    assert min(seconds) < 0.6


def test_help_does_not_import_numba() -> None:
    program = (
        "import sys; sys.argv = ['pdb', '--help']\n"
        "from pdb_cli.main import run\n"
        "try:\n    run()\nfinally:\n    print('numba' in sys.modules)"
    )
    result = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)
    assert result.stdout.splitlines()[-1] == "False"


def test_version_is_told() -> None:
    assert pdb("--version").stdout == f"tile-pdb {__version__}\n"


def test_debuggers_users_are_sent_on(tmp_path: Path) -> None:
    refused(pdb("script.py"), 2, "python -m pdb script.py")
    (tmp_path / "script").write_text("print()", encoding="utf-8")
    refused(pdb("script", cwd=tmp_path), 2, "python -m pdb script")


def test_unknown_command_is_a_usage_error() -> None:
    result = pdb("biuld")
    assert result.returncode == 2
    assert "build" in result.stderr


# build


def test_build_then_solve_as_in_the_readme(tmp_path: Path) -> None:
    built = pdb("build", "8", cwd=tmp_path)
    assert built.returncode == 0
    assert (tmp_path / "8.h5").exists()
    assert "8.h5 written in" in built.stdout
    solved = pdb("solve", "--db", "8.h5", BOARD, cwd=tmp_path)
    assert solved.returncode == 0
    assert solved.stdout.startswith("1: 31 moves, the shortest")


def test_build_writes_into_data_where_there_is_one(tmp_path: Path) -> None:
    (tmp_path / "data").mkdir()
    assert pdb("build", "8", cwd=tmp_path).returncode == 0
    assert (tmp_path / "data" / "8.h5").exists()
    assert (tmp_path / "data" / "8.build.json").exists()


def test_build_takes_several_partitions_and_goals(tmp_path: Path) -> None:
    result = pdb("build", "8", "1,2,3,4/5,6,7,8", "--goal", "blank-first", "--format", "ndjson", cwd=tmp_path)
    assert result.returncode == 0
    files = [json.loads(line)["file"] for line in result.stdout.splitlines()]
    assert files == ["8.h5", "1-2-3-4_5-6-7-8.h5"]
    assert all((tmp_path / name).exists() for name in files)


def test_dry_run_builds_nothing(tmp_path: Path) -> None:
    result = pdb("build", "78", "--dry-run", cwd=tmp_path)
    assert result.returncode == 0
    assert "518,918,400 entries" in result.stdout
    assert "1,425,191,040 states" in result.stdout
    assert list(tmp_path.iterdir()) == []


def test_build_that_does_not_fit_is_refused(tmp_path: Path) -> None:
    nine = ",".join(map(str, range(1, 10)))
    rest = ",".join(map(str, range(10, 25)))
    result = pdb("build", f"{nine}/{rest.replace(',18', '/18')}", "--size", "5x5", "--dry-run", cwd=tmp_path)
    assert result.returncode == 5
    assert re.search(r"needs [\d.]+ TB of memory, .* patterns of at most \d tiles would fit", result.stderr)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("arguments", "match"),
    [
        (["build", "999"], "neither a name"),
        (["build", "1,2/2,3", "--size", "2x2"], "in two patterns"),
        (["build", "1,2", "--size", "3x3"], "in no pattern"),
        (["build", "663", "--size", "3x3"], "one of a 4x4 board"),
        (["build", "8", "--size", "9x9"], "not supported"),
        (["build", "8", "--size", "three"], "WIDTHxHEIGHT"),
        (["build", "8", "--goal", "1 2 3"], "neither one of"),
        (["build", "663", "--goal", "1 2 3 4/5 0 6 7/8 9 10 11/12 13 14 15"], "blank in the corner"),
        (["build", "8", "--out", "no/where/8.h5"], "cannot write no/where/8.h5: No such file or directory"),
    ],
)
def test_build_refuses_bad_input(tmp_path: Path, arguments: list[str], match: str) -> None:
    refused(pdb(*arguments, cwd=tmp_path), 2, match)
    assert list(tmp_path.iterdir()) == []


def test_place_that_takes_no_files_is_refused(tmp_path: Path) -> None:
    """/proc has no room for files, not even root's."""
    refused(pdb("build", "8", "--out", "/proc/8.h5", cwd=tmp_path), 5, "/proc/8.h5 needs .* are free there")


def test_full_disk_is_refused_and_nothing_is_lost(tmp_path: Path) -> None:
    """A limit on the size of files stands in for a full disk, which a test cannot make without being root."""
    path = tmp_path / "8.h5"
    path.write_bytes(b"older")
    program = (
        "import os, resource, signal, sys\n"
        "signal.signal(signal.SIGXFSZ, signal.SIG_IGN)\n"
        "resource.setrlimit(resource.RLIMIT_FSIZE, (40_000, 40_000))\n"
        "sys.argv = ['pdb', 'build', '8', '--out', sys.argv[1]]\n"
        "from pdb_cli.main import run; run()"
    )
    # Kernels are on disk by then: the limit would hold for them too.
    assert pdb("build", "8", "--out", str(tmp_path / "first.h5")).returncode == 0
    result = subprocess.run([sys.executable, "-c", program, str(path)], capture_output=True, text=True, check=False)
    assert result.returncode in (2, 5)
    assert "Traceback" not in result.stderr
    assert str(path) in result.stderr
    assert path.read_bytes() == b"older"
    assert sorted(p.name for p in tmp_path.iterdir()) == ["8.h5", "first.build.json", "first.h5"]


@pytest.mark.parametrize("delay", [0.6, 1.2, 2.0, 3.0, 3.5])
def test_interrupted_build_ends_within_a_second_and_leaves_nothing(tmp_path: Path, delay: float) -> None:
    process = subprocess.Popen([*PROGRAM, "build", "78"], cwd=tmp_path, stderr=subprocess.PIPE, text=True)
    time.sleep(delay)
    start = time.perf_counter()
    process.send_signal(signal.SIGINT)
    _out, err = process.communicate(timeout=20)
    # 1 s is promised; on a busy disk a sync may take longer.
    assert time.perf_counter() - start < 2.0
    assert process.returncode in (130, -signal.SIGINT)
    assert "Traceback" not in err or delay < 1.0  # before our code runs Python answers by itself
    assert [path.name for path in tmp_path.iterdir() if path.suffix == ".h5" and not path.name.startswith(".")] == []


# info, stats, verify


def test_info_draws_the_partition() -> None:
    result = pdb("info", str(table_file("663", "4x4")))
    assert result.returncode == 0
    assert "    A C C C\n    A A B B\n    A A B B\n    A B B .\n" in result.stdout
    assert "maximum 28" in result.stdout


def test_stats_tells_histogram_and_mean(small: str, tmp_path: Path) -> None:
    result = pdb("stats", small, "--boards", "2000")
    assert result.returncode == 0
    assert "mean maximum" in result.stdout
    record = json.loads(pdb("stats", small, "--boards", "2000", "--format", "ndjson").stdout)
    assert [sum(p["histogram"]) for p in record["patterns"]] == [504, 504, 72]
    plot = tmp_path / "a.svg"
    assert pdb("stats", small, "--boards", "100", "--plot", str(plot)).returncode == 0
    assert plot.read_text(encoding="utf-8").startswith("<?xml")
    assert pdb("stats", small, "--plot", "a.txt").returncode == 2


def test_verify_says_what_it_checked(small: str) -> None:
    shallow = pdb("verify", small)
    assert shallow.returncode == 0
    assert "3 digests and histograms over 1,080 entries agree" in shallow.stdout
    deep = json.loads(pdb("verify", "--deep", "--format", "ndjson", small).stdout)
    assert [proof["n_entries"] for proof in deep["proofs"]] == [504, 504, 72]
    assert all(proof["n_transitions"] > proof["n_states"] for proof in deep["proofs"])


def test_verify_deep_finds_a_wrong_table_with_right_digests(tmp_path: Path) -> None:
    """The worst case: a faulty builder that signs what it wrote."""
    import hashlib

    import h5py

    from pdb_core.schema import Header, PatternHeader, read_header, write_header

    path = tmp_path / "wrong.h5"
    path.write_bytes(table_file("1,2,5/3,4,6/7,8", "3x3").read_bytes())
    with h5py.File(path, "r+") as file:
        table = file["pattern_2/table"][:]
        a, b = table.argmax(), 5
        table[a], table[b] = table[b], table[a]
        file["pattern_2/table"][:] = table
        header = read_header(file, "")
        last = header.patterns[2]
        signed = PatternHeader(
            last.pattern, last.n_entries, last.histogram, last.n_unreached, hashlib.sha256(table.tobytes()).hexdigest()
        )
        write_header(
            file, Header(header.size, header.goal, header.partition, header.encoding, (*header.patterns[:2], signed))
        )
    assert pdb("verify", str(path)).returncode == 0
    refused(pdb("verify", "--deep", str(path)), 4, "7,8|entry")


# query


def test_query_tells_values_sums_and_maximum(small: str) -> None:
    result = pdb("query", "--db", small, BOARD)
    assert result.returncode == 0
    sums = re.findall(r"(\d+) = ([\d +]+)$", result.stdout, re.MULTILINE)
    assert len(sums) == 2
    for total, values in sums:
        assert int(total) == sum(map(int, values.split("+")))
    assert re.search(rf"maximum +{max(int(total) for total, _ in sums)}$", result.stdout, re.MULTILINE)


@pytest.mark.parametrize("output", ["text", "json", "ndjson", "csv"])
def test_query_formats_agree(small: str, output: str) -> None:
    result = pdb("query", "--db", small, BOARD, "1 2 3/4 5 6/7 0 8", "--format", output)
    assert result.returncode == 0
    if output == "json":
        assert [record["h"] for record in json.loads(result.stdout)][1] == 1
    elif output == "ndjson":
        assert [json.loads(line)["h"] for line in result.stdout.splitlines()][1] == 1
    elif output == "csv":
        assert [row["h"] for row in csv.DictReader(io.StringIO(result.stdout))][1] == "1"


def test_query_reads_standard_input(small: str) -> None:
    result = pdb("query", "--db", small, "--format", "ndjson", stdin=f"{BOARD}\n1 2 3 4 5 6 7 8 0\n")
    assert [json.loads(line)["id"] for line in result.stdout.splitlines()] == ["1", "2"]


def test_query_goes_on_after_an_unsolvable_board(small: str) -> None:
    result = pdb("query", "--db", small, UNSOLVABLE, BOARD, "--format", "ndjson")
    assert result.returncode == 3
    records = [json.loads(line) for line in result.stdout.splitlines()]
    assert [record["solvable"] for record in records] == [False, True]


# solve


def test_solve_record_has_the_documented_fields(small: str) -> None:
    result = pdb("solve", "--db", small, BOARD, "--format", "ndjson")
    record = json.loads(result.stdout)
    assert set(record) >= {
        "id", "board", "goal", "solvable", "length", "moves", "optimal", "h", "generated", "expanded", "seconds",
        "thresholds",
    }  # fmt: skip
    assert record["length"] == len(record["moves"]) == 31
    assert record["optimal"] is True
    assert sum(step["generated"] for step in record["thresholds"]) == record["generated"]


@pytest.mark.parametrize("goal", ["blank-first", "1 2 3 8 0 4 7 6 5", "snail"])
def test_solve_takes_goals(small: str, goal: str, own_cache: str) -> None:
    board = "1 2 3/8 4 0/7 6 5" if goal != "blank-first" else "1 0 2/3 4 5/6 7 8"
    result = pdb("solve", board, "--goal", goal, "--format", "ndjson", TILE_PDB_CACHE=own_cache)
    assert result.returncode == 0, result.stderr
    assert json.loads(result.stdout)["length"] == 1
    refused_or_solved = pdb("solve", "--db", small, board, "--goal", goal)
    assert refused_or_solved.returncode == (0 if goal == "blank-first" else 2)


def test_goal_of_the_tables_is_the_default(tmp_path: Path) -> None:
    assert (
        pdb("build", "1,2,3,4/5,6,7,8", "--goal", "snail", "--size", "3x3", "--out", "s.h5", cwd=tmp_path).returncode
        == 0
    )
    for command in ("solve", "query"):
        result = pdb(command, "--db", "s.h5", "1 2 3/8 4 0/7 6 5", "--format", "ndjson", cwd=tmp_path)
        assert json.loads(result.stdout)["h"] == 1, result.stderr


def test_query_without_table_takes_boards_of_several_sizes(own_cache: str) -> None:
    result = pdb("query", "--instances", "classic", "--format", "ndjson", TILE_PDB_CACHE=own_cache)
    assert result.returncode == 0, result.stderr
    assert {len(json.loads(line)["board"]) for line in result.stdout.splitlines()} == {9, 16}


def test_solve_without_table_builds_the_standard_one_once(own_cache: str) -> None:
    first = pdb("solve", BOARD, TILE_PDB_CACHE=own_cache)
    second = pdb("solve", BOARD, TILE_PDB_CACHE=own_cache)
    assert "building 8 for 3x3 once" in first.stderr
    assert "building" not in second.stderr
    assert first.stdout.splitlines()[1] == second.stdout.splitlines()[1]


def test_solve_replaces_a_damaged_standard_table(own_cache: str) -> None:
    pdb("solve", BOARD, TILE_PDB_CACHE=own_cache)
    (table,) = (Path(own_cache) / "tables").glob("*.h5")
    table.write_bytes(table.read_bytes()[:3000])
    again = pdb("solve", BOARD, TILE_PDB_CACHE=own_cache)
    assert again.returncode == 0
    assert "building" in again.stderr


@pytest.mark.parametrize("board", ["1 2/0 3", "1 2 3/4 0 5", "4 1 2 3/5 6 7 0", "1 2 3 4/5 6 7 8/9 10 0 11"])
def test_solve_answers_every_size(board: str, own_cache: str) -> None:
    result = pdb("solve", board, "--format", "ndjson", TILE_PDB_CACHE=own_cache)
    assert result.returncode in (0, 3), result.stderr
    assert json.loads(result.stdout)["solvable"] is (result.returncode == 0)


def test_unsolvable_board_gets_the_reason_and_the_others_are_solved(small: str) -> None:
    result = pdb("solve", "--db", small, UNSOLVABLE, BOARD, "--format", "ndjson")
    assert result.returncode == 3
    assert "odd permutation" in result.stderr
    records = [json.loads(line) for line in result.stdout.splitlines()]
    assert [(record["solvable"], record["length"]) for record in records] == [(False, None), (True, 31)]


def test_wrong_length_in_a_file_is_an_error(small: str, tmp_path: Path) -> None:
    path = tmp_path / "set.csv"
    path.write_text(f"id,goal,optimal_length,board\na,blank-last,29,{BOARD.replace('/', ' ')}\n", encoding="utf-8")
    result = pdb("solve", "--db", small, "--instances", str(path))
    assert result.returncode == 1
    assert "31 moves, the instance file says 29" in result.stderr


@pytest.mark.parametrize("limit", [["--max-nodes", "50"], ["--time-limit", "0"]])
def test_limit_is_told_with_a_lower_bound(limit: list[str]) -> None:
    hard = "0 12 9 13/15 11 10 14/3 7 2 5/4 8 6 1"
    result = pdb("solve", "--db", str(table_file("555", "4x4")), hard, *limit)
    assert result.returncode == 5
    assert "given up, at least" in result.stdout


@pytest.mark.parametrize(
    ("board", "match"),
    [
        ("1 2 3/4 5 6/7 8 8", "missing 0, twice or out of range 8"),
        ("1 2 3/4 5 6/7 8", "rows of different lengths"),
        ("1 2 3 4 5", "no square"),
        ("1 2 x/4 5 6/7 8 0", "'x' is not a number"),
        ("1 2 3/4 5 6/7 8 99999999999999999999", "is not a number"),
        ("", "a number is missing"),
    ],
)
def test_bad_board_is_refused(small: str, board: str, match: str) -> None:
    refused(pdb("solve", "--db", small, board), 2, match)
    refused(pdb("query", "--db", small, board), 2, match)


def test_board_of_another_size_is_refused(small: str) -> None:
    refused(pdb("solve", "--db", small, "1 2 3 4 5 6 7 8 9 10 11 12 13 14 0 15"), 4, "3x3 boards, this board is 4x4")


@pytest.mark.parametrize("command", ["solve", "query", "info", "verify", "stats"])
def test_bad_table_file_is_refused_by_every_command(command: str, tmp_path: Path, small: str) -> None:
    def run(path: Path) -> subprocess.CompletedProcess[str]:
        if command in ("solve", "query"):
            return pdb(command, "--db", str(path), BOARD)
        return pdb(command, str(path))

    content = Path(small).read_bytes()
    cases = {
        "missing": (None, "no table file"),
        "foreign": (b"hello", "not a table file"),
        "truncated": (content[:5000], "damaged|truncated"),
        "damaged": (content.replace(b"blank", b"blink").replace(b"1,2,5/3,4,6/7,8", b"1,2,5/3,4,6/8,7"), "damaged"),
    }
    for name, (data, match) in cases.items():
        path = tmp_path / f"{name}.h5"
        if data is not None:
            path.write_bytes(data)
        refused(run(path), 4, match)


def test_instance_sets_go_by_name_and_unknown_ones_get_a_hint() -> None:
    result = pdb("query", "--db", str(table_file("663", "4x4")), "--instances", "hardest80", "--format", "csv")
    assert result.returncode == 0
    assert len(result.stdout.splitlines()) == 18
    refused(pdb("query", "--db", str(table_file("663", "4x4")), "--instances", "hardest8"), 2, "did you mean hardest80")


def test_many_boards_are_solved_in_order_on_all_threads() -> None:
    result = pdb(
        "solve", "--db", str(table_file("78", "4x4")), "--instances", "korf100", "--format", "ndjson", "--threads", "2"
    )
    assert result.returncode == 0, result.stderr
    records = [json.loads(line) for line in result.stdout.splitlines()]
    assert [record["id"] for record in records] == [str(i) for i in range(1, 101)]
    assert "100 boards, 100 solved" in result.stderr


def test_interrupted_solve_ends_at_once() -> None:
    hard = "0 12 9 13/15 11 10 14/3 7 2 5/4 8 6 1"
    process = subprocess.Popen(
        [*PROGRAM, "solve", "--db", str(table_file("555", "4x4")), hard],
        stderr=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    time.sleep(2.5)
    start = time.perf_counter()
    process.send_signal(signal.SIGINT)
    _out, err = process.communicate(timeout=20)
    # 0.2 s is promised, to which the process adds the end of the interpreter.
    assert time.perf_counter() - start < 0.7
    assert process.returncode == 130
    assert err.splitlines()[-1] == "pdb: interrupted"


def test_closed_pipe_is_no_error(small: str) -> None:
    first = " ".join(f"'{part}'" for part in [*PROGRAM, "query", "--db", small, "--format", "ndjson"])
    boards = "\\n".join([BOARD] * 2000)
    result = subprocess.run(
        ["bash", "-c", f"printf '{boards}\\n' | {first} | head -n 1"], capture_output=True, text=True, check=False
    )
    assert "Traceback" not in result.stderr
    assert "Broken" not in result.stderr
    assert len(result.stdout.splitlines()) == 1


def on_terminal(arguments: list[str], *, seconds: float, environment: dict[str, str] | None = None) -> str:
    """What the command shows on a terminal of 100 columns in so many seconds, at most."""
    pid, descriptor = pty.fork()
    if pid == 0:
        os.environ.update({"COLUMNS": "100", "LINES": "40", "TERM": "xterm"} | (environment or {}))
        os.execv(sys.executable, [*PROGRAM, *arguments])
    shown = b""
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        ready, _, _ = select.select([descriptor], [], [], 0.1)
        if ready:
            try:
                piece = os.read(descriptor, 65536)
            except OSError:
                break
            if not piece:
                break
            shown += piece
    else:
        os.kill(pid, signal.SIGKILL)
    os.waitpid(pid, 0)
    os.close(descriptor)
    return shown.decode("utf-8", "replace")


def test_terminal_without_a_board_gets_the_hardest_boards_and_live_progress() -> None:
    shown = on_terminal(["solve", "--db", str(table_file("663", "4x4"))], seconds=6)
    assert "solving the 17 boards of the 15-puzzle that take 80 moves" in shown
    assert re.search(r"threshold \d+, [\d,]+ nodes", shown)


def test_terminal_shows_a_bar_for_each_pattern(tmp_path: Path) -> None:
    shown = on_terminal(["build", "663", "--out", str(tmp_path / "a.h5")], seconds=30)
    assert "2,3,4" in shown
    assert "100 %" in shown
    assert "written in" in shown


def test_log_has_no_control_codes(tmp_path: Path) -> None:
    result = pdb("build", "555", "--out", str(tmp_path / "a.h5"), FORCE_COLOR="1")
    assert "\x1b" not in result.stdout + result.stderr
    assert "\r" not in result.stdout + result.stderr


# bench, doctor


def test_doctor_finds_this_installation_well() -> None:
    result = pdb("doctor")
    assert result.returncode == 0
    assert "self-test         passed" in result.stdout


def test_unwritable_cache_is_one_warning(tmp_path: Path, small: str) -> None:
    blocked = tmp_path / "file"
    blocked.write_text("", encoding="utf-8")
    result = pdb("info", small, TILE_PDB_CACHE=str(blocked))
    assert result.returncode == 0
    result = pdb("query", "--db", small, BOARD, TILE_PDB_CACHE=str(blocked))
    assert result.returncode == 0
    assert result.stderr.count("compiled anew in every run") == 1


def test_bench_prints_medians_and_writes_json(tmp_path: Path) -> None:
    path = tmp_path / "bench.json"
    result = pdb(
        "bench", "663", "--repeats", "1", "--boards", "3", "--set", "classic", "--json", str(path), "--format", "ndjson"
    )
    assert result.returncode == 0, result.stderr
    records = json.loads(path.read_text(encoding="utf-8"))
    assert [json.loads(line) for line in result.stdout.splitlines()] == records
    assert records[0]["measurement"] == "663: build, whole process"
    assert records[1]["boards"] == 3
    assert records[1]["nodes_per_second"] > 100_000
