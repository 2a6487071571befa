"""Options of the suite, and what runs with the JIT off."""

import os

import pytest
from hypothesis import settings

# The same examples in every run, and no deadline: the first call of a kernel compiles it.
settings.register_profile("suite", deadline=None, derandomize=True, print_blob=True)
settings.load_profile("suite")


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--slow", action="store_true", help="also run the tests marked slow")


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Leave out what was not asked for, so that nothing shows as skipped."""
    without_jit = os.environ.get("NUMBA_DISABLE_JIT", "0") not in ("", "0")
    kept, left_out = [], []
    for item in items:
        is_slow = item.get_closest_marker("slow") is not None and not config.getoption("--slow")
        needs_jit = without_jit and item.get_closest_marker("tiny") is None
        (left_out if is_slow or needs_jit else kept).append(item)
    config.hook.pytest_deselected(items=left_out)
    items[:] = kept
