"""Tables of metrics: printed, sorted, cut, converted and written."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import narwhals.stable.v2 as nw

from pointwise.answers.conditions import parse_condition
from pointwise.columns import ITEMS, LOW, SHARE, UNDEFINED, WEIGHT, given_name, inside
from pointwise.core.metrics import find_metric
from pointwise.core.sample import UNKNOWN, Sample
from pointwise.engines.base import Engine
from pointwise.engines.files import as_path, is_address, whole_file
from pointwise.engines.queries import count
from pointwise.engines.turns import LateProperty, in_turn
from pointwise.errors import MissingColumnError, NotFoundError, UsageError
from pointwise.text.terminal import draw_html, draw_table
from pointwise.text.values import MISSING, format_count, format_metric, format_weight
from pointwise.uncertainty.intervals import CONFIDENCE, Interval, name_interval
from pointwise.uncertainty.verdict import ENOUGH, TOO_FEW

if TYPE_CHECKING:
    import pandas as pd
    import polars as pl
    import pyarrow as pa

SHOWN_ROWS = 10
_MOST_SHOWN_ROWS = 100  # of a table that was cut to fewer rows, all are shown


@in_turn("engine")
@dataclass(frozen=True, repr=False)
class MetricTable:
    """Rows of metrics, computed when they are looked at.

    Args:
        title: What the rows are.
        frame: The rows, in no order.
        engine: What computes them.
        order: Columns to sort by, each with whether to sort downwards.
        limit: How many rows to keep after sorting; None for all.
        hidden: Columns for sorting only.
        quiet: Columns that are not drawn, to keep the drawing narrow.
        keys: Columns that say which slice a row is; one of them is missing where the items have no value.
        confidence: How often the intervals shall hold the true value.
    """

    title: str
    frame: nw.LazyFrame
    engine: Engine
    order: tuple[tuple[str, bool], ...] = ()
    limit: int | None = None
    hidden: tuple[str, ...] = ()
    quiet: tuple[str, ...] = ()
    keys: tuple[str, ...] = ()
    confidence: float = CONFIDENCE

    @property
    def columns(self) -> list[str]:
        """Names of the columns."""
        return [given_name(c) for c in self._own_columns]

    @property
    def _own_columns(self) -> list[str]:
        return [c for c in self.frame.collect_schema().names() if c not in self.hidden]

    @property
    def drawn_columns(self) -> list[str]:
        """Names of the columns that a drawing shows."""
        return [c for c in self.columns if c not in self.quiet]

    def notes_on(self, rows: Sequence[Mapping[str, Any]]) -> list[str]:
        """Say what to know when reading a drawing of some rows."""
        ends = [name for name in self.columns if name.endswith(LOW)]
        has_intervals = any(row[name] is not None for row in rows for name in ends)
        notes = [f"[low, high]: the {name_interval(self.confidence)}"] if has_intervals else []
        is_rough = any(row.get("verdict") == TOO_FEW for row in rows)
        rough = f"{TOO_FEW}: fewer than {ENOUGH} ideal clusters changed, so that the interval is rough"
        return [*notes, rough] if is_rough and has_intervals else notes

    def sort(self, by: str, *, descending: bool = False) -> MetricTable:
        """Sort by a column; where it is equal, as before."""
        own = self._own(by)
        kept = tuple((c, d) for c, d in self.order if c != own)
        return replace(self._cut(), order=((own, descending), *kept))

    def head(self, n: int = SHOWN_ROWS) -> MetricTable:
        """Keep the first rows."""
        if n < 0:
            raise UsageError(f"A table cannot be cut to {n} rows.")
        return replace(self, limit=n if self.limit is None else min(n, self.limit))

    def where(self, condition: str | nw.Expr) -> MetricTable:
        """Keep the rows for which a condition holds, such as "items >= 5 and recall < 0.5"."""
        table = self._cut()
        if isinstance(condition, str):
            schema = {given_name(c): dtype for c, dtype in table.frame.collect_schema().items()}
            condition = parse_condition(condition, schema, named=self._own).expression
            return replace(table, frame=table.frame.filter(condition))
        enclosed = [c for c in table.frame.collect_schema().names() if c != given_name(c)]
        released = table.frame.rename({c: given_name(c) for c in enclosed}).filter(condition)
        return replace(table, frame=released.rename({given_name(c): c for c in enclosed}))

    def worst(self, metric: str, n: int = SHOWN_ROWS) -> MetricTable:
        """Keep the rows with the worst values of a metric; of equal ones, the heaviest."""
        return self._ranked(metric, n, worst=True)

    def best(self, metric: str, n: int = SHOWN_ROWS) -> MetricTable:
        """Keep the rows with the best values of a metric; of equal ones, the heaviest."""
        return self._ranked(metric, n, worst=False)

    def _ranked(self, metric: str, n: int, *, worst: bool) -> MetricTable:
        better = find_metric(metric).better
        if better is None:
            raise UsageError(f"{metric!r} has no better or worse, but a table can be sorted by it.")
        self._own(metric)
        defined = self._cut()
        defined = replace(defined, frame=defined.frame.filter(~nw.col(metric).is_null()))
        table = defined.sort(WEIGHT, descending=True).sort(metric, descending=worst == (better == "lower"))
        return table.head(n)

    def _own(self, column: str) -> str:
        """Return what the frame calls a column: one of a user's tables has another name inside."""
        own = self._own_columns
        found = next((name for name in (column, inside(column)) if name in own), None)
        if found is None:
            raise MissingColumnError(f"This table has no column {column!r}. It has {', '.join(self.columns)}.")
        return found

    def _cut(self) -> MetricTable:
        """Make sure that a limit applies to what came before it, not to what comes after."""
        return self if self.limit is None else replace(self, frame=self._sorted(), limit=None)

    def _sorted(self) -> nw.LazyFrame:
        frame = self.frame
        if self.order:
            names, downwards = zip(*self.order, strict=True)
            frame = frame.sort(*names, descending=list(downwards), nulls_last=True)
        return frame if self.limit is None else frame.head(self.limit)

    def lazy(self) -> nw.LazyFrame:
        """Return the rows as a narwhals frame on the engine."""
        return self._sorted().select(*(nw.col(c).alias(given_name(c)) for c in self._own_columns))

    def to_arrow(self) -> pa.Table:
        """Return the rows as a PyArrow table."""
        own = self._own_columns  # named after they are fetched: Arrow takes names that engines do not
        return self.engine.collect(self._sorted().select(*own)).rename_columns([given_name(c) for c in own])

    def to_pandas(self) -> pd.DataFrame:
        """Return the rows as a pandas data frame."""
        return self.to_arrow().to_pandas()

    def to_polars(self) -> pl.DataFrame:
        """Return the rows as a Polars data frame."""
        import polars as pl

        return pl.DataFrame(self.to_arrow())

    def to_dicts(self) -> list[dict[str, Any]]:
        """Return the rows as dictionaries."""
        rows: list[dict[str, Any]] = self.to_arrow().to_pylist()
        return rows

    def to_drawn_dicts(self) -> list[dict[str, Any]]:
        """Return the rows as dictionaries for a drawing, where a slice of missing values has a name."""
        return [row | {key: MISSING for key in self.keys if row[key] is None} for row in self.to_dicts()]

    def write(self, path: str | os.PathLike[str]) -> None:
        """Write the rows to a file that ends in .parquet, .csv, .json or .jsonl, whatever their number.

        The file appears when it is complete. On Spark, Parquet is a folder of parts, and its path may be an address
        that the cluster can write to, such as `s3a://lake/items.parquet`.
        """
        if is_address(as_path(path)):
            self.engine.write(self.lazy(), os.fspath(path))
            return
        with whole_file(path) as unfinished:
            self.engine.write(self.lazy(), unfinished)

    def __len__(self) -> int:
        """Count the rows."""
        rows = count(self.frame, self.engine)
        return rows if self.limit is None else min(rows, self.limit)

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        """Hand the rows to any tool that speaks Arrow."""
        return self.to_arrow().__arrow_c_stream__(requested_schema)

    def _shown(self) -> tuple[list[dict[str, Any]], str]:
        total = len(self)
        most = self.limit if self.limit is not None and self.limit <= _MOST_SHOWN_ROWS else SHOWN_ROWS
        rows = self.head(most).to_drawn_dicts()
        notes = [f"{len(rows)} of {total:,} rows"] if total > len(rows) else []
        return rows, "; ".join([*notes, *self.notes_on(rows)])

    def __repr__(self) -> str:
        """Draw the first rows as text."""
        rows, rest = self._shown()
        return draw_table(self.title, self.drawn_columns, rows, note=rest)

    def _repr_html_(self) -> str:
        rows, rest = self._shown()
        return draw_html(self.title, self.drawn_columns, rows, note=rest)


