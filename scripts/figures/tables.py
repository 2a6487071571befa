"""Tables of benchmark figures for the pages, in Markdown."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from pdb_core.pattern import named_partitions, partition_source
from pdb_query import read_instances

Figures = Mapping[str, Any]


def formatted(value: Any) -> str:
    """Return a figure as text, with commas; a missing one as `-`."""
    if value is None:
        return "-"
    if isinstance(value, float):
        return f"{value:,.0f}" if value >= 100 else f"{value:.3g}"
    return value if isinstance(value, str) else f"{value:,}"


def _table(head: Sequence[str], rows: Iterable[Sequence[Any]]) -> str:
    lines = [head, ["---"] * len(head), *([formatted(cell) for cell in row] for row in rows)]
    return "\n".join("| " + " | ".join(line) + " |" for line in lines)


def _row(figures: Figures, section: str, row: str) -> Mapping[str, Any]:
    """Return a row; an empty one if it was not measured."""
    return dict(figures[section]["rows"].get(row, {}))


def _with_error(value: Any, error: Any) -> str:
    return "-" if value is None else f"{formatted(value)} ± {formatted(error)}"


def partitions(figures: Figures) -> str:
    """Partitions and named sets: what a build takes, and how good the heuristic is."""
    rows = []
    for name, size in named_partitions().items():
        build, search = _row(figures, "builds", name), _row(figures, "random1000", name)
        costs = (build.get("build_s"), build.get("memory_gb"), build.get("file_mb"))
        gains = (search.get("mean_h"), search.get("nodes"), search.get("mean_ms"))
        rows.append((f"`{name}`", str(size), *costs, *gains, partition_source(name)))
    head = ("name", "board", "build, s", "memory, GB", "file, MB", "mean h", "nodes", "time, ms", "source")
    return _table(head, rows)


def builds(figures: Figures) -> str:
    """Builds as whole processes."""
    rows = figures["builds"]["rows"].items()
    return _table(
        ("tables", "build, s", "memory, GB", "file, MB"),
        ((f"`{name}`", row["build_s"], row["memory_gb"], row["file_mb"]) for name, row in rows),
    )


def _databases(name: str) -> str:
    first, *others = name.removesuffix(" --plain").split()
    text = f"`{first}` in bytes" if others == ["bytes"] else ", ".join(f"`{part}`" for part in (first, *others))
    return text + ", `--plain`" * name.endswith(" --plain")


def _file_mb(figures: Figures, name: str) -> float | None:
    first, *others = name.removesuffix(" --plain").split()
    stems = [f"{first} bytes"] if others == ["bytes"] else [first, *others]
    sizes = [_row(figures, "builds", stem).get("file_bytes") for stem in stems]
    return None if None in sizes else sum(size for size in sizes if size is not None) / 1e6


def random1000(figures: Figures) -> str:
    """Random boards of the 15-puzzle on one thread."""
    return _table(
        ("databases", "files, MB", "mean h", "mean nodes generated", "mean time, ms", "million nodes/s"),
        (
            (
                _databases(name), _file_mb(figures, name), _with_error(row["mean_h"], row["h_error"]),
                _with_error(row["nodes"], row["nodes_error"]), row["mean_ms"], row["million_nodes_per_s"],
            )
            for name, row in figures["random1000"]["rows"].items()
        ),
    )  # fmt: skip


def to_cite(figures: Figures) -> str:
    """Figures of random boards that do not depend on the machine."""
    return _table(
        ("databases", "mean h", "mean nodes generated"),
        (
            (
                _databases(name),
                _with_error(row["mean_h"], row["h_error"]),
                _with_error(row["nodes"], row["nodes_error"]),
            )
            for name, row in figures["random1000"]["rows"].items()
        ),
    )


def hardest80(figures: Figures) -> str:
    """The 17 boards that take 80 moves."""
    return _table(
        ("databases", "threads", "time of all 17, s", "nodes generated"),
        (
            (_databases(name.split(",")[0]), row["threads"], row["seconds_s"], row["nodes"])
            for name, row in figures["hardest80"]["rows"].items()
        ),
    )


def easy24(figures: Figures) -> str:
    """Five easy boards of the 24-puzzle."""
    return _table(
        ("database", "file, MB", "expanded nodes", "time of all 5, s"),
        (
            (f"`{name}`", _file_mb(figures, name), row["expanded"], row["seconds_s"])
            for name, row in figures["easy24"]["rows"].items()
        ),
    )


def programs(figures: Figures) -> str:
    """Published programs and this one, with the tables of 7 and 8 tiles."""
    return _table(
        ("program", "build, s", "random board, ms", "17 hardest boards, s", "three 24-puzzles, s"),
        (
            (name, row.get("build_s"), row.get("random_ms"), row.get("hardest_s"), row.get("korf3_s"))
            for name, row in program_rows(figures).items()
        ),
    )


def program_rows(figures: Figures) -> dict[str, Mapping[str, Any]]:
    """Return the figures of all programs, this one first."""
    own = {
        "build_s": _row(figures, "builds", "78").get("build_s"),
        "random_ms": _row(figures, "random1000", "78").get("mean_ms"),
        "hardest_s": _row(figures, "hardest80", "78, 1 threads").get("seconds_s"),
    }
    korf50_rows = figures["korf50"]["rows"]
    own["korf3_s"] = sum(float(korf50_rows[name]["seconds_s"]) for name in ("38", "40", "25"))
    return {"tile-pdb": own, **figures["programs"]["rows"]}


def _result_cells(row: Mapping[str, Any]) -> tuple[str, ...]:
    """Return the cells that scripts/reproduce measures."""
    return (
        _with_error(row.get("mean_h"), row.get("h_error")), _with_error(row.get("nodes"), row.get("nodes_error")),
        formatted(row.get("boards")),
    )  # fmt: skip


def published(figures: Figures) -> str:
    """Published results of the 15-puzzle beside those of scripts/reproduce."""
    head = ("heuristic", "published mean h", "published mean nodes", *_RESULT_HEAD)
    rows = figures["published"]["rows"].items()
    return _table(head, ((name, row["published_h"], row["published_nodes"], *_result_cells(row)) for name, row in rows))


_RESULT_HEAD = ("mean h", "mean nodes generated", "boards")


def steps(figures: Figures) -> str:
    """Steps from the published search to fewer nodes."""
    rows = figures["steps"]["rows"].items()
    return _table(
        ("step", "new", "tables, MB", *_RESULT_HEAD),
        ((name, row["new"], _file_mb(figures, row["databases"]), *_result_cells(row)) for name, row in rows),
    )


def korf50(figures: Figures) -> str:
    """Korf and Felner's 50 boards of the 24-puzzle."""
    columns = ("generated", "expanded", "seconds_s", "published_6666", "published_7_partitions", "published_large")
    instances = {instance.id: instance for instance in read_instances("korf50-24puzzle", None)}
    return _table(
        ("board", "length", "generated", "expanded", "time, s", "6-6-6-6, 2002", "7 partitions, 2019", "large, 2019"),
        (
            (name, instances[name].optimal_length, *map(row.get, columns))
            for name, row in figures["korf50"]["rows"].items()
        ),
    )


