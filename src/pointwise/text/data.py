"""Data: rows and values written for programs, as JSON and CSV."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from pointwise.text.formulas import guard


def as_json(value: Any) -> str:
    """Write a value as JSON, numbers in full precision."""
    return json.dumps(value, indent=2, ensure_ascii=False, default=str)


def as_csv(rows: Iterable[Mapping[str, Any]], columns: Sequence[str], *, is_guarded: bool = False) -> str:
    """Write rows as CSV, numbers in full precision and nothing for what is undefined.

    Args:
        rows: What to write.
        columns: Which columns, in which order.
        is_guarded: Whether to put an apostrophe in front of text that a spreadsheet would take for a formula.
    """
    lines = [columns, *([_csv_value(row.get(column)) for column in columns] for row in rows)]
    if is_guarded:
        lines = [[guard(value) for value in line] for line in lines]
    return "\n".join(_csv_line(line) for line in lines)


def _csv_line(values: Sequence[Any]) -> str:
    """Write one row. The writer quotes the characters of its own line ending, which covers lone carriage returns."""
    buffer = io.StringIO()
    csv.writer(buffer, lineterminator="\r\n").writerow(values)
    return buffer.getvalue().removesuffix("\r\n")


def _csv_value(value: Any) -> Any:
    if isinstance(value, bool):
        return "true" if value else "false"
    return json.dumps(value, ensure_ascii=False, default=str) if isinstance(value, (list, tuple, dict)) else value
