"""Tests of `pdb_study.labels`."""
