"""Studies of state spaces and heuristics."""
