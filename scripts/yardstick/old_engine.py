"""Search boards with the engine of the commit that compare.py compares with. Started by compare.py in that checkout.

The first line of the input is a JSON object with the table file, its load mode and the boards. Each further line starts
one search of all boards. The output is one JSON object per search: its seconds and the thresholds of each board.
"""

import json
import sys
import time
from pathlib import Path
from typing import Any

from pdb_query import open_database
from solver import Solver


def main() -> None:
    task: dict[str, Any] = json.loads(sys.stdin.readline())
    boards = [tuple(board) for board in task["boards"]]
    with open_database(Path(task["table"]), load=task["load"]) as database:
        ida_star: Any = Solver(database).ida_star
        roots = {board: ida_star.words_and_sums(board) for board in boards}
        ida_star.words_and_sums = roots.__getitem__
        for _ in sys.stdin:
            start = time.thread_time()
            found = [ida_star.search(board) for board in boards]
            seconds = time.thread_time() - start
            thresholds = [
                [
                    (at.threshold, at.generated, at.expanded, at.threshold == len(result.tiles))
                    for at in result.iterations
                ]
                for result in found
            ]
            print(json.dumps({"seconds": seconds, "boards": thresholds}), flush=True)


if __name__ == "__main__":
    main()
