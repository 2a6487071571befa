"""JavaScript of the pages in a browser: the offline game of docs/how-to/game.md, whose Python writes its files, and
docs/examples/reader.js, which reads table files.
"""

import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import tilepdb
from tests import ROOT, text_of
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
# Evaluated in the browser: boards, and these after a move, as the reader sees them; solutions of the first boards;
# what it says about a board that cannot be solved, and about a file without tables.
_READ = """
async (boards) => {
  const { readTables } = await import("/reader.js");
  const tables = readTables(await (await fetch("/663.h5")).arrayBuffer());
  const states = boards.map(tables.lookUp);
  const moved = states.map((state) => tables.slide(state, state[0].board.indexOf(0) ^ 1));
  const seen = (state) => [state[0].board, state.map(({ values }) => values), tables.h(state)];
  const refused = (call) => {
    try {
      call();
    } catch (error) {
      return error.message;
    }
  };
  const unsolvable = boards[0].map((tile) => ({ 1: 2, 2: 1 })[tile] ?? tile);
  const refusals = [() => tables.solve(unsolvable), () => readTables(new TextEncoder().encode("<html>"))].map(refused);
  return [[...states, ...moved].map(seen), boards.slice(0, 10).map((board) => tables.solve(board)), refusals];
}
"""


def test_files_of_an_offline_game_are_read_in_a_browser(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    section = text_of("docs/how-to/game.md").partition("## Offline game\n")[2].partition("\n## ")[0]
    python, script = (re.findall(rf"```{language}\n(.*?)```", section, re.DOTALL)[0] for language in ("python", "js"))
    monkeypatch.chdir(tmp_path)
    Path("data").mkdir()
    Path("data/8.h5").symlink_to(table_file("8", "3x3"))
    with tilepdb.Solver(table_file("663", "4x4")) as solver:
        exec(python, {"tilepdb": tilepdb, "solver": solver})
    names = "distance, hint, move, levels"
    Path("game.html").write_text(f"<script type=module>\n{script}\nObject.assign(window, {{{names}}});\n</script>")
    with browser() as running:
        page = running.new_page()
        page.route(re.compile("."), lambda route: route.fulfill(path=tmp_path / route.request.url.rpartition("/")[2]))
        page.goto("http://game.invalid/game.html")
        page.wait_for_function("window.levels")
        way: list[Any] = page.evaluate(_WAY, [8, 6, 7, 2, 5, 4, 3, 0, 1])
    assert way == [[*range(31, -1, -1)], [1, 2, 3, 4, 5, 6, 7, 8, 0]]


def test_reader_looks_up_and_solves_boards_in_a_browser() -> None:
    """1,000 boards, and after a move, which the reader sees in one bit; ten optimal solutions."""
    reader, table = ROOT / "docs/examples/reader.js", table_file("663", "4x4", encoding="bits")
    assert len(reader.read_text().splitlines()) <= 80
    boards = tilepdb.random_boards("4x4", "blank-last", 1000, seed=1)
    with browser() as running:
        page = running.new_page()
        page.route("**", lambda route: route.fulfill(path=table if route.request.url.endswith("h5") else reader))
        page.goto("http://reader.invalid/reader.js")
        seen, solutions, refusals = page.evaluate(_READ, boards.tolist())
    shown, values, h = zip(*seen, strict=True)
    assert np.array_equal(shown[:1000], boards)
    with tilepdb.open_database(table) as database:
        probes = database.probe_batch(shown)
        lengths = tilepdb.Solver(database).solve_many(boards[:10]).lengths
    assert np.array_equal(probes.values, values)
    assert np.array_equal(probes.h, h)
    assert refusals == ["this board cannot be solved", "not a table file such as 663.h5"]
    assert [*map(len, solutions)] == lengths.tolist()
    ends = {tilepdb.Board(board).play(moves) for board, moves in zip(boards[:10], solutions, strict=True)}
    assert ends == {database.goal}
