"""`pdb study space`: the number of boards at each distance from the goal."""

from collections.abc import Iterator
from typing import TYPE_CHECKING, Annotated, Any

from typer import Option

from tilepdb.commands.options import FormatOption, GoalOption, SizeArgument, ThreadsOption
from tilepdb.commands.output import Record, bar_chart, message, plural, write_records
from tilepdb.commands.plots import PlotOption, write_plot
from tilepdb.progress import ProgressLine

if TYPE_CHECKING:
    from pdb_study.space import StateSpace


def space(
    size: SizeArgument,
    goal: GoalOption = "blank-last",
    antipodes: Annotated[int, Option(min=0, max=1_000_000, help="Number of boards at the maximum depth to list.")] = 20,
    threads: ThreadsOption = None,
    plot: PlotOption = None,
    output: FormatOption = "text",
) -> None:
    """Count the boards at each distance from the goal.

    Boards have up to 12 cells. With --format csv, each distance is a line.

    Examples:
      pdb study space 3x3
      pdb study space 3x4 --plot 3x4.svg
    """
    from pdb_study.space import explore_space

    with ProgressLine(message) as line:
        found = explore_space(
            size,
            goal,
            n_threads=threads,
            max_antipodes=antipodes,
            progress=lambda depth, n_reached: line.show(f"depth {depth}: {n_reached:,} boards"),
        )
    record = _record(found)
    by_distance = ({**record, "distance": distance, "boards": n} for distance, n in enumerate(found.counts))
    records = by_distance if output == "csv" else [record]
    write_records(records, output, columns=("size", "goal", "distance", "boards"), text=_text)
    write_plot(plot, found.draw)


def _record(found: "StateSpace") -> dict[str, Any]:
    from pdb_core.puzzle import format_board

    return {
        "size": str(found.size),
        "goal": format_board(found.goal, found.size),
        "boards": found.n_boards,
        "max_depth": found.max_depth,
        "mean": found.mean,
        "counts": list(found.counts),
        "antipodes": [format_board(board, found.size) for board in found.antipodes],
        "seconds": found.seconds,
    }


def _text(record: Record) -> Iterator[str]:
    yield f"{record['size']}, goal {record['goal']}: {record['boards']:,} boards"
    yield from bar_chart(record["counts"], len(f"{max(record['counts']):,}"))
    yield f"maximum depth {record['max_depth']}, mean {record['mean']:.3f}, {record['seconds']:.2f} s"
    n_farthest, n_listed = record["counts"][-1], len(record["antipodes"])
    listed = "" if n_listed == n_farthest else f", {n_listed:,} of them" if n_listed else ", not listed"
    yield f"{plural(n_farthest, 'board')} at distance {record['max_depth']}{listed}"
    for board in record["antipodes"]:
        yield f"  {board}"
