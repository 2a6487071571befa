"""The mutants can be applied, and each was caught."""

import csv
import json

from tests import text_of


def test_each_mutant_changes_a_text_that_occurs_once_and_was_caught() -> None:
    mutants = json.loads(text_of("tests/mutants/mutants.json"))
    for mutant in mutants:
        for path, before, _ in mutant["edits"]:
            assert text_of(path).count(before) == 1, mutant["name"]
    caught = list(csv.reader(text_of("tests/mutants/caught.csv").splitlines()))
    assert [name for name, _ in caught] == [mutant["name"] for mutant in mutants]
    for _, test in caught:
        path, _, name = test.partition("::")
        assert f"def {name.partition('[')[0]}(" in text_of(path), test
