"""The page in Chromium: the actions of a person, and the messages for each failure."""

import json
import re
from collections.abc import Iterator
from typing import Any

import pytest
from playwright.sync_api import Browser, Route, expect

from pdb_core.puzzle import Board, BoardSize, Tiles, format_board, is_solvable, parse_goal, random_boards
from pdb_query import read_instances
from tests.pdb_service.browsing import Visit, browser, visiting
from tests.pdb_service.page_states import (
    FAR_ADDRESS,
    STATES,
    State,
    details,
    off_solution,
    searching,
    solution,
    unsolvable,
    violations,
)
from tests.pdb_service.server import Server

pytestmark = pytest.mark.xdist_group("browser")
FAR = "8 6 7/2 5 4/3 0 1"  # 31 moves, the most there is
FAR_BOARD: Tiles = (8, 6, 7, 2, 5, 4, 3, 0, 1)
SOLVED: Tiles = (1, 2, 3, 4, 5, 6, 7, 8, 0)
NEAR: Tiles = (1, 2, 3, 4, 5, 6, 0, 7, 8)  # 7 and 8 slide left
NEAR_ADDRESS = "#board=1,2,3/4,5,6/0,7,8"
HOSTILE = "<img src=x onerror=document.title='taken'>"


@pytest.fixture(scope="module")
def chromium() -> Iterator[Browser]:
    with browser() as running:
        yield running


@pytest.fixture
def visit(chromium: Browser, server: Server) -> Iterator[Visit]:
    """Yield a visit; at its end there must be no complaint, and no request to another server."""
    with visiting(chromium, server.url) as visit:
        yield visit
        assert visit.complaints == []
        assert visit.elsewhere == []


def stream(visit: Visit, *events: tuple[str, dict[str, Any]]) -> None:
    """Answer solves with these events, without the server."""
    body = "".join(f"event: {name}\ndata: {json.dumps(data)}\n\n" for name, data in events)
    visit.page.route(re.compile("/v1/solve"), lambda route: route.fulfill(content_type="text/event-stream", body=body))


# The board


def test_typed_boards_are_read_in_any_form_or_explained(visit: Visit) -> None:
    visit.open()
    expect(visit.at("#h")).to_have_text(re.compile(r"^\d+$"))
    for text in (FAR, "8,6,7,2,5,4,3,0,1", "8 6 7\n2 5 4\n3 0 1"):
        visit.choose("#size", "4x4")
        expect(visit.at(".tile")).to_have_count(15)
        visit.type_board(text)
        visit.expect_board(FAR_BOARD)
    expect(visit.page).to_have_url(re.compile(re.escape(FAR_ADDRESS)))
    for text, why in (("1 2 3/4 5 6/7 8 8", "8 is there twice"), ("1 2 3/4 5", "lengths"), (HOSTILE, "<img")):
        visit.type_board(text)
        expect(visit.at("#why")).to_contain_text(why)
        expect(visit.at("#text")).to_have_attribute("aria-invalid", "true")
    visit.expect_board(FAR_BOARD)


def test_hostile_text_is_shown_as_text(visit: Visit) -> None:
    """Text in the address, and the texts of a server."""
    visit.open(f"{FAR_ADDRESS}&goal={HOSTILE}&db={HOSTILE}")
    expect(visit.at("#h")).to_have_text("31")
    stream(visit, ("problem", {"title": HOSTILE, "status": 422, "detail": HOSTILE}))
    visit.at("#solve").click()
    expect(visit.at("#solution-problem")).to_contain_text(HOSTILE)
    expect(visit.at("img")).to_have_count(0)
    assert visit.page.title() != "taken"


def test_clicks_and_arrow_keys_slide_tiles(visit: Visit) -> None:
    visit.open(NEAR_ADDRESS)
    visit.tile(8).click()  # slides 7 too
    visit.expect_board(SOLVED)
    expect(visit.at("#status")).to_have_text("Solved.")
    expect(visit.at("#h")).to_have_text("0")
    visit.tile(1).click()  # not in line with the blank
    visit.expect_board(SOLVED)
    visit.at("#board").focus()
    for key in ("ArrowRight", "ArrowDown", "ArrowLeft", "ArrowUp", "ArrowUp"):
        visit.page.keyboard.press(key)
    visit.expect_board((1, 2, 3, 4, 6, 8, 7, 5, 0))
    visit.at("#text").press("ArrowRight")  # there it moves the cursor
    visit.expect_board((1, 2, 3, 4, 6, 8, 7, 5, 0))


