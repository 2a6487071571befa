"""Solving on a Dask cluster: many boards as tasks, and a hard board split into subtrees. Start reading in `batch`.

The tables are not sent: each worker maps its own copy of the file.
"""
