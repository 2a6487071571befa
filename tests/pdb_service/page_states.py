"""States of the page for the accessibility tests, and the checks: axe-core, contrasts of texts and borders."""

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
# For each text or border: its kind, its colour, and the background colours and opacities from the element to the root.
# axe-core does not check single letters, arrows and gradients.
_LAYERS = """() => {
  const isShown = (element) => element.checkVisibility({ visibilityProperty: true, opacityProperty: true });
  const layers = (element, colour) => {
    const found = [[colour, 1]];
    for (let at = element; at; at = at.parentElement) {
      const style = getComputedStyle(at);
      found.push([style.backgroundColor, Number(style.opacity)]);
    }
    return found;
  };
  const name = (element) => `${element.tagName.toLowerCase()}#${element.id}.${element.getAttribute("class") ?? ""}`;
  const texts = [...document.querySelectorAll("body *")]
    .filter((element) => isShown(element) && !element.closest(":disabled, .unseen, noscript, option"))
    .filter((element) => [...element.childNodes].some((node) => node.nodeType === 3 && node.data.trim()))
    .map((element) => {
      const style = getComputedStyle(element);
      return ["text", name(element), layers(element, element.closest("svg") ? style.fill : style.color)];
    });
  const fields = [...document.querySelectorAll("select, textarea, input[type=password]")].filter(isShown)
    .filter((element) => !element.disabled);
  const borders = fields.flatMap((element) => {
    const inside = layers(element, getComputedStyle(element).borderTopColor);
    const outside = [inside[0], ...inside.slice(2)];
    return [inside, outside].map((behind) => ["border", name(element), behind]);
  });
  return [...texts, ...borders];
}"""
Colour = tuple[float, float, float, float]
_LEAST_CONTRAST = {"text": 4.5, "border": 3.0}


def empty(visit: Visit) -> None:
    visit.open()
    expect(visit.at("#h")).to_have_text(re.compile(r"^\d+$"))
    expect(visit.at("#set option")).not_to_have_count(1)


def board(visit: Visit) -> None:
    visit.open(FAR_ADDRESS)
    expect(visit.at("#h")).to_have_text("31")


def dimmed(visit: Visit) -> None:
    visit.open("#board=1,2,3,4/5,6,7,8/9,10,11,12/13,14,0,15")
    visit.at(".chip").first.hover()
    expect(visit.at(".dimmed")).not_to_have_count(0)


def moved(visit: Visit) -> None:
    board(visit)
    visit.tile(1).click()
    expect(visit.at("#idle")).to_have_text("1 move so far")
    visit.at("#sums input[value='-1']").check()


def at_goal(visit: Visit) -> None:
    board(visit)
    visit.at("#reset").click()
    expect(visit.at("#h")).to_have_text("0")


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


def limit_reached(visit: Visit) -> None:
    result = {"solvable": True, "length": None, "moves": None, "optimal": False, "h": 21, "lower_bound": 27}
    counts = {"generated": 9, "expanded": 5, "seconds": 10.0, "thresholds": []}
    text = f"event: result\ndata: {json.dumps(result | counts)}\n\n"
    _answer(visit, "solve", 200, "text/event-stream", text)
    board(visit)
    visit.choose("#seconds", "10")
    visit.at("#solve").click()
    expect(visit.at("#solution-problem button")).to_be_visible()


def busy(visit: Visit) -> None:
    board(visit)
    _answer(visit, "", 503, "application/problem+json", '{"title": "Busy", "status": 503, "detail": "too many"}')
    visit.tile(1).click()
    visit.at("#solve").click()
    expect(visit.at("#solution-problem")).to_contain_text("The server is busy")
    visit.at("#hint").click()
    for css in ("#bound-problem", "#solution-problem", "#hints-problem"):
        expect(visit.at(css)).to_contain_text("The server is busy")


