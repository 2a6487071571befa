"""Tests of `pdb_build`."""
