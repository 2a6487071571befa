"""Kills, failing disks, power failures, small memory and hostile clients lose nothing.

docs/fault-tolerance.md has the figures of `tests/faults`.
"""

import json
import subprocess
import sys
from typing import Any

import pytest

from tests import ROOT


def outcome(program: str, *arguments: str) -> dict[str, Any]:
    """Run a program of `tests/faults` in a separate process, because one of them forks, and return its report."""
    result = subprocess.run(
        [sys.executable, "-m", f"tests.faults.{program}", *arguments],
        cwd=ROOT,
        # stderr is shown if a test fails.
        stdout=subprocess.PIPE,
        text=True,
        check=True,
    )
    counts: dict[str, Any] = json.loads(result.stdout)
    return counts


def nothing_is_lost(counts: dict[str, Any], *, at_least: int) -> None:
    """Check that all faults were survived."""
    assert {fault: count["examples"] for fault, count in counts.items() if count["lost"]} == {}
    assert all(count["survived"] == count["tried"] > 0 for count in counts.values())
    assert sum(count["tried"] for count in counts.values()) >= at_least


def test_builds_survive_kills_and_failing_disks() -> None:
    nothing_is_lost(outcome("failing_builds", "--every", "101"), at_least=25)


@pytest.mark.slow
def test_builds_survive_every_kill_and_failing_call() -> None:
    nothing_is_lost(outcome("failing_builds"), at_least=2000)


def test_builds_survive_power_failures() -> None:
    nothing_is_lost(outcome("lose_power", "--every", "11"), at_least=40)


@pytest.mark.slow
def test_builds_survive_a_power_failure_at_every_sync() -> None:
    nothing_is_lost(outcome("lose_power"), at_least=500)


@pytest.mark.slow
def test_service_survives_hostile_clients() -> None:
    nothing_is_lost(outcome("hostile_clients"), at_least=6)


@pytest.mark.slow
def test_killed_commands_continue() -> None:
    nothing_is_lost(outcome("killed_commands", "--tried", "5"), at_least=15)


@pytest.mark.slow
def test_commands_in_two_containers_share_a_path() -> None:
    nothing_is_lost(outcome("same_path", "--tried", "3"), at_least=12)


@pytest.mark.slow
def test_commands_survive_small_memory_and_few_threads() -> None:
    nothing_is_lost(outcome("small_memory"), at_least=130)
