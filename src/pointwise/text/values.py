"""Formatting: values and counts, written for people."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

from pointwise.columns import HIGH, ITEMS, LOW, SHARE, UNDEFINED, WEIGHT

MISSING = "(missing)"
"""What people read where items have no value to slice by. In data it is null."""


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
    """Write a value for people, with its interval if it has one."""
    return f"{format_value(column, row.get(column))} {format_interval(column, row)}".rstrip()


def format_interval(column: str, row: Mapping[str, Any]) -> str:
    """Write the interval of a value, if it has one: its ends are not sure to the last digit themselves."""
    low, high = row.get(column + LOW), row.get(column + HIGH)
    if low is None or high is None:
        return ""
    if column.endswith(_SIGNED):
        return f"[{format_difference(low)}, {format_difference(high)}]"
    return f"[{format_metric(low, 3)}, {format_metric(high, 3)}]"


def format_key(value: Any) -> str:
    """Write what makes a slice."""
    return MISSING if value is None else format_value("", value)


def format_count(number: int, noun: str) -> str:
    """Write a number of things: 1 item, 2 items."""
    return f"{number:,} {noun}" if number == 1 else f"{number:,} {noun}s"


def format_metric(value: float, digits: int = 4) -> str:
    """Write a metric; one that is not quite 0 or 1 does not look like it."""
    if math.isnan(value):
        return "–"
    if abs(value) >= 1000:  # noqa: PLR2004  # a count, such as of pairs
        return format_weight(value)
    text, least = f"{value:.{digits}f}", f"{10**-digits:.{digits}f}"
    if float(text) == 1 and value < 1:
        return f">{1 - 10**-digits:.{digits}f}"
    if float(text) == 0 and value != 0:
        return f"<{least}" if value > 0 else f">-{least}"
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


def short(value: Any, longest: int = 80) -> str:
    """Write a value the way Python does, cut where it is long."""
    text = repr(value)
    return text if len(text) <= longest else text[: longest - 1] + "…"
