"""A good solution of a board of any size. Start reading in `suboptimal`."""
