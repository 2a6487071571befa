"""Kills and broken disks lose nothing. docs/reliability.md has the figures of the programs in `tests/faults`."""

import json
import subprocess
import sys
from typing import Any

import pytest

from tests import ROOT


def outcome(program: str, *arguments: str) -> dict[str, Any]:
    """What a program of faults prints, run in a process of its own: one of them forks."""
    result = subprocess.run(
        [sys.executable, "-m", f"tests.faults.{program}", *arguments],
        cwd=ROOT,
        # What a program writes to stderr is shown if a test fails.
        stdout=subprocess.PIPE,
        text=True,
        check=True,
    )
    counts: dict[str, Any] = json.loads(result.stdout)
    return counts


def nothing_is_lost(counts: dict[str, Any], *, at_least: int) -> None:
    """Every fault that was tried was survived."""
    assert {fault: count["examples"] for fault, count in counts.items() if count["lost"]} == {}
    assert all(count["survived"] == count["tried"] > 0 for count in counts.values())
    assert sum(count["tried"] for count in counts.values()) >= at_least


def test_no_kill_loses_a_build() -> None:
    nothing_is_lost(outcome("kill_build", "--kills", "40"), at_least=40)


@pytest.mark.slow
def test_no_kill_of_many_loses_a_build() -> None:
    nothing_is_lost(outcome("kill_build", "--kills", "200", "--seed", "2"), at_least=200)


def test_no_broken_disk_loses_a_build() -> None:
    nothing_is_lost(outcome("broken_disk", "--every", "61"), at_least=40)


@pytest.mark.slow
def test_no_call_of_a_broken_disk_loses_a_build() -> None:
    nothing_is_lost(outcome("broken_disk"), at_least=2000)


def test_no_loss_of_power_loses_a_build() -> None:
    nothing_is_lost(outcome("lose_power", "--every", "11"), at_least=40)


@pytest.mark.slow
def test_no_loss_of_power_at_any_sync_loses_a_build() -> None:
    nothing_is_lost(outcome("lose_power"), at_least=500)
