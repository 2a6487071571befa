"""The position on the page: boards, moves and goals that are typed, pasted, shuffled, chosen, shared and copied."""

import re
import shlex
from pathlib import Path

from playwright.sync_api import Browser, Route, expect

from pdb_core.puzzle import Board, format_board, is_solvable, parse_goal, random_boards
from pdb_query import read_instances
from solver.moves import directions
from tests.command_line import BOARD, pdb, python
from tests.pdb_service.app_requests import GOAL
from tests.pdb_service.browsing import FAR_ADDRESS, HOSTILE, NEAR, NEAR_ADDRESS, Visit, visiting
from tests.pdb_service.server import Server, serving
from tests.solving import HARDEST_8, S3, SIZES

# Rows of a size that the page has not, and not of 4x4.
EIGHT_WIDE = "0 2 3 4 5 6 7 8\n1 9 10 11 12 13 14 15"


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
        (EIGHT_WIDE, "The board is 8x2; this page goes to 6x6."),
        (HOSTILE, "<img"),
        ("1 2 3/4 5 6/7 8 8", "8 appears twice"),
    ):
        visit.type_board(text)
        visit.tells("#why", why)
        expect(visit.at("#text")).to_have_attribute("aria-invalid", "true")
    visit.expect_board(HARDEST_8)
    visit.type_board("1,2,3;4,5,0")  # without tables
    visit.expect_board((1, 2, 3, 4, 5, 0))
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
    visit.shows("#h", "2")
    visit.tile(7).click()
    visit.click("#shuffle")
    visit.has_address("#board=(?!1,2,3/4,5,6/0,7,8)")
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


def test_fast_steps_back_lose_no_position_and_do_not_leave_the_page(visit: Visit) -> None:
    visit.open(NEAR_ADDRESS)
    visit.shows("#h", "2")
    boards = {"1 2 3/4 5 6/7 0 8": (1, 2, 3, 4, 5, 6, 7, 0, 8), BOARD: HARDEST_8, "1 2 3/4 5 6/7 8 0": GOAL}
    for text, board in boards.items():
        visit.type_board(text)
        visit.expect_board(board)
    visit.page.evaluate("""
        async () => {
            for (let n = 0; n < 3; n++) {
                history.back();
                await new Promise((later) => setTimeout(later, 80));
            }
        }
    """)
    visit.expect_board(NEAR)
    for board in boards.values():
        visit.page.go_forward()
        visit.expect_board(board)
    visit.page.go_back()
    visit.page.go_back()
    visit.expect_board(boards["1 2 3/4 5 6/7 0 8"])
    visit.page.evaluate("for (let n = 0; n < 5; n++) document.getElementById('undo').click()")
    visit.expect_board(NEAR)
    expect(visit.at("#undo")).to_be_disabled()


def test_positions_before_the_service_has_answered_are_undone_too(visit: Visit) -> None:
    held: list[Route] = []
    visit.page.route("**/v1/databases", lambda route: held.append(route))
    visit.open()
    visit.counts(".tile", 15)
    first = visit.at("#text").input_value()
    for board, cells in (("1 2 3/4 5 6/0 7 8", NEAR), (BOARD, HARDEST_8)):
        visit.type_board(board)
        visit.expect_board(cells)
    for route in held:
        route.continue_()
    visit.shows("#h", re.compile(r"^\d+$"))
    visit.click("#undo")
    visit.expect_board(NEAR)
    visit.click("#undo")
    visit.has_value("#text", first)


def test_undo_goes_back_while_the_address_of_a_step_still_waits(visit: Visit) -> None:
    visit.open(NEAR_ADDRESS)
    visit.shows("#h", "2")
    visit.type_board(BOARD)
    visit.expect_board(HARDEST_8)
    visit.tile(5).click()
    visit.has_address("&step=1")
    # Two clicks at once. Where the browser is slow, the address would be written before it has gone back.
    visit.page.evaluate("""
        const undo = document.getElementById("undo");
        undo.click();
        undo.click();
        for (const start = performance.now(); performance.now() - start < 400; );
    """)
    visit.expect_board(NEAR)
    visit.has_address(f"{NEAR_ADDRESS}$")


def test_instance_sets_are_chosen_and_keep_their_goals(visit: Visit) -> None:
    visit.open()
    for name, goal in (("korf100", "blank-first"), ("hardest80", "blank-last")):
        visit.choose("#set", name)
        visit.choose("#instance", "4")
        instance = list(read_instances(name))[4]
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


def test_goal_that_is_chosen_before_the_databases_are_known_stays(visit: Visit) -> None:
    visit.page.add_init_script(
        """const now = fetch;
        fetch = async (...asked) => {
          if (String(asked[0]).includes("databases")) await new Promise((go) => setTimeout(go, 1000));
          return now(...asked);
        };"""
    )
    with visit.page.expect_response("**/v1/databases"):
        visit.open(NEAR_ADDRESS)
        visit.choose("#goal", "blank-first")
        visit.click("#to-goal")
    visit.shows("#h", "0")
    visit.expect_board((0, 1, 2, 3, 4, 5, 6, 7, 8))


def test_size_without_tables_has_solve_off_and_a_command_that_works(
    chromium: Browser, visit: Visit, tmp_path: Path
) -> None:
    visit.open()
    visit.shows("#size option:not(:text('no table'))", ["4 \u00d7 4", "3 \u00d7 3"])
    visit.choose("#size", "3x2")
    expect(visit.at("#solve")).to_be_disabled()
    visit.hides("#analysis")
    visit.check_looks()
    visit.complaints.clear()  # of the answers with 404
    serve = str(visit.at("#command").text_content())
    visit.choose("#goal", "typed")
    visit.enter("#goal-text", "1 0 2/3 4 5")
    visit.tells("#command", "--goal")
    visit.complaints.clear()
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


def copies(visit: Visit) -> list[str]:
    """Click all buttons that copy, and return what they copy."""
    visit.page.context.grant_permissions(["clipboard-read", "clipboard-write"])
    copied = []
    for button in visit.at("#copies button").all():
        button.click()
        expect(button).to_have_text("Copied")
        copied.append(visit.page.evaluate("navigator.clipboard.readText()"))
    return copied


def test_position_is_copied_for_curl_python_and_programs(visit: Visit, server: Server) -> None:
    visit.open(FAR_ADDRESS)
    visit.shows("#h", "31")
    link, _, _, _, curl, program, body = copies(visit)
    assert link == f"{server.url}/{FAR_ADDRESS}"
    assert server.ask(shlex.split(curl)[1].removeprefix(server.url)).json["h"] == 31
    assert "h=31" in python(program).stdout
    assert server.ask("/v1/solve", body.encode()).json["length"] == 31


def test_moves_are_copied_as_tiles_and_as_directions(visit: Visit) -> None:
    visit.open(FAR_ADDRESS)
    visit.click("#solve")
    visit.shows("#step", "0 / 31")
    _, moves, *both, _, _, _ = copies(visit)
    tiles = list(map(int, moves.split()))
    assert [directions(HARDEST_8, tiles, of, S3) for of in ("blank", "tile")] == both


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
