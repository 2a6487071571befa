"""Tests of `pdb_core`."""
