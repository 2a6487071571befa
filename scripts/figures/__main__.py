"""Measure figures of the pages, and write them into docs/figures.json and the pages."""

import argparse
import json
from pathlib import Path

from scripts.figures import store
from scripts.figures.golden import write_golden_counts
from scripts.figures.pages import write_pages
from scripts.figures.sections import N_BOARDS, SECTIONS, Settings

_NAMES = ", ".join(SECTIONS)


def main() -> None:
    """Run a subcommand."""
    parser = argparse.ArgumentParser(prog="scripts/measure", description=__doc__)
    commands = parser.add_subparsers(dest="command", required=True)
    figures = commands.add_parser("figures", help="measure sections of docs/figures.json, and print their rows")
    figures.add_argument("sections", nargs="+", choices=SECTIONS, metavar="SECTION", help=_NAMES)
    figures.add_argument(
        "--row", action="append", dest="rows", help="measure this row only; repeat the option for more"
    )
    figures.add_argument("--boards", type=int, default=N_BOARDS, help="boards of each row of published")
    figures.add_argument("--data", type=Path, default=Path("data/bench"), help="folder of the tables, up to 8 GB")
    figures.add_argument("--write", action="store_true", help="write the rows into docs/figures.json and the pages")
    korf50 = commands.add_parser("korf50", help="take the boards of korf50-24puzzle from an output of pdb solve")
    korf50.add_argument("output", type=argparse.FileType(encoding="utf-8"), help="written with --format ndjson")
    commands.add_parser("golden", help="write the node counts that a change of the search must keep, tests/golden")
    commands.add_parser("pages", help="write the figures of docs/figures.json into the pages")
    options = parser.parse_args()
    if options.command == "figures":
        measure(options)
    elif options.command == "korf50":
        records = [record for record in map(json.loads, options.output) if record["length"] is not None]
        store.save_rows("korf50", {record["id"]: korf50_row(record) for record in records})
    elif options.command == "golden":
        write_golden_counts()
    if options.command != "golden":
        write_pages()


def measure(options: argparse.Namespace) -> None:
    """Measure the rows of sections, print them, and store them if that is wanted."""
    options.data.mkdir(parents=True, exist_ok=True)
    for section in options.sections:
        rows = SECTIONS[section](Settings(options.data, options.boards))
        for name, measured in rows.items():
            if options.rows is None or name in options.rows:
                row = measured()
                print(f"{section}, {name}: {row}", flush=True)
                if options.write:
                    store.save_rows(section, {name: row})


def korf50_row(record: dict[str, float]) -> store.Row:
    """Return the figures of a solved board; `pdb solve` has compared its length with the published one."""
    figures = {name: record[name] for name in ("generated", "expanded")}
    return figures | {"seconds_s": round(record["seconds"], 1)}


if __name__ == "__main__":
    main()
