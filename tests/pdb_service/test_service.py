"""The service over HTTP, asked as a client would."""

import contextlib
import http.client
import json
from collections.abc import Iterator

import numpy as np
import pytest

from pdb_core.puzzle import blank_last, parse_size, random_boards
from pdb_query import open_database
from tests.pdb_service.server import Server, serving
from tests.tables import table_file

HARDEST_3X3 = "8 6 7/2 5 4/3 0 1"
S3, S4 = parse_size("3x3"), parse_size("4x4")


@pytest.fixture(scope="module")
def server() -> Iterator[Server]:
    with serving(table_file("663", "4x4"), table_file("8", "3x3")) as running:
        yield running


def test_databases_are_listed_without_their_paths(server: Server) -> None:
    reply = server.ask("/v1/databases")
    assert [(at["partition"], at["size"]) for at in reply.json["databases"]] == [("663", "4x4"), ("8", "3x3")]
    assert b"/" not in reply.body
    assert reply.json["default_goals"] == {"3x3": list(blank_last(S3)), "4x4": list(blank_last(S4))}


def test_head_has_the_headers_of_get_and_no_body(server: Server) -> None:
    for path in ("/", "/v1/databases", "/v1/nowhere", "/healthz"):
        connection = http.client.HTTPConnection("127.0.0.1", server.port, timeout=60)
        with contextlib.closing(connection):
            replies = []
            for method in ("GET", "HEAD", "GET"):  # over one connection: a body would be read as the next answer
                connection.request(method, path, headers={"X-Request-Id": "1"})
                response = connection.getresponse()
                replies.append((response.status, dict(response.getheaders()), response.read()))
        get, head, again = ((status, {**headers, "date": ""}, body) for status, headers, body in replies)
        assert head == (get[0], get[1], b"")
        assert again == get


def test_lookup_says_what_the_database_says(server: Server) -> None:
    with open_database(table_file("663", "4x4")) as database:
        for board in random_boards(S4, blank_last(S4), 20, 1).tolist():
            answer = server.ask("/v1/lookup?board=" + "+".join(map(str, board))).json
            probe = database.probe(board)
            assert answer["h"] == probe.maximum
            assert [at["h"] for at in answer["sums"]] == list(probe.sums)
            assert [tuple(at["values"]) for at in answer["sums"]] == list(probe.values)
            for at in answer["sums"]:
                assert sorted(tile for tiles in at["patterns"] for tile in tiles) == list(range(1, 16))


def test_moves_tell_exact_distances_best_first(server: Server) -> None:
    answer = server.ask(f"/v1/moves?board={HARDEST_3X3.replace(' ', '+')}").json
    assert answer["distance"] == 31
    assert [at["distance"] for at in answer["moves"]] == [30, 30, 30]


def test_solve_finds_a_shortest_solution(server: Server) -> None:
    answer = server.ask("/v1/solve", json.dumps({"board": HARDEST_3X3}).encode()).json
    assert answer["length"] == len(answer["moves"]) == 31
    assert answer["optimal"] is True


def test_nodes_of_all_searches_are_counted(server: Server) -> None:
    # Boards that no other test here solves: a kept answer is of no search.
    for board, headers in (("6+4+7/8+5+0/3+2+1", {}), ("8+0+6/5+4+7/2+3+1", {"Accept": "text/event-stream"})):
        before = server.metric("tile_pdb_nodes_total")
        reply = server.ask(f"/v1/solve?board={board}", **headers)
        answer = json.loads(reply.body.decode().rpartition("data: ")[2])
        assert answer["length"] is not None
        assert server.metric("tile_pdb_nodes_total") == before + answer["generated"] > before
        server.ask(f"/v1/solve?board={board}")
        assert server.metric("tile_pdb_nodes_total") == before + answer["generated"]


def test_a_batch_of_bytes_says_what_the_database_says(server: Server) -> None:
    boards = random_boards(S4, blank_last(S4), 1000, 2)
    reply = server.ask("/v1/lookup?db=" + _id(server, "4x4"), boards.tobytes(), Content_Type="application/octet-stream")
    with open_database(table_file("663", "4x4")) as database:
        assert np.array_equal(np.frombuffer(reply.body, dtype="<i2"), database.probe_batch(boards).maximum)


def _id(server: Server, size: str) -> str:
    return next(at["id"] for at in server.ask("/v1/databases").json["databases"] if at["size"] == size)
