"""Tables of benchmark figures for the pages, in Markdown."""

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

from pdb_core.pattern import named_partitions, partition_source
from pdb_query import read_instances

Figures = Mapping[str, Any]
Row = Mapping[str, Any]
# A cell of a table: figures of the row, joined by " ± "; or a function of the row's name and its figures.
Cell = str | Callable[[str, Row], Any]


def formatted(value: Any) -> str:
    """Return a figure as text, with commas; a missing one as `-`."""
    if value is None:
        return "-"
    if isinstance(value, float):
        return f"{value:,.0f}" if value >= 100 else f"{value:.3g}"
    return value if isinstance(value, str) else f"{value:,}"


def table(rows: Mapping[str, Row], columns: Mapping[str, Cell]) -> str:
    """Return a table with a line for each row, and a column for each heading."""
    lines = [list(columns), ["---"] * len(columns)]
    lines += [[_text(cell, name, row) for cell in columns.values()] for name, row in rows.items()]
    return "\n".join("| " + " | ".join(line) + " |" for line in lines)


def _text(cell: Cell, name: str, row: Row) -> str:
    if callable(cell):
        return formatted(cell(name, row))
    values = [row.get(figure) for figure in cell.split(" ± ")]
    return "-" if values[0] is None else " ± ".join(map(formatted, values))


def _name(name: str, _row: Row) -> str:
    return name


def _code(name: str, _row: Row) -> str:
    return f"`{name}`"


def _databases(name: str, _row: Row) -> str:
    """Return a name such as `78 78d --plain` or `78 bytes, 2 threads` as the databases in words."""
    first, *others = name.partition(",")[0].removesuffix(" --plain").split()
    text = f"`{first}` in bytes" if others == ["bytes"] else ", ".join(f"`{part}`" for part in (first, *others))
    return text + ", `--plain`" * name.endswith(" --plain")


def _file_mb(figures: Figures, name: str) -> float | None:
    """Return the size of all files of databases, such as `78 78d`."""
    name = name.removesuffix(" --plain")
    builds = figures["builds"]["rows"]
    sizes = [builds.get(each, {}).get("file_bytes") for each in ([name] if name.endswith("bytes") else name.split())]
    return None if None in sizes else sum(sizes) / 1e6


# Columns of several tables.
_NODES: dict[str, Cell] = {"mean h": "mean_h ± h_error", "mean nodes generated": "nodes ± nodes_error"}
_COSTS: dict[str, Cell] = {"build, s": "build_s", "memory, GB": "memory_gb", "file, MB": "file_mb"}


def _rows_table(section: str, columns: Mapping[str, Cell], figures: Figures) -> str:
    return table(figures[section]["rows"], columns)


def partitions(figures: Figures) -> str:
    """Partitions and named sets: what a build takes, and how good the heuristic is."""
    builds, searches = (figures[section]["rows"] for section in ("builds", "random1000"))
    rows = {
        name: {**builds.get(name, {}), **searches.get(name, {}), "size": str(size)}
        for name, size in named_partitions().items()
    }
    gains = {"mean h": "mean_h", "nodes": "nodes", "time, ms": "mean_ms"}
    return table(
        rows, {"name": _code, "board": "size", **_COSTS, **gains, "source": lambda name, _: partition_source(name)}
    )


def random1000(figures: Figures) -> str:
    """Random boards of the 15-puzzle on one thread."""
    return _rows_table(
        "random1000",
        {
            "databases": _databases,
            "files, MB": lambda name, _: _file_mb(figures, name),
            **_NODES,
            "mean time, ms": "mean_ms",
            "million nodes/s": "million_nodes_per_s",
        },
        figures,
    )


def easy24(figures: Figures) -> str:
    """Five easy boards of the 24-puzzle."""
    columns = {"expanded nodes": "expanded", "time of all 5, s": "seconds_s"}
    sizes: dict[str, Cell] = {"database": _code, "file, MB": lambda name, _: _file_mb(figures, name)}
    return _rows_table("easy24", {**sizes, **columns}, figures)


