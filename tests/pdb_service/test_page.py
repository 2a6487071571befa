"""The page in Chromium: the actions of a person, the messages for each failure, and the looks of each state."""

import json
import re
import shlex
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser, expect

from pdb_core.puzzle import Board, Tiles, format_board, is_solvable, parse_goal, random_boards
from pdb_query import read_instances
from solver.moves import directions
from tests.command_line import BOARD, pdb, python
from tests.pdb_service.app_requests import GOAL
from tests.pdb_service.browsing import Visit, browser, visiting
from tests.pdb_service.server import Server, serving
from tests.solving import HARDEST_8, SIZES
from tests.tables import table_file

pytestmark = pytest.mark.xdist_group("browser")
FAR_ADDRESS = "#board=8,6,7/2,5,4/3,0,1"
WORST = "0 12 9 13/15 11 10 14/3 7 2 5/4 8 6 1"  # a search that outlasts a test
NEAR: Tiles = (1, 2, 3, 4, 5, 6, 0, 7, 8)  # 7 and 8 slide left
NEAR_ADDRESS = "#board=1,2,3/4,5,6/0,7,8"
HOSTILE = "<img src=x onerror=document.title='taken'>"


@pytest.fixture(scope="module")
def chromium() -> Iterator[Browser]:
    with browser() as running:
        yield running


@pytest.fixture
def visit(chromium: Browser, server: Server) -> Iterator[Visit]:
    with visiting(chromium, server.url) as visit:
        yield visit


# Rows of a size that the page has not, and not of 4x4.
EIGHT_WIDE = "0 2 3 4 5 6 7 8\n1 9 10 11 12 13 14 15"


def stream(visit: Visit, *events: tuple[str, dict[str, Any]]) -> None:
    """Answer solves with these events, without the server."""
    body = "".join(f"event: {name}\ndata: {json.dumps(data)}\n\n" for name, data in events)
    visit.page.route(re.compile("/v1/solve"), lambda route: route.fulfill(content_type="text/event-stream", body=body))


# The board


def test_typed_boards_are_read_in_any_form_or_explained(visit: Visit) -> None:
    visit.open()
    visit.shows("#h", re.compile(r"^\d+$"))
    for text in (
        BOARD,
        "8,6,7,2,5,4,3,0,1",
        "8 6 7\n2 5 4\n3 _ 1",
        "[8, 6, 7, 2, 5, 4, 3, 0, 1]",
        "[[8 6 7]\n [2 5 4]\n [3 0 1]]",
        "867254301",
        "3\n8 6 7\n2 5 4\n3 . 1",
    ):
        visit.choose("#size", "4x4")
        visit.counts(".tile", 15)
        visit.type_board(text)
        visit.expect_board(HARDEST_8)
    visit.has_address(re.escape(FAR_ADDRESS))
    for text, why in (
        ("1 2 3/4 5", "lengths"),
        (EIGHT_WIDE, "8x2"),
        (HOSTILE, "<img"),
        ("1 2 3/4 5 6/7 8 8", "8 appears twice"),
    ):
        visit.type_board(text)
        visit.tells("#why", why)
        expect(visit.at("#text")).to_have_attribute("aria-invalid", "true")
    visit.expect_board(HARDEST_8)
    visit.check_looks()
    visit.complaints.clear()  # of the answers with 422


def test_pasted_solution_is_checked_and_stepped_from_its_first_mistake(visit: Visit) -> None:
    visit.open(NEAR_ADDRESS)
    text, mistake = "1 2 3/4 5 6/0 7 8", "Solved in 4 moves; optimum 2; first mistake at move 1."
    for typed, words, step in (
        ("4, 4, 7, 8", mistake, "0 / 4"),
        (f"{text}\nUDRR", f"{mistake} Read as directions of the blank.", "0 / 4"),
        (f"{text} left left", "Solved in 2 moves, the minimum. Read as directions of the tiles.", "2 / 2"),
        (f"{text}\n7 5", "Not solved in 2 moves; optimum 2; first mistake at move 2.", "1 / 2"),
        (f"{text}\nR3", "Move 3 is illegal; optimum 2. Read as directions of the blank.", "2 / 2"),
    ):
        visit.type_board(typed)
        visit.shows("#status", words)
        visit.shows("#step", step)
    visit.shows("#line li", ["Start", "7 \u2190", "8 \u2190"])
    visit.check_looks()
    visit.complaints.clear()  # of the answers with 422


