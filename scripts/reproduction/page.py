"""Text of docs/results.md, from the measured rows."""

import os
import platform
from collections.abc import Sequence
from pathlib import Path

import numba
import numpy as np

from pdb_core import __version__
from scripts.reproduction.measure import Measured
from scripts.reproduction.rows import Row

_HEAD = """\
# Results

Published tables of the 15-puzzle beside this project's, over random boards of its own: `scripts/reproduce` builds the
tables, solves the boards and writes this page.

Measured with tile-pdb {version}, Python {python}, NumPy {numpy}, Numba {numba}, on {machine},
{n_threads} boards at a time, a thread each. The boards are the first of `random_boards` with seed {seed}; their
shortest solutions have {length:.2f} moves on average. h is the mean over a hundred times as many boards, for it needs
no search. After +- is the standard error of the mean: nodes differ by some orders of magnitude from board to board, so
that two samples of 1000 boards differ too. Published means are over 1000 other boards.

## As published

Textbook IDA* (`--plain`), tables in bytes: the least distance over all places of the blank.

![Mean nodes as published and here](images/results-published.svg)

| heuristic | published mean h | here | published nodes | here | boards | nodes/s | ms a board |
|---|---|---|---|---|---|---|---|
"""

_AFTER_PUBLISHED = """
- Sources: Korf and Felner, *Disjoint pattern database heuristics*, Artificial Intelligence 134 (2002); Felner, Korf and
  Hanan, *Additive pattern database heuristics*, JAIR 22 (2004); Felner, Zahavi, Schaeffer and Holte, *Dual lookups in
  pattern databases*, IJCAI 2005.
- Nodes are those generated, without the root.
- Published means of h over 1000 boards have a standard error of 0.15. So 42.92 for 6-6-3 is that of the larger of the
  sum and its reflection, and 41.56 for 5-5-5 that of the sum alone.
- Dual lookups ask about a second board, in which places and tiles have changed roles. Its blank has another goal, so
  the row takes tables of four goals, {dual_bytes:.1f} GB. It is searched, with bidirectional pathmax, by a program of
  its own that is written for its nodes, not for its time. From *pruning* on, the steps below need fewer nodes with
  less memory.
- A few boards weigh much: of the nodes with {hardest_name}, {hardest:.0%} come from the hardest boards, one in twenty.

## From there to fewer nodes

Each row adds one thing to the row before it, but for the last two, which add their table to 78.

![Mean nodes and milliseconds from step to step](images/results-steps.svg)

| step | tables | mean h | mean nodes | nodes/s | ms a board | what is new |
|---|---|---|---|---|---|---|
"""


def page(
    published: Sequence[tuple[Row, Measured]], steps: Sequence[tuple[Row, Measured]], *, seed: int, n_threads: int
) -> str:
    """Return the whole page. `steps` starts with a published row."""
    text = _HEAD.format(
        version=__version__,
        python=platform.python_version(),
        numpy=np.__version__,
        numba=numba.__version__,
        machine=_machine(),
        n_threads=n_threads,
        seed=seed,
        length=steps[-1][1].mean_length,
    )
    for row, measured in published:
        known_h, known_nodes = (f"{row.published.mean_h:.2f}", f"{row.published.nodes:,}") if row.published else "--"
        text += (
            f"| {row.name} | {known_h} | {_mean_h(measured)} | {known_nodes} | "
            f"{_nodes(measured)} | {measured.n_boards:,} | {_speed(measured)} |\n"
        )
    first_row, first_measured = published[0]
    text += _AFTER_PUBLISHED.format(
        hardest_name=first_row.name,
        hardest=first_measured.hardest_share,
        dual_bytes=sum(measured.table_bytes for row, measured in published if row.duals) / 1e9,
    )
    for row, measured in steps:
        name = row.name if row.published else f"**{row.name}**"
        size = f"{measured.table_bytes / 1e6:,.0f} MB"
        note = row.note or "as above"
        text += f"| {name} | {size} | {_mean_h(measured)} | {_nodes(measured)} | {_speed(measured)} | {note} |\n"
    first, last = steps[0][1], min((measured for _, measured in steps), key=lambda each: each.nodes)
    return text + (
        f"\nThe fewest nodes are {first.nodes / last.nodes:.1f} times fewer than those of 7-8 with its reflection, and "
        f"{published[0][1].nodes / last.nodes:,.0f} times fewer than those of Manhattan distance.\n"
    )


def _mean_h(measured: Measured) -> str:
    return f"{measured.mean_h:.2f} +- {measured.mean_h_error:.2f}"


def _nodes(measured: Measured) -> str:
    return f"{measured.nodes:,.0f} +- {measured.nodes_error:,.0f}"


def _speed(measured: Measured) -> str:
    return f"{measured.nodes_per_s / 1e6:.1f} million | {measured.mean_seconds * 1000:,.2f}"


def _machine() -> str:
    n_cores, memory = len(os.sched_getaffinity(0)), os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    return f"a {platform.machine()} machine with {n_cores} cores and {memory / 2**30:.0f} GB of memory"


def write_page(text: str, path: Path) -> None:
    path.write_text(text, encoding="utf-8")
