"""Suboptimal solutions of boards up to 32x32, without tables. Start reading in `suboptimal`."""
