"""Labels of boards on a Dask cluster: each task labels a few boards, and a board is labelled by one worker.

Hard boards are not split as by `solve_boards`, so a task of the 24-puzzle can take long. One that is cancelled runs on
to its end.
"""

from collections import deque
from collections.abc import Generator, Sequence
from pathlib import Path
from typing import Any, Literal

from pdb_cluster.solve_tasks import Tasks
from pdb_cluster.solve_worker import WorkerTables, solver_for, tables_of
from pdb_core.puzzle import Boards, Tiles
from pdb_query import Database
from pdb_study.labels.labelling import Content, LabelledBoards, joined, label_chunk
from pdb_study.labels.sources import BoardSource, in_chunks

# Boards per task, on boards of up to 16 cells: a fraction of a second. Larger boards may take minutes each.
_TASK_BOARDS, _SMALL_CELLS = 64, 16
_TASKS_PER_THREAD = 3
_WAIT_S = 0.1


def label_on_cluster(
    client: Any,
    source: BoardSource,
    databases: Sequence[Database],
    first: int = 0,
    content: Content = "moves",
    *,
    chunk: int = 1000,
    load: Literal["map", "copy", "huge"] = "map",
    worker_folder: Path | None = None,
) -> Generator[LabelledBoards, None, None]:
    """Yield the labels of a source's boards from `first` on in their order, at least `chunk` at a time but at the end.

    `client` is a `distributed.Client`; for `worker_folder` see `ClusterBatch`. When the iteration ends early, pending
    tasks are cancelled. Raises `ClusterError`, for instance if a worker lacks tables.
    """
    tasks = Tasks(client)
    tables = tables_of(databases, load, worker_folder)
    n_task = min(chunk, _TASK_BOARDS if source.size.n_cells <= _SMALL_CELLS else 1)
    arrays = in_chunks(source.blocks(first), n_task)
    keys: deque[str] = deque()
    results: dict[str, LabelledBoards] = {}
    finished: list[LabelledBoards] = []
    try:
        while True:
            while len(keys) < max(_TASKS_PER_THREAD * tasks.n_threads(), 2 * chunk // n_task):
                boards = next(arrays, None)
                if boards is None:
                    break
                keys += tasks.submit(
                    label_task, [boards], results.__setitem__, tables=tables, goal=source.goal, content=content
                )
            if not keys:
                break
            tasks.work(_WAIT_S)
            while keys and keys[0] in results:
                finished.append(results.pop(keys.popleft()))
                if sum(len(labelled.boards) for labelled in finished) >= chunk:
                    yield joined(finished)
                    finished = []
    finally:
        tasks.cancel_all()
    if finished:
        yield joined(finished)


def label_task(boards: Boards, tables: WorkerTables, goal: Tiles, content: Content) -> LabelledBoards:
    """Return the labels of boards. Runs on a worker."""
    return label_chunk(solver_for(tables), boards, goal, content)
