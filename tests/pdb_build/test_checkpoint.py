"""Checkpoints: a build that was stopped continues and makes the same file, or reports why it cannot."""

import errno
import itertools
import json
import os
import re
import shutil
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from pdb_build import BuildPlan, BuildProgress, build_database, checkpoint, search
from pdb_build.checkpoint import BuildCheckpoints, refuse_checkpoint
from pdb_build.partial_folder import PartialFolder
from pdb_build.search import SearchPosition
from pdb_core.board_size import parse_size
from pdb_core.encoding import Cost, Encoding
from pdb_core.errors import BuildRunningError, CheckpointMismatchError, DiskFullError, OutputError
from pdb_core.puzzle import blank_last
from tests import failing, rows
from tests.tables import flip, small_plan, stopped

pytestmark = pytest.mark.tiny


@pytest.fixture(autouse=True)
def quick_disk(monkeypatch: pytest.MonkeyPatch) -> None:
    """A sync only matters where the machine loses power."""
    monkeypatch.setattr(os, "fsync", lambda _descriptor: None)


@pytest.fixture(scope="module")
def expected(tmp_path_factory: pytest.TempPathFactory) -> bytes:
    """The file of a build that was not stopped."""
    return build_database(small_plan(tmp_path_factory.mktemp("whole") / "a.h5")).path.read_bytes()


@pytest.mark.parametrize(
    ("partition", "size", "encoding", "cost"),
    rows("""
1,2,5/3,4,6/7,8 | 3x3 | bits | additive
1,2,3/4,5 | 2x3 | bits | every-move
1,2/3,6/4,7/5,8 | 3x3 | bytes | additive
"""),
)
def test_every_checkpoint_leads_to_the_same_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, partition: str, size: str, encoding: Encoding, cost: Cost
) -> None:
    monkeypatch.setattr("pdb_build.level_search._SLAB_STATES", 200)
    whole = build_database(small_plan(tmp_path / "whole.h5", partition, size, encoding, cost))
    kept: list[Path] = []
    keep = BuildCheckpoints.keep

    def keep_and_copy(checkpoints: BuildCheckpoints, *content: Any) -> None:
        keep(checkpoints, *content)
        kept.append(shutil.copytree(tmp_path / "kept.h5.partial", tmp_path / f"{len(kept)}.h5.partial"))

    with monkeypatch.context() as patch:
        patch.setattr(BuildCheckpoints, "keep", keep_and_copy)
        build_database(small_plan(tmp_path / "kept.h5", partition, size, encoding, cost), checkpoint_every_s=0)
    assert len(kept) == sum(len(search.states_per_depth) - 1 for search in whole.searches if search.seconds)
    largest = max((folder / "checkpoint").stat().st_size for folder in kept)
    assert whole.plan.checkpoint_bytes < 2 * largest < whole.plan.checkpoint_bytes + 5000
    for folder in kept:
        said: list[str] = []
        plan = small_plan(folder.with_suffix(""), partition, size, encoding, cost, n_threads=1)
        result = build_database(plan, say=said.append)
        assert said[0].startswith(f"{result.path} continues from")
        assert result.n_runs == json.loads(result.report.read_text())["runs"] == 2
        assert result.path.read_bytes() == whole.path.read_bytes()
        assert [s.states_per_depth for s in result.searches] == [s.states_per_depth for s in whole.searches]
        assert not folder.exists()


def cut(path: Path) -> None:
    os.truncate(path, path.stat().st_size - 1)


def change_manifest(path: Path) -> None:
    path.write_bytes(path.read_bytes().replace(b'"index": 1', b'"index": 2'))


def change_table(path: Path) -> None:
    offset = json.loads(path.read_bytes().splitlines()[0])["tables"]["0"]["offset"]
    with path.with_name("table.h5").open("r+b") as file:
        file.seek(offset + 7)
        file.write(b"\x55\x66\x77")


@pytest.mark.parametrize(
    ("damage", "consequence"),
    [
        (lambda path: flip(path, -100), "continues from the end of pattern 1 of 3"),
        (cut, "continues from the end of pattern 1 of 3"),
        (change_manifest, "starts over: nothing in"),
        (change_table, "starts over: nothing in"),
    ],
)
def test_whole_tables_count_if_the_rest_is_damaged(
    plan: BuildPlan, expected: bytes, damage: Callable[[Path], None], consequence: str
) -> None:
    damage(stopped(plan, n_calls=20) / "checkpoint")
    said: list[str] = []
    build_database(plan, say=said.append)
    assert said[-1].startswith(f"{plan.out} {consequence}")
    assert plan.out.read_bytes() == expected


