"""Chromium for the tests of the page, with a new profile for each visit."""

import os
import re
import shutil
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Browser, Locator, Page, expect, sync_playwright

from pdb_core.puzzle import Tiles

FAR_ADDRESS = "#board=8,6,7/2,5,4/3,0,1"
NEAR: Tiles = (1, 2, 3, 4, 5, 6, 0, 7, 8)  # 7 and 8 slide left
NEAR_ADDRESS = "#board=1,2,3/4,5,6/0,7,8"
HOSTILE = "<img src=x onerror=document.title='taken'>"
_NAMES = ("chromium", "chromium-browser", "google-chrome")
# No sandbox, because tests may run as root in a container, whose /dev/shm may be too small for several browsers; no
# requests to other hosts; no process in reserve for the next page.
_OPTIONS = """
--no-sandbox --disable-dev-shm-usage --disable-gpu --disable-quic --no-first-run --disable-background-networking
--disable-component-update --disable-sync --renderer-process-limit=1
"""
_RULES = {
    "runOnly": {"type": "tag", "values": ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa"]},
    "rules": {"label-content-name-mismatch": {"enabled": True}},
    "resultTypes": ["violations"],
}
expect.set_options(timeout=20_000)  # on a machine that is busy


@dataclass
class Visit:
    """A page in a browser.

    complaints  warnings and errors of the console, and exceptions
    """

    page: Page
    url: str
    complaints: list[str] = field(default_factory=list)

    def open(self, address: str = "") -> None:
        self.page.goto(f"{self.url}/{address}")

    def at(self, css: str) -> Locator:
        return self.page.locator(css)

    def tile(self, tile: int) -> Locator:
        return self.page.locator(f"#tile-{tile}")

    def click(self, css: str) -> None:
        self.at(css).click()

    def press(self, key: str) -> None:
        """Press a key, for the element with the focus."""
        self.page.keyboard.press(key)

    def enter(self, css: str, text: str) -> None:
        self.at(css).fill(text)
        self.at(css).press("Enter")

    def type_board(self, text: str) -> None:
        self.enter("#text", text)

    def expect_board(self, board: Tiles) -> None:
        """Wait until the page shows this board; screen readers read it row by row."""
        expect(self.at("#board")).to_have_attribute("aria-owns", " ".join(f"tile-{tile}" for tile in board if tile))

    def shows(self, css: str, text: str | re.Pattern[str] | Sequence[str | re.Pattern[str]]) -> None:
        expect(self.at(css)).to_have_text(text)

    def tells(self, css: str, part: str) -> None:
        expect(self.at(css)).to_contain_text(part)

    def has_address(self, part: str) -> None:
        expect(self.page).to_have_url(re.compile(part))

    def expect_analysis(self, distance: str, *moves: str) -> None:
        """Wait until the page shows this distance, and these moves, each as its tile, direction, distance and h."""
        self.shows("#distance", distance)
        expect(self.at("#moves tr:visible")).to_have_text([re.compile(move.replace(" ", r"\s*")) for move in moves])

    def choose(self, css: str, value: str) -> None:
        self.at(css).select_option(value)

    def check_looks(self) -> None:
        """Check that what is shown keeps to WCAG 2.1 A and AA, by axe-core, and that 320 pixels are wide enough."""
        self.page.set_viewport_size({"width": 320, "height": 640})
        for colours in ("light", "dark"):
            self.page.emulate_media(color_scheme=colours, reduced_motion="reduce")
            found = Axe().run(self.page, options=_RULES).response["violations"]
            assert found == [], [(rule["id"], [node["failureSummary"] for node in rule["nodes"]]) for rule in found]
        assert self.page.evaluate("document.documentElement.scrollWidth") <= 320


def browser_path() -> str | None:
    return next(filter(None, map(shutil.which, _NAMES)), None)


@contextmanager
def browser() -> Iterator[Browser]:
    """Yield Chromium without a window, or skip the test where there is none, unless it is the gate."""
    if browser_path() is None and "TILE_PDB_GATE" not in os.environ:
        pytest.skip("tests of the page need Chromium; on Debian, run: apt-get install chromium")
    with (
        sync_playwright() as playwright,
        playwright.chromium.launch(executable_path=browser_path(), args=_OPTIONS.split()) as running,
    ):
        yield running


@contextmanager
def visiting(running: Browser, url: str, **look: Any) -> Iterator[Visit]:
    """Yield a visit of the server at `url`; `look` is for the browser context.

    At its end there must be no complaint, and no request to another server.
    """
    with running.new_context(**look) as context:
        visit = Visit(context.new_page(), url)
        asked: list[str] = []
        visit.page.on(
            "console", lambda said: visit.complaints.append(said.text) if said.type in ("error", "warning") else None
        )
        visit.page.on("pageerror", lambda error: visit.complaints.append(str(error)))
        visit.page.on("request", lambda request: asked.append(request.url))
        yield visit
        assert visit.complaints == []
        assert [address for address in asked if not address.startswith(f"{url}/")] == []