def test_letters_act_only_while_the_board_has_focus(visit: Visit) -> None:
    visit.open(FAR_ADDRESS)
    expect(visit.at("#h")).to_have_text("31")
    for css in ("body", "#shuffle", "#sums input >> nth=0"):
        visit.page.evaluate("document.activeElement.blur()")
        visit.at(css).focus()
        for key in ("h", ".", *(("Enter", " ") if css == "body" else ())):
            visit.page.keyboard.press(key)
    expect(visit.at("#hints")).to_be_hidden()
    expect(visit.at("#solution-text")).to_contain_text("Press Solve")
    visit.expect_board(FAR_BOARD)
    visit.tile(8).focus()
    visit.page.keyboard.press("H")
    expect(visit.at("#moves li")).to_have_count(3)


def test_dragging_slides_tiles_and_a_short_drag_does_not(visit: Visit) -> None:
    visit.open(NEAR_ADDRESS)
    expect(visit.at("#h")).to_have_text("2")
    box = visit.tile(8).bounding_box()
    assert box is not None
    x, y, mouse = box["x"] + box["width"] / 2, box["y"] + box["height"] / 2, visit.page.mouse
    for share, board in ((-0.2, NEAR), (-0.7, SOLVED)):
        mouse.move(x, y)
        mouse.down()
        mouse.move(x + share * box["width"], y, steps=4)
        mouse.up()
        visit.expect_board(board)


def test_unsolvable_board_is_explained_and_repaired(visit: Visit) -> None:
    unsolvable(visit)
    expect(visit.at("#solve")).to_be_disabled()
    visit.at("#swap").click()
    expect(visit.at("#unsolvable")).to_be_hidden()
    visit.expect_board((2, 1, 3, 4, 5, 6, 8, 7, 0))


def test_address_holds_board_goal_and_database(visit: Visit) -> None:
    visit.open(FAR_ADDRESS)
    name = visit.at("#database option").nth(2).get_attribute("value")
    visit.choose("#database", str(name))
    visit.choose("#goal", "blank-first")
    expect(visit.page).to_have_url(re.compile(r"&goal=blank-first&db=.+"))
    visit.page.reload()
    expect(visit.at("#goal")).to_have_value("blank-first")
    expect(visit.at("#database")).to_have_value(str(name))
    visit.expect_board(FAR_BOARD)
    visit.page.evaluate("location.hash = 'board=1,2,3/4,5,6/7,0,8'")
    visit.expect_board((1, 2, 3, 4, 5, 6, 7, 0, 8))
    expect(visit.at("#goal")).to_have_value("blank-last")


# Lower bounds, hints, instances, goals


def test_patterns_are_coloured_and_follow_the_chosen_sum(visit: Visit, server: Server) -> None:
    name = server.ask("/v1/databases").json["databases"][2]["id"]
    visit.open(f"{FAR_ADDRESS}&db={name}")
    sums = server.ask(f"/v1/lookup?board={FAR.replace(' ', '+')}&db={name}").json["sums"]
    for index, expected in enumerate(sums):
        visit.at(f"#sums input[value='{index}']").check()
        expect(visit.at(".sum").nth(index).locator(".value")).to_have_text(list(map(str, expected["values"])))
        for letter, tiles in zip("ABC", expected["patterns"], strict=True):
            expect(visit.tile(tiles[0]).locator(".mark")).to_have_text(letter)
    assert len(sums) == 2


def test_hint_lists_the_moves_best_first_and_plays_them(visit: Visit) -> None:
    visit.open(FAR_ADDRESS)
    visit.at("#hint").click()
    expect(visit.at("#hints-text")).to_contain_text("31 moves from the goal")
    expect(visit.at("#moves li").first).to_contain_text("distance 30")
    visit.at("#moves button").first.click()
    expect(visit.at("#hints")).to_be_hidden()
    expect(visit.at("#h")).to_have_text("30")