@pytest.mark.parametrize("age_s", [10, 100])
def test_interrupted_level_of_a_long_run_is_finished_and_kept(
    plan: BuildPlan, monkeypatch: pytest.MonkeyPatch, expected: bytes, age_s: int
) -> None:
    """A checkpoint is written every 60 s by default, so a run of 10 s is not kept."""
    real, calls, later = search.as_completed, itertools.count(1), time.monotonic() + age_s

    with monkeypatch.context() as patch:

        def interrupted(tasks: Any) -> Any:
            if next(calls) == 5:
                patch.setattr(time, "monotonic", lambda: later)
                raise KeyboardInterrupt
            return real(tasks)

        patch.setattr(search, "as_completed", interrupted)
        with pytest.raises(KeyboardInterrupt):
            build_database(plan)
    said: list[str] = []
    build_database(plan, say=said.append)
    assert said == ([f"{plan.out} continues from level 6 of pattern 1 of 3"] if age_s > 60 else [])
    assert plan.out.read_bytes() == expected


@pytest.mark.parametrize("n_interrupts", [1, 2])
@pytest.mark.parametrize("n_th", [1, 5])
@pytest.mark.parametrize("function", ["_write", "put_in_place"])
def test_interrupted_checkpoint_is_written_and_what_is_said_of_it_is_kept(
    plan: BuildPlan, monkeypatch: pytest.MonkeyPatch, expected: bytes, function: str, n_th: int, n_interrupts: int
) -> None:
    """The interrupt comes while a checkpoint is written, or gets its name."""
    real, calls, said = getattr(checkpoint, function), itertools.count(1), list[str]()

    def interrupted(path: Path, *content: Any) -> None:
        if n_th <= next(calls) < n_th + n_interrupts:
            path.write_bytes(b"a part")
            raise KeyboardInterrupt
        real(path, *content)

    with monkeypatch.context() as patch:
        patch.setattr(checkpoint, function, interrupted)
        with pytest.raises(KeyboardInterrupt):
            build_database(plan, say=said.append, checkpoint_every_s=0)
    level = n_th + (n_interrupts == 1)
    kept = [] if level == 1 else [f"level {level} of pattern 1 of 3"]
    assert said == [
        "interrupted: writing a last checkpoint; Ctrl-C again ends without it",
        *(
            f"{plan.out} is kept up to {what}, in {plan.out.name}.partial; the same build continues it, or starts over "
            "(fresh)"
            for what in kept
        ),
    ]
    said.clear()
    build_database(plan, say=said.append)
    assert said == [f"{plan.out} continues from {what}" for what in kept]
    assert plan.out.read_bytes() == expected


def test_run_that_ends_before_it_has_a_table_keeps_the_checkpoint(
    plan: BuildPlan, monkeypatch: pytest.MonkeyPatch
) -> None:
    stopped(plan)

    def full(path: Path, mode: str = "r", *arguments: Any, **named: Any) -> Any:
        if path.name == "table.h5" and "w" in mode:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        return real(path, mode, *arguments, **named)

    real = Path.open
    with monkeypatch.context() as patch:
        patch.setattr(Path, "open", full)
        with pytest.raises(DiskFullError):
            build_database(plan)
    said: list[str] = []
    assert build_database(plan, say=said.append).n_runs == 2
    assert said[0].startswith(f"{plan.out} continues from level")


@pytest.mark.parametrize(
    ("words", "match"),
    rows("""
encoding=bytes | its encoding is bits, not bytes
partition=1,2/3,4,5/6,7,8 | its partition is 1,2,5/3,4,6/7,8, not 1,2/3,4,5/6,7,8; its name
goal_text=blank-first | its goal is 1 2 3 4 5 6 7 8 0, not 0 1 2
cost=every-move | its cost is additive, not every-move
partition=1,2,3/4,5 size_text=2x3 | its size is 3x3, not 2x3
"""),
)
def test_checkpoint_of_other_options_is_refused(tmp_path: Path, words: str, match: str) -> None:
    out, options = tmp_path / "a.h5", dict(word.split("=") for word in words.split())
    folder = stopped(small_plan(out))
    before = {path.name: path.read_bytes() for path in folder.iterdir() if path.name != "lock"}
    with pytest.raises(CheckpointMismatchError, match=f"{match}.*fresh"):
        build_database(small_plan(out, **options))
    assert before == {path.name: path.read_bytes() for path in folder.iterdir() if path.name != "lock"}
    build_database(small_plan(out, **options), fresh=True)
    assert out.read_bytes() == build_database(small_plan(tmp_path / "b.h5", **options)).path.read_bytes()
    assert not folder.exists()


def test_checkpoint_of_another_builder_is_refused(plan: BuildPlan, monkeypatch: pytest.MonkeyPatch) -> None:
    stopped(plan)
    monkeypatch.setattr(checkpoint, "program_version", lambda: ("0.1.0", "0123456789abcdef"))
    with pytest.raises(CheckpointMismatchError, match=r"version of tile-pdb is .*, not .* 0123456789ab\. Give"):
        build_database(plan)
    monkeypatch.setattr(checkpoint, "_FORMAT", "tile-pdb checkpoint 4")
    with pytest.raises(CheckpointMismatchError):
        build_database(plan)


