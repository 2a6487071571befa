"""Labels found on a cluster are those of one machine, also after a worker died and in a run that continues."""

from pathlib import Path

import numpy as np
import pytest
from distributed import Client

from pdb_cluster.label_boards import label_on_cluster
from pdb_core.errors import ClusterError
from pdb_study.labels import RandomBoards, RandomWalks, label
from pdb_study.labels.labelling import joined
from solver import Solver
from tests.command_line import pdb
from tests.pdb_cluster.two_workers import kill, worker_pids
from tests.solving import S4, database_for
from tests.tables import table_file


def test_labels_are_those_of_one_machine(client: Client) -> None:
    with database_for("663", "4x4", encoding="bits") as database:
        source = RandomWalks(S4, database.goal, 400, 1, (20, 40))
        here = joined(list(label(source, Solver(database))))
        chunks = []
        for chunk in label_on_cluster(client, source, [database], chunk=150):
            if not chunks:
                kill(worker_pids(client)[0])
            chunks.append(chunk)
        assert [len(chunk.boards) for chunk in chunks[:-1]] == [192, 192]
        for name, array in joined(chunks).arrays().items():
            assert np.array_equal(array, here.arrays()[name])
        solved = joined(list(label_on_cluster(client, source, [database], 300, "solutions", chunk=30)))
        assert np.array_equal(solved.distances, here.distances[300:])
        assert solved.tiles is not None


def test_missing_tables_end_the_run(client: Client, tmp_path: Path) -> None:
    with database_for("663", "4x4", encoding="bits") as database:
        source = RandomBoards(S4, database.goal, 10, 1)
        with pytest.raises(ClusterError, match="cannot search: there is no table file"):
            list(label_on_cluster(client, source, [database], worker_folder=tmp_path))


def test_command_on_a_cluster_writes_the_same_columns(tmp_path: Path, client: Client) -> None:
    table = str(table_file("663", "4x4", encoding="bits"))
    command = ["label", "--db", table, "--random", "60", "--walks", "1-40"]
    here = pdb(*command, "--out", str(tmp_path / "here.csv"))
    there = pdb(*command, "--out", str(tmp_path / "there.csv"), "--scheduler", client.scheduler.address)
    assert (here.returncode, there.returncode) == (0, 0), there.stderr
    assert "2 threads on tls://" in there.stderr
    rows = [(tmp_path / name).read_text(encoding="utf-8").splitlines()[1:] for name in ("here.csv", "there.csv")]
    assert rows[0] == rows[1]
