"""How results show themselves in a notebook: as an HTML table, with nothing but the standard library.

The tables are built as elements, never as text, so that every value is escaped. They have no colours of their own and
take those of the notebook, light or dark.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from xml.etree import ElementTree as ET

from pointwise.text.drawing import Drawing
from pointwise.text.values import format_cell


def draw_notes(lines: Iterable[str]) -> str:
    """Draw lines of text as paragraphs."""
    root = ET.Element("div")
    for line in lines:
        _add(root, "p", line)
    return _write(root)


def draw_html(drawing: Drawing) -> str:
    """Draw rows as an HTML table for a notebook."""
    columns = drawing.shown
    heads = [(column.name, drawing.holds_numbers(column)) for column in columns]
    texts = ([format_cell(column, row) for column in columns] for row in drawing.rows)
    return draw_grid(drawing.title, heads, texts, note=drawing.note)


def draw_grid(title: str, heads: Sequence[tuple[str, bool]], rows: Iterable[Sequence[str]], *, note: str = "") -> str:
    """Draw texts as a table.

    Args:
        title: Above the table.
        heads: The columns, each with whether it holds numbers.
        rows: The texts of each row.
        note: Below the table.
    """
    root = ET.Element("div")
    table = ET.SubElement(root, "table")
    if title:
        _add(table, "caption", title, style="text-align: left; font-weight: bold")
    line = ET.SubElement(ET.SubElement(table, "thead"), "tr")
    for name, is_number in heads:
        _add(line, "th", name, scope="col", style=_align(is_number=is_number))
    body = ET.SubElement(table, "tbody")
    for row in rows:
        line = ET.SubElement(body, "tr")
        for text, (_, is_number) in zip(row, heads, strict=True):
            _add(line, "td", text, style=_align(is_number=is_number))
    if note:
        _add(root, "p", note)
    return _write(root)


def _align(*, is_number: bool) -> str:
    return f"text-align: {'right' if is_number else 'left'}"


def _add(parent: ET.Element, tag: str, text: str, **attributes: str) -> None:
    ET.SubElement(parent, tag, attributes).text = text


def _write(root: ET.Element) -> str:
    return ET.tostring(root, encoding="unicode", method="html")
