"""A real browser for tests: Debian's Chromium, headless, without any network."""

from __future__ import annotations

import json
import os
import shutil
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from selenium import webdriver
from selenium.common.exceptions import NoSuchElementException, StaleElementReferenceException
from selenium.webdriver.chrome.service import Service
from selenium.webdriver.support.ui import WebDriverWait

AXE = Path(sys.prefix) / "axe" / "node_modules" / "axe-core" / "axe.min.js"

_FLAGS = (
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--hide-scrollbars",
)


def require(condition: object, what: str) -> None:
    """Skip visibly where something is not installed; in CI that is a failure."""
    if condition:
        return
    if os.environ.get("CI") == "true":
        pytest.fail(f"{what} is not installed, and in CI the browser tests must run")
    pytest.skip(f"{what} is not installed; `make test` installs it when root")


@contextmanager
def open_browser() -> Iterator[Browser]:
    """Start Chromium with a profile of its own, and end it."""
    binary, driver = shutil.which("chromium"), shutil.which("chromedriver")
    require(binary and driver, "Debian's chromium with chromium-driver")
    options = webdriver.ChromeOptions()
    options.binary_location = str(binary)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL", "performance": "ALL"})
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as profile:
        for flag in (*_FLAGS, f"--user-data-dir={profile}"):
            options.add_argument(flag)
        chrome = webdriver.Chrome(options=options, service=Service(driver))
        try:
            yield Browser(chrome)
        finally:
            chrome.quit()


