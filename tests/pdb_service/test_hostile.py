"""Malformed and hostile requests cause no server error and leak no memory or files."""

import time

import pytest

from tests.pdb_service.hostile_requests import (
    EASY,
    Hostile,
    hostile_requests,
    open_files,
    request,
    resident_bytes,
    send_all,
)
from tests.pdb_service.server import Server


@pytest.mark.parametrize("n_requests", [3000, pytest.param(100_000, marks=pytest.mark.slow)])
def test_hostile_requests_cause_no_error_and_no_leak(server: Server, n_requests: int) -> None:
    # The first requests fill caches; growth is measured after them.
    send_all(server.port, hostile_requests(300, 4))
    n_files, n_bytes = open_files(server.process.pid), resident_bytes(server.process.pid)
    statuses, failed = send_all(server.port, hostile_requests(n_requests, 5))
    assert not failed
    assert {200, 400, 404, 413, 422} <= set(statuses)
    assert server.ask("/v1/lookup?board=" + EASY.replace(" ", "+")).json["h"] == 1
    deadline = time.monotonic() + 40
    while open_files(server.process.pid) > n_files + 2:
        assert time.monotonic() < deadline
        time.sleep(0.1)
    assert resident_bytes(server.process.pid) - n_bytes < 100e6
    assert not [line for line in server.log if "ERROR" in line]


@pytest.mark.parametrize(
    ("body", "status"),
    [
        (b'{"boards": [' + b"[]," * 2_000_000 + b"[]]}", 413),
        (b'{"boards": [' + b"{}," * 2_000_000 + b"{}]}", 413),
        (b'{"boards": [' + b"0," * 4_000_000 + b"0]}", 413),
        (b'{"boards": [[' + b"0," * 3_000_000 + b"0]]}", 413),
        (b'{"boards": ["' + b"0 " * 3_000_000 + b'0"]}', 400),
        (b'{"boards": ["1 2 3 0"' + b',"x"' * 30_000 + b"]}", 200),
        (b'{"boards": [], "goal": "' + b" " * 3_000_000 + b'blank-last"}', 400),
        (b'{"boards": [[null' + (b",null" * 35 + b"],[null") * 40_000 + b"]]}", 400),
        (b" " * 15_900_000, 400),
    ],
    ids=["lists", "objects", "numbers", "one list", "one string", "many problems", "goal", "nulls", "nothing"],
)
def test_memory_of_large_bodies_is_released(server: Server, body: bytes, status: int) -> None:
    sent = Hostile(request("/v1/lookup?size=4x4", body, "Content-Type: application/json"), 20.0)
    before = resident_bytes(server.process.pid)
    statuses, _ = send_all(server.port, [sent] * 4, n_threads=2)
    assert dict(statuses) == {status: 4}
    assert resident_bytes(server.process.pid) - before < 60e6
