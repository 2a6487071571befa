"""Names that a shell completes: a function for each kind of option, which imports what it needs when it is called."""

from solver.algorithms import ALGORITHMS, HEURISTICS


def algorithms() -> list[str]:
    """Return the search algorithms."""
    return list(ALGORITHMS)


def heuristics() -> list[str]:
    """Return the heuristics, and the name for the tables of --db."""
    return [*HEURISTICS, "db"]


def goals() -> list[str]:
    """Return the named goals."""
    from pdb_core.puzzle import NAMED_GOALS

    return list(NAMED_GOALS)


def partitions() -> list[str]:
    """Return the named partitions."""
    from pdb_core.pattern import AUTOMATIC, NAMED_PARTITIONS

    return [*NAMED_PARTITIONS, AUTOMATIC]


def instance_sets() -> list[str]:
    """Return the named sets of boards."""
    from pdb_query import instances

    return list(instances.instance_sets())
