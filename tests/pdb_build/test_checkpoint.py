"""Checkpoints: a build that was stopped continues and makes the same file, or reports why it cannot."""

import errno
import json
import os
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from pdb_build import BuildPlan, BuildProgress, build_database, checkpoint, plan_build, search, search_pattern
from pdb_build.checkpoint import BuildCheckpoints, Checkpoint, refuse_checkpoints
from pdb_build.frontier import search_frontier, whole_pattern
from pdb_build.partial_folder import PartialFolder
from pdb_build.search import SearchPosition
from pdb_core.encoding import Cost, Encoding
from pdb_core.errors import BuildRunningError, CheckpointMismatchError, OutputError
from pdb_core.pattern import Pattern, parse_partition
from pdb_core.puzzle import blank_last, parse_goal, parse_size
from pdb_core.table_spec import TableSpec

pytestmark = pytest.mark.tiny
SMALL = "1,2,5/3,4,6/7,8"


@pytest.fixture(autouse=True)
def quick_disk(monkeypatch: pytest.MonkeyPatch) -> None:
    """A sync only matters where the machine loses power."""
    monkeypatch.setattr(os, "fsync", lambda _descriptor: None)


def plan_for(
    out: Path,
    partition: str = SMALL,
    size_text: str = "3x3",
    encoding: Encoding = "bits",
    cost: Cost = "additive",
    goal_text: str | None = None,
    *,
    share_tables: bool = True,
) -> BuildPlan:
    size = parse_size(size_text)
    goal = blank_last(size) if goal_text is None else parse_goal(goal_text, size)
    parsed = parse_partition(partition, size, goal, cost)
    return plan_build(size, goal, parsed, out, encoding=encoding, n_threads=2, share_tables=share_tables)


def interrupt_at(n_calls: int) -> Callable[[BuildProgress], None]:
    """Ctrl-C at the n-th report of progress."""
    left = [n_calls]

    def show(_progress: BuildProgress) -> None:
        left[0] -= 1
        if left[0] == 0:
            raise KeyboardInterrupt

    return show


def stopped(plan: BuildPlan, n_calls: int = 6) -> Path:
    """The folder of a build that was stopped, with checkpoints."""
    with pytest.raises(KeyboardInterrupt):
        build_database(plan, progress=interrupt_at(n_calls), checkpoint_every_s=0)
    return plan.out.with_name(f"{plan.out.name}.partial")


def manifests(folder: Path) -> list[Path]:
    """The newest first."""
    return sorted(folder.glob("checkpoint-*.json"), key=lambda path: -int(path.stem.split("-")[1]))


CASES: list[tuple[str, str, Encoding, Cost]] = [
    (SMALL, "3x3", "bits", "additive"),
    (SMALL, "3x3", "bytes", "additive"),
    ("1,2,3/4,5", "2x3", "bits", "every-move"),
    ("1,2/3,6/4,7/5,8", "3x3", "bits", "additive"),
    ("1,2/3,6/4,7/5,8", "3x3", "bytes", "additive"),
]


@pytest.mark.parametrize(("partition", "size", "encoding", "cost"), CASES)
def test_every_checkpoint_leads_to_the_same_file(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    partition: str,
    size: str,
    encoding: Encoding,
    cost: Cost,
) -> None:
    monkeypatch.setattr("pdb_build.frontier._SLAB_STATES", 200)
    expected = build_database(plan_for(tmp_path / "whole.h5", partition, size, encoding, cost))
    kept: list[Path] = []
    write = checkpoint._write_manifest

    def write_and_copy(folder: PartialFolder, written: Checkpoint) -> None:
        write(folder, written)
        kept.append(shutil.copytree(folder.path, tmp_path / f"{len(kept)}.h5.partial"))

    monkeypatch.setattr(checkpoint, "_write_manifest", write_and_copy)
    build_database(plan_for(tmp_path / "kept.h5", partition, size, encoding, cost), checkpoint_every_s=0)
    monkeypatch.setattr(checkpoint, "_write_manifest", write)
    assert len(kept) > sum(len(search.states_per_depth) - 1 for search in expected.searches if search.seconds)
    assert (tmp_path / "kept.h5").read_bytes() == expected.path.read_bytes()
    for folder in kept:
        said: list[str] = []
        result = build_database(plan_for(folder.with_suffix(""), partition, size, encoding, cost), say=said.append)
        assert said[0].startswith(f"{result.path} continues from")
        assert result.n_runs == 2
        assert result.path.read_bytes() == expected.path.read_bytes()
        assert [search.histogram for search in result.searches] == [search.histogram for search in expected.searches]
        assert [s.states_per_depth for s in result.searches] == [s.states_per_depth for s in expected.searches]
        assert not folder.exists()


