"""Tables of metrics: printed, sorted, cut, converted and written."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import chain
from numbers import Integral
from typing import TYPE_CHECKING, Any

import narwhals.stable.v2 as nw

from pointwise.answers.conditions import knowing_columns, parse_condition
from pointwise.answers.costs import COST_RATES
from pointwise.answers.records import DIFFERS_MEANS, Record, write_record
from pointwise.columns import (
    COST,
    HIGH,
    IDEAL,
    ITEM,
    ITEMS,
    LOW,
    MEANING,
    METRIC,
    SHARE,
    UNDEFINED,
    VALUE,
    VERDICT,
    WEIGHT,
    Column,
    Kind,
    inside,
    keys,
    with_ends,
)
from pointwise.core.lifting import columns_of
from pointwise.core.metrics import METRICS, Better, Metric, find_metric, name_of
from pointwise.core.sample import UNKNOWN, Sample
from pointwise.engines.base import Engine
from pointwise.engines.queries import count
from pointwise.engines.turns import LateProperty, in_turn
from pointwise.errors import MissingColumnError, NotFoundError, UsageError
from pointwise.inputs.composite import ItemColumns
from pointwise.inputs.options import CONFIDENCE
from pointwise.results import Result, write_frame
from pointwise.text.drawing import Drawing
from pointwise.text.values import (
    DIFFERS,
    SHOWN_ROWS,
    format_count,
    format_interval,
    format_weight,
    listed,
    name_interval,
    short,
)
from pointwise.uncertainty.intervals import Interval
from pointwise.uncertainty.verdict import ENOUGH, TOO_FEW

if TYPE_CHECKING:
    import pyarrow as pa

_LOW, _HIGH, _UNDEFINED = LOW[1:], HIGH[1:], UNDEFINED[1:]  # in a table with one row per metric
_VALUE_WITH_ENDS = (Column(VALUE, Kind.METRIC, _LOW, _HIGH), Column(_LOW, Kind.END), Column(_HIGH, Kind.END))
_RANGE = "range"
_RANGE_MEANS = "Range: from the value if all members outside the truth were wrong to that if none were."
_MOST_SHOWN_ROWS = 100  # of a table that was cut to fewer rows, all are shown


def metric_columns(metric: Metric, *, intervals: bool = False) -> tuple[Column, ...]:
    """Describe the columns that a metric has in a lifted table."""
    value = Column(metric.name, Kind.METRIC)
    undefined = tuple(Column(name, Kind.SHARE) for name in columns_of(metric)[1:])
    if not intervals:
        return (value, *undefined)
    value, low, high = with_ends(value)
    return (value, *undefined, low, high)


@in_turn("engine")
@dataclass(frozen=True, repr=False)
class MetricTable(Result):
    """Rows of metrics, computed when they are looked at.

    Args:
        title: What the rows are.
        frame: The rows, in no order.
        engine: What computes them.
        described: The columns and what each holds. The frame may have others, for sorting only.
        order: Columns to sort by, each with whether to sort downwards.
        limit: How many rows to keep after sorting; None for all.
        confidence: How often the intervals should contain the true value.
        records: Looks up the columns of items that a drawing shows; None if there are none, or
            if the table has them itself.
        heads: The columns of these records in a drawing.
        item_columns: The columns that identify an item, in a table of items.

    Examples:
        >>> import pointwise as pw
        >>> evaluation = pw.evaluate(ideal=[["i1", "i2"], ["i3"]], actual=[["i1", "i3"], ["i2"]])
        >>> [(row["item"], row["recall"]) for row in evaluation.by_item(metrics="recall").sort("item")]
        [('i1', 0.5), ('i2', 0.5), ('i3', 1.0)]
        >>> evaluation.by_item(metrics="recall").lazy().filter(pw.col("recall") < 1).collect().shape[0]
        2
    """

    title: str
    frame: nw.LazyFrame
    engine: Engine
    described: tuple[Column, ...]
    order: tuple[tuple[str, bool], ...] = ()
    limit: int | None = None
    confidence: float = CONFIDENCE
    records: Callable[[Sequence[Any]], Mapping[Any, Record]] | None = field(default=None, compare=False)
    heads: Mapping[str, Column] = field(default_factory=dict)
    item_columns: tuple[str, ...] = (ITEM,)

    def describe(self) -> tuple[Column, ...]:
        """Say what the columns are, and what each holds."""
        return self.described

    def by_parts(self, ids: ItemColumns) -> MetricTable:
        """Return a table of items with the columns that identify them instead of `item`, if these are several.

        The frame keeps `item` for joins.
        """
        if not ids.kinds:
            return self
        own = ids.beside(self.columns)
        columns = keys(*own.names, is_given=True)
        frame = self.frame.with_columns(*(part.alias(inside(name)) for name, part in own.parts().items()))
        described = [columns if column.name == ITEM else (column,) for column in self.described]
        order = [[(c.own, down) for c in columns] if name == ITEM else [(name, down)] for name, down in self.order]
        return replace(
            self,
            frame=frame,
            described=tuple(chain.from_iterable(described)),
            order=tuple(chain.from_iterable(order)),
            item_columns=own.names,
        )

    def _item_of(self, row: Mapping[str, Any]) -> Any:
        """Return the item that a row of a table of items is about."""
        parts = tuple(row[name] for name in self.item_columns)
        return parts if len(parts) > 1 else parts[0]

    @property
    def drawn_keys(self) -> list[str]:
        """Names of the columns that identify a slice in a drawing."""
        return [column.name for column in self.described if column.kind is Kind.KEY and column.is_drawn]

    def notes_on(self, rows: Sequence[Mapping[str, Any]]) -> list[str]:
        """Say what to know when reading a drawing of some rows."""
        ends = [column.low for column in self.described if column.low and column.is_drawn]
        has_intervals = any(row[low] is not None for row in rows for low in ends)
        notes = [f"[low, high]: the {name_interval(self.confidence)}"] if has_intervals else []
        notes += [f"{COST}: what a cluster adds to {rate}" for side, rate in COST_RATES.items() if self._costs(side)]
        is_rough = any(row.get(VERDICT) == TOO_FEW for row in rows)
        rough = f"{TOO_FEW}: fewer than {ENOUGH} ideal clusters changed, so the interval is rough"
        return [*notes, rough] if is_rough and has_intervals else notes

    def _costs(self, side: str) -> bool:
        """Tell whether this is a table of the clusters of a side that says what each costs."""
        own = [column.name for column in self.described if not column.is_given and column.is_drawn]
        return COST in own and own[0] == side

    def sort(self, by: str, *, descending: bool = False) -> MetricTable:
        """Sort by a column; ties keep their order, and are in the order of their keys otherwise."""
        own = self._own(by)
        kept = tuple((c, d) for c, d in self.order if c != own)
        return replace(self._cut(), order=((own, descending), *kept))

    def head(self, limit: int = SHOWN_ROWS) -> MetricTable:
        """Keep the first rows."""
        if not isinstance(limit, Integral) or limit < 0:
            raise UsageError(f"A table cannot be cut to {short(limit)} rows.")
        return replace(self, limit=limit if self.limit is None else min(limit, self.limit))

    def where(self, condition: str | nw.Expr) -> MetricTable:
        """Keep the rows for which a condition holds, such as "items >= 5 and recall < 0.5"."""
        table = self._cut()
        if isinstance(condition, str):
            types = table.frame.collect_schema()
            schema = {column.name: types[column.own] for column in self.described}
            condition = parse_condition(condition, schema, named=self._own).expression
            return replace(table, frame=table.frame.filter(condition))
        given = {column.own: column.name for column in self.described if column.is_given}
        hidden = [name for name in table.frame.collect_schema().names() if name in given.values()]
        with knowing_columns(column.name for column in self.described):
            released = table.frame.drop(*hidden).rename(given).filter(condition)
        return replace(table, frame=released.rename({name: own for own, name in given.items()}))

    def worst(self, metric: str | Metric, limit: int = SHOWN_ROWS) -> MetricTable:
        """Keep the rows with the worst values of a metric; of equal ones, the heaviest."""
        return self._ranked(metric, limit, worst=True)

    def best(self, metric: str | Metric, limit: int = SHOWN_ROWS) -> MetricTable:
        """Keep the rows with the best values of a metric; of equal ones, the heaviest."""
        return self._ranked(metric, limit, worst=False)

    def _ranked(self, chosen: str | Metric, limit: int, *, worst: bool) -> MetricTable:
        metric = name_of(chosen)
        better = self._better(metric)
        if better is None:
            raise UsageError(
                f"{metric!r} has no direction, so it has no worst or best; sort(...) orders a table by it."
            )
        self._own(metric)
        defined = self._cut()
        defined = replace(defined, frame=defined.frame.filter(~nw.col(metric).is_null()))
        table = defined.sort(WEIGHT, descending=True).sort(metric, descending=worst == (better == "lower"))
        return table.head(limit)

    def _better(self, metric: str) -> Better | None:
        """Return the direction of a metric; those of a diff, which are not in the metric table, have none."""
        is_known = metric in METRICS or not any(c.name == metric and c.kind is Kind.METRIC for c in self.described)
        return find_metric(metric).better if is_known else None

    def _own(self, column: str) -> str:
        """Return what the frame calls a column: users' columns have other names internally."""
        found = next((known for known in self.described if known.name == column), None)
        if found is None:
            raise MissingColumnError(f"This table has no column {short(column)}. It has {listed(self.columns)}.")
        return found.own

    def _cut(self) -> MetricTable:
        """Make sure that a limit applies to what came before it, not to what comes after."""
        return self if self.limit is None else replace(self, frame=self._sorted(), limit=None)

    def _sorted(self) -> nw.LazyFrame:
        """Sort; of rows that are equal otherwise, what they are about decides, so that two looks show the same."""
        frame = self.frame
        if self.order:
            keys = [column.own for column in self.described if column.kind is Kind.KEY]
            order = dict(self.order)
            order |= {key: False for key in keys if key not in order}
            names, downwards = zip(*order.items(), strict=True)
            frame = frame.sort(*names, descending=list(downwards), nulls_last=True)
        return frame if self.limit is None else frame.head(self.limit)

    def lazy(self) -> nw.LazyFrame:
        """Return the rows as a narwhals frame on the engine."""
        return self._sorted().select(*(nw.col(column.own).alias(column.name) for column in self.described))

    def to_arrow(self) -> pa.Table:
        """Return the rows as a PyArrow table."""
        table = self.engine.collect(self._sorted().select(*(column.own for column in self.described)))
        return table.rename_columns(self.columns)  # only now, because Arrow accepts names that engines do not

    def to_dicts(self) -> list[dict[str, Any]]:
        """Return the rows as dictionaries."""
        rows: list[dict[str, Any]] = self.to_arrow().to_pylist()
        return rows

    def write(self, path: str | os.PathLike[str], *, guard_formulas: bool = False) -> None:
        """Write the rows to a file that ends in .parquet, .csv, .json or .jsonl, whatever their number.

        The file appears when it is complete. On Spark, Parquet is a folder of parts, and its path may be an address
        that the cluster can write to, such as `s3a://lake/items.parquet`.

        Args:
            path: The file to write.
            guard_formulas: Whether to put an apostrophe in front of text in a CSV file that a spreadsheet would take
                for a formula: what begins with =, +, -, @, a tab or a line break and is not a number.
        """
        write_frame(self.lazy(), path, self.engine, guard_formulas=guard_formulas)

    def __len__(self) -> int:
        """Count the rows."""
        rows = count(self.frame, self.engine)
        return rows if self.limit is None else min(rows, self.limit)

    def drawing(self, limit: int | None = None, *, advice: str = "") -> Drawing:
        """Say what to show: the first rows.

        Args:
            limit: How many; by default twenty, or all of a table that was cut to fewer than a hundred.
            advice: How to see the others.
        """
        if limit is None:
            limit = self.limit if self.limit is not None and self.limit <= _MOST_SHOWN_ROWS else SHOWN_ROWS
        rows, total = self.head(limit).to_dicts(), len(self)
        notes = [f"{len(rows)} of {total:,} rows", *([advice] if advice else [])] if total > len(rows) else []
        records, columns = self._records_of(rows)
        shown = list(self._with_records(rows, records)) if records else rows
        has_marks = any(
            str(row[head.name]).endswith(DIFFERS) for row in shown for head in self.heads.values() if records
        )
        marks = [DIFFERS_MEANS] if has_marks else []
        return Drawing(self.title, columns, shown, "; ".join([*notes, *self.notes_on(rows), *marks]))

    def _records_of(self, rows: Sequence[Mapping[str, Any]]) -> tuple[list[Record], tuple[Column, ...]]:
        """Return what is known about the items in some rows, and the columns of a drawing with it."""
        if self.records is None:  # the table has it in columns of its own, if at all
            own: list[Record] = [{name: row[head.name] for name, head in self.heads.items()} for row in rows]
            return own if self.heads else [], self.described
        known = self.records([self._item_of(row) for row in rows])
        found = [known.get(self._item_of(row), {}) for row in rows]
        return (found, (*self.described, *self.heads.values())) if known else ([], self.described)

    def _with_records(self, rows: Sequence[Mapping[str, Any]], records: Sequence[Record]) -> Iterator[dict[str, Any]]:
        """Write records beside the items, marking what differs from the first item of the same ideal cluster."""
        firsts: dict[Any, Record] = {}
        for row, record in zip(rows, records, strict=True):
            first = firsts.setdefault(row.get(IDEAL), record)
            yield {**row, **write_record(record, self.heads, first=first)}


