from tests.mutants import all_mutants


def test_each_mutant_changes_one_place_of_the_product() -> None:
    mutants = all_mutants()
    assert len({mutant.name for mutant in mutants}) == len(mutants) >= 40
    assert [mutant.problem for mutant in mutants if mutant.problem] == []