class Browser:
    """A browser window with what the tests ask of it."""

    def __init__(self, chrome: webdriver.Chrome) -> None:
        self.chrome = chrome

    def open(self, page: Path | str, *, width: int = 1280, height: int = 900, scheme: str = "light") -> None:
        """Open a file or an address at a window size, in a light or dark scheme, forgetting what was logged before."""
        self.chrome.get_log("browser")
        self.chrome.get_log("performance")
        self.paint(scheme)
        self.resize(width, height)
        self.chrome.get(page if isinstance(page, str) else page.as_uri())

    def paint(self, scheme: str) -> None:
        """Ask for a light or dark scheme, without opening the page anew."""
        media = {"features": [{"name": "prefers-color-scheme", "value": scheme}]}
        self.chrome.execute_cdp_cmd("Emulation.setEmulatedMedia", media)

    def resize(self, width: int, height: int = 900) -> None:
        """Make the window another size, without opening the page anew."""
        size = {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": False}
        self.chrome.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", size)

    def wait(self, find: Callable[[], Any]) -> Any:
        """Return what a function finds, once it finds something."""

        def look(_: Any) -> Any:
            try:
                return find()
            except (NoSuchElementException, StaleElementReferenceException):
                return None  # while one page or question follows another

        return WebDriverWait(self.chrome, _PATIENCE, 0.05).until(look)

    def run(self, script: str, *arguments: Any) -> Any:
        """Run a script in the page."""
        return self.chrome.execute_script(script, *arguments)

    def find(self, selector: str) -> Any:
        """Find one element."""
        return self.chrome.find_element("css selector", selector)

    def texts(self, selector: str) -> list[str]:
        """Return the text of the elements that a reader sees."""
        script = "return Array.from(document.querySelectorAll(arguments[0])).filter(e => e.checkVisibility())"
        return self.run(f"{script}.map(e => e.innerText.trim())", selector)

    def messages(self) -> list[str]:
        """Return what the page wrote to the console, such as errors and refusals by its policy."""
        return [entry["message"] for entry in self.chrome.get_log("browser")]

    def requests(self) -> list[str]:
        """Return the addresses that the page asked for, without those of the browser's own pages."""
        events = [json.loads(entry["message"])["message"] for entry in self.chrome.get_log("performance")]
        sent = [event["params"] for event in events if event["method"] == "Network.requestWillBeSent"]
        urls = [event["request"]["url"] for event in sent]
        return [url for url in urls if not url.startswith("chrome:")]

    def violations(self, *schemes: str) -> list[str]:
        """Ask axe-core what keeps people from using the page; minor and moderate findings are left out.

        With schemes, ask in each of them: in the first of everything, in the others of what hangs on colours.
        """
        require(AXE.exists(), "axe-core")
        self.chrome.set_script_timeout(_PATIENCE)
        for scheme in schemes[:1]:
            self.paint(scheme)
        self.run(_SHORTEN)
        self.run(AXE.read_text())
        found = self.chrome.execute_async_script(_VIOLATIONS, [])
        for scheme in schemes[1:]:
            self.paint(scheme)
            found += self.chrome.execute_async_script(_VIOLATIONS, _ABOUT_COLOURS)
        return [f"{name}: {nodes}" for impact, name, nodes in found if impact in ("serious", "critical")]

    def overlaps(self) -> list[str]:
        """Find texts that stand on one another, in the page and inside its charts."""
        return self.run(_OVERLAPS)

    def overflow(self) -> int:
        """Return by how many pixels the page is wider than the window."""
        return self.run("return document.documentElement.scrollWidth - document.documentElement.clientWidth")


_PATIENCE = 180  # seconds
_SHORTEN = """
for (const table of document.querySelectorAll("table.sortable")) {
  Array.from(table.tBodies).slice(8).forEach(b => b.remove());
}
const seen = {};
for (const table of document.querySelectorAll("table.listing")) {
  Array.from(table.querySelectorAll(":scope > tbody > tr")).forEach((row, n) => {
    const parts = [row, ...row.querySelectorAll("*")];
    const kind = parts.map(e => [e.tagName, e.getAttribute("class"), ...e.getAttributeNames()].join()).join(" ");
    seen[kind] = (seen[kind] || 0) + 1;
    if (n > 0 && seen[kind] > 4) row.remove();
  });
}
"""
"""The rows of tables are alike; axe-core need not look at all of them.

Of listings it sees the first row of each, and four rows of every make-up: of the same elements, classes and attributes.
"""

_VIOLATIONS = """
const [only, done] = arguments;
const isMild = rule => ["minor", "moderate"].includes(rule.impact);
const mild = Object.fromEntries(axe._audit.rules.filter(isMild).map(rule => [rule.id, {enabled: false}]));
const chosen = only.length ? {runOnly: {type: "rule", values: only}} : {rules: mild};
axe.run({resultTypes: ["violations"], ...chosen}).then(r => done(r.violations.map(
  v => [v.impact, v.id, v.nodes.slice(0, 3).map(n => n.html).join(" ")])));
"""

_ABOUT_COLOURS = ["color-contrast", "link-in-text-block"]
"""The rules of axe-core that compare colours. All others ask what stands in the page, which no scheme changes."""

_OVERLAPS = """
const found = [];
function check(elements, slack) {
  const boxes = elements.filter(e => e.checkVisibility()).map(e => [e, e.getBoundingClientRect()]);
  boxes.forEach(([a, p], n) => boxes.slice(n + 1).forEach(([b, q]) => {
    if (a.contains(b) || b.contains(a)) return;
    const across = Math.min(p.right, q.right) - Math.max(p.left, q.left);
    const down = Math.min(p.bottom, q.bottom) - Math.max(p.top, q.top);
    if (across > slack && down > slack) found.push(a.textContent.slice(0, 40) + " / " + b.textContent.slice(0, 40));
  }));
}
const blocks = "h1, h2, h3, main > p, section > p, nav a, dt, dd, figure, .card, .scroll";
check(Array.from(document.querySelectorAll(blocks)), 1);
for (const row of document.querySelectorAll("tr")) check(Array.from(row.querySelectorAll(":scope > *")), 1);
for (const card of document.querySelectorAll(".card")) check(Array.from(card.children), 1);
for (const svg of document.querySelectorAll("svg")) check(Array.from(svg.querySelectorAll("text")), 3);
return found;
"""
