"""Drawing: rows as a table for a terminal or for a notebook."""

from __future__ import annotations

import io
import shutil
from collections.abc import Sequence
from typing import Any

from pointwise.formatting import format_cell, shown_columns
from pointwise.notebook import draw_grid


def draw_table(title: str, columns: Sequence[str], rows: Sequence[dict[str, Any]], *, note: str = "") -> str:
    """Draw rows as text for a terminal; as one list per row where the terminal is too narrow for a table."""
    from rich.console import Console

    buffer = io.StringIO()
    width = _terminal_width()
    console = Console(file=buffer, width=width, no_color=True, highlight=False)
    columns = shown_columns(columns)
    cells = [[_one_line(format_cell(c, row)) for c in columns] for row in rows]
    if _least_width(columns, rows, cells) <= width:
        console.print(_rich_table(title, columns, rows, cells))
    else:
        name_width = max(map(len, columns))
        records = ["\n".join(f"{c:<{name_width}}  {v}" for c, v in zip(columns, row, strict=True)) for row in cells]
        console.print("\n\n".join([title, *records]), markup=False)
    if note:
        console.print(note, markup=False)
    return "\n".join(line.rstrip() for line in buffer.getvalue().rstrip("\n").split("\n"))


def _least_width(columns: Sequence[str], rows: Sequence[dict[str, Any]], cells: Sequence[Sequence[str]]) -> int:
    """Return how wide a table must be so that no number breaks; text and headers may."""
    widths = []
    for number, column in enumerate(columns):
        longest = max((len(row[number]) for row in cells), default=0)
        widths.append(longest if _is_number(column, rows) else min(longest, _LEAST_TEXT_WIDTH))
    return sum(width + _PADDING for width in widths)


_LEAST_TEXT_WIDTH = 12
_PADDING = 3


def _is_number(column: str, rows: Sequence[dict[str, Any]]) -> bool:
    return any(isinstance(row.get(column), (int, float)) for row in rows)


def _rich_table(
    title: str, columns: Sequence[str], rows: Sequence[dict[str, Any]], cells: Sequence[Sequence[str]]
) -> Any:
    from rich.box import SIMPLE_HEAD
    from rich.table import Table
    from rich.text import Text

    table = Table(title=Text(title) if title else None, box=SIMPLE_HEAD, title_justify="left", pad_edge=False)
    for column, header in zip(columns, _headers(columns, cells), strict=True):
        is_number = _is_number(column, rows)
        table.add_column(Text(header), justify="right" if is_number else "left", overflow="fold", no_wrap=is_number)
    for texts in cells:
        table.add_row(*(Text(text) for text in texts))
    return table


def _headers(columns: Sequence[str], cells: Sequence[Sequence[str]]) -> list[str]:
    """Break long names at their underscores where the table would be too wide otherwise."""
    widths = [max((len(row[n]) for row in cells), default=0) for n in range(len(columns))]
    gap = 3
    if sum(max(len(c), width) + gap for c, width in zip(columns, widths, strict=True)) <= _terminal_width():
        return list(columns)
    return [c.replace("_", "_\n") if len(c) > width else c for c, width in zip(columns, widths, strict=True)]


def _one_line(text: str) -> str:
    return "".join(c if c.isprintable() else repr(c)[1:-1] for c in text)


def _terminal_width() -> int:
    return max(20, shutil.get_terminal_size(fallback=(120, 24)).columns)


def draw_html(title: str, columns: Sequence[str], rows: Sequence[dict[str, Any]], *, note: str = "") -> str:
    """Draw rows as an HTML table for a notebook."""
    columns = shown_columns(columns)
    heads = [(c, any(isinstance(row.get(c), (int, float)) for row in rows)) for c in columns]
    return draw_grid(title, heads, ([format_cell(c, row) for c in columns] for row in rows), note=note)