def test_instance_sets_are_chosen_and_keep_their_goals(visit: Visit) -> None:
    visit.open()
    visit.choose("#set", "korf100")
    korf = next(read_instances("korf100", None))
    visit.expect_board(korf.board)
    expect(visit.at("#goal")).to_have_value("blank-first")
    expect(visit.at("#status")).to_contain_text(f"known to take {korf.optimal_length} moves")
    visit.choose("#set", "hardest80")
    visit.choose("#instance", "4")
    visit.expect_board(list(read_instances("hardest80", None))[4].board)
    expect(visit.at("#goal")).to_have_value("blank-last")


def test_goals_by_name_and_typed_are_reset_to(visit: Visit) -> None:
    visit.open(NEAR_ADDRESS)
    visit.choose("#goal", "blank-first")
    visit.at("#reset").click()
    visit.expect_board((0, 1, 2, 3, 4, 5, 6, 7, 8))
    visit.choose("#goal", "typed")
    visit.at("#goal-text").fill("8 7 6/5 4 3/2 1 0")
    visit.at("#goal-text").press("Enter")
    visit.at("#shuffle").click()
    expect(visit.at("#solve")).to_be_enabled()
    visit.at("#reset").click()
    visit.expect_board((8, 7, 6, 5, 4, 3, 2, 1, 0))
    expect(visit.at("#h")).to_have_text("0")
    visit.choose("#size", "6x6")  # no tables
    expect(visit.at("#bound-problem")).to_contain_text("pdb build auto --size 6x6")


# Solving


def test_solution_is_stepped_scrubbed_and_played_to_the_end(visit: Visit) -> None:
    solution(visit)
    chart = visit.at("#chart svg")
    expect(chart).to_have_attribute("aria-valuetext", "step 1: 30 left, h 30")
    chart.focus()
    visit.page.keyboard.press("PageUp")
    expect(visit.at("#step")).to_have_text("11 / 31")
    visit.at("#back").click()
    expect(visit.at("#step")).to_have_text("10 / 31")
    visit.at("#scrubber").fill("28")
    expect(visit.at("#h")).to_have_text("3")
    visit.at("#board").focus()
    visit.page.keyboard.press(" ")
    expect(visit.at("#play")).to_have_attribute("aria-label", "Pause")
    visit.expect_board(SOLVED)
    expect(visit.at("#play")).to_have_attribute("aria-label", "Play")
    expect(visit.at("#status")).to_have_text("Solved.")


def test_solution_is_left_and_joined_again(visit: Visit) -> None:
    off_solution(visit)
    visit.at("#rejoin").click()
    expect(visit.at("#off")).to_be_hidden()
    visit.expect_board(SOLVED)


def test_search_that_lasts_shows_progress_and_is_cancelled(visit: Visit) -> None:
    searching(visit)
    expect(visit.at("#nodes")).to_have_text(re.compile(r"\d"))
    visit.at("#cancel").click()
    expect(visit.at("#solution-text")).to_contain_text("Cancelled. Proved so far: every solution has at least")
    expect(visit.at("#search")).to_be_hidden()
    # Another solve does not wait for the cancelled one.
    visit.type_board(FAR)
    visit.at("#solve").click()
    expect(visit.at("#solution-text")).to_contain_text("31 moves, the shortest")


def test_time_limits_of_the_page_and_of_the_server(visit: Visit) -> None:
    """Limits beyond that of the server are disabled. A reached limit shows the bound and offers a longer search."""

    def limited(route: Route) -> None:
        answer = route.fetch()
        route.fulfill(response=answer, json={**answer.json(), "limits": {"solve_seconds_limit": 30}})

    visit.page.route(re.compile("/v1/databases"), limited)
    visit.open(FAR_ADDRESS)
    expect(visit.at("#seconds option:enabled")).to_have_text(["10 s", "30 s"])
    result = {"solvable": True, "length": None, "moves": None, "optimal": False, "h": 21, "lower_bound": 27}
    counts = {"generated": 9, "expanded": 5, "seconds": 10.0, "thresholds": []}
    stream(visit, ("queued", {"ahead": 2}), ("result", {**result, **counts}))
    visit.at("#solve").click()
    expect(visit.at("#solution-problem")).to_contain_text("at least 27 moves")
    expect(visit.at("#solution-problem button")).to_be_hidden()
    visit.choose("#seconds", "10")
    visit.at("#solve").click()
    visit.page.unroute_all()
    visit.at("#solution-problem button").click()
    expect(visit.at("#solution-text")).to_contain_text("31 moves")


