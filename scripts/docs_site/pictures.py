"""Take the pictures of the page of `pdb serve` in Chromium, with the extra dev: docs/images/page.png and page.webp.

page.png is one step of a solution. page.webp is the moving picture of README.md: a board is solved, and its solution
is played.

python -m scripts.docs_site.pictures
"""

import io

from PIL import Image
from playwright.sync_api import expect

from tests import ROOT
from tests.pdb_service.browsing import Visit, browser, visiting
from tests.pdb_service.server import serving
from tests.tables import table_file

BOARD = "#board=5,1,9,3/11,13,6,8/14,10,4,15/0,12,7,2"
N_MOVES = 41
STEP = 12
IMAGES = ROOT / "docs" / "images"
# Milliseconds that a tile slides, and that each frame, the first and the last are shown.
_SLIDE, _SHORT, _LONG = 400, 220, 2500
_WIDTH = 720


def frame(visit: Visit) -> Image.Image:
    """Return the page as a small picture."""
    picture = Image.open(io.BytesIO(visit.page.screenshot())).convert("RGB")
    return picture.resize((_WIDTH, picture.height * _WIDTH // picture.width), Image.Resampling.LANCZOS)


def main() -> None:
    look = {"width": 1440, "height": 960}
    with (
        serving(table_file("663", "4x4", encoding="bits")) as server,
        browser() as chromium,
        visiting(chromium, server.url, viewport=look) as visit,
    ):
        visit.open(BOARD)
        visit.page.wait_for_timeout(2 * _SLIDE)
        frames = [frame(visit)]
        visit.at("#solve").click()
        expect(visit.at("#chart")).to_be_visible(timeout=60_000)
        visit.at("#last").click()
        for step in range(N_MOVES + 1):
            visit.at("#scrubber").fill(str(step))
            visit.page.wait_for_timeout(2 * _SLIDE)
            frames.append(frame(visit))
            if step == STEP:
                visit.page.screenshot(path=IMAGES / "page.png")
    first, *others = frames
    durations = [_LONG, *([_SHORT] * (len(others) - 1)), _LONG]
    first.save(
        IMAGES / "page.webp", save_all=True, append_images=others, duration=durations, loop=0, quality=55, method=6
    )


if __name__ == "__main__":
    main()
