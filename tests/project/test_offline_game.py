"""The recipe of docs/how-to/game.md: its Python writes the files of an offline game, and its JavaScript reads them."""

import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import tilepdb
from tests import text_of
from tests.pdb_service.browsing import browser
from tests.tables import table_file

# Evaluated in the browser, for the hardest board: each distance on the way that the hints lead.
_WAY = """
(board) => {
  const way = [distance(board)];
  for (let tile = hint(board); tile !== undefined; tile = hint(board)) {
    board = move(board, tile);
    way.push(distance(board));
  }
  return [way, board];
}
"""


def test_files_of_an_offline_game_are_read_in_a_browser(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    section = text_of("docs/how-to/game.md").partition("## Offline game\n")[2].partition("\n## ")[0]
    python, script = (re.findall(rf"```{language}\n(.*?)```", section, re.DOTALL)[0] for language in ("python", "js"))
    assert len([line for line in script.splitlines() if line]) <= 20
    monkeypatch.chdir(tmp_path)
    Path("data").mkdir()
    Path("data/8.h5").symlink_to(table_file("8", "3x3"))
    with tilepdb.Solver(table_file("663", "4x4")) as solver:
        exec(python, {"tilepdb": tilepdb, "solver": solver})
    boards = tilepdb.random_boards("3x3", "blank-last", 200, seed=1)
    names = "distance, hint, move, levels"
    Path("game.html").write_text(f"<script type=module>\n{script}\nObject.assign(window, {{{names}}});\n</script>")
    with browser() as running:
        page = running.new_page()
        page.route(re.compile("."), lambda route: route.fulfill(path=tmp_path / route.request.url.rpartition("/")[2]))
        page.goto("http://game.invalid/game.html")
        page.wait_for_function("window.levels")
        found: list[int] = page.evaluate("(boards) => boards.map(distance)", boards.tolist())
        way: list[Any] = page.evaluate(_WAY, [8, 6, 7, 2, 5, 4, 3, 0, 1])
    with tilepdb.Solver(table_file("8", "3x3")) as solver:
        assert np.array_equal(found, solver.label(boards, moves=False).distances)
    assert way == [[*range(31, -1, -1)], [1, 2, 3, 4, 5, 6, 7, 8, 0]]
