"""The page in Chromium: the actions of a person, the messages for each failure, and the looks of each state."""

import json
import re
from pathlib import Path
from typing import Any

from playwright.sync_api import Browser, expect

from pdb_core.puzzle import format_board
from tests.command_line import BOARD
from tests.pdb_service.app_requests import GOAL
from tests.pdb_service.browsing import FAR_ADDRESS, HOSTILE, NEAR, NEAR_ADDRESS, Visit, visiting
from tests.pdb_service.server import Server, serving
from tests.solving import S4, hard_board
from tests.tables import table_file

WORST = format_board(hard_board(), S4)  # its search outlasts a test


def stream(visit: Visit, *events: tuple[str, dict[str, Any]]) -> None:
    """Answer solves with these events, without the server."""
    body = "".join(f"event: {name}\ndata: {json.dumps(data)}\n\n" for name, data in events)
    visit.page.route(re.compile("/v1/solve"), lambda route: route.fulfill(content_type="text/event-stream", body=body))


# The board


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
    visit.at("#skip").focus()
    visit.press("Enter")
    visit.has_address(f"{FAR_ADDRESS}$")
    visit.click("#copies-title")
    visit.choose("#level", "hard")
    for css in ("#text", "#level", "#speed"):
        visit.at(css).focus()
        for key in ("h", "."):
            visit.press(key)
    visit.page.evaluate("document.activeElement.blur()")
    expect(visit.at("#text")).to_have_attribute("aria-invalid", "true")
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
    visit.tile(6).hover()
    mouse.down()
    mouse.move(x + box["width"], y, steps=4)
    # The browser does not tell that the button was released outside of its window.
    visit.at("#board").dispatch_event("pointermove", {"pointerId": 1, "buttons": 0})
    expect(visit.at("#board")).not_to_have_class(re.compile("dragging"))
    mouse.up()
    visit.expect_board(GOAL)


def test_unsolvable_board_is_explained_and_repaired(visit: Visit) -> None:
    visit.page.set_viewport_size({"width": 1280, "height": 720})
    visit.open("#board=1,2,3/4,5,6/8,7,0")
    visit.tells("#unsolvable", "cannot be solved")
    expect(visit.at("#solve")).to_be_disabled()
    assert visit.at("#board").bounding_box()["width"] > 200
    visit.check_looks()
    visit.click("#swap")
    visit.hides("#unsolvable")
    visit.expect_board((2, 1, 3, 4, 5, 6, 8, 7, 0))


# Lower bounds and moves


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
    expect(problem).to_contain_text("The server is busy: the server stops.")
    visit.check_looks()
    visit.page.unroute_all()
    result = {"solvable": True, "length": None, "moves": None, "optimal": False, "h": 21, "lower_bound": 27}
    counts = {"generated": 9, "expanded": 5, "seconds": 10.0, "thresholds": []}
    stream(visit, ("queued", {"ahead": 2}), ("result", {**result, **counts}))
    again.click()
    expect(problem).to_contain_text("at least 27 moves")
    expect(again).to_be_hidden()
    visit.choose("#seconds", "10")
    visit.tile(5).click()
    visit.click("#solve")
    expect(again).to_be_visible()
    visit.click("#undo")
    visit.hides("#solution-problem")  # it was of the board before
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
        for token, words in (
            ("opensesame\u200b", "started with a token file"),  # it cannot be sent
            ("wrong", "started with a token file"),
            ("opensesame", "does not know that token"),
        ):
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
