"""Catalogues: several partitions over shared tables, in one file."""

import json
from collections.abc import Sequence
from pathlib import Path

import pytest

from pdb_build import plan_build
from pdb_core.errors import InputError, PartitionError, TableFileDamagedError
from pdb_core.pattern import Partition, catalogue, parse_partition
from pdb_core.puzzle import BoardSize, Tiles, blank_last
from pdb_query import open_database
from pdb_query.database import Database
from solver.engine.database_engine import CATALOGUE, SCALAR, WIDE
from tests.command_line import pdb
from tests.solving import assert_same_search, engine_for, share, solvable_boards
from tests.tables import rewrite_header, table_file

S3, S4, S5 = BoardSize(3, 3), BoardSize(4, 4), BoardSize(5, 5)
PARTS_3X3 = ("1,2,3,4/5,6,7,8", "1,2,3,4/5,6/7,8", "1,4,7/2,3,5/6,8", "1,2/3,4,5/6,7,8")
PARTS_2X5 = ("1,2,3,4,5/6,7,8,9", "1,2,3/4,5/6,7,8,9")


def open_bits(text: str, size: str, goal: str = "blank-last") -> Database:
    return open_database(table_file(text, size, goal, "bits"))


def all_sums(databases: Sequence[Database], board: Tiles) -> set[int]:
    return {total for database in databases for total in database.probe(board).sums}


@pytest.mark.tiny
def test_catalogue_has_each_pattern_once() -> None:
    found = parse_partition("+".join(PARTS_3X3), S3)
    assert found.is_catalogue
    assert [str(pattern) for pattern in found.patterns] == [
        "1,2,3,4", "5,6,7,8", "5,6", "7,8", "1,4,7", "2,3,5", "6,8", "1,2", "3,4,5", "6,7,8",
    ]  # fmt: skip
    assert found.sums == ((0, 1), (0, 2, 3), (4, 5, 6), (7, 8, 9))
    assert parse_partition(str(found), S3) == found
    assert found.name == "+".join(PARTS_3X3)
    assert parse_partition("+".join([*PARTS_3X3, PARTS_3X3[0]]), S3).sums == found.sums
    assert parse_partition("78+78d", None).size == S4


@pytest.mark.tiny
def test_bad_catalogues_are_refused() -> None:
    for text, problem in {
        "1,2,3,4/5,6,7,8+1,2,3/5,6,7,8": "tiles 4 are in no pattern",
        "1,2,3,4/5,6,7,8+": "neither a name",
        "8+78": "4x4",
        "fringe+78": "count different moves",
    }.items():
        with pytest.raises(PartitionError, match=problem):
            parse_partition(text, S3 if "," in text else None)
    parts = [parse_partition(f"{a},{b}/{','.join(str(t) for t in range(1, 9) if t not in (a, b))}", S3)
             for a in range(1, 9) for b in range(a + 1, 9)]  # fmt: skip
    with pytest.raises(PartitionError, match="28 partitions and 56 different patterns"):
        catalogue("many", parts)
    with pytest.raises(PartitionError, match="tiles 3, 4, 5, 6, 7, 8 are in no pattern"):
        Partition("a", parts[0].patterns, S3, "additive", ((0,),))
    with pytest.raises(InputError, match="built in bits"):
        plan_build(S3, blank_last(S3), parse_partition("8+1,2/3,4,5,6,7,8", S3), Path("a.h5"), encoding="bytes")


@pytest.mark.tiny
@pytest.mark.parametrize(
    ("size", "parts", "goal"),
    [("3x3", PARTS_3X3, "blank-last"), ("3x3", PARTS_3X3[1:], "1 2 3/4 0 5/6 7 8"), ("2x5", PARTS_2X5, "blank-first")],
)
def test_sums_of_a_catalogue_are_those_of_its_partitions(size: str, parts: tuple[str, ...], goal: str) -> None:
    with open_bits("+".join(parts), size, goal) as joined:
        separate = [open_bits(part, size, goal) for part in parts]
        for board in solvable_boards(joined.size, joined.goal, 20, 1):
            probe = joined.probe(board)
            assert set(probe.sums) == all_sums(separate, board)
            assert probe.maximum == max(database.probe(board).maximum for database in separate)
        # Partitions in the first symmetry, then in the others.
        assert list(probe.sums[: len(parts)]) == [database.probe(board).sums[0] for database in separate]


