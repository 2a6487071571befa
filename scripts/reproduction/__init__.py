"""Published figures compared with those of this project; scripts/reproduce runs it."""