def test_build_stopped_again_and_again_makes_the_same_file(tmp_path: Path) -> None:
    expected = build_database(plan_for(tmp_path / "whole.h5")).path.read_bytes()
    plan = plan_for(tmp_path / "a.h5")
    places: list[str] = []
    n_runs = 0
    while True:
        n_runs += 1
        try:
            result = build_database(plan, progress=interrupt_at(3), say=places.append, checkpoint_every_s=0)
            break
        except KeyboardInterrupt:
            assert not plan.out.exists()
    assert result.n_runs == n_runs > 5
    assert json.loads(result.report.read_text(encoding="utf-8"))["runs"] == n_runs
    assert f"{plan.out} continues from level 3 of pattern 2 of 3" in places
    assert plan.out.read_bytes() == expected


def test_interrupt_reports_how_to_continue(tmp_path: Path) -> None:
    said: list[str] = []
    with pytest.raises(KeyboardInterrupt):
        build_database(plan_for(tmp_path / "a.h5"), progress=interrupt_at(4), say=said.append, checkpoint_every_s=0)
    assert said == [
        "interrupted: writing a last checkpoint, 2 kB; Ctrl-C again ends without it",
        f"{tmp_path / 'a.h5'} is kept up to level 5 of pattern 1 of 3, in a.h5.partial; the same command continues "
        "it, or starts over with --fresh",
    ]


class Keeper:
    """Keeper of a search that is interrupted while a level is under way."""

    def __init__(self, finishes: bool) -> None:
        self.finishes = finishes
        self.kept: list[SearchPosition] = []

    def restore(self, _arrays: object) -> SearchPosition:
        return SearchPosition()

    def keep_if_due(self, position: SearchPosition, _arrays: object) -> None:
        pass

    def finishes_level(self, level: int) -> bool:
        assert level == 5
        return self.finishes

    def keep_at_interrupt(self, position: SearchPosition, _arrays: object) -> None:
        self.kept.append(position)


@pytest.mark.parametrize("finishes", [False, True])
def test_interrupt_within_a_level_keeps_it_only_if_it_is_finished(
    monkeypatch: pytest.MonkeyPatch, finishes: bool
) -> None:
    real, n_calls = search.as_completed, [0]

    def interrupted(tasks: list[Any]) -> Any:
        n_calls[0] += 1
        if n_calls[0] == 5:
            raise KeyboardInterrupt
        return real(tasks)

    size = parse_size("3x3")
    spec = TableSpec(size, blank_last(size), Pattern((1, 2, 5)), "bits")
    whole = search_pattern(spec, n_threads=2)
    monkeypatch.setattr(search, "as_completed", interrupted)
    keeper = Keeper(finishes)
    with pytest.raises(KeyboardInterrupt):
        search_pattern(spec, n_threads=2, keeper=keeper)
    assert [position.states_per_depth for position in keeper.kept] == ([whole.states_per_depth[:6]] if finishes else [])


