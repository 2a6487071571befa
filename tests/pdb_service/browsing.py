"""Chromium for the tests of the page, with a new profile for each visit."""

import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

from playwright.sync_api import Browser, Locator, Page, expect, sync_playwright

from pdb_core.puzzle import Tiles

_NAMES = ("chromium", "chromium-browser", "google-chrome")
# No sandbox, because tests may run as root in a container; no requests to other hosts.
_OPTIONS = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
]


@dataclass
class Visit:
    """A page in a browser.

    complaints  warnings and errors of the console, and exceptions
    elsewhere   addresses of requests to other servers
    """

    page: Page
    url: str
    complaints: list[str] = field(default_factory=list)
    elsewhere: list[str] = field(default_factory=list)

    def open(self, address: str = "") -> None:
        self.page.goto(f"{self.url}/{address}")

    def at(self, css: str) -> Locator:
        return self.page.locator(css)

    def tile(self, tile: int) -> Locator:
        return self.page.locator(f"#tile-{tile}")

    def type_board(self, text: str) -> None:
        self.at("#text").fill(text)
        self.at("#text").press("Enter")

    def expect_board(self, board: Tiles) -> None:
        """Wait until the page shows this board; screen readers read it row by row."""
        expect(self.at("#board")).to_have_attribute("aria-owns", " ".join(f"tile-{tile}" for tile in board if tile))

    def choose(self, css: str, value: str) -> None:
        self.at(css).select_option(value)


@contextmanager
def browser() -> Iterator[Browser]:
    """Yield Chromium without a window."""
    path = next(filter(None, map(shutil.which, _NAMES)), None)
    assert path is not None, "the tests of the page need Chromium; on Debian: apt-get install chromium"
    with sync_playwright() as playwright:
        running = playwright.chromium.launch(executable_path=path, args=_OPTIONS)
        try:
            yield running
        finally:
            running.close()


@contextmanager
def visiting(running: Browser, url: str, **options: Any) -> Iterator[Visit]:
    """Yield a visit of the server at `url`, with options of a browser context such as `viewport`."""
    context = running.new_context(**options)
    visit = Visit(context.new_page(), url)
    visit.page.on(
        "console", lambda said: visit.complaints.append(said.text) if said.type in ("error", "warning") else None
    )
    visit.page.on("pageerror", lambda error: visit.complaints.append(str(error)))
    visit.page.on(
        "request", lambda asked: None if asked.url.startswith(f"{url}/") else visit.elsewhere.append(asked.url)
    )
    try:
        yield visit
    finally:
        context.close()
