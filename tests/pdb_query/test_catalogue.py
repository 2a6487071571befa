"""Catalogues: several partitions over shared tables, in one file. Searches with them, and commands."""

import json

from solver.engine.database_engine import CATALOGUE, SCALAR, WIDE
from tests.command_line import BOARD, pdb, refused
from tests.solving import S3, assert_same_search, database_for, engine_for, share, solvable_boards
from tests.tables import table_file

PARTS = ("1,2,3,4/5,6/7,8", "1,4,7/2,3,5/6,8", "1,2/3,4,5/6,7,8")
GOAL = "1 2 3/4 0 5/6 7 8"


def test_all_rounds_search_a_catalogue_like_its_partitions() -> None:
    separate = [database_for(part, "3x3", GOAL, "bits") for part in PARTS]
    with database_for("+".join(PARTS), "3x3", GOAL, "bits") as joined:
        searches = [engine_for(separate, rounds=(SCALAR,))]
        searches += [engine_for([joined], rounds=(kind,)) for kind in (CATALOGUE, WIDE, SCALAR)]
        searches += [engine_for(separate, rounds=(CATALOGUE,)), engine_for([joined], batch=3, rounds=(CATALOGUE,))]
        for board in share(solvable_boards(S3, joined.goal, 5, 2), 3):
            for search in searches[1:]:
                assert_same_search(search, searches[0], board)


def test_more_than_32_tables_are_searched_like_few() -> None:
    parts = [f"{a},{b}/{','.join(str(t) for t in range(1, 9) if t not in (a, b))}"
             for a in range(1, 9) for b in range(a + 1, min(a + 3, 9))]  # fmt: skip
    with database_for("+".join(parts), "3x3", encoding="bits") as joined:
        one, other = (engine_for([joined], rounds=(kind,)) for kind in (CATALOGUE, SCALAR))
        assert one.engine.kind == CATALOGUE
        assert one.engine.round_tables.n_words == 2
        for board in share(solvable_boards(S3, joined.goal, 6, 4), 3):
            assert_same_search(one, other, board)


def test_commands_describe_and_use_a_catalogue() -> None:
    path = str(table_file(f"1,2,3,4/5,6,7,8+{PARTS[0]}", "3x3", encoding="bits"))
    assert "  partitions AB ACD" in pdb("info", path).stdout
    assert json.loads(pdb("info", path, "--format", "json").stdout)[0]["partitions"] == [[0, 1], [0, 2, 3]]
    assert json.loads(pdb("solve", "--db", path, BOARD, "--format", "ndjson").stdout)["length"] == 31
    refused(pdb("build", "8+1,2/3,4,5,6,7,8", "--encoding", "bytes"), 2, "catalogue .*built in bits")
