"""Output: results on standard output in the format asked for, everything else on standard error."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Iterable, Mapping, Sequence
from html import escape
from typing import TYPE_CHECKING, Any

from pointwise.cli.options import Format
from pointwise.cli.streams import put_text, say

if TYPE_CHECKING:
    from pointwise.answers.tables import MetricTable

__all__ = ["draw_csv", "draw_cut", "draw_json", "draw_markdown", "put_rows", "put_table", "put_text", "say"]

Rows = Sequence[Mapping[str, Any]]

SHOWN_ROWS = 20


def put_table(table: MetricTable, kind: Format, *, limit: int | None = None) -> None:
    """Write a table of metrics; one for people is cut at some rows unless a limit is given."""
    if kind in (Format.table, Format.markdown):
        put_text(draw_cut(table, kind, limit=limit))
    else:
        table = table if limit is None else table.head(limit)
        put_rows(table.title, table.to_dicts(), kind, columns=table.columns)


def draw_cut(table: MetricTable, kind: Format, *, limit: int | None = None) -> str:
    """Draw a table for people, cut at some rows unless a limit is given, with what they should know."""
    from pointwise.text.terminal import draw_table

    rows = table.head(limit or SHOWN_ROWS).to_drawn_dicts()
    total = len(rows) if limit is not None or len(rows) < SHOWN_ROWS else len(table)
    notes = [f"{len(rows)} of {total:,} rows; --limit shows more"] if total > len(rows) else []
    note = "; ".join([*notes, *table.notes_on(rows)])
    draw = draw_markdown if kind is Format.markdown else draw_table
    return draw(table.title, table.drawn_columns, rows, note=note)


def put_rows(
    title: str, rows: Rows, kind: Format, *, columns: Sequence[str] | None = None, note: str = "", whole: Any = None
) -> None:
    """Write rows.

    Args:
        title: What they are.
        rows: What to write.
        kind: How.
        columns: Their columns, in order.
        note: What people should know.
        whole: What to write as JSON, if that is more than the rows.
    """
    names = list(columns if columns is not None else rows[0] if rows else ())
    if kind is Format.json:
        put_text(draw_json(list(rows) if whole is None else whole))
    elif kind is Format.csv:
        put_text(draw_csv(rows, names))
    elif kind is Format.markdown:
        put_text(draw_markdown(title, names, rows, note=note))
    else:
        from pointwise.text.terminal import draw_table

        put_text(draw_table(title, names, [dict(row) for row in rows], note=note))


def draw_json(value: Any) -> str:
    """Write a value as JSON, numbers in full precision."""
    return json.dumps(value, indent=2, ensure_ascii=False, default=str)


def draw_csv(rows: Iterable[Mapping[str, Any]], columns: Sequence[str]) -> str:
    """Write rows as CSV, numbers in full precision and nothing for what is undefined."""
    lines = [columns, *([_csv_value(row.get(column)) for column in columns] for row in rows)]
    return "\n".join(_csv_line(line) for line in lines)


def _csv_line(values: Sequence[Any]) -> str:
    """Write one row. The writer quotes what its own line ending consists of, and a lone `\\r` needs quotes too."""
    buffer = io.StringIO()
    csv.writer(buffer, lineterminator="\r\n").writerow(values)
    return buffer.getvalue().removesuffix("\r\n")


def _csv_value(value: Any) -> Any:
    if isinstance(value, bool):
        return "true" if value else "false"
    return json.dumps(value, ensure_ascii=False, default=str) if isinstance(value, (list, tuple, dict)) else value


def draw_markdown(title: str, columns: Sequence[str], rows: Rows, *, note: str = "") -> str:
    """Draw rows as a Markdown table."""
    from pointwise.text.values import format_cell, shown_columns

    columns = shown_columns(columns)

    def line(cells: Iterable[str]) -> str:
        return "| " + " | ".join(escape(c, quote=False).replace("|", "\\|").replace("\n", " ") for c in cells) + " |"

    numbers = {c for c in columns if any(isinstance(row.get(c), (int, float)) for row in rows)}
    body = [line(format_cell(c, row) for c in columns) for row in rows]
    table = [line(columns), line("---:" if c in numbers else "---" for c in columns), *body]
    return "\n".join([f"**{title}**", "", *table, *(["", note] if note else [])])
