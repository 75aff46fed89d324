"""The site builds without a warning, lists every page, needs no other host, and can be searched from a folder."""

from __future__ import annotations

import re
import runpy
import subprocess
import sys
import time
import tomllib
from importlib.util import find_spec
from pathlib import Path

import pytest

import pointwise as pw
from browser import Browser, open_browser, require

ROOT = Path(__file__).parent.parent
DOCS = ROOT / "docs"
SETTINGS = ROOT / "zensical.toml"

# Parts of messages, as somebody might copy them, and where they are explained.
MESSAGES = {
    "appears more than once": "RepeatedItemError",
    "does not tell its format": "SourceError",
    "looks like data, not like the names": "SourceError",
    "There is no column 'country' to slice by": "MissingColumnError",
    "is not a stored run": "RunError",
    "its checksum differs": "RunError",
    "which look like pairs of items": "InputError",
    "have no item in common": "NoCommonItemsError",
}

_ASK = """
const shadow = document.activeElement.shadowRoot;
const input = shadow?.querySelector("input");
if (!input) return "";
if (input.value !== arguments[0]) {
  Object.getOwnPropertyDescriptor(HTMLInputElement.prototype, "value").set.call(input, arguments[0]);
  input.dispatchEvent(new Event("input", {bubbles: true}));
}
return shadow.textContent;
"""


@pytest.fixture(scope="module")
def site():
    require(find_spec("zensical"), "zensical")
    done = subprocess.run(
        [sys.executable, "-m", "zensical", "build", "--strict", "--clean"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return ROOT / tomllib.loads(SETTINGS.read_text(encoding="utf-8"))["project"]["site_dir"]


def test_every_page_has_its_place():
    listed = re.findall(r'"([\w-]+\.md)"', SETTINGS.read_text(encoding="utf-8"))
    assert sorted(listed) == sorted(page.name for page in DOCS.glob("*.md"))


def test_everything_public_is_in_the_reference():
    listed = set(re.findall(r"^::: pointwise\.(\w+)$", (DOCS / "api.md").read_text(encoding="utf-8"), re.MULTILINE))
    elsewhere = {"__version__", "charts", "col", "engines", "errors"}
    assert listed | elsewhere == set(pw.__all__)


def test_every_chart_is_in_the_reference():
    listed = re.findall(r"^::: pointwise\.charts\.(\w+)$", (DOCS / "api.md").read_text(encoding="utf-8"), re.MULTILINE)
    assert sorted(listed) == sorted(pw.charts.__all__)


def test_the_page_of_metrics_is_the_metric_table():
    page = runpy.run_path(str(DOCS / "make_metrics.py"))["write_page"]()
    assert page == (DOCS / "metrics.md").read_text(encoding="utf-8"), "run python docs/make_metrics.py docs/metrics.md"


def test_the_figures_show_what_pointwise_computes():
    figures = runpy.run_path(str(DOCS / "make_figures.py"))["FIGURES"]
    drawn = {name: draw() for name, draw in figures.items()}
    stored = {path.name: path.read_text(encoding="utf-8") for path in (DOCS / "figures").iterdir()}
    assert drawn == stored, "run python docs/make_figures.py docs/figures"


def test_all_errors_are_explained():
    explained = (DOCS / "errors.md").read_text(encoding="utf-8")
    names = [name for name, one in vars(pw.errors).items() if isinstance(one, type) and issubclass(one, Exception)]
    assert [name for name in names if f"`{name}`" not in explained] == []


def test_messages_are_quoted_as_they_are_raised():
    """Every quoted message is one that an example shows, or that stands in the code."""
    explained = " ".join((DOCS / "errors.md").read_text(encoding="utf-8").split())
    code = "\n".join(path.read_text(encoding="utf-8") for path in (ROOT / "src").rglob("*.py"))
    said = re.sub(r'"\s*\n\s*f?"', "", code)  # a long message is written in several pieces
    quoted = [words.removesuffix(" …") for words in re.findall(r"\*“([^”]+)”\*", explained)]
    assert len(quoted) > 25
    assert [words for words in quoted if explained.count(words) < 2 and words not in said] == []


def test_pages_load_nothing_from_another_host(site):
    pages = list(site.glob("*.html"))
    assert len(pages) > len(list(DOCS.glob("*.md")))
    loaded = re.compile(r'<(?:script|img|iframe)[^>]+src="(?:https?:)?//|<link[^>]+stylesheet[^>]+href="(?:https?:)?//')
    assert [page.name for page in pages if loaded.search(page.read_text(encoding="utf-8"))] == []


def test_search_works_from_a_folder_without_a_network(site):
    with open_browser() as browser:
        browser.open(site / "index.html")
        browser.find(".md-search__button").click()
        assert "intervals are made" in ask(browser, "Satterthwaite", until="intervals are made")
        for message, error in MESSAGES.items():
            assert error in ask(browser, message, until=error)
        assert [url for url in browser.requests() if not url.startswith(("file:", "data:", "about:"))] == []


def ask(browser: Browser, words: str, *, until: str) -> str:
    """Search the site, and wait until something is found."""
    found, deadline = "", time.monotonic() + 60
    while until not in found and time.monotonic() < deadline:
        found = browser.run(_ASK, words)
        time.sleep(0.05)
    return found