def test_checkpoint_that_cannot_be_read_now_is_kept(plan: BuildPlan, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = stopped(plan)
    with monkeypatch.context() as patch:
        patch.setattr(os, "pread", failing(errno.EIO))
        with pytest.raises(OutputError, match="cannot be read: Input/output error; try again"):
            build_database(plan)
    assert (folder / "checkpoint").exists()
    assert build_database(plan).n_runs == 2


def test_build_on_a_cluster_refuses_the_checkpoint_of_a_local_one(tmp_path: Path) -> None:
    stopped(small_plan(tmp_path / "a.h5"))
    with PartialFolder(tmp_path / "a.h5") as folder:
        with pytest.raises(CheckpointMismatchError, match="which a cluster cannot continue"):
            refuse_checkpoint(folder, fresh=False)
        refuse_checkpoint(folder, fresh=True)
    assert not list(tmp_path.iterdir())


def test_second_builder_of_a_file_gets_the_name_of_the_first(tmp_path: Path, plan: BuildPlan) -> None:
    owners = iter([f"process {os.getpid()} on ", "another process; wait"])

    def build_too(_progress: BuildProgress) -> None:
        for owner in owners:
            with pytest.raises(BuildRunningError, match=f"a.h5 is being built by {owner}"):
                build_database(plan)
            # The first had no room for its name.
            os.truncate(tmp_path / "a.h5.partial" / "lock", 0)

    build_database(plan, progress=build_too)
    assert next(owners, None) is None
    assert sorted(path.name for path in tmp_path.iterdir()) == ["a.h5", "a.h5.build.json"]


@pytest.mark.parametrize(
    ("function", "patched", "reason"),
    [
        ("_write", failing(errno.ENOSPC), "No space left on device; the build continues without"),
        # The table file has priority.
        ("available_disk", lambda _folder: 100, "it needs 2 kB, the file .*100 B are free"),
    ],
)
def test_build_continues_without_a_checkpoint_that_cannot_be_written(
    plan: BuildPlan, monkeypatch: pytest.MonkeyPatch, expected: bytes, function: str, patched: Any, reason: str
) -> None:
    monkeypatch.setattr(checkpoint, function, patched)
    said: list[str] = []
    build_database(plan, say=said.append, checkpoint_every_s=0)
    assert len(said) == 1
    assert re.match(f"no checkpoint of {plan.out}: {reason}", said[0])
    assert plan.out.read_bytes() == expected


def test_slow_checkpoints_are_further_apart(plan: BuildPlan, monkeypatch: pytest.MonkeyPatch) -> None:
    now = [0.0]
    monkeypatch.setattr(checkpoint.time, "monotonic", lambda: now[0])

    def write_slowly(path: Path, *_content: object) -> None:
        path.touch()
        written_at.append(now[0])
        now[0] += 5

    written_at: list[float] = []
    monkeypatch.setattr(checkpoint, "_write", write_slowly)
    with PartialFolder(plan.out) as folder:
        build = BuildCheckpoints(folder, plan, 60, pytest.fail, fresh=False)
        for now[0] in (59.0, 60.0, 164.0, 165.0):
            build.of_pattern(0, dict).keep(SearchPosition(), ())
    assert written_at == [60, 165]


@pytest.mark.parametrize("shares", [(0.0, 0.7), (0.7, 0.0)])
def test_checkpoint_does_not_depend_on_where_the_bits_are(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, expected: bytes, shares: tuple[float, float]
) -> None:
    """With a share of 0, the bits of the search are in a file, and the next run has them in memory; or the reverse."""
    monkeypatch.setattr("pdb_build.level_search._SLAB_STATES", 100)
    out = tmp_path / "a.h5"
    monkeypatch.setattr("pdb_build.plan._MEMORY_SHARE", shares[0])
    stopped(small_plan(out), n_calls=8)
    monkeypatch.setattr("pdb_build.plan._MEMORY_SHARE", shares[1])
    assert build_database(small_plan(out)).n_runs == 2
    assert out.read_bytes() == expected


def test_plan_counts_what_an_unfinished_build_holds_as_free(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("pdb_build.plan.available_disk", lambda _folder: 1000)
    before = small_plan(tmp_path / "a.h5").available_disk
    (tmp_path / "a.h5.partial").mkdir()
    (tmp_path / "a.h5.partial" / "table.h5").write_bytes(bytes(50_000))
    assert before == 1000
    assert small_plan(tmp_path / "a.h5").available_disk >= 50_000


def test_standard_table_that_another_process_builds_is_waited_for(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from tilepdb import standard

    monkeypatch.setenv("TILE_PDB_CACHE", str(tmp_path))
    size = parse_size("2x2")
    path = standard.standard_table(size, blank_last(size))
    content = path.read_bytes()
    path.unlink()
    with PartialFolder(path) as folder:

        def finish(_seconds: float) -> None:
            path.write_bytes(content)

        monkeypatch.setattr(standard.time, "sleep", finish)
        assert standard.standard_table(size, blank_last(size)) == path
        assert folder.path.exists()