def test_short_build_writes_no_checkpoint(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(checkpoint, "_write_manifest", lambda *_args: pytest.fail("a checkpoint"))
    plan = plan_for(tmp_path / "a.h5")
    with pytest.raises(KeyboardInterrupt):
        build_database(plan, progress=interrupt_at(5))
    assert list(tmp_path.iterdir()) == []
    build_database(plan)


def flip(path: Path) -> None:
    content = bytearray(path.read_bytes())
    content[len(content) // 2] ^= 4
    path.write_bytes(content)


def cut(path: Path) -> None:
    os.truncate(path, path.stat().st_size - 1)


@pytest.mark.parametrize("damage", [flip, cut, Path.unlink])
@pytest.mark.parametrize("which", ["json", "frontier", "bits-1"])
def test_older_checkpoint_is_used_if_the_newest_is_damaged(
    tmp_path: Path, damage: Callable[[Path], None], which: str
) -> None:
    expected = build_database(plan_for(tmp_path / "whole.h5")).path.read_bytes()
    plan = plan_for(tmp_path / "a.h5")
    folder = stopped(plan)
    newest, _older = manifests(folder)
    damage(newest.with_suffix(f".{which}"))
    said: list[str] = []
    # Stopped once more, it keeps the one that was good until it has a better one.
    with pytest.raises(KeyboardInterrupt):
        build_database(plan, say=said.append, checkpoint_every_s=1000, progress=interrupt_at(3))
    assert any("is damaged" in text for text in said) or damage is Path.unlink
    assert any("continues from level" in text for text in said)
    build_database(plan, say=said.append)
    assert plan.out.read_bytes() == expected


def test_build_starts_over_if_no_checkpoint_is_whole(tmp_path: Path) -> None:
    expected = build_database(plan_for(tmp_path / "whole.h5")).path.read_bytes()
    plan = plan_for(tmp_path / "a.h5")
    for path in stopped(plan).glob("checkpoint-*.frontier"):
        flip(path)
    said: list[str] = []
    build_database(plan, say=said.append)
    assert said[-1] == f"{plan.out} starts over: nothing in {tmp_path / 'a.h5.partial'} is whole"
    assert plan.out.read_bytes() == expected


def test_whole_tables_count_if_no_search_is_whole(tmp_path: Path) -> None:
    expected = build_database(plan_for(tmp_path / "whole.h5")).path.read_bytes()
    plan = plan_for(tmp_path / "a.h5")
    for path in stopped(plan, n_calls=20).glob("checkpoint-*.frontier"):
        flip(path)
    said: list[str] = []
    build_database(plan, say=said.append)
    assert said[-1] == f"{plan.out} continues from the end of pattern 1 of 3"
    assert plan.out.read_bytes() == expected


def test_interrupt_while_the_file_is_closed_does_not_change_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    expected = build_database(plan_for(tmp_path / "whole.h5")).path.read_bytes()
    plan = plan_for(tmp_path / "a.h5")

    def stop(*_args: object) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr("pdb_build.writer.write_header", stop)
        with pytest.raises(KeyboardInterrupt):
            build_database(plan, checkpoint_every_s=0)
    # HDF5 may have written anything around the tables by then.
    with (tmp_path / "a.h5.partial" / "table.h5").open("r+b") as file:
        file.write(b"nonsense")
        file.seek(0, os.SEEK_END)
        file.write(bytes(range(256)) * 100)
    said: list[str] = []
    build_database(plan, say=said.append)
    assert said == [f"{plan.out} continues from the end of pattern 3 of 3"]
    assert plan.out.read_bytes() == expected


@pytest.mark.parametrize(
    ("plan_of", "match"),
    [
        (lambda out: plan_for(out, encoding="bytes"), "its encoding is bits, not bytes"),
        (
            lambda out: plan_for(out, "1,2/3,4,5/6,7,8"),
            "its partition is 1,2,5/3,4,6/7,8, not 1,2/3,4,5/6,7,8; its name",
        ),
        (lambda out: plan_for(out, goal_text="blank-first"), "its goal is 1 2 3 4 5 6 7 8 0, not 0 1 2"),
        (lambda out: plan_for(out, cost="every-move"), "its cost is additive, not every-move"),
        (lambda out: plan_for(out, "1,2,3/4,5", "2x3"), "its size is 3x3, not 2x3"),
    ],
)
def test_checkpoint_of_other_options_is_refused(
    tmp_path: Path, plan_of: Callable[[Path], BuildPlan], match: str
) -> None:
    out = tmp_path / "a.h5"
    folder = stopped(plan_for(out))
    before = {path.name: path.read_bytes() for path in folder.iterdir() if path.name != "lock"}
    with pytest.raises(CheckpointMismatchError, match=f"{match}.*--fresh"):
        build_database(plan_of(out))
    assert before == {path.name: path.read_bytes() for path in folder.iterdir() if path.name != "lock"}
    build_database(plan_of(out), fresh=True)
    expected = build_database(plan_of(tmp_path / "b.h5"))
    assert out.read_bytes() == expected.path.read_bytes()
    assert not folder.exists()


def test_checkpoint_of_another_builder_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    stopped(plan_for(tmp_path / "a.h5"))
    monkeypatch.setattr(checkpoint, "_builder_digest", lambda: "0123456789abcdef")
    with pytest.raises(CheckpointMismatchError, match=r"version of tile-pdb is .*, not .* 0123456789ab\. Give"):
        build_database(plan_for(tmp_path / "a.h5"))
    monkeypatch.setattr(checkpoint, "_FORMAT", "tile-pdb checkpoint 3")
    with pytest.raises(CheckpointMismatchError):
        build_database(plan_for(tmp_path / "a.h5"))


def test_checkpoint_that_cannot_be_read_now_is_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    plan = plan_for(tmp_path / "a.h5")
    folder = stopped(plan)

    def fail(*_args: object) -> bytes:
        raise OSError(errno.EIO, os.strerror(errno.EIO))

    with monkeypatch.context() as patch:
        patch.setattr(os, "pread", fail)
        with pytest.raises(OutputError, match="cannot be read: Input/output error; try again"):
            build_database(plan)
    assert len(manifests(folder)) == 2
    assert build_database(plan).n_runs == 2


def test_number_of_threads_may_change(tmp_path: Path) -> None:
    expected = build_database(plan_for(tmp_path / "whole.h5")).path.read_bytes()
    plan = plan_for(tmp_path / "a.h5")
    stopped(plan)
    one = plan_build(plan.spec.size, plan.spec.goal, plan.spec.partition, plan.out, n_threads=1)
    assert build_database(one).n_runs == 2
    assert plan.out.read_bytes() == expected


def test_build_on_a_cluster_refuses_the_checkpoint_of_a_local_one(tmp_path: Path) -> None:
    stopped(plan_for(tmp_path / "a.h5"))
    with PartialFolder(tmp_path / "a.h5") as folder:
        with pytest.raises(CheckpointMismatchError, match="which a cluster cannot continue"):
            refuse_checkpoints(folder, fresh=False)
        refuse_checkpoints(folder, fresh=True)
    assert list(tmp_path.iterdir()) == []


def test_second_builder_of_a_file_gets_the_name_of_the_first(tmp_path: Path) -> None:
    plan = plan_for(tmp_path / "a.h5")
    told: list[str] = []

    def build_too(_progress: BuildProgress) -> None:
        if not told:
            with pytest.raises(BuildRunningError) as caught:
                build_database(plan)
            told.append(str(caught.value))

    build_database(plan, progress=build_too)
    assert told[0].startswith(f"{plan.out} is being built by process {os.getpid()} on ")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["a.build.json", "a.h5"]


def test_file_in_the_place_of_the_folder_is_refused(tmp_path: Path) -> None:
    (tmp_path / "a.h5.partial").write_bytes(b"mine")
    with pytest.raises(OutputError, match=r"a\.h5\.partial is in the way"):
        build_database(plan_for(tmp_path / "a.h5"))
    assert (tmp_path / "a.h5.partial").read_bytes() == b"mine"


def test_build_continues_without_a_checkpoint_that_cannot_be_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_args: object, **_options: object) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    expected = build_database(plan_for(tmp_path / "whole.h5")).path.read_bytes()
    monkeypatch.setattr(checkpoint, "write_and_sync", fail)
    plan = plan_for(tmp_path / "a.h5")
    said: list[str] = []
    build_database(plan, say=said.append, checkpoint_every_s=0)
    assert said == [f"no checkpoint of {plan.out}: No space left on device; the build continues without"]
    assert plan.out.read_bytes() == expected


def test_checkpoint_leaves_the_disk_that_the_file_needs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    plan = plan_for(tmp_path / "a.h5")
    monkeypatch.setattr(checkpoint, "available_disk", lambda _folder: plan.disk_bytes)
    said: list[str] = []
    build_database(plan, say=said.append, checkpoint_every_s=0)
    # The empty file of so few tables is on the disk as a whole, or not at all, as the file system likes it.
    assert said == [] or "the file" in said[0]
    monkeypatch.setattr(checkpoint, "available_disk", lambda _folder: 100)
    said.clear()
    build_database(plan, say=said.append, checkpoint_every_s=0)
    assert len(said) == 1
    assert said[0].startswith(f"no checkpoint of {plan.out}: it needs 2 kB, the file")
    assert "100 B are free" in said[0]


def test_slow_checkpoints_are_further_apart(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    now = [0.0]
    monkeypatch.setattr(checkpoint.time, "monotonic", lambda: now[0])

    def write_slowly(*_args: object) -> None:
        now[0] += 5

    monkeypatch.setattr(checkpoint, "_write_manifest", write_slowly)
    with PartialFolder(tmp_path / "a.h5") as folder:
        build = BuildCheckpoints(folder, plan_for(tmp_path / "a.h5"), 60, pytest.fail, fresh=False)
        now[0] = 59.0
        assert not build.is_due()
        now[0] = 60.0
        assert build.is_due()
        build.keep({})
        now[0] = 164.0
        assert not build.is_due()
        now[0] = 165.0
        assert build.is_due()


@pytest.mark.parametrize(
    ("size", "n_tiles", "encoding", "cost"),
    [("3x3", 4, "bits", "additive"), ("4x3", 5, "bytes", "additive"), ("3x3", 4, "bits", "every-move")],
)
def test_plan_counts_the_disk_of_two_checkpoints(
    tmp_path: Path, size: str, n_tiles: int, encoding: Encoding, cost: Cost
) -> None:
    first, rest = range(1, n_tiles + 1), range(n_tiles + 1, parse_size(size).n_cells)
    partition = "/".join(",".join(map(str, tiles)) for tiles in (first, [rest[0]], rest[1:]))
    plan = plan_for(tmp_path / "a.h5", partition, size, encoding, cost)
    spec = max((entry.spec for entry in plan.patterns), key=lambda spec: spec.n_tiles)
    arrays = search_frontier(whole_pattern(spec), encoding).arrays()
    assert plan.checkpoint_bytes == 2 * sum(array.nbytes for array in arrays.values())


def test_plan_counts_what_an_unfinished_build_holds_as_free(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("pdb_build.plan.available_disk", lambda _folder: 1000)
    before = plan_for(tmp_path / "a.h5").available_disk
    (tmp_path / "a.h5.partial").mkdir()
    (tmp_path / "a.h5.partial" / "table.h5").write_bytes(bytes(50_000))
    assert before == 1000
    assert plan_for(tmp_path / "a.h5").available_disk >= 50_000


def run(*arguments: str) -> tuple[int, str]:
    """The command in this process: its exit code and what it says."""
    from pdb_cli.main import app

    result = CliRunner().invoke(app, ["build", *arguments])
    return result.exit_code, result.stderr


def test_command_continues_after_ctrl_c(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    command = (SMALL, "--size", "3x3", "--out", "a.h5")
    expected = build_database(plan_for(tmp_path / "whole.h5")).path.read_bytes()
    with monkeypatch.context() as patch:
        show = interrupt_at(9)
        patch.setattr("pdb_cli.build_output.BuildDisplay.show", lambda _self, progress: show(progress))
        code, said = run(*command, "--checkpoint-every", "0")
    assert code == 130
    assert "pdb: a.h5 is kept up to level 10 of pattern 1 of 3, in a.h5.partial; the same command continues it" in said
    code, said = run(*command, "--goal", "blank-first")
    assert code == 2
    assert "its goal is 1 2 3 4 5 6 7 8 0, not 0 1 2 3 4 5 6 7 8. Give the same options to continue it" in said
    code, said = run(*command)
    assert code == 0
    assert "pdb: a.h5 continues from level 10 of pattern 1 of 3" in said
    assert Path("a.h5").read_bytes() == expected


def test_standard_table_that_another_process_builds_is_waited_for(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from pdb_cli import databases

    monkeypatch.setenv("TILE_PDB_CACHE", str(tmp_path))
    size = parse_size("2x2")
    path = databases.standard_table(size, blank_last(size))
    content = path.read_bytes()
    path.unlink()
    with PartialFolder(path) as folder:

        def finish(_seconds: float) -> None:
            path.write_bytes(content)

        monkeypatch.setattr(databases.time, "sleep", finish)
        assert databases.standard_table(size, blank_last(size)) == path
        assert folder.path.exists()


@pytest.mark.parametrize("note", [b"", b"{", b'{"pid": "x"}', b"[]"])
def test_lock_without_the_name_of_its_holder_is_respected(tmp_path: Path, note: bytes) -> None:
    with PartialFolder(tmp_path / "a.h5") as folder:
        (folder.path / "lock").write_bytes(note)
        with pytest.raises(BuildRunningError, match="is being built by another process; wait"):
            build_database(plan_for(tmp_path / "a.h5"))


def test_damaged_table_is_searched_again(tmp_path: Path) -> None:
    expected = build_database(plan_for(tmp_path / "whole.h5")).path.read_bytes()
    plan = plan_for(tmp_path / "a.h5")
    folder = stopped(plan, n_calls=25)
    offset = json.loads(manifests(folder)[0].read_text(encoding="utf-8").splitlines()[0])["tables"]["0"]["offset"]
    with (folder / "table.h5").open("r+b") as file:
        file.seek(offset + 7)
        file.write(b"\x55\x66\x77")
    build_database(plan)
    assert plan.out.read_bytes() == expected


def test_dry_run_prints_the_disk_of_checkpoints(tmp_path: Path) -> None:
    from pdb_cli.main import app

    result = CliRunner().invoke(app, ["build", "78", "--dry-run", "--out", str(tmp_path / "a.h5")])
    assert "checkpoints, in a build of over a minute: up to 712.9 MB of disk more" in result.stdout