@dataclass(frozen=True, repr=False)
class Overall:
    """The metrics of all common items together.

    Args:
        items: Number of common items.
        weight: Their weight.
        values: The value of each metric.
        undefined: For metrics that can be undefined, the share of the weight for which they are.
        find_intervals: Computes the intervals, which takes longer than the values; None to go without.
        sample: How the ideal clusters of the truth were drawn.
        find_least: Finds how low values are if all members outside the truth are wrong, where that matters.
    """

    items: int
    weight: float
    values: Mapping[str, float | None]
    undefined: Mapping[str, float]
    find_intervals: Callable[[], Mapping[str, Interval]] | None = field(default=None, compare=False)
    sample: Sample = field(default=UNKNOWN, compare=False)
    find_least: Callable[[], Mapping[str, float]] = field(default=dict, compare=False)

    def __getitem__(self, metric: str) -> float:
        """Return the value of a metric."""
        self._require(metric)
        value = self.values[metric]
        return float("nan") if value is None else value

    @LateProperty
    def intervals(self) -> Mapping[str, Interval]:
        """Where each metric may lie, computed when first asked for; empty if intervals were turned off."""
        return self.find_intervals() if self.find_intervals else {}

    def interval(self, metric: str) -> Interval:
        """Return where a metric may lie, given that the truth holds only so many ideal clusters."""
        self._require(metric)
        is_complete = self.sample.is_complete
        why = "the truth is complete, so that values are exact" if is_complete else "intervals were turned off"
        return self.intervals.get(metric, Interval(None, None, 0, reason=why))

    def _require(self, metric: str) -> None:
        if metric not in self.values:
            shown = ", ".join(self.values)
            raise NotFoundError(
                f"{metric!r} was not asked for; there are {shown}. Use evaluation.with_metrics({metric!r})."
            )

    def to_dict(self) -> dict[str, float | int | None]:
        """Return all numbers by name, without the intervals."""
        undefined = {name + UNDEFINED: share for name, share in self.undefined.items()}
        return {ITEMS: self.items, WEIGHT: self.weight, SHARE: 1.0, **self.values, **undefined}

    def to_dicts(self) -> list[dict[str, Any]]:
        """Return one row per metric: its value, the ends of its interval, and what it means."""
        rows = []
        for name, value in self.values.items():
            row: dict[str, Any] = {"metric": name, "value": value}
            if self.intervals:
                row |= {"low": self.intervals[name].low, "high": self.intervals[name].high}
            if name in self.undefined:
                row["undefined"] = self.undefined[name]
            rows.append(row | {"meaning": find_metric(name).summary})
        return rows

    def _drawing(self) -> tuple[str, list[str], list[dict[str, Any]], str]:
        label = name_interval(next((i.confidence for i in self.intervals.values()), CONFIDENCE))
        rows = [_with_interval(row, label) for row in self.to_dicts()]
        clusters = max((i.ideal_clusters for i in self.intervals.values()), default=0)
        behind = f" in {format_count(clusters, 'ideal cluster')}" if clusters else ""
        title = f"Overall: {format_count(self.items, 'item')}{behind}, weight {format_weight(self.weight)}"
        if self.sample.words:
            title = f"Overall: {self.sample.words}"
        least = self.find_least()
        rows = [row | _range(row, least) for row in rows]
        names = ("metric", "value", _RANGE, label, "undefined", "meaning")
        columns = [c for c in names if any(c in row for row in rows)]
        reasons: dict[str, list[str]] = {}
        for name, interval in self.intervals.items():
            if interval.reason:
                reasons.setdefault(interval.reason, []).append(name)
        notes = [f"No interval for {', '.join(names)}: {why}." for why, names in reasons.items()]
        if any(_RANGE in row for row in rows):
            notes.append("Range: from all members outside the truth wrong to none wrong.")
        if self.intervals and not self.sample.words:
            notes.append("The intervals hold for a truth whose ideal clusters were drawn uniformly from all.")
        return title, columns, rows, "\n".join(notes)

    def __repr__(self) -> str:
        """Draw the metrics as a table."""
        title, columns, rows, note = self._drawing()
        return draw_table(title, columns, rows, note=note)

    def _repr_html_(self) -> str:
        title, columns, rows, note = self._drawing()
        return draw_html(title, columns, rows, note=note)


_RANGE = "range"


def _range(row: Mapping[str, Any], least: Mapping[str, float]) -> dict[str, str]:
    """Write how far a value goes down with what was not looked at."""
    low, value = least.get(row["metric"]), row["value"]
    if low is None or value is None:
        return {}
    return {_RANGE: f"{format_metric(low)} to {format_metric(value)}"}


def _with_interval(row: dict[str, Any], label: str) -> dict[str, Any]:
    if row.get("low") is None:
        return row
    return row | {label: f"{format_metric(row['low'])} to {format_metric(row['high'])}"}
