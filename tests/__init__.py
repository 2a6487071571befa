"""The test suite; run it with scripts/test."""

from pathlib import Path

ROOT = Path(__file__).parent.parent
