"""Boards, patterns, the index function and the layout of the state space: arithmetic on arrays, without printing.

Five modules touch files or the machine, because all packages need them: `durable_files`, `kernel_folder`, `jit`,
`resources` and `system`.
"""

__version__ = "0.1.0"