def test_page_says_what_it_is_fills_the_window_and_explains_its_words(visit: Visit) -> None:
    visit.open()
    visit.tells("body p >> nth=0", "analysis board for sliding-tile puzzles")
    visit.page.set_viewport_size({"width": 1280, "height": 800})
    fills = "[document.documentElement.scrollHeight, document.querySelector('#board').clientHeight > 500]"
    assert visit.page.evaluate(fills) == [800, True]
    visit.click("#help")
    visit.shows("#help-dialog dt", ["Distance", "Pattern", "h", "Reflection", "Threshold"])
    visit.check_looks()


def test_hostile_text_is_shown_as_text(visit: Visit) -> None:
    """Text in the address, and the texts of a server."""
    visit.open(f"{FAR_ADDRESS}&db={HOSTILE}")
    visit.shows("#h", "31")
    stream(visit, ("problem", {"title": HOSTILE, "status": 422, "detail": HOSTILE}))
    visit.click("#solve")
    visit.tells("#solution-problem", HOSTILE)
    visit.counts("img[src=x]", 0)
    assert visit.page.title() != "taken"


def test_clicks_and_arrow_keys_slide_tiles(visit: Visit) -> None:
    visit.open(NEAR_ADDRESS)
    visit.tile(8).click()  # slides 7 too
    visit.expect_board(GOAL)
    visit.shows("#status", "Solved in 2 moves, the minimum.")
    visit.shows("#h", "0")
    visit.tile(1).click()  # not in line with the blank
    visit.expect_board(GOAL)
    visit.at("#board").focus()
    for key in ("ArrowRight", "ArrowDown", "ArrowLeft", "ArrowUp", "ArrowUp"):
        visit.press(key)
    visit.expect_board((1, 2, 3, 4, 6, 8, 7, 5, 0))
    visit.at("#text").press("ArrowRight")  # there it moves the cursor
    visit.expect_board((1, 2, 3, 4, 6, 8, 7, 5, 0))


def test_keys_act_wherever_the_focus_is_except_in_fields_and_settings_are_kept(visit: Visit) -> None:
    visit.open(FAR_ADDRESS)
    visit.shows("#h", "31")
    visit.click("#copies-title")
    visit.choose("#level", "hard")
    for css in ("#text", "#level", "#speed"):
        visit.at(css).focus()
        for key in ("h", "."):
            visit.press(key)
    visit.page.evaluate("document.activeElement.blur()")
    visit.complaints.clear()  # of the answer with 422
    expect(visit.at("#best")).to_be_checked()
    visit.press("Enter")
    visit.shows("#step", "0 / 31")
    visit.press(".")
    visit.press("ArrowRight")
    visit.shows("#step", "2 / 2")
    visit.click("#best")  # a click leaves the focus at the board
    visit.press(",")
    visit.shows("#step", "1 / 2")
    visit.counts(".ringed", 0)
    visit.at("#shuffle").focus()
    visit.press("h")
    expect(visit.at("#best")).to_be_checked()
    visit.at("#letter-keys").uncheck()
    visit.press("h")
    visit.page.reload()
    expect(visit.at("#best")).to_be_checked()
    expect(visit.at("#letter-keys")).not_to_be_checked()
    visit.has_value("#level", "hard")


def test_dragging_slides_tiles_and_a_short_drag_does_not(visit: Visit) -> None:
    visit.open(NEAR_ADDRESS)
    visit.shows("#h", "2")
    box = visit.tile(8).bounding_box()
    x, y, mouse = box["x"] + box["width"] / 2, box["y"] + box["height"] / 2, visit.page.mouse
    for share, board in ((-0.2, NEAR), (-0.7, GOAL)):
        mouse.move(x, y)
        mouse.down()
        mouse.move(x + share * box["width"], y, steps=4)
        mouse.up()
        visit.expect_board(board)


