"""Tests of `tilepdb.commands`."""
