"""Tests of the whole project: structure, documentation, packaging, scripts."""