@pytest.mark.tiny
@pytest.mark.parametrize(
    ("size", "parts", "goal"),
    [
        ("3x3", PARTS_3X3[1:], "1 2 3/4 0 5/6 7 8"),
        ("2x5", PARTS_2X5, "blank-first"),
    ],
)
def test_all_rounds_search_a_catalogue_alike(size: str, parts: tuple[str, ...], goal: str) -> None:
    with open_bits("+".join(parts), size, goal) as joined:
        separate = [open_bits(part, size, goal) for part in parts]
        searches = [engine_for(separate, rounds=(SCALAR,))]
        searches += [engine_for([joined], rounds=(kind,)) for kind in (CATALOGUE, WIDE, SCALAR)]
        searches += [engine_for(separate, rounds=(CATALOGUE,)), engine_for([joined], batch=3, rounds=(CATALOGUE,))]
        for board in share(solvable_boards(joined.size, joined.goal, 5, 2), 3):
            for search in searches[1:]:
                assert_same_search(search, searches[0], board)


def test_more_than_32_tables_are_searched_like_few() -> None:
    parts = [f"{a},{b}/{','.join(str(t) for t in range(1, 9) if t not in (a, b))}"
             for a in range(1, 9) for b in range(a + 1, min(a + 3, 9))]  # fmt: skip
    with open_bits("+".join(parts), "3x3") as joined:
        one, other = (engine_for([joined], rounds=(kind,)) for kind in (CATALOGUE, SCALAR))
        assert one.engine.kind == CATALOGUE
        assert one.engine.round_tables.n_words == 2
        for board in share(solvable_boards(S3, blank_last(S3), 6, 4), 3):
            assert_same_search(one, other, board)


@pytest.mark.tiny
@pytest.mark.parametrize(
    ("partitions", "match"),
    [
        ([], "in two patterns"),
        ([[0, 1]], "belong to no partition"),
        ([[0, 1], [0, 2, 3], []], "contradictory"),
        ([[0, 1], [0, 3, 2]], "contradictory"),
        ([[0, 1], [0, 1], [0, 2, 3]], "contradictory"),
        ([[0, 1], [0, 2, 4]], "out of range"),
        ([[0, 1], [0, 2, -3]], "not a natural number"),
        ([[0, 2, 3], [1, 2, 3]], "in two patterns"),
        (None, "in two patterns"),
        ("0,1", "not a list"),
    ],
)
def test_invalid_partitions_of_a_catalogue_are_refused(tmp_path: Path, partitions: object, match: str) -> None:
    path = tmp_path / "a.h5"
    path.write_bytes(table_file("+".join(PARTS_3X3[:2]), "3x3", encoding="bits").read_bytes())
    rewrite_header(path, lambda fields: fields.update(partitions=partitions))
    with pytest.raises(TableFileDamagedError, match=f"header is invalid.*{match}"):
        open_database(path)


def test_commands_build_describe_and_use_a_catalogue(tmp_path: Path) -> None:
    path = tmp_path / "a.h5"
    assert pdb("build", "+".join(PARTS_3X3[:2]), "--size", "3x3", "--out", str(path)).returncode == 0
    described = pdb("info", str(path)).stdout
    assert "A A A" in described
    assert "  partitions AB ACD" in described
    assert json.loads(pdb("info", str(path), "--format", "json").stdout)[0]["partitions"] == [[0, 1], [0, 2, 3]]
    record = json.loads(pdb("query", "--db", str(path), "8 6 7 2 5 4 3 0 1", "--format", "ndjson").stdout)
    assert len(record["sums"]) == 4
    solved = json.loads(pdb("solve", "--db", str(path), "8 6 7 2 5 4 3 0 1", "--format", "ndjson").stdout)
    assert solved["length"] == 31
    refused = pdb("build", "8+1,2/3,4,5,6,7,8", "--encoding", "bytes", "--out", str(path))
    assert refused.returncode == 2
    assert "catalogue" in refused.stderr
