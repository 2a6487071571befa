"""The page in Chromium: the actions of a person, the messages for failures, and the looks of each state."""

import json
import re
import shlex
from pathlib import Path
from typing import Any

from playwright.sync_api import Browser, expect

from pdb_core.moves import directions
from pdb_core.puzzle import format_board
from pdb_query import read_instances
from tests.command_line import BOARD, python
from tests.pdb_service.app_requests import GOAL
from tests.pdb_service.browsing import FAR_ADDRESS, HOSTILE, NEAR, NEAR_ADDRESS, Visit, visiting
from tests.pdb_service.server import Server, serving
from tests.solving import HARDEST_8, S3, S4, hard_board
from tests.tables import table_file

WORST = format_board(hard_board(), S4)  # its search outlasts a test


def stream(visit: Visit, *events: tuple[str, dict[str, Any]]) -> None:
    """Answer solves with these events, without the server."""
    body = "".join(f"event: {name}\ndata: {json.dumps(data)}\n\n" for name, data in events)
    visit.page.route(re.compile("/v1/solve"), lambda route: route.fulfill(content_type="text/event-stream", body=body))


# A game


def test_tiles_slide_by_clicks_keys_and_dragging_and_settings_are_kept(visit: Visit) -> None:
    visit.open(NEAR_ADDRESS)
    visit.tile(8).click()  # slides 7 too
    visit.expect_board(GOAL)
    visit.shows("#status", "Solved in 2 moves, the minimum.")
    visit.tile(1).click()  # not in line with the blank
    visit.expect_board(GOAL)
    visit.at("#board").focus()
    for key in ("ArrowRight", "ArrowDown", "ArrowLeft", "ArrowUp", "ArrowUp"):
        visit.press(key)
    visit.expect_board((1, 2, 3, 4, 6, 8, 7, 5, 0))
    visit.at("#text").press("ArrowRight")  # there it moves the cursor
    visit.expect_board((1, 2, 3, 4, 6, 8, 7, 5, 0))
    visit.at("#shuffle").focus()
    visit.press("h")
    expect(visit.at("#best")).not_to_be_checked()
    visit.page.reload()
    expect(visit.at("#best")).not_to_be_checked()
    visit.open(NEAR_ADDRESS)
    visit.expect_board(NEAR)
    box = visit.tile(8).bounding_box()
    x, y, mouse = box["x"] + box["width"] / 2, box["y"] + box["height"] / 2, visit.page.mouse
    for share, board in ((-0.2, NEAR), (-0.7, GOAL)):  # a short drag moves nothing
        mouse.move(x, y)
        mouse.down()
        mouse.move(x + share * box["width"], y, steps=4)
        mouse.up()
        visit.expect_board(board)


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
    visit.click("#redo")
    visit.expect_board(NEAR)
    visit.tile(4).click()
    visit.click("#solve")
    visit.tells("#solution-text", "3 moves from here, the minimum")


def test_shuffle_goal_and_paste_are_undone_by_undo_and_by_back(visit: Visit) -> None:
    visit.open(NEAR_ADDRESS)
    visit.tile(7).click()
    visit.choose("#level", "hard")
    visit.click("#shuffle")
    visit.shows("#distance", re.compile(r"^(2\d|3[01])$"))
    shuffled = visit.page.url
    visit.click("#to-goal")
    visit.type_board(BOARD)
    visit.expect_board(HARDEST_8)
    visit.page.go_back()
    visit.expect_board(GOAL)
    visit.click("#undo")
    expect(visit.page).to_have_url(shuffled)
    visit.click("#undo")
    visit.shows("#step", "1 / 1")
    visit.click("#undo")
    visit.expect_board(NEAR)
    expect(visit.at("#undo")).to_be_disabled()


# Positions


