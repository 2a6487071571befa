"""Slow, obviously right twins of the fast code."""
