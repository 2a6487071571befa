"""Tests of `pdb_query`."""
