"""Take the pictures that the pages show: the report that `pointwise demo` writes, and a few pages of the explorer.

`make screenshot` runs it, with the browser of the tests.
"""

from __future__ import annotations

import base64
import sys
import tempfile
from pathlib import Path

import pointwise as pw
from browser import Browser, open_browser
from pointwise.cli.demo import REPORT, compare_releases
from pointwise.explorer.urls import link
from visiting import serving

WIDTH, REPORT_HEIGHT = 1200, 1300
RELEASES = ("2018-05-28", "2020-03-31", "2021-12-30", "2022-06-30")
RUN = RELEASES[-1]
PAGES = {
    "explorer.png": (link("run", RUN, "mistakes", kind="under-merge"), 760),
    "explorer-run.png": (link("run", RUN), 760),
    "explorer-cluster.png": (link("run", RUN, "cluster", "ideal", "inventor-065", part="243"), 720),
    "explorer-item.png": (link("run", RUN, "item", "US10383030-1"), 860),
}
"""Pages of the explorer, with how much of each is seen."""


def take_screenshots(folder: Path) -> None:
    """Save what is seen first of the report and of pages of the explorer."""
    with tempfile.TemporaryDirectory() as temporary, open_browser() as browser:
        browser.open(compare_releases().report(Path(temporary) / REPORT), width=WIDTH, height=REPORT_HEIGHT)
        _save(browser, folder / "report.png")
        runs = Path(temporary, "runs")
        runs.mkdir()
        _store_runs(runs)
        with serving(runs, attributes=str(pw.datasets.patentsview().attributes)) as entrance:
            browser.open(entrance)
            base = entrance.partition("/?")[0]
            for name, (page, height) in PAGES.items():
                browser.open(base + page, width=WIDTH, height=height)
                _save(browser, folder / name)


def _store_runs(folder: Path) -> None:
    data = pw.datasets.patentsview()
    for name in RELEASES:
        pw.evaluate(ideal=data.truth, actual=data.releases[name], outside="wrong").save(folder / name)


def _save(browser: Browser, target: Path) -> None:
    image = browser.chrome.execute_cdp_cmd("Page.captureScreenshot", {"format": "png"})["data"]
    target.write_bytes(base64.b64decode(image))


if __name__ == "__main__":
    take_screenshots(Path(sys.argv[1]))
