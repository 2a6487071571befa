"""Compilation of the kernels that common commands need, by running these commands on small boards."""

import contextlib
import io
import tempfile
from typing import Any

from solver.algorithms import ALGORITHMS, IDA_STAR
from tilepdb.commands.output import message
from tilepdb.progress import ProgressLine

# The patterns are small, but their tables have the types of large ones.
_COMMANDS = """
solve 1,2,3,4/5,6,7,8/9,10,11,12/0,13,14,15
solve 1,2,3/4,5,6/0,7,8
solve --time-limit 60 --log FOLDER/a.log 1,2,3,4/5,6,7,8/9,10,11,12/0,13,14,15
solve --all 1,2,3,4/5,6,7,8/9,10,11,12/0,13,14,15
label --random 10 --out FOLDER/labels.npz
build 1,2,3/4,5,6/7,8,9/10,11,12/13,14,15 --out FOLDER/bits.h5
build 1,2,3/4,5,6/7,8,9/10,11,12/13,14,15 --encoding bytes --out FOLDER/bytes.h5
build 8 --encoding bytes --out FOLDER/8.h5
build 1,2,3/4,5,6/7,8,9/10,11,12/13,14,15/16,17,18/19,20,21/22,23,24 --size 5x5 --out FOLDER/wide.h5
build 1,2,3/4,5,6/7,8,9/10,11,12/13,14,15+1,2,5/3,4,6/7,8,9/10,11,12/13,14,15 --out FOLDER/catalogue.h5
query --db FOLDER/bits.h5 --db FOLDER/bytes.h5 1,2,3,4/5,6,7,8/9,10,11,12/0,13,14,15
solve --db FOLDER/bits.h5 --load huge 1,2,3,4/5,6,7,8/9,10,11,12/0,13,14,15
solve --db FOLDER/bytes.h5 1,2,3,4/5,6,7,8/9,10,11,12/0,13,14,15
solve --db FOLDER/wide.h5 1,2,3,4,5/6,7,8,9,10/11,12,13,14,15/16,17,18,19,20/0,21,22,23,24
solve --db FOLDER/catalogue.h5 1,2,3,4/5,6,7,8/9,10,11,12/0,13,14,15
search --heuristic manhattan 1,2,3,4/5,6,7,8/9,10,11,12/0,13,14,15
search --heuristic max(korf-taylor,walking-distance,pairs) 1,2,3/4,5,6/0,7,8
search --algorithm a-star --db FOLDER/bits.h5 1,2,3,4/5,6,7,8/9,10,11,12/0,13,14,15
approximate --time-limit 0.1 1,2,3,4,5/6,7,8,9,10/11,12,13,14,15/16,17,18,19,20/0,21,22,23,24
study space 3x3
"""


def warm_up(program: Any) -> None:
    """Run the commands of `program` that compile kernels.

    The standard tables of 3x3 and 4x4 are built in the cache folder too. Raises the errors of the commands.
    """
    lines = _COMMANDS.strip().splitlines()
    lines += [
        f"search --algorithm {name} 1,2,3,4/5,6,7,8/9,10,11,12/0,13,14,15" for name in ALGORITHMS if name != IDA_STAR
    ]
    with tempfile.TemporaryDirectory() as folder, ProgressLine(message) as progress:
        for n_done, line in enumerate(lines):
            progress.show(f"warm-up, command {n_done + 1:,} of {len(lines)}: pdb {line}", n_done / len(lines))
            _run(program, [word.replace("FOLDER", folder) for word in line.split()])


def _run(program: Any, arguments: list[str]) -> None:
    """Run a command in this process, without its output. Raises its error, or the interrupt that ended it."""
    try:
        with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()):
            program.main(arguments, prog_name="pdb", standalone_mode=False)
    except SystemExit as end:
        # The command has turned an interrupt into an exit code. The command that runs this one does so again.
        raise end.__context__ or end from None
