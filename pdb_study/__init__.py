"""Studies of state spaces, of heuristics, of tables and of searches, with plots for notebooks."""