# Failures


def test_busy_server_is_reported_and_tried_again(visit: Visit) -> None:
    visit.open(FAR_ADDRESS)
    stream(visit, ("problem", {"title": "Stopped", "status": 503, "detail": "the server stops"}))
    visit.at("#solve").click()
    expect(visit.at("#solution-problem")).to_contain_text("The server is busy")
    visit.page.unroute_all()
    visit.at("#solution-problem button").click()
    expect(visit.at("#solution-text")).to_contain_text("31 moves")


def test_token_is_asked_for_once_and_kept_in_the_tab(visit: Visit) -> None:
    def guard(route: Route) -> None:
        if route.request.headers.get("authorization") == "Bearer open sesame":
            route.continue_()
        else:
            route.fulfill(status=401, content_type="application/problem+json", body='{"title": "No", "status": 401}')

    visit.page.route(re.compile("/v1/"), guard)
    visit.open(FAR_ADDRESS)
    for token, words in (("wrong", "started with a token file"), ("open sesame", "does not know that token")):
        expect(visit.at("#token-why")).to_contain_text(words)
        visit.at("#token").fill(token)
        visit.at("#token").press("Enter")
    expect(visit.at("#h")).to_have_text("31")
    visit.page.reload()
    expect(visit.at("#h")).to_have_text("31")
    assert visit.page.evaluate("localStorage.length") == 0
    visit.complaints.clear()  # of the 401


# Looks


_LOOKS: dict[str, dict[str, Any]] = {
    "wide": {"viewport": {"width": 1280, "height": 860}},
    "narrow": {"viewport": {"width": 320, "height": 640}},
    "phone": {"viewport": {"width": 360, "height": 740}, "has_touch": True, "is_mobile": True},
}


@pytest.mark.parametrize("state", [details, *(pytest.param(state, marks=pytest.mark.slow) for state in STATES)])
def test_no_state_of_the_page_violates_wcag_or_scrolls_sideways(
    chromium: Browser, server: Server, state: State, request: pytest.FixtureRequest
) -> None:
    for looks in _LOOKS if request.config.getoption("--slow") else ["phone"]:
        for colours in ("light", "dark"):
            options = {**_LOOKS[looks], "color_scheme": colours, "reduced_motion": "reduce"}
            with visiting(chromium, server.url, **options) as visit:
                state(visit)
                assert violations(visit) == [], (looks, colours)
                width = visit.page.evaluate("document.documentElement.scrollWidth")
                assert width <= _LOOKS[looks]["viewport"]["width"], (looks, colours)


# board.js against Python


def test_boards_in_the_browser_are_those_of_python(visit: Visit) -> None:
    visit.open()
    cases = []
    for size in (BoardSize(width, height) for width in range(2, 7) for height in range(2, 7)):
        for row in random_boards(size, parse_goal("snail", size), 3, size.n_cells).tolist():
            swapped = (row[1], row[0], *row[2:])
            text = format_board(swapped, size)
            assert Board(text) == swapped
            goals = [parse_goal(name, size) for name in ("blank-last", "blank-first", "snail")]
            cases.append([text, swapped, goals, [is_solvable(swapped, each, size) for each in goals]])
    wrong = visit.page.evaluate(
        """async (cases) => {
          const { parseBoard, namedGoal, isSolvable, formatBoard, GOAL_NAMES } = await import("/page/board.js");
          return cases.filter(([text, board, goals, solvable]) => {
            const read = parseBoard(text);
            const named = GOAL_NAMES.map((name) => namedGoal(name, read.size));
            return JSON.stringify([read.board, named, named.map((goal) => isSolvable(board, goal, read.size))])
              !== JSON.stringify([board, goals, solvable]) || formatBoard(board, read.size) !== text;
          });
        }""",
        cases,
    )
    assert wrong == []
