"""Every command on every page runs as written and prints the output shown, except those listed here."""

import contextlib
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.project.pages import ROOT, Block, Reader, Servers, blocks, commands, compare, page_paths

# Languages of blocks that run, and of blocks with data.
RUN = ("console", "python")
DATA = ("text", "json", "yaml", "ini", "nginx", "caddy")
# The beginnings of commands that do not run, and the reason.
NOT_RUN = {
    "openssl ": "makes certificates; tests/pdb_cluster/test_connect.py makes its own",
    "dask ": "a cluster of machines; tests/pdb_cluster starts clusters in the process",
    "pdb build 6666 --size 5x5 --scheduler": "needs that cluster; tests/pdb_cluster/test_build.py",
    "pdb solve --db 6666.h5 --instances korf50-24puzzle --log": "takes days; tests/pdb_cli/test_long_runs.py",
    "pdb solve --db 24-small.h5 --load huge --instances korf50-24puzzle": "takes hours; tests/solver/test_frontier.py",
    "pdb solve --db 6666.h5 --instances korf50-24puzzle --scheduler": "needs a cluster; tests/pdb_cluster",
}
NOT_RUN_PAGES = {
    "deploy/README.md": "needs root, systemd or a container engine; tests/project/test_deploy.py checks it"
}


def name_of(path: Path) -> str:
    return path.relative_to(ROOT).as_posix()


def is_run(command: str) -> bool:
    return not any(command.startswith(beginning) for beginning in NOT_RUN)


def runs(block: Block) -> bool:
    """Return whether a block has code or commands to run."""
    return block.language == "python" or any(is_run(command) for command, _ in commands_of(block))


def commands_of(block: Block) -> list[tuple[str, list[str]]]:
    return commands(block) if block.language == "console" else []


PAGES = {
    name_of(path): path for path in page_paths() if name_of(path) not in NOT_RUN_PAGES and any(map(runs, blocks(path)))
}


@pytest.mark.tiny
def test_every_block_has_a_known_language() -> None:
    for path in page_paths():
        for block in blocks(path):
            assert block.language in (*RUN, *DATA), f"{path}: line {block.line}"
            if block.language in DATA:
                assert not re.search(r"^\s*(\$ |pdb |pip |curl )", block.text, re.MULTILINE), f"{path}: {block.line}"


@pytest.mark.tiny
def test_commands_that_do_not_run_are_on_some_page() -> None:
    written = [command for path in page_paths() for block in blocks(path) for command, _ in commands_of(block)]
    for beginning in NOT_RUN:
        assert any(command.startswith(beginning) for command in written), beginning
    assert set(NOT_RUN_PAGES) <= set(map(name_of, page_paths()))


@pytest.fixture(scope="module")
def servers() -> Iterator[Servers]:
    with contextlib.ExitStack() as stack:
        yield Servers(stack)


@pytest.mark.parametrize("page", PAGES)
def test_page_runs_as_written(
    page: str, servers: Servers, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, pytestconfig: pytest.Config
) -> None:
    monkeypatch.chdir(tmp_path)
    reader = Reader(servers)
    for block in blocks(PAGES[page]):
        if not block.is_slow or pytestconfig.getoption("--slow"):
            reader.follow(block, is_run)


@pytest.mark.tiny
def test_shown_output_may_differ_in_times_only() -> None:
    compare(["a 0.1 s", "x", "y", "z"], ["a 2.25 s", "...", "z"], "here")
    compare(['{"a":1,"b":[2]}'], ['{"a":1,...}'], "here")
    for shown in (["a"], ["a", "b"], ["...", "c", "b"]):
        with pytest.raises(AssertionError, match="here prints"):
            compare(["a", "c"], shown, "here")
