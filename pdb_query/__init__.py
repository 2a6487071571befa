"""Table files and instance sets: open a file, look up single boards or many at a time."""

from pdb_query.database import (
    BatchProbe,
    Database,
    Probe,
    RandomBoardStatistics,
    open_database,
    random_board_statistics,
)
from pdb_query.instances import Instance, instance_sets, read_instances
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
