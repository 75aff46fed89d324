"""The nearest ids to one that does not exist, for somebody who mistyped one."""

from __future__ import annotations

from typing import Any

import narwhals.stable.v2 as nw

from pointwise.engines import Engine

_EACH_WAY = 3
_ROWS = 1_000  # that are looked at together; a value may be in many


def find_nearest(frame: nw.LazyFrame, column: str, key: str, engine: Engine) -> list[Any]:
    """Find the ids just before and just after one in their order, without sorting all of them."""
    is_text = isinstance(frame.collect_schema()[column], nw.String)
    if not is_text and not _is_whole(key):
        return []
    given: Any = key if is_text else int(key)

    before, after = frame.filter(nw.col(column) < given), frame.filter(nw.col(column) >= given)
    nearest_before = _take_first(before, column, engine, limit=_EACH_WAY, is_down=True)
    return [*reversed(nearest_before), *_take_first(after, column, engine, limit=_EACH_WAY)]


def _take_first(frame: nw.LazyFrame, column: str, engine: Engine, *, limit: int, is_down: bool = False) -> list[Any]:
    """Take the first different values of a column in their order.

    An engine finds the first rows of millions without looking at all of them, but would have to group all of them to
    tell which values differ.
    """
    found: list[Any] = []
    while len(found) < limit:
        rows = engine.collect(frame.select(column).sort(column, descending=is_down).head(_ROWS))[column].to_pylist()
        found += dict.fromkeys(rows)
        if len(rows) < _ROWS:
            break
        frame = frame.filter(nw.col(column) < rows[-1] if is_down else nw.col(column) > rows[-1])
    return found[:limit]


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
    return _take_first(frame.filter(condition), column, engine, limit=limit)
