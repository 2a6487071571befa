"""Tests of `pdb_service`."""
