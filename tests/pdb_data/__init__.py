"""Tests of `pdb_data`."""
