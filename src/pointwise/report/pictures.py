"""Pictures: charts drawn once, when the report is written, as SVG inside the page.

A drawn chart is small, prints well, and needs no script: the page can forbid everything that runs or loads.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any
from xml.etree import ElementTree as ET

import vl_convert
from markupsafe import Markup

from pointwise.charts.style import INK

_SVG = "http://www.w3.org/2000/svg"
_ROUGH = re.compile(r"-?\d+\.\d{3,}")
_REFERENCE = re.compile(r"url\(#([^)]+)\)")


@dataclass(frozen=True)
class Picture:
    """A drawn chart.

    Args:
        svg: The drawing, safe to put into a page.
        description: What it shows, for those who cannot see it.
    """

    svg: Markup
    description: str


def draw_chart(chart: Any, numbers: Iterator[int]) -> Picture:
    """Draw an Altair chart as SVG.

    Args:
        chart: The chart.
        numbers: Gives each picture of a page a number, which keeps the names inside the pictures apart.
    """
    specification = chart.to_dict(validate=False)  # the tests validate every chart
    description = specification.get("description", "")
    # The drawing is parsed and written again, so that only well-formed SVG gets into the page.
    root = ET.fromstring(vl_convert.vegalite_to_svg(specification))  # noqa: S314  # our own drawing
    _fit_page(root, description, prefix=f"p{next(numbers)}-")
    ET.register_namespace("", _SVG)
    return Picture(Markup(ET.tostring(root, encoding="unicode")), description)  # noqa: S704  # escaped by the XML writer


def _fit_page(root: ET.Element, description: str, *, prefix: str) -> None:
    root.set("role", "img")
    root.set("aria-label", description)
    root.set("style", f"width:{root.get('width')}px")
    for name in ("width", "height"):
        root.attrib.pop(name, None)
    for element in root.iter():
        if element.get("aria-roledescription") == "title":
            element.attrib.pop("aria-label", None)
        _add_tip(element)
        _rewrite(element, prefix)


def _add_tip(element: ET.Element) -> None:
    """Say what a mark stands for on hover."""
    said = element.attrib.pop("aria-label", None) if element.get("role") == "graphics-symbol" else None
    if said and element.get("aria-roledescription") not in ("axis", "legend"):
        title = ET.Element(f"{{{_SVG}}}title")
        title.text = said
        element.insert(0, title)
    for name in ("role", "aria-roledescription", "aria-hidden"):
        if element.get("role") != "img":
            element.attrib.pop(name, None)


def _rewrite(element: ET.Element, prefix: str) -> None:
    """Use the page's own text colour, keep ids apart, and drop digits that nobody sees."""
    for name, value in element.attrib.items():
        if name == "id":
            element.set(name, prefix + value)
        elif value == INK:
            element.set(name, "currentColor")
        elif "url(#" in value:
            element.set(name, _REFERENCE.sub(rf"url(#{prefix}\1)", value))
        elif name in ("d", "transform"):
            element.set(name, _ROUGH.sub(lambda m: f"{float(m[0]):.2f}", value))


def count_pictures() -> Iterator[int]:
    """Number the pictures of one page."""
    return itertools.count(1)
