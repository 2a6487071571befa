"""Table files and sets of boards: open a file, and look up one board or an array of boards.

Examples
--------
After `pdb build 8`:

>>> from pdb_query import open_database
>>> with open_database("data/8.h5") as database:
...     database.probe("8 6 7/2 5 4/3 0 1").h
...     database.probe_batch([[8, 6, 7, 2, 5, 4, 3, 0, 1], [1, 2, 3, 4, 5, 6, 7, 0, 8]]).h.tolist()
31
[31, 1]
"""

from pdb_query.database import Database, open_database
from pdb_query.instances import Instance, instance_sets, read_instances
from pdb_query.probes import BatchProbe, Probe
from pdb_query.statistics import RandomBoardStatistics, random_board_statistics
from pdb_query.table_file import LOAD_MODES, read_table_header

__all__ = [
    "LOAD_MODES",
    "BatchProbe",
    "Database",
    "Instance",
    "Probe",
    "RandomBoardStatistics",
    "instance_sets",
    "open_database",
    "random_board_statistics",
    "read_instances",
    "read_table_header",
]