def test_unsolvable_board_is_explained_and_repaired(visit: Visit) -> None:
    visit.open("#board=1,2,3/4,5,6/8,7,0")
    visit.tells("#unsolvable", "cannot be solved")
    expect(visit.at("#solve")).to_be_disabled()
    visit.check_looks()
    visit.click("#swap")
    visit.hides("#unsolvable")
    visit.expect_board((2, 1, 3, 4, 5, 6, 8, 7, 0))


def test_address_holds_board_goal_and_database(visit: Visit) -> None:
    visit.open(FAR_ADDRESS)
    name = visit.at("#database option").nth(2).get_attribute("value")
    visit.choose("#database", str(name))
    visit.choose("#goal", "blank-first")
    visit.has_address(r"&goal=blank-first&db=.+")
    visit.page.reload()
    visit.has_value("#goal", "blank-first")
    visit.has_value("#database", str(name))
    visit.expect_board(HARDEST_8)
    visit.page.evaluate("location.hash = 'board=1,2,3/4,5,6/7,0,8'")
    visit.expect_board((1, 2, 3, 4, 5, 6, 7, 0, 8))
    visit.has_value("#goal", "blank-last")


def test_wrong_link_is_told_and_changes_nothing(visit: Visit) -> None:
    visit.open(f"{NEAR_ADDRESS}&db=other")
    visit.tells("#status", "does not have the database")
    for link, why in (
        ("board=1,2,3/4,5,6/0,7,7", "no board such as"),
        ("bord=1,2,3/4,5,6/0,7,8", "no board such as"),
        ("board=1,2,3/4,5,6/0,7,8&goal=snake", "goal is no 3x3 board"),
        ("board=1,2,3/4,5,6/0,7,8&moves=7,9", "moves are not legal"),
    ):
        visit.page.evaluate("link => { location.hash = link; }", link)
        visit.tells("#status", why)
        visit.expect_board(NEAR)
        visit.has_address(f"{NEAR_ADDRESS}$")


def test_shuffle_goal_and_paste_are_undone_by_undo_and_by_back(visit: Visit) -> None:
    visit.open(NEAR_ADDRESS)
    visit.tile(7).click()
    visit.click("#shuffle")
    visit.has_address("#board=(?!1,2,3/4,5,6/0,7,8)")
    visit.click("#to-goal")
    visit.type_board(BOARD)
    visit.expect_board(HARDEST_8)
    visit.page.go_back()
    visit.expect_board(GOAL)
    for _ in range(2):
        visit.click("#undo")
    visit.shows("#step", "1 / 1")
    visit.click("#undo")
    visit.expect_board(NEAR)
    expect(visit.at("#undo")).to_be_disabled()


# Lower bounds, moves, instances, goals


def test_largest_sum_colours_the_board_and_others_can_be_chosen(visit: Visit, server: Server) -> None:
    name = server.ask("/v1/databases").json["databases"][2]["id"]
    text = "6,4,7/8,5,0/3,2,1"
    sums = server.ask(f"/v1/lookup?board={text}&db={name}").json["sums"]
    assert [each["h"] for each in sums] == [21, 25]
    visit.open(f"#board={text}&db={name}")
    expect(visit.at("#sums input[value='1']")).to_be_checked()
    visit.counts(".mark:visible", 0)
    visit.at("#letters").check()
    for index in (1, 0):
        visit.at(f"#sums input[value='{index}']").check()
        for letter, tiles in zip("ABC", sums[index]["patterns"], strict=True):
            visit.shows(f"#tile-{tiles[0]} .mark", letter)
    visit.shows("#sums .value", [str(value) for each in sums for value in each["values"]])
    visit.at(".chip").first.hover()
    expect(visit.at(".dimmed")).not_to_have_count(0)
    visit.check_looks()
    # The sums of a database are not shown for an unsolvable board of another.
    visit.page.evaluate("location.hash = 'board=1,2,3/4,5,6/8,7,0'")
    visit.tells("#unsolvable", "cannot be solved")
    expect(visit.at("#sums .sum")).to_have_count(0)


