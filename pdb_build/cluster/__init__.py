"""Building on a Dask cluster. The search of one pattern by many workers is in `shard`."""
