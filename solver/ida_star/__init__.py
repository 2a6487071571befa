"""IDA*: with databases in lanes, with other heuristics on piles; thresholds shared among threads."""
