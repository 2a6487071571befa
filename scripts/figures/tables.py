"""Tables of benchmark figures, and of errors, for the pages, in Markdown."""

from collections.abc import Callable, Collection, Iterable, Mapping
from typing import Any

from pdb_core import errors
from pdb_core.pattern import named_partitions, partition_source

Figures = Mapping[str, Any]
Row = Mapping[str, Any]
# A cell of a table: figures of the row, joined by " ± "; or a function of all figures and those of the row, which has
# its name, too.
Cell = str | Callable[[Figures, Row], Any]


def formatted(value: Any) -> str:
    """Return a figure as text, with commas; a missing one as `-`."""
    if value is None:
        return "-"
    if isinstance(value, float):
        return f"{value:,.0f}" if value >= 100 else f"{value:.3g}"
    return value if isinstance(value, str) else f"{value:,}"


def table(name: str, figures: Figures) -> str:
    """Return the table of `TABLES` with this name: a line for each row, and a column for each heading."""
    source, columns = TABLES[name]
    rows: Mapping[str, Row] = source(figures) if callable(source) else figures[source]["rows"]
    named = ({"name": row_name, **row} for row_name, row in rows.items())
    lines = ([_text(cell, figures, row) for cell in columns.values()] for row in named)
    return markdown(columns, lines)


def markdown(head: Collection[str], rows: Iterable[Iterable[str]]) -> str:
    """Return a table in Markdown."""
    return "\n".join("| " + " | ".join(line) + " |" for line in (head, ["---"] * len(head), *rows))


def _text(cell: Cell, figures: Figures, row: Row) -> str:
    if callable(cell):
        return formatted(cell(figures, row))
    values = [row.get(figure) for figure in cell.split(" ± ")]
    return "-" if values[0] is None else " ± ".join(map(formatted, values))


def _code(_figures: Figures, row: Row) -> str:
    return f"`{row['name']}`"


def _databases(_figures: Figures, row: Row) -> str:
    """Return a name such as `78 78d --plain` or `78 bytes, 2 threads` as the databases in words."""
    name = row["name"]
    first, *others = name.partition(",")[0].removesuffix(" --plain").split()
    text = f"`{first}` in bytes" if others == ["bytes"] else ", ".join(f"`{part}`" for part in (first, *others))
    return text + ", `--plain`" * name.endswith(" --plain")


def databases_of(names: str) -> list[str]:
    """Return the databases of a name such as `78 78d` or `78 bytes`."""
    return [names] if names.endswith("bytes") else names.split()


def _file_mb(figures: Figures, row: Row) -> float | None:
    """Return the size of all files of the databases of a row."""
    builds = figures["builds"]["rows"]
    sizes = [builds.get(name, {}).get("file_bytes") for name in databases_of(row["name"].removesuffix(" --plain"))]
    return None if None in sizes else sum(sizes) / 1e6


def partition_rows(figures: Figures) -> dict[str, Row]:
    """Return, for each partition and named set, what a build takes, and how good the heuristic is."""
    builds, searches = (figures[section]["rows"] for section in ("builds", "random1000"))
    return {
        name: {**builds.get(name, {}), **searches.get(name, {}), "size": str(size)}
        for name, size in named_partitions().items()
    }


def figure(figures: Figures, label: str) -> Any:
    """Return the figure with a label, `section;row;column`. Raises `KeyError` for an unknown one."""
    section, row, column = label.split(";")
    return figures[section]["rows"][row][column]


def program_rows(figures: Figures) -> dict[str, Row]:
    """Return the figures of all programs, beginning with tile-pdb."""
    own = {
        "build_s": "builds;78;build_s",
        "random_ms": "random1000;78;mean_ms",
        "hardest_s": "hardest80;78, 1 threads;seconds_s",
        "korf3_s": "three24;24-small;seconds_s",
    }
    measured = {column: figure(figures, label) for column, label in own.items()}
    return {"tile-pdb": measured, **figures["programs"]["rows"]}


