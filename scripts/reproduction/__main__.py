"""Measure all rows, and write docs/results.md and its plots: scripts/reproduce."""

import argparse
import os
import sys
from pathlib import Path

from scripts.reproduction.korf50 import read_published, read_solved, section
from scripts.reproduction.measure import Measured, Record, measure
from scripts.reproduction.page import page, write_page
from scripts.reproduction.plots import draw_published, draw_steps
from scripts.reproduction.rows import FIRST_STEP, PUBLISHED_ROWS, ROWS, STEPS, Row


def main() -> None:
    parser = argparse.ArgumentParser(
        prog="scripts/reproduce",
        description="Compare published tables of the 15-puzzle with this project: docs/results.md.",
    )
    parser.add_argument("--boards", type=int, default=1000, help="random boards per row (default: 1000)")
    parser.add_argument("--long-boards", type=int, default=200, help="boards of the slowest rows (default: 200)")
    parser.add_argument("--seed", type=int, default=1, help="seed of the random boards (default: 1)")
    parser.add_argument(
        "--threads", type=int, default=len(os.sched_getaffinity(0)), help="boards at the same time (default: all cores)"
    )
    parser.add_argument("--data", type=Path, default=Path("data/reproduce"), help="folder of the tables, 4.3 GB")
    parser.add_argument(
        "--docs", type=Path, default=Path("docs"), help="folder of the page and its plots (default: docs)"
    )
    arguments = parser.parse_args()
    if min(arguments.boards, arguments.long_boards) < 2 or arguments.threads < 1:
        parser.error("a standard error needs at least two boards, and a search at least one thread")
    arguments.data.mkdir(parents=True, exist_ok=True)
    record = Record(arguments.data / "measured.jsonl")
    found: dict[str, Measured] = {}
    for row in ROWS:
        n_boards = min(arguments.boards, arguments.long_boards) if row.is_long else arguments.boards
        measured = record.find(row, n_boards, arguments.seed)
        if measured is None:
            measured = measure(row, n_boards, arguments.seed, folder=arguments.data, n_threads=arguments.threads)
            record.add(row, n_boards, arguments.seed, measured)
        found[row.name] = measured
        print(
            f"{row.name:<22} {n_boards:5} boards  h {measured.mean_h:.3f} +- {measured.mean_h_error:.3f}  nodes "
            f"{measured.nodes:,.0f} +- {measured.nodes_error:,.0f}  {measured.mean_seconds * 1000:,.2f} ms",
            flush=True,
        )

    def with_measured(rows: tuple[Row, ...]) -> list[tuple[Row, Measured]]:
        return [(row, found[row.name]) for row in rows]

    published, steps = with_measured(PUBLISHED_ROWS), with_measured((FIRST_STEP, *STEPS))
    images = arguments.docs / "images"
    images.mkdir(parents=True, exist_ok=True)
    draw_published(published, images / "results-published.svg")
    draw_steps([measured for _, measured in steps], images / "results-steps.svg")
    text = page(published, steps, seed=arguments.seed, n_threads=arguments.threads)
    write_page(f"{text}\n{section(read_solved(), read_published())}", arguments.docs / "results.md")
    print(f"written: {arguments.docs / 'results.md'}", file=sys.stderr)


try:
    main()
except KeyboardInterrupt:
    sys.exit("interrupted; the same command continues with the rows that are not measured yet")