def test_every_move_is_listed_with_its_distance_best_first_and_best_moves_are_marked(visit: Visit) -> None:
    visit.open("#board=2,3,8/1,0,5/4,6,7")
    visit.expect_analysis("14", "5 left 13 13", "6 up 13 13", "3 down 15 15", "1 right 15 15")
    visit.shows(".ringed", [re.compile("^5.*slides left, a best move"), re.compile("^6.*slides up")])
    visit.check_looks()
    visit.at("#moves button").first.press("Enter")
    visit.expect_analysis("13", "8 down 12 12", "5 right 14 14", "7 up 14 14")
    visit.at("#best").uncheck()
    visit.counts(".ringed", 0)
    visit.type_board(WORST)
    visit.shows("#distance", re.compile("^≥ 6[0-9]$"))
    expect(visit.at("#moves td").first).to_have_text(re.compile("^≥ 6"))


def test_instance_sets_are_chosen_and_keep_their_goals(visit: Visit) -> None:
    visit.open()
    for name, goal in (("korf100", "blank-first"), ("hardest80", "blank-last")):
        visit.choose("#set", name)
        visit.choose("#instance", "4")
        instance = list(read_instances(name, None))[4]
        visit.expect_board(instance.board)
        visit.has_value("#goal", goal)
        visit.tells("#status", f"known to take {instance.optimal_length} moves")


def test_goals_by_name_and_typed_are_shown(visit: Visit) -> None:
    visit.open(NEAR_ADDRESS)
    visit.choose("#goal", "blank-first")
    visit.click("#to-goal")
    visit.expect_board((0, 1, 2, 3, 4, 5, 6, 7, 8))
    visit.choose("#goal", "typed")
    for text in ("8 7 x", "8 7 6/5 4 3/2 1 0"):
        visit.enter("#goal-text", text)
        visit.shows("#goal-why", re.compile("not square" if "x" in text else "^$"))
    visit.complaints.clear()  # of the answer with 422
    visit.click("#shuffle")
    expect(visit.at("#solve")).to_be_enabled()
    visit.click("#to-goal")
    visit.expect_board((8, 7, 6, 5, 4, 3, 2, 1, 0))
    visit.shows("#h", "0")


def test_size_without_tables_has_solve_off_and_a_command_that_works(
    chromium: Browser, visit: Visit, tmp_path: Path
) -> None:
    visit.open()
    visit.shows("#size option:not(:text('no table'))", ["4 \u00d7 4", "3 \u00d7 3"])
    visit.choose("#size", "3x2")
    expect(visit.at("#solve")).to_be_disabled()
    visit.hides("#analysis")
    visit.check_looks()
    serve = str(visit.at("#command").text_content())
    visit.choose("#goal", "typed")
    visit.enter("#goal-text", "1 0 2/3 4 5")
    visit.tells("#command", "--goal")
    build, serve_file = str(visit.at("#command").text_content()).split(" && ")
    pdb(*shlex.split(build)[1:], code=0, cwd=tmp_path)
    assert (tmp_path / serve_file.removeprefix("pdb serve --db ")).exists()
    with serving(options=serve.split()[2:]) as server, visiting(chromium, server.url) as other:
        other.open()
        other.has_value("#size", "3x2")
        other.shows("#distance", re.compile(r"^\d+$"))
    visit.choose("#size", "4x4")
    visit.hides("#problem")
    expect(visit.at("#solve")).to_be_enabled()


def test_shuffle_makes_easy_random_and_hard_boards(visit: Visit) -> None:
    visit.open(NEAR_ADDRESS)
    levels = {"easy": range(1, 10), "medium": range(2, 19), "random": range(1, 32), "hard": range(25, 32)}
    for level, distances in levels.items():
        visit.choose("#level", level)
        before = visit.at("#text").input_value()
        visit.click("#shuffle")
        expect(visit.at("#text")).not_to_have_value(before)
        visit.shows("#distance", re.compile(f"^({'|'.join(map(str, distances))})$"))


