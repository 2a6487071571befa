"""Take the picture of the page of `pdb serve`, docs/images/page.png, in Chromium, with the extra dev.

python -m scripts.docs_site.pictures
"""

from playwright.sync_api import expect

from tests import ROOT
from tests.pdb_service.browsing import browser, visiting
from tests.pdb_service.server import serving
from tests.tables import table_file

BOARD = "#board=5,1,9,3/11,13,6,8/14,10,4,15/0,12,7,2"
STEP = 12

if __name__ == "__main__":
    look = {"width": 1080, "height": 840}
    with (
        serving(table_file("663", "4x4", encoding="bits")) as server,
        browser() as chromium,
        visiting(chromium, server.url, viewport=look) as visit,
    ):
        visit.open(BOARD)
        visit.at("#solve").click()
        expect(visit.at("#chart")).to_be_visible(timeout=60_000)
        visit.at("#last").click()
        visit.at("#scrubber").fill(str(STEP))
        visit.page.wait_for_timeout(800)  # tiles slide
        visit.page.screenshot(path=ROOT / "docs" / "images" / "page.png")
