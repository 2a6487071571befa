"""Beam search with fitted values, for solutions that are shorter than any other that is found so fast."""
