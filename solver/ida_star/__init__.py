"""IDA* without databases: Manhattan distance on packed boards, other heuristics on any board."""
