"""Tests of `pdb_cluster`."""
