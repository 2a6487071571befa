"""Answers to many requests: their sources, and the log from which a run continues. Start reading in `sources`."""