def test_position_is_copied_for_curl_python_and_programs(visit: Visit, server: Server) -> None:
    visit.page.context.grant_permissions(["clipboard-read", "clipboard-write"])
    visit.open(FAR_ADDRESS)
    visit.shows("#h", "31")
    copied = []
    for button in visit.at("#copies button").all():
        button.click()
        expect(button).to_have_text("Copied")
        copied.append(visit.page.evaluate("navigator.clipboard.readText()"))
    link, _, _, _, curl, program, body = copied
    assert link == f"{server.url}/{FAR_ADDRESS}"
    assert server.ask(shlex.split(curl)[1].removeprefix(server.url)).json["h"] == 31
    assert "h=31" in python(program).stdout
    assert server.ask("/v1/solve", body.encode()).json["length"] == 31


def test_moves_are_copied_as_tiles_and_as_directions(visit: Visit) -> None:
    visit.page.context.grant_permissions(["clipboard-read", "clipboard-write"])
    visit.open(FAR_ADDRESS)
    visit.click("#solve")
    visit.shows("#step", "0 / 31")
    found = {}
    for value in ("moves", "blank", "tile"):
        button = visit.at(f'#copies button[value="{value}"]')
        button.click()
        expect(button).to_have_text("Copied")
        found[value] = visit.page.evaluate("navigator.clipboard.readText()")
    board = Board("8 6 7/2 5 4/3 0 1")
    tiles = list(map(int, found["moves"].split()))
    assert [directions(board, tiles, of, board.size) for of in ("blank", "tile")] == [found["blank"], found["tile"]]


# Solving


def test_solution_is_stepped_scrubbed_played_to_the_end_left_and_joined_again(visit: Visit) -> None:
    visit.open(FAR_ADDRESS)
    visit.click("#solve")
    visit.click("#redo")
    visit.shows("#step", "1 / 31")
    chart = visit.at("#chart svg")
    expect(chart).to_have_attribute("aria-valuetext", "step 1: 30 left, h 30")
    chart.focus()
    visit.press("PageUp")
    visit.shows("#step", "11 / 31")
    visit.click("#undo")
    visit.shows("#step", "10 / 31")
    visit.at("#scrubber").fill("28")
    visit.shows("#h", "3")
    visit.at("#board").focus()
    visit.press(" ")
    expect(visit.at("#play")).to_have_attribute("aria-label", "Pause")
    visit.expect_board(GOAL)
    expect(visit.at("#play")).to_have_attribute("aria-label", "Play")
    visit.shows("#status", "Solved in 31 moves, the minimum.")
    for summary in visit.at("summary").all():
        summary.click()
    visit.check_looks()
    visit.tile(6).click()
    expect(visit.at("#off")).to_be_visible()
    visit.click("#rejoin")
    visit.has_address("&solution=.*&step=31$")
    visit.page.reload()
    visit.shows("#step", "31 / 31")
    visit.expect_board(GOAL)


def test_own_line_is_compared_with_the_optimum_undone_and_kept_in_the_address(visit: Visit) -> None:
    visit.open(NEAR_ADDRESS)
    for tile in (4, 4, 7, 8):
        visit.tile(tile).click()
    visit.shows("#status", "Solved in 4 moves; optimum 2; first mistake at move 1.")
    visit.shows("#line .lost", "4 ↓")
    visit.click("#undo")
    visit.shows("#idle", "3 moves so far, 4 at best; optimum 2; first mistake at move 1")
    visit.has_address("moves=4,4,7,8&step=3$")
    visit.page.reload()
    visit.shows("#line li", ["Start", "4 ↓", "4 ↑", "7 ←", "8 ←"])
    visit.shows("#step", "3 / 4")
    visit.check_looks()
    visit.at("#line button").nth(1).click()
    visit.shows("#step", "1 / 4")
    visit.click("#redo")
    visit.expect_board(NEAR)
    visit.tile(4).click()
    visit.shows("#step", "3 / 3")
    visit.click("#solve")
    visit.tells("#solution-text", "3 moves from here, the minimum")


def test_search_that_lasts_shows_progress_and_is_cancelled(visit: Visit) -> None:
    visit.open()
    visit.type_board(WORST)
    visit.click("#solve")
    visit.shows("#threshold", re.compile(r"^\d\d$"))
    visit.shows("#nodes", re.compile(r"\d"))
    visit.check_looks()
    visit.click("#cancel")
    visit.tells("#solution-text", "Cancelled. Proved so far: every solution has at least")
    visit.hides("#search")
    # Another solve does not wait for the cancelled one.
    visit.type_board(BOARD)
    visit.click("#solve")
    visit.tells("#solution-text", "31 moves, the minimum")


