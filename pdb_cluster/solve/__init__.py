"""Solves of boards on a Dask cluster. Start reading in `boards`."""
