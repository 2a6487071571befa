"""`pdb build`."""

import signal
import time
from pathlib import Path

from pdb_core.pattern import NAMED_PARTITIONS
from pdb_query import read_table_header
from tests.command_line import pdb, refused, start
from tests.tables import SMALL, small_plan, stopped
from tilepdb.named_build import named_plan


def test_different_tables_have_different_default_files() -> None:
    def patterns(first: int, n_tiles: int, length: int) -> str:
        tiles = [*range(first, n_tiles + 1), *range(1, first)]
        return "/".join(",".join(map(str, tiles[at : at + length])) for at in range(0, n_tiles, length))

    eleven = "1,2,3,4,5,6/7,8,9,10,11"
    plans = [
        *(named_plan(f"{patterns(1, 24, 6)}+{patterns(first, 24, 6)}") for first in (2, 3)),
        *(named_plan(patterns(first, 35, 3)) for first in (1, 2)),
        *(named_plan(eleven, size=size) for size in ("4x3", "3x4")),
        *(named_plan("1,2,3", size=size, cost="every-move") for size in ("3x3", "4x4")),
        *(
            named_plan("663", goal=goal)
            for goal in ("blank-last", "blank-first", "0 15 14 13/12 11 10 9/8 7 6 5/4 3 2 1")
        ),
        named_plan("663", encoding="bytes"),
    ]
    assert len({plan.out for plan in plans}) == len(plans)
    assert plans[4].out == Path("data/1-2-3-4-5-6_7-8-9-10-11-4x3.h5")
    assert not any(len(plan.out.name) > 100 or " " in plan.out.name for plan in plans)


def test_help_names_every_partition() -> None:
    words = {word.rstrip(",.") for word in pdb("build", "--help").stdout.split()}
    assert words >= {*NAMED_PARTITIONS, "auto"}


def test_fresh_removes_a_checkpoint_and_starts_over(tmp_path: Path) -> None:
    """Without it, a checkpoint of the same options is continued, and one of others refused."""
    path = tmp_path / "a.h5"
    command = ["build", SMALL, "--size", "3x3", "--out", str(path)]
    stopped(small_plan(path))
    assert "a.h5 continues: 1 of 3 tables" in pdb(*command).stderr
    path.unlink()
    stopped(small_plan(path))
    refused(pdb(*command, "--goal", "blank-first"), 2, "goal 1 2 3 .* or start over with --fresh")
    for options in (("--goal", "blank-first"), ()):
        assert pdb(*command, *options, "--fresh", code=0).stderr == ""
        assert read_table_header(path).spec.goal[0] == (0 if options else 1)
        stopped(small_plan(path))


def test_signal_keeps_the_tables_that_are_finished(tmp_path: Path) -> None:
    with start("build", "9,13/1,2,3,4,5,6,7/8,10,11,12,14,15", "--out", "a.h5", cwd=tmp_path) as process:
        while not (tmp_path / "a.h5.partial" / "checkpoint").exists():
            assert process.poll() is None
            time.sleep(0.01)
        process.terminate()
        _out, err = process.communicate()
    assert process.returncode == -signal.SIGTERM
    assert "a.h5: 1 of 3 tables are finished and kept in a.h5.partial" in err
    assert err.splitlines()[-1] == "pdb: terminated"
    assert not (tmp_path / "a.h5").exists()
