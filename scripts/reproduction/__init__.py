"""Published figures beside ours: what scripts/reproduce runs."""
