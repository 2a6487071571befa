"""Databases, lookups and batches in all forms; without compiled kernels too."""

import json

import numpy as np
import pytest

from pdb_core.puzzle import parse_goal
from pdb_query import Database
from pdb_service.answers import BINARY
from pdb_service.app import App
from tests.pdb_service.app_requests import GOAL, ask, ready_app
from tests.solving import HARDEST_8, S3, database_for

pytestmark = pytest.mark.tiny


@pytest.fixture(scope="module")
def app(database: Database) -> App:
    return ready_app(database)


def test_all_forms_equal_the_database(database: Database, app: App) -> None:
    boards = [np.random.default_rng(seed).permutation(9).tolist() for seed in range(30)]
    texts = [" ".join(map(str, board)) for board in boards]
    rows = np.array(boards, dtype=np.uint8)
    found = database.probe_batch(rows)
    assert -1 in found.h
    expected = [
        {"h": None, "solvable": False} if h < 0 else {"h": h, "sums": sums}
        for h, sums in zip(found.h.tolist(), found.sums.tolist(), strict=True)
    ]
    for given in (boards, texts):
        assert ask(app, "/v1/lookup", body=json.dumps({"boards": given}).encode()).json["answers"] == expected
    reply = ask(app, "/v1/lookup?size=3x3", ("Content-Type", BINARY), body=rows.tobytes() + bytes(9))
    assert np.frombuffer(reply.body, "<i2").tolist() == [*found.h.tolist(), -2]
    for text, answer in zip(texts, expected, strict=True):
        single = ask(app, f"/v1/lookup?board={text.replace(' ', '+')}").json
        assert (single["h"], [at["h"] for at in single["sums"]]) == (answer["h"], answer.get("sums", []))


def test_lines_are_rows_and_the_first_board_of_a_batch_has_its_size() -> None:
    with database_for("1,2/3,4,5", "3x2") as wide, database_for("1,2,3/4,5", "2x3") as high:
        app = ready_app(wide, high)
        for text, size in (("1+2+3%0A4+5+0", "3x2"), ("1+2%0A3+4%0A5+0", "2x3")):
            assert ask(app, f"/v1/lookup?board={text}").json["size"] == size
        found = ask(app, "/v1/lookup", body=b'{"boards": ["1 2/3 4/5 0", "1 1"]}').json
        assert ["error" in one for one in found["answers"]] == [False, True]


def test_databases_have_ids_of_their_own_and_default_goals_but_no_paths(database: Database) -> None:
    middle = "1 2 3/4 0 5/6 7 8"  # no symmetry moves its blank to a corner
    with database_for("1,2/3,4,5", "3x2") as wide, database_for("1,2,3/4,5,6/7,8", "3x3", middle) as other:
        app = ready_app(database, wide, database, other)
        reply = ask(app, "/v1/databases")
        for name, goal in ((f"{database.path.stem}-2", GOAL), (other.path.stem, parse_goal(middle, S3))):
            found = ask(app, f"/v1/lookup?board=8+6+7/2+5+4/3+0+1&db={name}").json
            assert (found["db"], found["goal"]) == (name, list(goal))
    stem = database.path.stem
    assert [at["id"] for at in reply.json["databases"]] == [stem, wide.path.stem, f"{stem}-2", other.path.stem]
    assert reply.json["default_goals"] == {"3x3": list(GOAL), "3x2": [1, 2, 3, 4, 5, 0]}
    assert str(wide.path.parent).encode() not in reply.body


def test_lookup_in_a_catalogue_has_a_sum_for_each_symmetry_and_partition() -> None:
    with database_for("1,2,3,4/5,6/7,8+1,2,5/3,4,6/7,8", "3x3", encoding="bits") as catalogue:
        sums = ask(ready_app(catalogue), "/v1/lookup?board=8+6+7/2+5+4/3+0+1").json["sums"]
        assert tuple(at["h"] for at in sums) == catalogue.probe(HARDEST_8).sums
    assert all(sum(at["values"]) == at["h"] for at in sums)
    assert [sorted(map(len, at["patterns"])) for at in sums] == [[2, 2, 4], [2, 3, 3]] * 2