def test_boards_solutions_goals_and_instances_are_chosen_or_explained(visit: Visit) -> None:
    visit.open(NEAR_ADDRESS)
    for typed, words, step in (
        ("4, 4, 7, 8", "Solved in 4 moves; optimum 2; first mistake at move 1.", "0 / 4"),
        ("1 2 3/4 5 6/0 7 8\nR3", "Move 3 is illegal; optimum 2. Read as directions of the blank.", "2 / 2"),
    ):
        visit.type_board(typed)
        visit.shows("#status", words)
        visit.shows("#step", step)
    for text, why in (
        (" ", "Type a board"),
        ("1 2 3/4 5", "lengths"),
        ("0 2 3 4 5 6 7 8\n1 9 10 11 12 13 14 15", "8x2"),
        (HOSTILE, "<img"),
    ):
        visit.type_board(text)
        visit.tells("#why", why)
    visit.page.evaluate("location.hash = 'board=1,2,3/4,5,6/0,7,7'")
    visit.tells("#status", "no board such as")
    visit.complaints.clear()  # of the answers with 422
    visit.type_board(BOARD)
    visit.has_address(re.escape(FAR_ADDRESS))
    name = str(visit.at("#database option").nth(2).get_attribute("value"))
    visit.choose("#database", name)
    visit.choose("#goal", "blank-first")
    visit.has_address(r"&goal=blank-first&db=.+")
    visit.page.reload()
    expect(visit.at("#goal")).to_have_value("blank-first")
    expect(visit.at("#database")).to_have_value(name)
    visit.expect_board(HARDEST_8)
    visit.choose("#goal", "typed")
    visit.enter("#goal-text", "8 7 6/5 4 3/2 1 0")
    visit.click("#to-goal")
    visit.expect_board((8, 7, 6, 5, 4, 3, 2, 1, 0))
    visit.choose("#set", "korf100")
    visit.choose("#instance", "4")
    instance = list(read_instances("korf100"))[4]
    visit.expect_board(instance.board)
    expect(visit.at("#goal")).to_have_value("blank-first")
    visit.tells("#status", f"known to take {instance.optimal_length} moves")


def test_unsolvable_board_is_explained_and_repaired(visit: Visit) -> None:
    visit.open(NEAR_ADDRESS)
    visit.tells("#said", "2 moves to the goal")
    visit.type_board("1 2 3/4 5 6/8 7 0")
    visit.tells("#unsolvable", "cannot be solved")
    visit.shows("#said", "")
    expect(visit.at("#solve")).to_be_disabled()
    visit.check_looks()
    visit.click("#swap")
    expect(visit.at("#unsolvable")).to_be_hidden()
    visit.expect_board((2, 1, 3, 4, 5, 6, 8, 7, 0))


def test_size_without_tables_has_solve_off_and_a_command(visit: Visit) -> None:
    visit.open()
    visit.choose("#size", "3x2")
    expect(visit.at("#solve")).to_be_disabled()
    visit.tells("#command", "pdb serve --size 3x2")
    visit.check_looks()
    visit.choose("#size", "4x4")
    expect(visit.at("#solve")).to_be_enabled()
    visit.complaints.clear()  # of the answers with 404


def test_position_and_moves_are_copied_for_curl_python_and_programs(visit: Visit, server: Server) -> None:
    visit.open(FAR_ADDRESS)
    visit.click("#solve")
    visit.shows("#step", "0 / 31")
    visit.click("#copies-title")
    visit.page.context.grant_permissions(["clipboard-read", "clipboard-write"])
    copied = []
    for button in visit.at("#copies button").all():
        button.click()
        expect(button).to_have_text("Copied")
        copied.append(visit.page.evaluate("navigator.clipboard.readText()"))
    link, moves, *both, curl, program, body = copied
    assert link.startswith(f"{server.url}/{FAR_ADDRESS}")
    tiles = list(map(int, moves.split()))
    assert [directions(HARDEST_8, tiles, of, S3) for of in ("blank", "tile")] == both
    assert server.ask(shlex.split(curl)[1].removeprefix(server.url)).json["h"] == 31
    assert "h=31" in python(program).stdout
    assert server.ask("/v1/solve", body.encode()).json["length"] == 31


# Lower bounds, hints and solutions