def _is_blind(metric: str) -> bool:
    return find_metric(metric).sees_false_positives


@dataclass(frozen=True, repr=False)
class Overall(Result):
    """The metrics of all common items together.

    Args:
        items: Number of common items.
        weight: Their weight.
        values: The value of each metric.
        undefined: For metrics that can be undefined, the share of the weight for which they are.
        _find_intervals: Computes the intervals, which takes longer than the values; None to go without.
        sample: How the ideal clusters of the truth were drawn.
        _find_least: Finds how low values are if all members outside the truth are wrong, where that matters.
        _sees_all: Finds whether all members of the touched actual clusters were considered.

    Examples:
        >>> import pointwise as pw
        >>> evaluation = pw.evaluate(ideal=[["i1", "i2"], ["i3"]], actual=[["i1", "i3"], ["i2"]])
        >>> round(evaluation.overall["recall"], 4)
        0.6667
        >>> [row["metric"] for row in evaluation.overall]
        ['precision', 'recall', 'f1', 'jaccard_distance']
        >>> evaluation.overall.intervals["recall"].ideal_clusters
        2
    """

    items: int
    weight: float
    values: Mapping[str, float | None]
    undefined: Mapping[str, float]
    _find_intervals: Callable[[], Mapping[str, Interval]] | None = field(default=None, compare=False)
    sample: Sample = field(default=UNKNOWN, compare=False)
    _find_least: Callable[[], Mapping[str, float]] = field(default=dict, compare=False)
    _sees_all: Callable[[], bool] = field(default=lambda: True, compare=False)

    def __getitem__(self, metric: str | Metric) -> float:
        """Return the value of a metric."""
        value = self.values[self._known(metric)]
        return float("nan") if value is None else value

    @LateProperty
    def intervals(self) -> Mapping[str, Interval]:
        """The interval of each metric, computed on first use; empty if intervals were turned off."""
        return self._find_intervals() if self._find_intervals else {}

    def interval(self, metric: str | Metric) -> Interval:
        """Return the interval of a metric, given how many ideal clusters the truth has."""
        name = self._known(metric)
        is_complete = self.sample.is_complete
        why = "the truth is complete, so values are exact" if is_complete else "intervals were turned off"
        return self.intervals.get(name, Interval(None, None, 0, reason=why))

    def _known(self, metric: str | Metric) -> str:
        name = name_of(metric)
        if name not in self.values:
            find_metric(name)
            shown = ", ".join(self.values)
            raise NotFoundError(
                f"{short(name)} was not computed; there are {shown}. Use evaluation.with_metrics({short(name)})."
            )
        return name

    def to_dict(self) -> dict[str, float | int | None]:
        """Return all numbers by name, without the intervals."""
        undefined = {name + UNDEFINED: share for name, share in self.undefined.items()}
        return {ITEMS: self.items, WEIGHT: self.weight, SHARE: 1.0, **self.values, **undefined}

    def describe(self) -> tuple[Column, ...]:
        """Say what the columns are, and what each holds."""
        values = _VALUE_WITH_ENDS if self.intervals else (Column(VALUE, Kind.METRIC),)
        undefined = [Column(_UNDEFINED, Kind.SHARE)] if self.undefined else []
        return (*keys(METRIC), *values, *undefined, Column(MEANING))

    def to_dicts(self) -> list[dict[str, Any]]:
        """Return one row per metric: its value, the ends of its interval, and what it means."""
        rows = []
        for name, value in self.values.items():
            row: dict[str, Any] = {METRIC: name, VALUE: value}
            if self.intervals:
                row |= {_LOW: self.intervals[name].low, _HIGH: self.intervals[name].high}
            if self.undefined:
                row[_UNDEFINED] = self.undefined.get(name)
            rows.append(row | {MEANING: find_metric(name).summary})
        return rows

    def drawing(self) -> Drawing:
        """Say what to show: every metric with its interval in a column of its own."""
        label = name_interval(next((i.confidence for i in self.intervals.values()), CONFIDENCE))
        least = self._find_least()
        rows = [
            row
            | {_RANGE: format_interval(Kind.METRIC, least.get(row[METRIC]), row[VALUE]) or None}
            | {label: format_interval(Kind.METRIC, row.get(_LOW), row.get(_HIGH)) or None}
            for row in self.to_dicts()
        ]
        asides = [Column(name) for name in (_RANGE, label) if any(row[name] for row in rows)]
        metric, value, *others = (replace(column, low="", high="") for column in self.describe())
        notes = [*self._reasons(), *([_RANGE_MEANS] if Column(_RANGE) in asides else []), *self._assumption()]
        return Drawing(self._title, (metric, value, *asides, *others), rows, "\n".join(notes))

    def _assumption(self) -> list[str]:
        if self.sample.is_complete:
            return ["The truth is complete, so values are exact."]
        if not self.has_intervals or self.sample.words:
            return []
        return [f"The intervals hold for a truth whose ideal clusters were drawn uniformly from all{self.exception}."]

    @property
    def has_intervals(self) -> bool:
        """Whether any value has an interval."""
        return any(interval.low is not None for interval in self.intervals.values())

    @property
    def exception(self) -> str:
        """The end of a sentence about intervals: which of them do not extend to a larger truth, and why."""
        blind = [name for name, i in self.intervals.items() if i.low is not None and _is_blind(name)]
        if not blind or self._sees_all():
            return ""
        return f"; not those of {', '.join(blind)}, because merges with clusters outside the truth are not looked at"

    @property
    def _title(self) -> str:
        if self.sample.words:
            return f"Overall: {self.sample.words}"
        clusters = max((i.ideal_clusters for i in self.intervals.values()), default=0)
        behind = f" in {format_count(clusters, 'ideal cluster')}" if clusters else ""
        return f"Overall: {format_count(self.items, 'item')}{behind}, weight {format_weight(self.weight)}"

    def _reasons(self) -> list[str]:
        """Say why some values have no interval."""
        reasons: dict[str, list[str]] = {}
        for name, interval in self.intervals.items():
            if interval.reason:
                reasons.setdefault(interval.reason, []).append(name)
        return [f"No interval for {', '.join(names)}: {why}." for why, names in reasons.items()]
