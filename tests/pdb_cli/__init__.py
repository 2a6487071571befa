"""Tests of `pdb_cli`."""
