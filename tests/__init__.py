"""The test suite; run it with scripts/test."""