def no_tables(visit: Visit) -> None:
    empty(visit)
    visit.choose("#size", "6x6")
    expect(visit.at("#bound-problem")).to_contain_text("pdb build auto")


def token_wanted(visit: Visit) -> None:
    _answer(visit, "", 401, "application/problem+json", '{"title": "Unauthorized", "status": 401}')
    visit.open(FAR_ADDRESS)
    expect(visit.at("#token")).to_be_visible()


def api_page(visit: Visit) -> None:
    visit.open("page/api.html")
    expect(visit.at(".operation").first).to_be_visible()
    for summary in visit.at("summary").all():
        summary.click()


STATES: tuple[State, ...] = (
    empty, board, dimmed, moved, at_goal, wrong_text, unsolvable, hint, searching, cancelled, solution, details,
    off_solution, limit_reached, busy, no_tables, token_wanted, api_page,
)  # fmt: skip


def _answer(visit: Visit, path: str, status: int, kind: str, body: str) -> None:
    """Answer requests to a path of the API without the server."""
    visit.page.route(
        re.compile(f"/v1/{path}"), lambda route: route.fulfill(status=status, content_type=kind, body=body)
    )


def violations(visit: Visit) -> list[str]:
    """Return the violations of WCAG 2.1 A and AA that axe-core finds, one line for each element."""
    found: dict[str, Any] = Axe().run(visit.page, options=_OPTIONS).response
    return [
        f"{rule['id']}: {node['html'][:160]}: {node['failureSummary']}"
        for rule in found["violations"]
        for node in rule["nodes"]
    ]


def low_contrasts(visit: Visit) -> list[str]:
    """Return the texts of a contrast below 4.5:1 and the borders of fields below 3:1, inside and outside."""
    found = []
    for kind, name, layers in visit.page.evaluate(_LAYERS):
        ratio = _contrast([(_rgba(colour), opacity) for colour, opacity in layers])
        if ratio < _LEAST_CONTRAST[kind]:
            found.append(f"{kind} {name}: {ratio:.2f}")
    return found


def _contrast(layers: list[tuple[Colour, float]]) -> float:
    """Return the contrast ratio of WCAG 2.1 of the first layer with what is behind it.

    The other layers are the backgrounds and opacities from the element to the root. An opacity applies to all layers
    inside it.
    """
    front, back = layers[0][0], (0.0, 0.0, 0.0, 0.0)
    for colour, opacity in layers[1:]:
        front, back = _faded(_over(front, colour), opacity), _faded(_over(back, colour), opacity)
    white = (1.0, 1.0, 1.0, 1.0)
    low, high = sorted((_luminance(_over(front, white)), _luminance(_over(back, white))))
    return (high + 0.05) / (low + 0.05)


def _over(front: Colour, back: Colour) -> Colour:
    """Return the colour of a layer on another."""
    alpha = front[3] + back[3] * (1 - front[3])
    if alpha == 0:
        return (0.0, 0.0, 0.0, 0.0)
    red, green, blue = (
        (f * front[3] + b * back[3] * (1 - front[3])) / alpha for f, b in zip(front[:3], back[:3], strict=True)
    )
    return (red, green, blue, alpha)


def _faded(colour: Colour, opacity: float) -> Colour:
    return (*colour[:3], colour[3] * opacity)


def _luminance(colour: Colour) -> float:
    red, green, blue = (part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in colour[:3])
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


def _rgba(text: str) -> Colour:
    """Return a computed colour, such as `rgb(0, 0, 0)` or `color(srgb 0 0 0 / 0.5)`, as numbers from 0 to 1."""
    numbers = [float(number) for number in re.findall(r"[\d.]+(?:e-?\d+)?", text)]
    scale = 1 if text.startswith("color(srgb ") else 255
    assert scale == 1 or text.startswith("rgb"), text
    red, green, blue = (number / scale for number in numbers[:3])
    return (red, green, blue, numbers[3] if len(numbers) == 4 else 1.0)
