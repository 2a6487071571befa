"""Take the pictures of README and the tutorial: `python scripts/docs_site/pictures.py`, with the extra dev.

They are a screenshot of the page of `pdb serve` in Chromium, and a plot of `pdb study heuristics`. They depend on the
browser and on matplotlib, so no test compares them.
"""

import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).parent.parent.parent
sys.path[:0] = [str(ROOT)]

from playwright.sync_api import expect  # noqa: E402

from tests.pdb_service.browsing import browser, visiting  # noqa: E402
from tests.pdb_service.server import serving  # noqa: E402

IMAGES = ROOT / "docs" / "images"
BOARD = "#board=5,1,9,3/11,13,6,8/14,10,4,15/0,12,7,2"
STEP = 12
TWO = "1,2,3,4/5,6,7,8"
PROGRAM = [sys.executable, "-c", "from pdb_cli.main import run; run()"]


def pdb(*arguments: str) -> None:
    """Run the `pdb` command."""
    subprocess.run([*PROGRAM, *arguments], check=True, stdout=subprocess.DEVNULL)


def take_page(folder: Path) -> None:
    """Take a screenshot of the page, with a solution at one of its steps."""
    pdb("build", "663", "--out", str(folder / "663.h5"))
    look = {"width": 1080, "height": 840}
    with (
        serving(folder / "663.h5") as server,
        browser() as chromium,
        visiting(chromium, server.url, viewport=look) as visit,
    ):
        visit.open(BOARD)
        visit.at("#solve").click()
        expect(visit.at("#chart")).to_be_visible(timeout=60_000)
        visit.at("#last").click()
        visit.at("#scrubber").fill(str(STEP))
        visit.page.wait_for_timeout(800)  # tiles slide
        visit.page.screenshot(path=IMAGES / "page.png")


def draw_plot(folder: Path) -> None:
    """Plot four heuristics on all boards of 3x3."""
    table = str(folder / "two.h5")
    pdb("build", TWO, "--size", "3x3", "--out", table)
    names = [word for name in ("misplaced", "manhattan", "linear-conflict") for word in ("--heuristic", name)]
    pdb("study", "heuristics", "3x3", *names, "--db", table, "--plot", str(IMAGES / "heuristics.svg"))


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as name:
        take_page(Path(name))
        draw_plot(Path(name))
