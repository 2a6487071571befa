"""States of the page, and the check of accessibility by axe-core."""

import json
import re
from collections.abc import Callable
from typing import Any

from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import expect

from tests.pdb_service.browsing import Visit

State = Callable[[Visit], None]
FAR_ADDRESS = "#board=8,6,7/2,5,4/3,0,1"
_OPTIONS = {
    "runOnly": {"type": "tag", "values": ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa"]},
    "resultTypes": ["violations"],
}


def board(visit: Visit) -> None:
    visit.open(FAR_ADDRESS)
    expect(visit.at("#h")).to_have_text("31")


def dimmed(visit: Visit) -> None:
    visit.open("#board=1,2,3,4/5,6,7,8/9,10,11,12/13,14,0,15")
    visit.at(".chip").first.hover()
    expect(visit.at(".dimmed")).not_to_have_count(0)


def wrong_text(visit: Visit) -> None:
    board(visit)
    visit.type_board("1 2 3/4 5 6/7 8 8")
    expect(visit.at("#why")).to_contain_text("8 is there twice")
    visit.choose("#goal", "typed")
    visit.at("#goal-text").fill("1 2 x")
    visit.at("#goal-text").press("Enter")
    expect(visit.at("#goal-why")).to_contain_text("number")


def unsolvable(visit: Visit) -> None:
    visit.open("#board=1,2,3/4,5,6/8,7,0")
    expect(visit.at("#unsolvable")).to_contain_text("cannot be solved")
    expect(visit.at("#h-text")).to_have_text("no way to the goal")


def hint(visit: Visit) -> None:
    board(visit)
    visit.at("#hint").click()
    expect(visit.at("#moves li")).to_have_count(3)
    visit.at("#moves button").first.focus()


def searching(visit: Visit) -> None:
    visit.open("#board=0,12,9,13/15,11,10,14/3,7,2,5/4,8,6,1")
    visit.at("#solve").click()
    expect(visit.at("#threshold")).to_have_text(re.compile(r"^\d\d$"))


def cancelled(visit: Visit) -> None:
    searching(visit)
    visit.at("#cancel").click()
    expect(visit.at("#solution-text")).to_contain_text("Cancelled")


def solution(visit: Visit) -> None:
    board(visit)
    visit.at("#solve").click()
    expect(visit.at("#chart .h-line")).to_be_visible()
    visit.at("#forward").click()
    expect(visit.at("#step")).to_have_text("1 / 31")


def details(visit: Visit) -> None:
    solution(visit)
    for summary in visit.at("summary").all():
        summary.click()
    expect(visit.at("#moves-text")).to_be_visible()


def off_solution(visit: Visit) -> None:
    solution(visit)
    visit.at("#last").click()
    last = int((visit.at("#moves-text").text_content() or "").split()[-1])
    visit.tile(8 if last == 6 else 6).click()
    expect(visit.at("#off")).to_be_visible()


def busy(visit: Visit) -> None:
    board(visit)
    _refuse(visit, {"title": "Busy", "status": 503, "detail": "too many"})
    visit.tile(1).click()
    visit.at("#solve").click()
    expect(visit.at("#solution-problem")).to_contain_text("The server is busy")
    visit.at("#hint").click()
    for css in ("#bound-problem", "#solution-problem", "#hints-problem"):
        expect(visit.at(css)).to_contain_text("The server is busy")


def no_tables(visit: Visit) -> None:
    board(visit)
    visit.choose("#size", "6x6")
    expect(visit.at("#bound-problem")).to_contain_text("pdb build auto")


def token_wanted(visit: Visit) -> None:
    _refuse(visit, {"title": "Unauthorized", "status": 401})
    visit.open(FAR_ADDRESS)
    expect(visit.at("#token")).to_be_visible()


STATES: tuple[State, ...] = (
    dimmed, wrong_text, unsolvable, hint, searching, cancelled, details, off_solution, busy, no_tables, token_wanted,
)  # fmt: skip


def _refuse(visit: Visit, problem: dict[str, Any]) -> None:
    """Answer requests to the API with a problem, without the server."""
    visit.page.route(
        re.compile("/v1/"),
        lambda route: route.fulfill(
            status=problem["status"], content_type="application/problem+json", body=json.dumps(problem)
        ),
    )


def violations(visit: Visit) -> list[str]:
    """Return the violations of WCAG 2.1 A and AA that axe-core finds, one line for each element."""
    found: dict[str, Any] = Axe().run(visit.page, options=_OPTIONS).response
    return [
        f"{rule['id']}: {node['html'][:160]}: {node['failureSummary']}"
        for rule in found["violations"]
        for node in rule["nodes"]
    ]
