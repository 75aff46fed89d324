"""Markdown: rows as a table for a pull request or a wiki."""

from __future__ import annotations

from collections.abc import Iterable
from html import escape

from pointwise.text.drawing import Drawing
from pointwise.text.values import format_cell


def draw_markdown(drawing: Drawing) -> str:
    """Draw rows as a Markdown table."""
    columns = drawing.shown
    rules = ("---:" if drawing.holds_numbers(column) else "---" for column in columns)
    body = (_line(format_cell(column, row) for column in columns) for row in drawing.rows)
    table = [_line(column.name for column in columns), _line(rules), *body]
    return "\n".join([f"**{drawing.title}**", "", *table, *(["", drawing.note] if drawing.note else [])])


def _line(cells: Iterable[str]) -> str:
    return "| " + " | ".join(escape(c, quote=False).replace("|", "\\|").replace("\n", " ") for c in cells) + " |"
