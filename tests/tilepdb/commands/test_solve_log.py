"""The log of finished boards, by itself and locally."""

import errno
import io
import json
import os
import tracemalloc
from pathlib import Path
from typing import Any

import pytest

from pdb_core.errors import DiskFullError, InputError, OutputError
from pdb_core.puzzle import blank_last
from solver import Limits, Solution, Solver
from tests.command_line import BOARD, UNSOLVABLE, pdb, refused
from tests.solving import S3, database_for, solvable_boards
from tilepdb.commands.solve_log import SolveLog, _checksum

METHOD: dict[str, Any] = {"search": "ida-star", "tables": ["ab" * 32]}


@pytest.fixture(scope="module")
def solutions() -> list[Solution]:
    with database_for("1,2,5/3,4,6/7,8", "3x3") as database:
        solver = Solver(database)
        return [solver.solve(board) for board in solvable_boards(S3, blank_last(S3), 4, 1)]


def write(path: Path, solutions: list[Solution]) -> bytes:
    with SolveLog(path, METHOD) as log:
        for solution in solutions:
            log.add(solution.board, solution.goal, solution)
    return path.read_bytes()


def test_log_gives_back_what_it_was_given(tmp_path: Path, solutions: list[Solution]) -> None:
    write(tmp_path / "log", solutions)
    with SolveLog(tmp_path / "log", METHOD) as log:
        for solution in solutions:
            assert log.answer(solution.board, solution.goal, S3) == solution
        assert log.answer(blank_last(S3), blank_last(S3), S3) is None


def test_board_that_is_too_large_is_refused_with_a_log_too(tmp_path: Path) -> None:
    """Its numbers do not fit in bytes."""
    board = " ".join(map(str, [*range(1, 288), 0, 288]))
    refused(pdb("search", board, "--log", str(tmp_path / "log")), 2, "boards of 6x6, this board is 17x17")


def test_log_cut_off_anywhere_gives_the_boards_before_and_goes_on(tmp_path: Path, solutions: list[Solution]) -> None:
    whole = write(tmp_path / "whole", solutions)
    for length in (*range(0, 130), *range(130, len(whole), 17)):
        (tmp_path / "log").write_bytes(whole[:length])
        n_left = max(0, whole[:length].count(b"\n") - 1)
        with SolveLog(tmp_path / "log", METHOD) as log:
            known = [log.answer(solution.board, solution.goal, S3) for solution in solutions]
            assert known == [*solutions[:n_left], *[None] * (len(solutions) - n_left)]
            for solution in solutions[n_left:]:
                log.add(solution.board, solution.goal, solution)
        assert (tmp_path / "log").read_bytes() == whole


def test_log_is_read_line_by_line(tmp_path: Path, solutions: list[Solution]) -> None:
    header, line = write(tmp_path / "log", solutions[:1]).splitlines(keepends=True)
    (tmp_path / "log").write_bytes(header + 500 * line)
    tracemalloc.start()
    try:
        with SolveLog(tmp_path / "log", METHOD):
            assert tracemalloc.get_traced_memory()[1] < 100 * len(line)
    finally:
        tracemalloc.stop()


def test_boards_that_were_given_up_are_not_logged(tmp_path: Path) -> None:
    with database_for("1,2,5/3,4,6/7,8", "3x3") as database:
        given_up = Solver(database).solve((8, 6, 7, 2, 5, 4, 3, 0, 1), limits=Limits(nodes=1))
    assert given_up.length is None
    assert len(write(tmp_path / "log", [given_up]).splitlines()) == 1


@pytest.mark.parametrize(
    ("content", "match"),
    [
        (b"8 6 7 2 5 4 3 0 1", "is not a log of pdb solve"),
        (b"id,goal\n1,2\n", "is not a log of pdb solve"),
        (b'{"a": 1}', "is not a log of pdb solve"),
        (b'{"a": 1}\n', "is not a log of pdb solve"),
        (b"[1]\n", "is not a log of pdb solve"),
        (b'{"log": "tile-pdb solve log", "version": 2, "search": "a-star", "tables": ["abababababab"]}\n',
         r"is of another search \(search a-star, not ida-star, tables abababababab, not abababababab\)"),
    ],
)  # fmt: skip
def test_other_files_are_refused_and_left_as_they_are(tmp_path: Path, content: bytes, match: str) -> None:
    (tmp_path / "log").write_bytes(content)
    with pytest.raises(InputError, match=match):
        SolveLog(tmp_path / "log", METHOD)
    assert (tmp_path / "log").read_bytes() == content


