"""Malformed and hostile requests cause no server error and leak no memory or files."""

from collections.abc import Iterator

import pytest

from tests.pdb_service.hostile_requests import (
    EASY,
    KINDS,
    Hostile,
    hostile_requests,
    open_files,
    request,
    resident_bytes,
    send_all,
)
from tests.pdb_service.server import Server, serving
from tests.tables import table_file

N_REQUESTS = 3000
SEED = 5


@pytest.fixture(scope="module")
def server() -> Iterator[Server]:
    with serving(table_file("663", "4x4"), options=["--grace", "0"]) as running:
        yield running


def test_hostile_requests_cause_no_error_and_no_leak(server: Server) -> None:
    requests = list(hostile_requests(N_REQUESTS, SEED))
    # The first requests compile kernels and fill caches; growth is measured after them.
    send_all(server.port, iter(requests[: N_REQUESTS // 10]))
    n_files, n_bytes = open_files(server.process.pid), resident_bytes(server.process.pid)
    outcomes = send_all(server.port, iter(requests))
    assert outcomes.n_sent == N_REQUESTS
    assert not outcomes.failed
    assert not outcomes.unanswered
    assert {200, 400, 404, 405, 413, 415, 422} <= set(outcomes.statuses)
    assert server.ask("/v1/lookup?board=" + EASY.replace(" ", "+")).json["h"] == 1
    assert open_files(server.process.pid) <= n_files + 2
    assert resident_bytes(server.process.pid) - n_bytes < 100e6
    assert not [line for line in server.log if "ERROR" in line]


def test_requests_of_a_seed_are_equal_and_of_all_kinds() -> None:
    requests = list(hostile_requests(N_REQUESTS, SEED))
    assert requests == list(hostile_requests(N_REQUESTS, SEED))
    rare = {kind for kind, (weight, _) in KINDS.items() if weight < 0.1}
    assert {hostile.kind for hostile in requests} | rare == set(KINDS)


@pytest.mark.parametrize(
    ("body", "status"),
    [
        (b'{"boards": [' + b"[]," * 2_000_000 + b"[]]}", 413),
        (b'{"boards": [' + b"{}," * 2_000_000 + b"{}]}", 413),
        (b'{"boards": [' + b"0," * 4_000_000 + b"0]}", 413),
        (b'{"boards": [[' + b"0," * 3_000_000 + b"0]]}", 200),
        (b'{"boards": ["' + b"0 " * 3_000_000 + b'0"]}', 200),
        (b'{"boards": ["1 2 3 0"' + b',"x"' * 30_000 + b"]}", 200),
        (b'{"boards": [], "goal": "' + b" " * 3_000_000 + b'blank-last"}', 400),
        (b" " * 15_900_000, 400),
    ],
    ids=["lists", "objects", "numbers", "one list", "one string", "many problems", "goal", "nothing"],
)
def test_memory_of_large_bodies_is_released(server: Server, body: bytes, status: int) -> None:
    sent = Hostile("heavy", (request("/v1/lookup?size=4x4", body, "Content-Type: application/json"),))
    before = resident_bytes(server.process.pid)
    outcomes = send_all(server.port, iter([sent] * 4), n_threads=2)
    assert dict(outcomes.statuses) == {status: 4}
    assert resident_bytes(server.process.pid) - before < 60e6
