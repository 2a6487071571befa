"""Outputs under odd names: commands that write refuse what no file can be written to, before they compute anything."""

import shlex
from pathlib import Path

import pytest

from tests.command_line import pdb, refused

# Words of each command that writes, and the suffix of its file.
_COMMANDS = {
    "build": ("build 1,2,3 --size 2x2 --out", ".h5"),
    "build by force": ("build 1,2,3 --size 2x2 --force --out", ".h5"),
    "label": ("label --random 2 --size 3x3 --out", ".npz"),
    "plot of a space": ("study space 2x2 --plot", ".svg"),
    "plot of heuristics": ("study heuristics 2x2 --plot", ".svg"),
    "plot of eta": ("study strength 2x2 --plot", ".svg"),
    "plot of a comparison": ("study compare --size 2x2 --plot", ".svg"),
    "solutions": ("solve '8 6 7/2 5 4/3 0 1' --out", ".txt"),
    "suboptimal solutions": ("approximate '8 6 7/2 5 4/3 0 1' --out", ".txt"),
    "log": ("solve '8 6 7/2 5 4/3 0 1' --log", ".log"),
    "log of a search": ("search '8 6 7/2 5 4/3 0 1' --heuristic db --log", ".log"),
}
# Names that no command can write to, without the suffix.
_ODD = {
    "folder": "folder{}",
    "folder with a slash": "folder{}/",
    "link to a folder": "to-folder{}",
    "nothing": "",
    "this folder": ".",
    "folder above": "..",
    "root": "/",
    "standard output": "-",
    "link to a missing folder": "to-nowhere{}",
    "link to itself": "loop{}",
    "loop of links": "ring{}",
    "below a loop of links": "loop{}/a{}",
    "missing folder": "none/a{}",
    "missing folder, and back": "none/../a{}",
    "below a link to nothing": "to-nowhere{}/a{}",
    "below a file": "file/a{}",
    "home folder": "~/a{}",
    "folder of processes": "/proc/a{}",
    "long name": "a" * 300 + "{}",
    "name with control characters": "none\n\x1b[2J/a{}",
    "name that is no text": "none\udcff/a{}",
}
# A build gives its file the name of a link, and a link is not followed.
_REPLACED = ("link to a missing folder", "link to itself", "loop of links")
_LINKS = {"to-folder": "folder", "to-nowhere": "none/a", "loop": "loop", "ring": "ring2", "ring2": "ring"}
_SEARCHES = (
    "pdb_build.build.search_pattern",
    "pdb_study.labels.dataset.label",
    "pdb_study.space.search_completely",
    "pdb_study.heuristics.study_heuristics",
    "pdb_study.compare.compare",
    "solver.approximate.suboptimal.find_suboptimal_solution",
    "tilepdb.standard.standard_table",
)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("outputs")
    (folder / "file").touch()
    for suffix in {suffix for _, suffix in _COMMANDS.values()}:
        (folder / f"folder{suffix}").mkdir()
        for link, target in _LINKS.items():
            (folder / f"{link}{suffix}").symlink_to(f"{target}{suffix}")
    return folder


@pytest.mark.parametrize(
    ("kind", "command"),
    [(kind, name) for kind in _ODD for name in _COMMANDS if not (name.startswith("build") and kind in _REPLACED)],
)
def test_odd_output_is_refused_before_anything_is_computed(
    kind: str, command: str, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    words, suffix = _COMMANDS[command]
    for search in _SEARCHES:
        monkeypatch.setattr(search, lambda *_args, **_options: pytest.fail("it computes"))
    before = sorted(folder.rglob("*"))
    result = pdb(*shlex.split(words), _ODD[kind].format(suffix, suffix), cwd=folder)
    # The folder of processes has no room.
    refused(result, 5 if kind == "folder of processes" and command.startswith("build") else 2, r"^pdb: ")
    assert sorted(folder.rglob("*")) == before
