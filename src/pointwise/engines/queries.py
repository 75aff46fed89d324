"""Queries: small questions that every room asks of a frame, and small tables that it hands to an engine."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import narwhals.stable.v2 as nw

from pointwise.columns import ITEM
from pointwise.engines.base import Engine, Hold, Step, load_own
from pointwise.text.values import short

if TYPE_CHECKING:
    import pyarrow as pa

EXAMPLES = 5  # that a message shows
_ROWS = "rows"


def holding(engine: Engine, *, most_rows: int | None = None) -> Hold:
    """Return what applies a step and has an engine hold the result, which may be known to have few rows."""

    def hold(step: Step, *frames: nw.LazyFrame, **settings: Hashable) -> nw.LazyFrame:
        return engine.checkpoint(engine.plan(step, *frames, **settings), most_rows=most_rows)

    return hold


def count(frame: nw.LazyFrame, engine: Engine) -> int:
    """Count the rows of a frame."""
    return int(only_row(frame.select(nw.len().alias(_ROWS)), engine)[_ROWS] or 0)


def count_each(frames: Sequence[nw.LazyFrame], engine: Engine) -> list[int]:
    """Count the rows of several frames in one query."""
    return engine.count_rows(frames) if frames else []


def total(frame: nw.LazyFrame, column: str, engine: Engine) -> float:
    """Sum a column; without rows, the sum is 0."""
    return float(only_row(frame.select(nw.col(column).sum()), engine)[column] or 0.0)


def only_row(frame: nw.LazyFrame, engine: Engine) -> dict[str, Any]:
    """Fetch the row of a frame that has one, such as sums over everything."""
    row: dict[str, Any] = engine.collect(frame).to_pylist()[0]
    return row


def examples(frame: nw.LazyFrame, engine: Engine, column: str = ITEM) -> str:
    """Show a few values of a column, the way they are written in Python."""
    values = engine.collect(frame.select(column).head(EXAMPLES))[column].to_pylist()
    return ", ".join(short(value) for value in values)


def from_rows(rows: pa.Table | Sequence[Mapping[str, Any]], engine: Engine) -> nw.LazyFrame:
    """Put a small table, or rows as dictionaries, where an engine can join it."""
    if isinstance(rows, Sequence):
        import pyarrow as pa

        rows = pa.Table.from_pylist(list(rows))
    return load_own(engine.read(rows), rows.column_names)


def matching(frame: nw.LazyFrame, wanted: Sequence[Mapping[str, Any]], engine: Engine) -> nw.LazyFrame:
    """Keep the rows of a frame that match one of a few, which have values of some of its columns."""
    return engine.plan(_match, frame, from_rows(wanted, engine), on=tuple(wanted[0]))


def _match(frame: nw.LazyFrame, wanted: nw.LazyFrame, *, on: tuple[str, ...]) -> nw.LazyFrame:
    return frame.join(wanted, on=list(on), how="inner")
