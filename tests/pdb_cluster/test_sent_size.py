"""Objects that are sent between workers report their size to Dask."""

import pickle
import secrets
from collections.abc import Iterator

import dask
import numpy as np
import pytest
from dask.sizeof import sizeof
from distributed import Client

from pdb_build.search import PatternTable, search_pattern
from pdb_cluster.build_tasks import Builder, Found, FoundPart, SearchRequest
from pdb_cluster.build_workers import ask_workers
from pdb_cluster.shard import Advance, Pack, Shard, ShardedPattern, ShardSize
from pdb_cluster.solve_worker import WorkerTables
from pdb_cluster.table_parts import Part, Token
from pdb_core.encoding import Encoding
from pdb_core.pattern import Pattern
from pdb_core.puzzle import BoardSize, blank_last
from pdb_core.table_spec import TableSpec
from solver import Iteration
from solver.engine.search_result import SearchResult
from tests.pdb_cluster.two_workers import one_worker

S3, PATTERN = BoardSize(3, 3), Pattern((1, 2, 3, 4, 5, 6))


def objects() -> Iterator[object]:
    """One of each class, with as much in it as it may hold."""
    paths = tuple(secrets.token_bytes(40) for _ in range(1000))
    iterations = tuple(Iteration(threshold, 10**9, 10**9, 1.5) for threshold in range(40, 60, 2))
    yield SearchResult(None, (), 1.5, rest=paths)
    yield SearchResult(tuple(range(80)), iterations, 1.5, h=40, n_solutions=1, rest=paths)
    builder = Builder("tls://127.0.0.1:12345", "a" * 60, 2, 10**9)
    token = Token("/" + "folder/" * 20, secrets.token_hex(100))
    part = Part(secrets.token_hex(16), 10**9, secrets.token_hex(32))
    table = search_pattern(TableSpec(S3, blank_last(S3), PATTERN, "bytes"), n_threads=1)
    yield from (builder, token, part, table, Found(table, part, builder), FoundPart(10**9, part, builder))
    spec = TableSpec(S3, blank_last(S3), PATTERN, "bits")
    yield SearchRequest(0, spec, token, secrets.token_hex(40))
    pattern = ShardedPattern(spec, tuple(range(1000, 5000)))
    yield from (pattern, Advance(10**9, 10**9, 10**9))
    yield ShardSize(10**9, 100, np.arange(600).reshape(300, 2), np.arange(6000).reshape(300, 2, 10))
    words = np.arange(20_000, dtype=np.uint64)
    yield Pack(1, np.arange(9000, dtype=np.int32), words, words[10_000:])
    yield WorkerTables(("/" + "folder/" * 40,) * 3, (secrets.token_hex(32),) * 3, False, "map", ("1", "2" * 64))


def test_size_is_about_that_of_the_pickle() -> None:
    """Small numbers take less room in a pickle, and the names of classes more."""
    for sent in objects():
        pickled = len(pickle.dumps(sent))
        assert pickled / 2 < sizeof(sent) < 16 * pickled + 1000, type(sent)


@pytest.mark.parametrize("encoding", ["bits", "bytes"])
def test_shard_reports_the_memory_that_it_takes_later(encoding: Encoding) -> None:
    pattern = ShardedPattern(TableSpec(S3, blank_last(S3), PATTERN, encoding), (0, 40, 84))
    shard = Shard(pattern, 1)
    reported, size = sizeof(shard), shard.set_rounds(1)
    assert size.rows_bytes <= reported < size.rows_bytes + 100
    shard.start()
    assert sizeof(shard) == reported


def test_dask_knows_the_size_of_a_result_and_writes_it_to_the_disk() -> None:
    """A worker with a limit of memory keeps two results of three in memory."""
    n_bytes = 60_000_000

    def store() -> PatternTable:
        spec = TableSpec(S3, blank_last(S3), PATTERN, "bytes")
        return PatternTable(spec, np.zeros(n_bytes, dtype=np.uint8), (1,), (1,), 1.0)

    # Without these limits, which count all memory of the process of the tests.
    settings = {f"distributed.worker.memory.{name}": False for name in ("spill", "pause", "terminate")}
    with (
        dask.config.set(settings),
        one_worker(memory_limit=250_000_000) as cluster,
        Client(cluster, set_as_default=False) as client,
    ):
        futures = [client.submit(store, pure=False) for _ in range(3)]
        assert [future.result().table.nbytes for future in futures] == 3 * [n_bytes]
        (worker,) = cluster.workers.values()
        assert [size > n_bytes for size in client.nbytes(summary=False).values()] == 3 * [True]
        assert (len(worker.data.fast), len(worker.data.slow)) == (2, 1)


def test_shard_is_planned_to_fit_into_the_memory_that_dask_leaves_to_results() -> None:
    with (
        one_worker(memory_limit=10**12) as cluster,
        Client(cluster, set_as_default=False) as client,
    ):
        (worker,) = cluster.workers.values()
        memory = worker.memory_manager
        assert memory.memory_target_fraction < memory.memory_pause_fraction
        for fraction in (memory.memory_target_fraction, 0.01, False):
            memory.memory_target_fraction = fraction
            memory.memory_limit = 10**10
            (offered,) = ask_workers(client)
            assert offered.memory_bytes < 10**10 * (fraction or memory.memory_pause_fraction)
