"""Boards, patterns, the index function and the layout of the state space: arithmetic on arrays, without printing.

Six modules touch files or the machine, because all packages need them: `durable_files`, `jit`, `resources`, `start`,
`system` and `version`.

Examples
--------
>>> import numpy as np
>>> from pdb_core.pattern import parse_partition
>>> from pdb_core.puzzle import Board, parse_size
>>> from pdb_core.ranking import PatternIndex
>>> Board("8 6 7/2 5 4/3 0 1").is_solvable()
True
>>> [str(pattern) for pattern in parse_partition("663", parse_size("4x4")).patterns]
['1,5,6,9,10,13', '7,8,11,12,14,15', '2,3,4']
>>> PatternIndex(parse_size("4x4"), 3).rank(np.array([[1, 2, 3]], dtype=np.uint8)).tolist()
[630]
"""

__version__ = "0.3.0.dev0"
