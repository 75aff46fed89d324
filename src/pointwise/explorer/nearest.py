"""The nearest ids to one that does not exist, for somebody who mistyped one."""

from __future__ import annotations

from typing import Any

import narwhals.stable.v2 as nw

from pointwise.engines import Engine

_EACH_WAY = 3


def find_nearest(frame: nw.LazyFrame, column: str, key: str, engine: Engine) -> list[Any]:
    """Find the ids just before and just after one in their order, without sorting all of them."""
    is_text = isinstance(frame.collect_schema()[column], nw.String)
    if not is_text and not _is_whole(key):
        return []
    given: Any = key if is_text else int(key)

    def collect(condition: nw.Expr, *, is_down: bool) -> list[Any]:
        found = _distinct(frame.filter(condition), column).sort(column, descending=is_down).head(_EACH_WAY)
        ids: list[Any] = engine.collect(found)[column].to_pylist()
        return ids

    before, after = nw.col(column) < given, nw.col(column) >= given
    return [*reversed(collect(before, is_down=True)), *collect(after, is_down=False)]


def _distinct(frame: nw.LazyFrame, column: str) -> nw.LazyFrame:
    return frame.group_by(column).agg(nw.len().alias("rows")).select(column)


def _is_whole(text: str) -> bool:
    digits = text.removeprefix("-")
    return digits.isascii() and digits.isdecimal() and len(digits) <= len(str(2**63)) and abs(int(text)) < 2**63


def _begins_with(column: nw.Expr, number: int, *, is_negative: bool) -> nw.Expr:
    """Tell which integers are written with the digits of another one first, by ranges, which a sorted file finds."""
    condition: nw.Expr = column == number
    digits, most = abs(number), 2**63 - 1
    least, beyond = 10 * digits, 10 * (digits + 1)
    while digits and least <= most:
        last = min(beyond - 1, most)
        low, high = (-last, -least) if is_negative else (least, last)
        condition = condition | ((column >= low) & (column <= high))
        least, beyond = 10 * least, 10 * beyond
    return condition


def starts_with(frame: nw.LazyFrame, column: str, prefix: str, engine: Engine, *, limit: int) -> list[Any]:
    """Find the first ids that begin with a text."""
    if isinstance(frame.collect_schema()[column], nw.String):
        condition = nw.col(column).str.starts_with(prefix)
    elif _is_whole(prefix):
        condition = _begins_with(nw.col(column), int(prefix), is_negative=prefix.startswith("-"))
    else:
        return []
    found = _distinct(frame.filter(condition), column).sort(column).head(limit)
    ids: list[Any] = engine.collect(found)[column].to_pylist()
    return ids