def program_rows(figures: Figures) -> dict[str, Row]:
    """Return the figures of all programs, this one first."""

    def figure(section: str, row: str, column: str) -> Any:
        return figures[section]["rows"].get(row, {}).get(column)

    own = {
        "build_s": figure("builds", "78", "build_s"),
        "random_ms": figure("random1000", "78", "mean_ms"),
        "hardest_s": figure("hardest80", "78, 1 threads", "seconds_s"),
        "korf3_s": sum(figure("korf50", board, "seconds_s") for board in ("38", "40", "25")),
    }
    return {"tile-pdb": own, **figures["programs"]["rows"]}


def programs(figures: Figures) -> str:
    """Published programs and this one, with the tables of 7 and 8 tiles."""
    return table(
        program_rows(figures),
        {
            "program": _name,
            "build, s": "build_s",
            "random board, ms": "random_ms",
            "17 hardest boards, s": "hardest_s",
            "three 24-puzzles, s": "korf3_s",
        },
    )


def steps(figures: Figures) -> str:
    """Steps from the published search to fewer nodes."""
    new: dict[str, Cell] = {"new": "new", "tables, MB": lambda _, row: _file_mb(figures, row["databases"])}
    return _rows_table("steps", {"step": _name, **new, **_NODES, "boards": "boards"}, figures)


def korf50(figures: Figures) -> str:
    """Korf and Felner's 50 boards of the 24-puzzle."""
    instances = {instance.id: instance for instance in read_instances("korf50-24puzzle", None)}
    return _rows_table(
        "korf50",
        {
            "board": _name,
            "length": lambda name, _: instances[name].optimal_length,
            "generated": "generated",
            "expanded": "expanded",
            "time, s": "seconds_s",
            "6-6-6-6, 2002": "published_6666",
            "7 partitions, 2019": "published_7_partitions",
            "large, 2019": "published_large",
        },
        figures,
    )


# Labels of single figures: section;row;column.
_OTHER = {
    "`import tilepdb`, s": "start;all;import_s",
    "first `pdb solve`, nothing compiled, s": "start;all;first_solve_s",
    "second `pdb solve`, s": "start;all;second_solve_s",
    "distances, boards/s": "labels;78;distances_per_s",
    "distances and all moves, boards/s": "labels;78;boards_per_s",
    "`pdb serve`, from start to ready, s": "service;78 bytes;ready_s",
    "single lookups, requests/s": "service;78 bytes;single_per_s",
    "single lookups, 99th percentile, ms": "service;78 bytes;single_p99_ms",
    "lookups in batches of bytes, boards/s": "service;78 bytes;bytes_per_s",
    "lookups in batches of JSON, boards/s": "service;78 bytes;json_per_s",
    "lookups by the library, boards/s": "service;78 bytes;in_process_per_s",
}


def other(figures: Figures) -> str:
    """Single figures: start, labels, service."""
    rows = {}
    for label, place in _OTHER.items():
        section, row, column = place.split(";")
        rows[label] = {"value": figures[section]["rows"].get(row, {}).get(column)}
    return table(rows, {"measure": _name, "value": "value"})


def measured(figures: Figures) -> str:
    """Date, versions and machine of each section."""
    rows = {name: section["measured"] for name, section in figures.items() if "measured" in section}
    return table(rows, {"section": _name, "date": "date", "versions": "versions", "machine": "machine"})


TABLES: dict[str, Callable[[Figures], str]] = {
    "partitions": partitions,
    "builds": partial(_rows_table, "builds", {"tables": _code, **_COSTS}),
    "random1000": random1000,
    "to-cite": partial(_rows_table, "random1000", {"databases": _databases, **_NODES}),
    "hardest80": partial(
        _rows_table,
        "hardest80",
        {"databases": _databases, "threads": "threads", "time of all 17, s": "seconds_s", "nodes generated": "nodes"},
    ),
    "easy24": easy24,
    "programs": programs,
    "published": partial(
        _rows_table,
        "published",
        {
            "heuristic": _name,
            "published mean h": "published_h",
            "published mean nodes": "published_nodes",
            **_NODES,
            "boards": "boards",
        },
    ),
    "steps": steps,
    "korf50": korf50,
    "approximate": partial(
        _rows_table,
        "approximate",
        {
            "size": _name,
            "boards": "boards",
            "length / Manhattan": "to_manhattan",
            "largest": "largest_to_manhattan",
            "length / lower bound": "to_lower_bound",
            "time, s": "seconds_s",
        },
    ),
    "other": other,
    "measured": measured,
}