# Failures


def test_search_without_a_solution_is_explained_and_tried_again(visit: Visit) -> None:
    """After a limit, only with a longer one that the server allows."""
    visit.open(FAR_ADDRESS)
    visit.shows("#seconds option:enabled", ["10 s", "1 min"])
    stream(visit, ("problem", {"title": "Stopped", "status": 503, "detail": "the server stops"}))
    visit.click("#solve")
    problem, again = visit.at("#solution-problem"), visit.at("#solution-problem button")
    expect(problem).to_contain_text("The server is busy")
    visit.check_looks()
    visit.page.unroute_all()
    result = {"solvable": True, "length": None, "moves": None, "optimal": False, "h": 21, "lower_bound": 27}
    counts = {"generated": 9, "expanded": 5, "seconds": 10.0, "thresholds": []}
    stream(visit, ("queued", {"ahead": 2}), ("result", {**result, **counts}))
    again.click()
    expect(problem).to_contain_text("at least 27 moves")
    expect(again).to_be_hidden()
    visit.choose("#seconds", "10")
    visit.click("#solve")
    expect(again).to_be_visible()
    visit.page.unroute_all()
    again.click()
    visit.tells("#solution-text", "31 moves")


def test_token_is_asked_for_once_and_kept_in_the_tab_which_opens_a_size_that_is_served(
    chromium: Browser, tmp_path: Path
) -> None:
    file = tmp_path / "token"
    file.write_text("opensesame")
    with (
        serving(table_file("8", "3x3"), options=["--token-file", str(file)]) as server,
        visiting(chromium, server.url) as visit,
    ):
        visit.open()
        for token, words in (("wrong", "started with a token file"), ("opensesame", "does not know that token")):
            visit.tells("#token-why", words)
            visit.check_looks()
            visit.enter("#token", token)
        for _ in range(2):
            visit.has_value("#size", "3x3")
            visit.shows("#distance", re.compile(r"\d"))
            visit.page.reload()
        assert visit.page.evaluate("localStorage.length") == 0
        visit.complaints.clear()  # of the 401


def test_server_that_is_gone_is_asked_again(visit: Visit) -> None:
    visit.open(NEAR_ADDRESS)
    visit.shows("#distance", "2")
    visit.page.route(re.compile("/v1/"), lambda route: route.abort())
    visit.tile(7).click()
    visit.tells("#problem", "Is pdb serve still running? This page tries again")
    expect(visit.at("#solve")).to_be_disabled()
    visit.check_looks()
    visit.page.unroute_all()
    visit.shows("#distance", "1")
    visit.hides("#problem")
    visit.complaints.clear()  # of the requests that failed


# board.js against Python


def test_boards_in_the_browser_are_those_of_python(visit: Visit) -> None:
    visit.open()
    cases = []
    for size in SIZES:
        for row in random_boards(size, parse_goal("snail", size), 3, size.n_cells).tolist():
            swapped = (row[1], row[0], *row[2:])
            text = format_board(swapped, size)
            assert Board(text) == swapped
            goals = [parse_goal(name, size) for name in ("blank-last", "blank-first", "snail")]
            cases.append([text, swapped, goals, [is_solvable(swapped, each, size) for each in goals]])
    wrong = visit.page.evaluate(
        """async (cases) => {
          const { readRows, namedGoal, isSolvable, formatBoard, GOAL_NAMES } = await import("/page/board.js");
          return cases.filter(([text, board, goals, solvable]) => {
            const read = readRows(text);
            const named = GOAL_NAMES.map((name) => namedGoal(name, read.size));
            const lines = readRows(text.replaceAll("/", "\\n"));
            return JSON.stringify(lines) !== JSON.stringify(read)
              || JSON.stringify([read.board, named, named.map((goal) => isSolvable(board, goal, read.size))])
              !== JSON.stringify([board, goals, solvable]) || formatBoard(board, read.size) !== text;
          });
        }""",
        cases,
    )
    assert wrong == []