def test_sums_colour_the_board_and_letters_name_their_patterns(visit: Visit, server: Server) -> None:
    name = server.ask("/v1/databases").json["databases"][2]["id"]
    text = "6,4,7/8,5,0/3,2,1"
    sums = server.ask(f"/v1/lookup?board={text}&db={name}").json["sums"]
    assert [each["h"] for each in sums] == [21, 25]
    visit.open(f"#board={text}&db={name}")
    expect(visit.at("#sums input[value='1']")).to_be_checked()  # the largest
    visit.at("#letters").check()
    for index in (1, 0):
        visit.at(f"#sums input[value='{index}']").check()
        for letter, tiles in zip("ABC", sums[index]["patterns"], strict=True):
            visit.shows(f"#tile-{tiles[0]} .mark", letter)
    visit.shows("#sums .value", [str(value) for each in sums for value in each["values"]])
    visit.check_looks()


def test_every_move_is_listed_with_its_distance_best_first_and_best_moves_are_marked(visit: Visit) -> None:
    visit.open("#board=2,3,8/1,0,5/4,6,7")
    visit.expect_analysis("14", "5 left 13 13", "6 up 13 13", "3 down 15 15", "1 right 15 15")
    visit.shows(".ringed", [re.compile("^5.*slides left, a best move"), re.compile("^6.*slides up")])
    visit.check_looks()
    visit.at("#moves button").first.press("Enter")
    visit.expect_analysis("13", "8 down 12 12", "5 right 14 14", "7 up 14 14")
    visit.at("#best").uncheck()
    expect(visit.at(".ringed")).to_have_count(0)
    visit.type_board(WORST)
    visit.shows("#distance", re.compile("^≥ 6[0-9]$"))


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
    visit.at("#scrubber").fill("28")
    visit.shows("#h", "3")
    visit.at("#board").focus()
    visit.press(" ")
    visit.expect_board(GOAL)
    visit.shows("#status", "Solved in 31 moves, the minimum.")
    for summary in visit.at("summary").all():
        summary.click()
    visit.check_looks()
    visit.tile(6).click()
    expect(visit.at("#off")).to_be_visible()
    visit.click("#rejoin")
    visit.has_address("&solution=.*&step=31$")


# Searches that last, and failures


def test_search_that_lasts_shows_progress_is_cancelled_or_tried_again(visit: Visit) -> None:
    visit.open()
    visit.type_board(WORST)
    visit.click("#solve")
    visit.shows("#threshold", re.compile(r"^\d\d$"))
    visit.check_looks()
    visit.click("#cancel")
    visit.tells("#solution-text", "Cancelled. Proved so far: every solution has at least")
    visit.type_board(BOARD)
    visit.shows("#seconds option:enabled", ["10 s", "1 min"])
    visit.choose("#seconds", "10")
    problem, again = visit.at("#solution-problem"), visit.at("#solution-problem button")
    stream(visit, ("problem", {"title": HOSTILE, "status": 503, "detail": HOSTILE}))
    visit.click("#solve")
    expect(problem).to_contain_text(f"The server is busy: {HOSTILE}.")
    expect(visit.at("img[src=x]")).to_have_count(0)
    visit.page.unroute_all()
    result = {"solvable": True, "length": None, "moves": None, "optimal": False, "h": 21, "lower_bound": 27}
    counts = {"generated": 9, "expanded": 5, "seconds": 10.0, "thresholds": []}
    stream(visit, ("queued", {"ahead": 2}), ("result", {**result, **counts}))
    again.click()
    expect(problem).to_contain_text("at least 27 moves")
    visit.page.unroute_all()
    again.click()
    visit.tells("#solution-text", "31 moves, the minimum")


def test_server_that_is_gone_is_asked_again(visit: Visit) -> None:
    visit.open(NEAR_ADDRESS)
    visit.shows("#distance", "2")
    visit.page.route(re.compile("/v1/"), lambda route: route.abort())
    visit.tile(7).click()
    visit.tells("#problem", "Is pdb serve still running? This page tries again")
    visit.check_looks()
    visit.page.unroute_all()
    visit.shows("#distance", "1")
    expect(visit.at("#problem")).to_be_hidden()
    visit.complaints.clear()  # of the requests that failed


def test_token_is_asked_for_once_and_kept_in_the_tab(chromium: Browser, tmp_path: Path) -> None:
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
            visit.shows("#distance", re.compile(r"\d"))
            visit.page.reload()
        assert visit.page.evaluate("localStorage.length") == 0
        visit.complaints.clear()  # of the 401
