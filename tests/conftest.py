"""Options of the test suite, the choice of tests with the JIT off, and the fixtures that several test files share."""

import os
import signal
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from unittest.mock import patch

import pytest
from hypothesis import HealthCheck, settings

from pdb_build import BuildPlan
from pdb_core.jit import cache_home
from tests.tables import small_plan, table_file

# The same examples in every run, and no deadline: the first call of a kernel compiles it.
settings.register_profile("suite", deadline=None, derandomize=True, print_blob=True)
settings.load_profile("suite")
_TESTS = Path(__file__).parent
# Number of parameter sets of each test with the JIT off, when kernels take a hundred times as long.
_MOST_SETS = 2


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--slow", action="store_true", help="also run the tests marked slow")


def pytest_configure(config: pytest.Config) -> None:
    """Let SIGINT end the processes. Register the profile of the fuzz tests.

    --slow tries sixty times as many inputs, different ones in each run.
    """
    # A suite that is started in the background ignores SIGINT, and so would the processes of its tests.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    slow = bool(config.getoption("--slow"))
    no_checks = list(HealthCheck)  # on a busy machine, an input may take long to make
    n = 3000 if slow else 50
    settings.register_profile(
        "fuzz", settings.get_profile("suite"), max_examples=n, derandomize=not slow, suppress_health_check=no_checks
    )


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Deselect slow tests without --slow, and put the others in order.

    With the JIT off, keep the first `_MOST_SETS` parameter sets of each tiny test.

    Raises
    ------
    pytest.UsageError
        If two tests have one node id: xdist would run one of them only.
    """
    without_jit = os.environ.get("NUMBA_DISABLE_JIT", "0") not in ("", "0")
    n_sets: Counter[str] = Counter()
    kept, left_out = [], []
    for item in items:
        is_slow = item.get_closest_marker("slow") is not None and not config.getoption("--slow")
        test = item.nodeid.partition("[")[0]
        n_sets[test] += 1
        needs_jit = without_jit and (item.get_closest_marker("tiny") is None or n_sets[test] > _MOST_SETS)
        (left_out if is_slow or needs_jit else kept).append(item)
    config.hook.pytest_deselected(items=left_out)
    if twice := [nodeid for nodeid, n in Counter(item.nodeid for item in kept).items() if n > 1]:
        raise pytest.UsageError(f"several tests have one name, so some would not run: {', '.join(twice)}")
    # Tests of the solver compile most kernels. Servers and clusters, which come next, would compile them again, and
    # wait while other tests run. Tests of the project start the most processes; the longest file comes first, so that
    # all processes end at the same time.
    places = {"solver/": 0, "pdb_service/": 1, "pdb_cluster/": 2, "project/test_pages": 4, "project/": 5}

    def place(item: pytest.Item) -> int:
        path = item.path.relative_to(_TESTS).as_posix()
        return next((number for beginning, number in places.items() if path.startswith(beginning)), 3)

    items[:] = sorted(kept, key=place)


@pytest.fixture(scope="module", autouse=True)
def same_environment() -> Iterator[None]:
    """Restore the environment after each module: a Dask cluster sets variables in it for its workers."""
    with patch.dict(os.environ):
        yield


@pytest.fixture(scope="session")
def small_table() -> str:
    """Return the path of a table file of the 8-puzzle with three patterns."""
    return str(table_file("1,2,5/3,4,6/7,8", "3x3"))


@pytest.fixture
def plan(tmp_path: Path) -> BuildPlan:
    """Return the plan of a build of some milliseconds, which writes `a.h5` in `tmp_path`."""
    return small_plan(tmp_path / "a.h5")


@pytest.fixture
def own_cache(tmp_path: Path) -> str:
    """Return a cache folder without tables that shares the compiled kernels."""
    folder = tmp_path / "cache"
    folder.mkdir()
    (folder / "kernels").symlink_to(cache_home() / "kernels")
    return str(folder)


@pytest.fixture
def hangup_ends() -> Iterator[None]:
    """Let SIGHUP end the processes of a test, even if the suite was started by `nohup`."""
    before = signal.signal(signal.SIGHUP, signal.SIG_DFL)
    yield
    signal.signal(signal.SIGHUP, before)
