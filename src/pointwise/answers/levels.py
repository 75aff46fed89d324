"""Levels: tables of items, clusters and slices with their metrics."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any

import narwhals.stable.v2 as nw

from pointwise.answers.conditions import knowing_columns
from pointwise.answers.costs import can_cost, cost_rate, with_cost
from pointwise.answers.records import Shown, fetch_records, record_columns
from pointwise.answers.slices import SIZES, Key, Slicing, band_label, band_start, read_slicing
from pointwise.answers.tables import MetricTable, Overall, metric_columns
from pointwise.columns import (
    ACTUAL,
    COST,
    FN,
    FP,
    HIGH,
    IDEAL,
    IDEAL_CLUSTERS,
    ITEM,
    ITEM_SIZES,
    ITEMS,
    LOW,
    SHARE,
    SLICE,
    TN,
    TP,
    UNDEFINED,
    VALUE,
    WEIGHT,
    Column,
    Kind,
    given_name,
    inside,
    keys,
    undrawn,
)
from pointwise.core.evidence import Evidence
from pointwise.core.lifting import columns_of, find_averages, sum_measured, sum_up
from pointwise.core.metrics import Metric
from pointwise.engines.base import Engine
from pointwise.engines.queries import from_rows, holding
from pointwise.engines.turns import later
from pointwise.errors import UsageError
from pointwise.inputs.options import CONFIDENCE
from pointwise.text.values import MISSING
from pointwise.uncertainty.ends import run
from pointwise.uncertainty.intervals import (
    Interval,
    lift_collected,
    lift_varied,
    read_intervals,
    vary_sums,
)

if TYPE_CHECKING:
    import pyarrow as pa

_LABELS = (SLICE, VALUE)  # of a slice; a column of the items with that name takes precedence
_NUMBER, _BAND = "_number", "_band_{}"  # what tables of slices are ordered by
_LONGEST = 40  # characters of a slice's value in a drawing
_AT_HAND = 10_000  # slices: NumPy computes their intervals at once, and planning a query for that takes half a second
_PLAIN = (
    nw.String,
    nw.Boolean,
    nw.Int32,
    nw.Int64,
    nw.Float64,
    nw.Date,
)  # types that survive a round trip through Arrow


def lift_overall(evidence: Evidence, metrics: Sequence[Metric], *, confidence: float = CONFIDENCE) -> Overall:
    """Average metrics over all common items; intervals are computed on demand."""
    engine, rows = evidence.engine, evidence.sample.expand(evidence.cells)
    found = engine.collect(engine.plan(sum_measured, rows, by=(), metrics=tuple(metrics)))
    averages = partial(find_averages, metrics=metrics, total_weight=evidence.estimated_weight)
    row = run(averages, found).to_pylist()[0]
    undefined = {m.name: row[m.name + UNDEFINED] for m in metrics if not m.is_total}
    values = {m.name: row[m.name] for m in metrics}
    sums = found.to_pylist()[0]
    find_intervals = later(evidence.engine, lambda: _overall_intervals(evidence, metrics, sums, confidence))
    return Overall(row[ITEMS], row[WEIGHT], values, undefined, find_intervals, evidence.sample)


def _overall_intervals(
    evidence: Evidence, metrics: Sequence[Metric], whole: Mapping[str, Any], confidence: float
) -> dict[str, Interval]:
    engine, rows = evidence.engine, evidence.sample.expand(evidence.cells)
    sums = engine.plan(sum_measured, rows, by=(IDEAL,), metrics=tuple(metrics))
    total, sample = evidence.estimated_weight, evidence.sample
    varied = engine.collect(vary_sums(sums, (), metrics, sample=sample, whole=whole, plan=engine.plan))
    lifted = lift_collected(varied, (), metrics=metrics, total_weight=total, sample=sample, confidence=confidence)
    return read_intervals(lifted.to_pylist()[0], metrics, confidence=confidence, sample=sample)


def tabulate_clusters(evidence: Evidence, side: str, metrics: Sequence[Metric]) -> MetricTable:
    """Average metrics over the common items of every ideal or actual cluster, and say what the cluster costs."""
    lifted = tuple({m.name: m for m in (cost_rate(side), *metrics)}.values())
    frame = with_cost(evidence.lift(evidence.measured(lifted), (side,), lifted), evidence, side)
    title = "Ideal clusters" if side == IDEAL else "Actual clusters"
    costs = [Column(COST, Kind.METRIC)] if can_cost(evidence, side) else []
    described = (*keys(side), *ITEM_SIZES, *costs, *(c for m in metrics for c in metric_columns(m)))
    return MetricTable(title, frame, evidence.engine, described, order=((WEIGHT, True), (side, False)))


def tabulate_items(evidence: Evidence, metrics: Sequence[Metric]) -> MetricTable:
    """List every common item with its confusion matrix and metrics."""
    values = [m.name for m in metrics if not m.means]
    measured = evidence.measured(metrics).select(IDEAL, ACTUAL, TP, FP, FN, TN, *values)
    items = evidence.weighed_items().select(ITEM, IDEAL, ACTUAL, WEIGHT)
    frame = items.join(measured, on=[IDEAL, ACTUAL], how="inner")
    share = (nw.col(WEIGHT) / evidence.common_weight).alias(SHARE)
    weights = [Column(name, Kind.WEIGHT) for name in (TP, FP, FN, TN)]
    sizes = undrawn(ITEM_SIZES[1:], (SHARE,))
    described = (*keys(ITEM, IDEAL, ACTUAL), *sizes, *weights, *(Column(name, Kind.METRIC) for name in values))
    return MetricTable("Items", frame.with_columns(share), evidence.engine, described).by_parts(evidence.ids)


def attach_records(table: MetricTable, evidence: Evidence, shown: Shown) -> MetricTable:
    """Add what is shown of items to a table of them: as columns if requested, else only in drawings."""
    if not shown.columns:
        return table
    heads = record_columns(shown, table.columns)
    if not shown.is_asked:
        return replace(table, records=lambda items: fetch_records(evidence, items, shown.columns), heads=heads)
    values = (nw.col(inside(name)).alias(inside(head.name)) for name, head in heads.items())
    known = evidence.items_with(shown.columns).select(ITEM, *values)
    given = {name: replace(head, is_given=True) for name, head in heads.items()}
    frame = table.frame.join(known, on=ITEM, how="left")
    return replace(table, frame=frame, described=(*table.described, *given.values()), heads=given)


def tabulate_slices(
    evidence: Evidence, specs: Sequence[Any], metrics: Sequence[Metric], *, confidence: float | None = None
) -> MetricTable:
    """Average metrics over slices, with intervals for a confidence; several slicings are stacked.

    Returns:
        The slicing that a row belongs to (`slice`), which slice of it (`value`, as text), a column per key of any
        slicing, sizes and metrics. One slicing is drawn by its keys, several by `slice` and `value`.
    """
    intervals = confidence is not None
    cuts = [read_slicing(spec, evidence.slice_schema) for spec in specs]
    check_slices(cuts, metrics)
    frames = [_lift_slicing(evidence, cut, metrics, confidence) for cut in cuts]
    names = list(dict.fromkeys(key.column for cut in cuts for key in cut.keys))
    bands = [_BAND.format(n) for n in range(max(len(band_keys(cut)) for cut in cuts))]
    sizes = [*ITEM_SIZES, *([Column(IDEAL_CLUSTERS, Kind.COUNT)] if intervals else [])]
    values = [*sizes, *(c for m in metrics for c in metric_columns(m, intervals=intervals))]
    rows = _stack_slicings(cuts, frames, (*names, *bands), [c.name for c in values])
    order = ((_NUMBER, False), *((name, False) for name in bands), (WEIGHT, True), *((name, False) for name in names))
    # The share shows it too, and intervals need the space.
    described = undrawn((*slice_columns(cuts), *values), (WEIGHT,) if intervals else ())
    shown = confidence or CONFIDENCE
    title = evidence.sample.title(name_slices(cuts))
    return MetricTable(title, rows, evidence.engine, described, order=order, confidence=shown)


def _stack_slicings(
    cuts: Sequence[Slicing], frames: Sequence[nw.LazyFrame], names: Sequence[str], values: Sequence[str]
) -> nw.LazyFrame:
    """Stack slicings; the columns in `names` are empty where a slicing lacks them."""
    schemas = [frame.collect_schema() for frame in frames]
    types = {name: kind for schema in reversed(schemas) for name, kind in schema.items()}
    unlike = [name for schema in schemas for name in names if schema.get(name, types[name]) != types[name]]
    if unlike:
        name = given_name(unlike[0])
        raise UsageError(f"Two slices are called {name!r} and have values of different types. Rename one of them.")
    parts = []
    for number, (cut, frame, schema) in enumerate(zip(cuts, frames, schemas, strict=True)):
        labels = {_NUMBER: nw.lit(number), SLICE: nw.lit(cut.name), VALUE: _as_text(cut)}
        own = {n: nw.col(n) if n in schema else nw.lit(None).cast(types[n]) for n in names}
        parts.append(frame.select(*(column.alias(n) for n, column in (labels | own).items()), *values))
    return nw.concat(parts)


def slice_columns(cuts: Sequence[Slicing]) -> tuple[Column, ...]:
    """Describe the columns that say which slice a row is: one slicing is drawn by its keys, several by two columns."""
    names = dict.fromkeys(name for cut in cuts for name in cut.names)
    labels = [label for label in _LABELS if label not in {name.lower() for name in names}]
    described = (*keys(*labels, longest=_LONGEST), *keys(*names, is_given=True, longest=_LONGEST))
    return undrawn(described, labels if len(cuts) == 1 else tuple(names))


def name_slices(cuts: Sequence[Slicing]) -> str:
    """Say what a table of slices is about."""
    return f"Slices by {cuts[0].name}" if len(cuts) == 1 else "Slices"


def _lift_slicing(
    evidence: Evidence, cut: Slicing, metrics: Sequence[Metric], confidence: float | None
) -> nw.LazyFrame:
    """Average metrics over the slices of one slicing; bands of sizes have names and an order."""
    bands, frame = band_keys(cut), _estimate_slicing(evidence, cut, metrics, confidence)
    if not bands:
        return frame
    frame = frame.with_columns(*(nw.col(name).alias(_BAND.format(n)) for n, name in enumerate(bands)))
    return frame.with_columns(*(band_label(name).alias(name) for name in bands))


def _estimate_slicing(
    evidence: Evidence, cut: Slicing, metrics: Sequence[Metric], confidence: float | None
) -> nw.LazyFrame:
    names, rows = [key.column for key in cut.keys], slice_cells(evidence, cut, metrics)
    if confidence is None:
        return evidence.estimate(rows, names, metrics)
    sample, engine = evidence.sample, evidence.engine
    sums = holding(engine)(sum_up, sample.expand(rows), by=(*names, IDEAL), metrics=tuple(metrics))
    varied = vary_sums(sums, names, metrics, sample=sample, plan=engine.plan)
    of: dict[str, Any] = {
        "metrics": metrics,
        "total_weight": evidence.estimated_weight,
        "sample": sample,
        "confidence": confidence,
    }
    few = _take_few(varied, names, engine)
    if few is None:
        return lift_varied(varied, names, **of)
    schema, lifted = varied.collect_schema(), from_rows(lift_collected(few, names, **of), engine)
    return lifted.with_columns(*(nw.col(name).cast(schema[name]) for name in names))


def _take_few(rows: nw.LazyFrame, names: Sequence[str], engine: Engine) -> pa.Table | None:
    """Fetch rows if they are few, and the columns in `names` are of types that survive it."""
    schema = rows.collect_schema()
    if not all(isinstance(schema[name], _PLAIN) for name in names):
        return None
    few = engine.collect(rows.head(_AT_HAND + 1))
    return few if len(few) <= _AT_HAND else None


def band_keys(cut: Slicing) -> list[str]:
    """Name the columns of a slicing that are bands of cluster sizes."""
    return [key.column for key in cut.keys if key.name in SIZES and key.expression is None]


def slice_cells(evidence: Evidence, cut: Slicing, metrics: Sequence[Metric]) -> nw.LazyFrame:
    """Split every measured cell by the slices that its items are in.

    Returns:
        Rows with one column per key of the slicing, the clusters, `items`, `weight` and the metrics. A band of
        cluster sizes is given by its least size.
    """
    rows = evidence.measured(metrics)
    keys = [(key.column, key.expression) for key in cut.keys if key.expression is not None]
    if keys:
        items = items_for(evidence, cut.keys)
        with knowing_columns(evidence.slice_schema):
            keyed = items.select(IDEAL, ACTUAL, WEIGHT, *(expression.alias(name) for name, expression in keys))
        split = keyed.group_by(IDEAL, ACTUAL, *(name for name, _ in keys))
        sums = split.agg(nw.len().alias(ITEMS), nw.col(WEIGHT).sum())
        rows = sums.join(rows.drop(ITEMS, WEIGHT), on=[IDEAL, ACTUAL], how="inner")
    bands = [band_start(SIZES[k.name]).alias(k.column) for k in cut.keys if k.expression is None]
    return rows.with_columns(*bands) if bands else rows


def items_for(evidence: Evidence, keys: Sequence[Key], *, more: Sequence[str] = ()) -> nw.LazyFrame:
    """Return the items with the columns that keys need, for a user's own expression also under the user's names.

    Args:
        evidence: The items.
        keys: What makes slices.
        more: Other columns that are wanted.
    """
    items = evidence.items_with([*needed_columns(evidence, keys), *more])
    if all(key.columns is not None for key in keys):
        return items
    columns = [nw.col(inside(c)).alias(c) for c in evidence.slice_schema]
    return items.with_columns(*columns) if columns else items


def needed_columns(evidence: Evidence, keys: Sequence[Key]) -> list[str]:
    """List the item columns that the keys of a slicing need."""
    if any(key.columns is None for key in keys):
        return list(evidence.slice_schema)
    return [column for key in keys for column in key.columns or ()]


def _as_text(cut: Slicing) -> nw.Expr:
    """Write the values that make a slice as one text; for a single column, missing values stay missing."""
    texts = [nw.col(key.column).cast(nw.String) for key in cut.keys]
    if len(texts) == 1:
        return texts[0]
    named = [nw.when(text.is_null()).then(nw.lit(MISSING)).otherwise(text) for text in texts]
    return nw.concat_str(named, separator=", ")


def check_slices(cuts: Sequence[Slicing], metrics: Sequence[Metric], *, taken: Sequence[str] = ()) -> None:
    """Refuse slices with the name of another column of their table."""
    sizes = (ITEMS, WEIGHT, SHARE, IDEAL, ACTUAL, IDEAL_CLUSTERS, *(_LABELS if len(cuts) > 1 else ()))
    values = (name for m in metrics for name in (*columns_of(m), m.name + LOW, m.name + HIGH))
    occupied = {*taken, *sizes, *values}
    spelled: dict[str, str] = {}
    for cut in cuts:
        names = cut.names
        if len({name.lower() for name in names}) < len(names):
            raise UsageError(f"A slice crosses a column with itself: {', '.join(names)}.")
        for name in names:
            if name.lower() in occupied:
                raise UsageError(
                    f"A slice cannot be called {name!r}, because its table has a column of that name. Rename "
                    f"the column, or give the slice a name: ('my_{name}', pw.col({name!r}))."
                )
            if spelled.setdefault(name.lower(), name) != name:
                raise UsageError(f"Two slices differ only in case: {spelled[name.lower()]}, {name}.")
