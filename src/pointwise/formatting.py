"""Formatting: values and counts, written for people."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

from pointwise.columns import HIGH, ITEMS, LOW, SHARE, UNDEFINED, WEIGHT


def format_value(column: str, value: Any) -> str:
    """Write a value for people: shares as percentages, counts with separators, metrics with four digits."""
    if value is None:
        return "–"
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, int):
        return f"{value:,}" if column.endswith((ITEMS, "clusters")) else str(value)
    return _format_float(column, value) if isinstance(value, float) else str(value)


def _format_float(column: str, value: float) -> str:
    if column.endswith((SHARE, UNDEFINED)):
        return format_share(value)
    if column.endswith(_SIGNED):
        return format_difference(value)
    return format_weight(value) if column.endswith(WEIGHT) or column in _WEIGHTS else format_metric(value)


_WEIGHTS = ("tp", "fp", "fn", "tn")
_SIGNED = ("delta", "contribution")


def shown_columns(columns: Sequence[str]) -> list[str]:
    """Leave out the ends of intervals, which stand beside their values when drawn."""
    return [c for c in columns if not any(c.endswith(end) and c.removesuffix(end) in columns for end in (LOW, HIGH))]


def format_cell(column: str, row: Mapping[str, Any]) -> str:
    """Write a value for people, with half the width of its interval if it has one."""
    text = format_value(column, row.get(column))
    if column + LOW not in row or row.get(column) is None:
        return text
    low, high = row[column + LOW], row[column + HIGH]
    reach = "–" if low is None else "±" + f"{(high - low) / 2:.4f}".removeprefix("0")
    return f"{text} {reach:>6}"


def format_count(number: int, noun: str) -> str:
    """Write a number of things: 1 item, 2 items."""
    return f"{number:,} {noun}" if number == 1 else f"{number:,} {noun}s"


def format_metric(value: float) -> str:
    """Write a metric; one that is not quite 0 or 1 does not look like it."""
    if math.isnan(value):
        return "–"
    if abs(value) >= 1000:  # noqa: PLR2004  # a count, such as of pairs
        return format_weight(value)
    text = f"{value:.4f}"
    if text == "1.0000" and value < 1:
        return ">0.9999"
    if text in ("0.0000", "-0.0000") and value != 0:
        return "<0.0001" if value > 0 else ">-0.0001"
    return text


def format_difference(value: float) -> str:
    """Write a difference with its sign; one that is not quite 0 does not look like it."""
    text = f"{value:+.4f}"
    if text in ("+0.0000", "-0.0000"):
        return "0.0000" if abs(value) < 1e-12 else f"{text[0]}<0.0001"  # noqa: PLR2004  # what rounding leaves of zero
    return text


def format_share(value: float) -> str:
    """Write a share as a percentage; one that is not quite none or all does not look like it."""
    text = f"{value:.1%}"
    if text == "100.0%" and value < 1:
        return ">99.9%"
    return "<0.1%" if text == "0.0%" and value > 0 else text


def format_weight(value: float) -> str:
    """Write a weight without digits that say nothing."""
    return f"{value:,.0f}" if value.is_integer() or abs(value) >= 1e6 else f"{value:,.6g}"  # noqa: PLR2004
