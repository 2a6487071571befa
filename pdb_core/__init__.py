"""What a pattern database is: boards, patterns, the index function and the layout of the state space.

No files, no printing: everything here is arithmetic on arrays.
"""

__version__ = "0.1.0"
