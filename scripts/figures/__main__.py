"""Measure figures of the pages, and write them into docs/figures.json and the pages: see scripts/measure --help."""

import argparse
import json
from pathlib import Path

from scripts.figures import store
from scripts.figures.golden import write_golden_counts
from scripts.figures.pages import write_pages
from scripts.figures.sections import N_BOARDS, SECTIONS, Settings


def main() -> None:
    """Run a subcommand."""
    parser = argparse.ArgumentParser(prog="scripts/measure", add_help=False)
    commands = parser.add_subparsers(dest="command", required=True)
    figures = commands.add_parser("figures")
    figures.add_argument("sections", nargs="+", choices=SECTIONS, metavar="SECTION")
    figures.add_argument("--row", action="append", dest="rows")
    figures.add_argument("--boards", type=int, default=N_BOARDS)
    figures.add_argument("--data", type=Path, default=Path("data/bench"))
    figures.add_argument("--write", action="store_true")
    commands.add_parser("korf50").add_argument("output", type=argparse.FileType(encoding="utf-8"))
    commands.add_parser("golden")
    commands.add_parser("pages")
    options = parser.parse_args()
    if options.command == "figures":
        measure(options)
    elif options.command == "korf50":
        # `pdb solve` has compared the lengths with the published ones.
        rows = {
            at["id"]: {"generated": at["generated"], "expanded": at["expanded"], "seconds_s": round(at["seconds"], 1)}
            for at in map(json.loads, options.output)
            if at["length"] is not None
        }
        store.save_rows("korf50", rows)
    elif options.command == "golden":
        write_golden_counts()
    if options.command != "golden":
        write_pages()


def measure(options: argparse.Namespace) -> None:
    """Measure the rows of sections, print them, and store them if that is wanted."""
    options.data.mkdir(parents=True, exist_ok=True)
    for section in options.sections:
        rows = SECTIONS[section](Settings(options.data, options.boards))
        if unknown := set(options.rows or ()) - set(rows):
            raise SystemExit(f"{section} has no row {', '.join(sorted(unknown))}; its rows are {', '.join(rows)}")
        for name, measured in rows.items():
            if options.rows is None or name in options.rows:
                row = measured()
                print(f"{section}, {name}: {row}", flush=True)
                if options.write:
                    store.save_rows(section, {name: row})


if __name__ == "__main__":
    try:
        main()
    except KeyboardInterrupt:
        raise SystemExit(130) from None
