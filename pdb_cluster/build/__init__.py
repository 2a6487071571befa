"""Builds of databases on a Dask cluster. Start reading in `patterns`."""