def signed(values: dict[str, Any]) -> bytes:
    """Return a line of a log, with its checksum."""
    values = {name: value for name, value in values.items() if name != "check"}
    return json.dumps(values | {"check": _checksum(values)}).encode() + b"\n"


def test_damaged_lines_and_wrong_solutions_are_refused(tmp_path: Path, solutions: list[Solution]) -> None:
    path = tmp_path / "log"
    lines = write(path, solutions).splitlines(keepends=True)
    changed = lines[1].replace(b'"length":', b'"length":1')
    for line in (b"{}\n", b"nonsense\n", b"[]\n", changed, signed({"board": [], "goal": []})):
        path.write_bytes(b"".join([lines[0], line, *lines[1:]]))
        with pytest.raises(InputError, match=r"line 2 of the log .* is damaged; remove the line"):
            SolveLog(path, METHOD)
    fields = json.loads(lines[1])
    path.write_bytes(lines[0] + signed(fields | {"tiles": fields["tiles"][1:]}))
    with (
        SolveLog(path, METHOD) as log,
        pytest.raises(InputError, match=r"the log .* is damaged: move 1 of the solution"),
    ):
        log.answer(solutions[0].board, solutions[0].goal, S3)


def test_answer_is_in_the_log_at_once(tmp_path: Path, solutions: list[Solution]) -> None:
    write(tmp_path / "log", solutions[:1])
    with SolveLog(tmp_path / "log", METHOD) as log:
        for solution in solutions[1:]:
            log.add(solution.board, solution.goal, solution)
        assert [log.answer(solution.board, solution.goal, S3) for solution in solutions] == solutions
        os.truncate(tmp_path / "log", 400)
        with pytest.raises(InputError, match="was changed while it is in use"):
            log.answer(solutions[-1].board, solutions[-1].goal, S3)


def test_board_without_an_answer_begins_once(tmp_path: Path, solutions: list[Solution]) -> None:
    boards = [(solution.board, solution.goal) for solution in solutions]
    write(tmp_path / "log", solutions[:1])
    with SolveLog(tmp_path / "log", METHOD) as log:
        assert [log.begin(*board) for board in (*boards, *boards)] == [False, True, True, True, *[False] * 4]


def test_log_in_use_is_refused(tmp_path: Path) -> None:
    with SolveLog(tmp_path / "log", METHOD), pytest.raises(OutputError, match="in use by another command"):
        SolveLog(tmp_path / "log", METHOD)


def test_place_that_cannot_be_written_is_told(tmp_path: Path) -> None:
    with pytest.raises(OutputError, match="cannot write the log"):
        SolveLog(tmp_path / "missing" / "log", METHOD)
    os.mkfifo(tmp_path / "pipe")
    for path in (Path("/dev/null"), tmp_path / "pipe"):
        with pytest.raises(InputError, match="is not a log of pdb solve"):
            SolveLog(path, METHOD)


def test_full_disk_is_told(tmp_path: Path, solutions: list[Solution], monkeypatch: pytest.MonkeyPatch) -> None:
    class FullDisk(io.BytesIO):
        def fileno(self) -> int:
            return 0

        def flush(self) -> None:
            raise OSError(errno.ENOSPC, "No space left on device")

    with SolveLog(tmp_path / "log", METHOD) as log, monkeypatch.context() as patch:
        patch.setattr(log, "_file", FullDisk())
        with pytest.raises(DiskFullError, match=r"the disk is full, the log .* make room or name another"):
            log.add(solutions[0].board, solutions[0].goal, solutions[0])


def test_command_takes_finished_boards_from_its_log(small_table: str, tmp_path: Path) -> None:
    log = str(tmp_path / "log")
    command = ["solve", "--db", small_table, BOARD, BOARD, UNSOLVABLE, "--log", log, "--format", "ndjson"]
    first, second = pdb(*command, "--threads", "2"), pdb(*command)
    one, same, _ = (json.loads(line) for line in first.stdout.splitlines())
    assert one | {"id": "2"} == same  # searched once: seconds too
    assert (first.returncode, second.returncode) == (3, 3), first.stderr
    assert second.stdout == first.stdout
    assert "1 finished board in" in second.stderr
    refused(pdb("search", "--db", small_table, BOARD, "--plain", "--log", log), 2, "plain False, not True")