def measured_rows(figures: Figures) -> dict[str, Row]:
    """Return dates, versions and machines, each with the names of the sections that were measured so."""
    sections: dict[tuple[str, ...], list[str]] = {}
    rows: dict[tuple[str, ...], Row] = {}
    for name, section in figures.items():
        key = tuple(section["measured"].values())
        sections.setdefault(key, []).append(name)
        rows[key] = section["measured"]
    return {", ".join(names): rows[key] for key, names in sections.items()}


def error_rows(_figures: Figures) -> dict[str, Row]:
    """Return the exceptions of each exit code."""
    kinds = [kind for kind in vars(errors).values() if isinstance(kind, type) and issubclass(kind, errors.PdbError)]
    names = {str(code): [f"`{kind.__name__}`" for kind in kinds if kind.exit_code == code] for code in range(1, 6)}
    return {code: {"exceptions": ", ".join(of)} for code, of in names.items()}


# Labels of single figures: section;row;column.
_OTHER = {
    "`import tilepdb`, s": "start;all;import_s",
    "first `pdb solve`, nothing compiled, s": "start;all;first_solve_s",
    "second `pdb solve`, s": "start;all;second_solve_s",
    "distances, boards/s": "labels;78;distances_per_s",
    "distances and all moves, boards/s": "labels;78;boards_per_s",
}


# Columns of several tables.
_NODES: dict[str, Cell] = {"mean h": "mean_h ± h_error", "mean nodes generated": "nodes ± nodes_error"}
_COSTS: dict[str, Cell] = {"build, s": "build_s", "memory, GB": "memory_gb", "file, MB": "file_mb"}

# By name: a section, or a function that returns rows; and columns.
TABLES: dict[str, tuple[str | Callable[[Figures], Mapping[str, Row]], dict[str, Cell]]] = {
    "partitions": (
        partition_rows,
        {
            "name": _code,
            "board": "size",
            **_COSTS,
            "mean h": "mean_h",
            "nodes": "nodes",
            "time, ms": "mean_ms",
            "source": lambda _figures, row: partition_source(row["name"]),
        },
    ),
    # Random boards of the 15-puzzle on one thread.
    "random1000": (
        "random1000",
        {
            "databases": _databases,
            "files, MB": _file_mb,
            **_NODES,
            "mean time, ms": "mean_ms",
        },
    ),
    "hardest80": (
        "hardest80",
        {"databases": _databases, "threads": "threads", "time of all 17, s": "seconds_s", "nodes generated": "nodes"},
    ),
    # Five easy boards of the 24-puzzle.
    "easy24": (
        "easy24",
        {"database": _code, "file, MB": _file_mb, "expanded nodes": "expanded", "time of all 5, s": "seconds_s"},
    ),
    # Published programs, with the tables of 7 and 8 tiles.
    "programs": (
        program_rows,
        {
            "program": "name",
            "build, s": "build_s",
            "random board, ms": "random_ms",
            "17 hardest boards, s": "hardest_s",
            "three 24-puzzles, s": "korf3_s",
        },
    ),
    "published": (
        "published",
        {
            "heuristic": "name",
            "published mean h": "published_h",
            "published mean nodes": "published_nodes",
            **_NODES,
            "boards": "boards",
        },
    ),
    "strength": (
        "strength",
        {
            "heuristic": _code,
            "size, MB": _file_mb,
            "eta": "eta ± eta_error",
            "published": "published",
        },
    ),
    "other": (
        lambda _figures: {label: {} for label in _OTHER},
        {"measure": "name", "value": lambda figures, row: figure(figures, _OTHER[row["name"]])},
    ),
    # Lookups of random boards of the 15-puzzle.
    "service": (
        "service",
        {
            "table": _databases,
            "start, s": "ready_s",
            "single, requests/s": "single_per_s",
            "99th percentile, ms": "single_p99_ms",
            "batches of bytes, boards/s": "bytes_per_s",
            "batches of JSON, boards/s": "json_per_s",
            "in Python, boards/s": "in_process_per_s",
        },
    ),
    "errors": (error_rows, {"code": "name", "exceptions": "exceptions"}),
    "measured": (measured_rows, {"sections": "name", "date": "date", "versions": "versions", "machine": "machine"}),
}
