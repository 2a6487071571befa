"""Failures on the threads of a search end in the exact answer or an exception. docs/fault-tolerance.md has figures."""

import pytest

from tests.project.test_faults import nothing_is_lost, outcome


def test_no_failure_of_a_search_changes_its_answer() -> None:
    nothing_is_lost(outcome("failing_search", "--tried", "16", "--interrupts", "8"), at_least=24)


@pytest.mark.slow
def test_no_failure_of_many_changes_an_answer() -> None:
    nothing_is_lost(outcome("failing_search", "--tried", "2000", "--interrupts", "1000", "--seed", "2"), at_least=3000)
