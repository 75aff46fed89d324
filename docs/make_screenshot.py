"""Take the picture that README.md shows: the top of the report that `pointwise demo` writes.

`make screenshot` runs it, with the browser of the tests.
"""

from __future__ import annotations

import base64
import sys
import tempfile
from pathlib import Path

from browser import open_browser
from pointwise.cli.demo import REPORT, compare_releases

WIDTH, HEIGHT = 1200, 1330


def take_screenshot(target: Path) -> None:
    """Write the report of the demonstration, open it, and save what is seen first."""
    with tempfile.TemporaryDirectory() as folder, open_browser() as browser:
        browser.open(compare_releases().report(Path(folder) / REPORT), width=WIDTH, height=HEIGHT)
        image = browser.chrome.execute_cdp_cmd("Page.captureScreenshot", {"format": "png"})["data"]
    target.write_bytes(base64.b64decode(image))


if __name__ == "__main__":
    take_screenshot(Path(sys.argv[1]))
