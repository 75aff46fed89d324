"""What results show of themselves in a notebook."""

from __future__ import annotations

import subprocess
import sys
from html.parser import HTMLParser

import pytest

import pointwise as pw
from pointwise.text.notebook import draw_grid, draw_notes

EVIL = "<img src=x onerror=alert(1)>"


class Reader(HTMLParser):
    """Collects tags and text."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.text: list[str] = []
        self.feed(html)

    def handle_starttag(self, tag, attrs):  # noqa: ARG002
        self.tags.append(tag)

    def handle_data(self, data):
        self.text.append(data)


@pytest.fixture
def evaluation() -> pw.Evaluation:
    return pw.evaluate(ideal={EVIL: "a", "b": "a"}, actual={EVIL: "</table>", "b": "x"})


@pytest.mark.parametrize(
    "look",
    [
        lambda e: e,
        lambda e: e.overall,
        lambda e: e.by_item(),
        lambda e: e.by_actual_cluster(),
        lambda e: e.mistakes(),
        lambda e: pw.compare(variants={EVIL: e, "again": e}),
    ],
)
def test_values_show_as_text(evaluation: pw.Evaluation, look):
    found = Reader(look(evaluation)._repr_html_())
    assert "img" not in found.tags
    assert found.tags.count("table") >= 1


def test_names_are_whole(evaluation: pw.Evaluation):
    found = Reader(evaluation.by_item()._repr_html_())
    assert EVIL in found.text
    assert "</table>" in found.text


def test_numbers_stand_on_the_right():
    html = draw_grid("Title", [("name", False), ("n", True)], [["a", "1"]], note="that is all")
    assert '<td style="text-align: right">1</td>' in html
    assert '<td style="text-align: left">a</td>' in html
    assert Reader(html).text == ["Title", "name", "n", "a", "1", "that is all"]


def test_notes_are_paragraphs():
    assert draw_notes(["a & b"]) == "<div><p>a &amp; b</p></div>"


def test_needs_no_extra():
    code = (
        "import sys, pointwise as pw\n"
        "pw.evaluate(ideal={'a': 1}, actual={'a': 1})._repr_html_()\n"
        "assert not {'altair', 'jinja2', 'vl_convert'} & set(sys.modules)\n"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


def test_charts_without_the_extra_say_how_to_get_it():
    code = (
        "import sys, pointwise as pw\n"
        "sys.modules['altair'] = None\n"
        "try:\n"
        "    pw.evaluate(ideal={'a': 1}, actual={'a': 1}).plot\n"
        "except pw.PointwiseError as error:\n"
        "    assert \"pip install 'pointwise[report]'\" in str(error)\n"
        "else:\n"
        "    raise SystemExit('no error')\n"
    )
    subprocess.run([sys.executable, "-c", code], check=True)
