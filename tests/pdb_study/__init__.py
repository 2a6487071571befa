"""Tests of `pdb_study`."""
