"""Checkpoints: a build that was stopped keeps its finished tables and makes the same file, or reports why it cannot."""

import json
import os
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from pdb_build import BuildPlan, BuildProgress, build_database
from pdb_build.partial_folder import PartialFolder
from pdb_core.board_size import parse_size
from pdb_core.durable_files import signed_line
from pdb_core.encoding import Cost, Encoding
from pdb_core.errors import BuildRunningError, CheckpointMismatchError, OutputError
from pdb_core.puzzle import blank_last
from tests import rows
from tests.tables import flip, small_plan, stopped

pytestmark = pytest.mark.tiny


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
def test_build_that_was_stopped_continues_with_the_next_table(
    tmp_path: Path, partition: str, size: str, encoding: Encoding, cost: Cost
) -> None:
    """The last of the patterns share tables, and the plan of the second run has another number of threads."""
    whole = build_database(small_plan(tmp_path / "whole.h5", partition, size, encoding, cost))
    searched = [index for index, entry in enumerate(whole.plan.patterns) if entry.use is None]
    for n_kept in range(1, len(searched)):
        folder = stopped(small_plan(tmp_path / "a.h5", partition, size, encoding, cost), searched[n_kept])
        said, seen = list[str](), list[BuildProgress]()
        plan = small_plan(tmp_path / "a.h5", partition, size, encoding, cost, n_threads=1)
        result = build_database(plan, say=said.append, progress=seen.append)
        assert said == [f"{result.path} continues: {n_kept} of {len(searched)} tables are finished"]
        assert sorted({progress.pattern_index for progress in seen}) == searched[n_kept:]
        assert result.path.read_bytes() == whole.path.read_bytes()
        assert [s.states_per_depth for s in result.searches] == [s.states_per_depth for s in whole.searches]
        assert not folder.exists()


def test_what_is_kept_is_reported(plan: BuildPlan) -> None:
    """A run that ends before it has a table of its own keeps the tables of the run before, too."""
    stopped(plan)
    said: list[str] = []

    def stop(_progress: BuildProgress) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        build_database(plan, progress=stop, say=said.append)
    assert said[1:] == [
        f"{plan.out}: 1 of 3 tables are finished and kept in a.h5.partial; the same build continues, or starts over "
        "with --fresh (fresh=True)"
    ]


def cut(path: Path) -> None:
    os.truncate(path, path.stat().st_size - 1)


def change_checkpoint(path: Path) -> None:
    path.write_bytes(path.read_bytes().replace(b'"seconds": 0', b'"seconds": 1'))


def change_table(path: Path) -> None:
    table = path.with_name("table.h5")
    flip(table, next(at for at, byte in enumerate(table.read_bytes()) if byte))


@pytest.mark.parametrize("damage", [cut, change_checkpoint, change_table])
def test_tables_that_are_not_whole_are_built_again(
    plan: BuildPlan, expected: bytes, damage: Callable[[Path], None]
) -> None:
    said: list[str] = []
    damage(stopped(plan) / "checkpoint")
    build_database(plan, say=said.append)
    assert said == [f"{plan.out} starts over: nothing in {plan.out}.partial is whole"]
    assert plan.out.read_bytes() == expected


@pytest.mark.parametrize(
    ("words", "match"),
    rows("""
encoding=bytes | encoding bits, not bytes
partition=1,2/3,4,5/6,7,8 | partition 1,2,5/3,4,6/7,8, not 1,2/3,4,5/6,7,8; give the same options
goal_text=blank-first | goal 1 2 3 4 5 6 7 8 0, not 0 1 2
cost=every-move | cost additive, not every-move
partition=1,2,3/4,5 size_text=2x3 | size 3x3, not 2x3
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


@pytest.mark.parametrize(
    ("versions", "shown"), [({"version of the builder": "0"}, "builder 0"), ({}, "table file none")]
)
def test_checkpoint_of_another_builder_is_refused(plan: BuildPlan, versions: dict[str, str], shown: str) -> None:
    """Checkpoints of 0.2.0 have no versions, and other fields."""
    folder = stopped(plan)
    content = json.loads((folder / "checkpoint").read_bytes().splitlines()[0])
    del content["build"]["version of the table file"], content["build"]["version of the builder"]
    content["build"] |= versions
    content |= {"format": "tile-pdb checkpoint 3", "index": 1, "position": {"entries_per_depth": [1]}, "n_runs": 1}
    (folder / "checkpoint").write_bytes(signed_line(json.dumps(content).encode()) + bytes(1000))
    with pytest.raises(CheckpointMismatchError, match=rf"version of the {shown}, not \d; give .*fresh"):
        build_database(plan)


def test_tables_that_cannot_be_read_now_are_kept(plan: BuildPlan, expected: bytes) -> None:
    table = stopped(plan) / "table.h5"
    content = table.read_bytes()
    table.unlink()
    table.symlink_to("/proc/self/mem")  # nothing is mapped where the tables are
    with pytest.raises(OutputError, match="cannot be read: Input/output error; try again"):
        build_database(plan)
    table.unlink()
    table.write_bytes(content)
    build_database(plan)
    assert plan.out.read_bytes() == expected


def test_second_builder_of_a_file_is_refused(tmp_path: Path, plan: BuildPlan) -> None:
    def build_too(_progress: BuildProgress) -> None:
        with pytest.raises(BuildRunningError, match=r"a\.h5 is being built by another process; wait"):
            build_database(plan)

    build_database(plan, progress=build_too)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["a.h5", "a.h5.build.json"]


def test_plan_counts_what_an_unfinished_build_holds_as_free(tmp_path: Path) -> None:
    (tmp_path / "a.h5.partial").mkdir()
    with (tmp_path / "a.h5.partial" / "table.h5").open("wb") as file:
        os.posix_fallocate(file.fileno(), 0, 1 << 28)
    free = small_plan(tmp_path / "b.h5").available_disk
    assert small_plan(tmp_path / "a.h5").available_disk - free > 1 << 27  # others may use the disk meanwhile


def test_standard_table_that_another_process_builds_is_waited_for(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from tilepdb.standard import standard_table

    monkeypatch.setenv("TILE_PDB_CACHE", str(tmp_path))
    size = parse_size("2x2")
    path = standard_table(size, blank_last(size))
    content = path.read_bytes()
    path.unlink()
    with PartialFolder(path) as folder, ThreadPoolExecutor() as pool:
        waiting = pool.submit(standard_table, size, blank_last(size))
        time.sleep(0.3)
        assert not waiting.done()
        path.write_bytes(content)
        assert waiting.result(timeout=60) == path
        assert folder.path.exists()