def approximate(figures: Figures) -> str:
    """Lengths of suboptimal solutions."""
    rows = figures["approximate"]["rows"].items()
    return _table(
        ("size", "boards", "length / Manhattan", "largest", "length / lower bound", "time, s"),
        (
            (
                name, row["boards"], row["to_manhattan"], row["largest_to_manhattan"], row["to_lower_bound"],
                row["seconds_s"],
            )
            for name, row in rows
        ),
    )  # fmt: skip


# Labels of single figures.
_OTHER = {
    ("start", "all", "import_s"): "`import tilepdb`, s",
    ("start", "all", "first_solve_s"): "first `pdb solve`, nothing compiled, s",
    ("start", "all", "second_solve_s"): "second `pdb solve`, s",
    ("labels", "78", "distances_per_s"): "distances, boards/s",
    ("labels", "78", "boards_per_s"): "distances and all moves, boards/s",
    ("service", "78 bytes", "ready_s"): "`pdb serve`, from start to ready, s",
    ("service", "78 bytes", "single_per_s"): "single lookups, requests/s",
    ("service", "78 bytes", "single_p99_ms"): "single lookups, 99th percentile, ms",
    ("service", "78 bytes", "bytes_per_s"): "lookups in batches of bytes, boards/s",
    ("service", "78 bytes", "json_per_s"): "lookups in batches of JSON, boards/s",
    ("service", "78 bytes", "in_process_per_s"): "lookups by the library, boards/s",
}


def other(figures: Figures) -> str:
    """Single figures: start, labels, service."""
    rows = ((label, _row(figures, *place[:2]).get(place[2])) for place, label in _OTHER.items())
    return _table(("measure", "value"), rows)


def measured(figures: Figures) -> str:
    """Date, versions and machine of each section."""
    rows = ((name, section["measured"]) for name, section in figures.items() if "measured" in section)
    return _table(
        ("section", "date", "versions", "machine"),
        ((name, *(entry.get(field) for field in ("date", "versions", "machine"))) for name, entry in rows),
    )


TABLES: dict[str, Callable[[Figures], str]] = {
    "partitions": partitions,
    "builds": builds,
    "random1000": random1000,
    "to-cite": to_cite,
    "hardest80": hardest80,
    "easy24": easy24,
    "programs": programs,
    "published": published,
    "steps": steps,
    "korf50": korf50,
    "approximate": approximate,
    "other": other,
    "measured": measured,
}
