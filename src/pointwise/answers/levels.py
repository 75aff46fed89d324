"""Levels: tables of items, clusters and slices with their metrics."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any

import narwhals.stable.v2 as nw

from pointwise.answers.slices import SIZES, Key, Slicing, band_label, band_start, read_slicing
from pointwise.answers.tables import MetricTable, Overall
from pointwise.columns import (
    ACTUAL,
    FN,
    FP,
    HIGH,
    IDEAL,
    IDEAL_CLUSTERS,
    ITEM,
    ITEMS,
    LOW,
    SHARE,
    TN,
    TP,
    UNDEFINED,
    WEIGHT,
    inside,
)
from pointwise.core.evidence import Evidence
from pointwise.core.lifting import columns_of, sum_up
from pointwise.core.metrics import Metric
from pointwise.engines.queries import only_row
from pointwise.engines.turns import later
from pointwise.errors import UsageError
from pointwise.text.values import MISSING
from pointwise.uncertainty.intervals import CONFIDENCE, Interval, lift_with_intervals, read_intervals


def lift_overall(evidence: Evidence, metrics: Sequence[Metric], *, confidence: float = CONFIDENCE) -> Overall:
    """Average metrics over all common items; intervals are computed when they are asked for."""
    row = only_row(evidence.estimate(evidence.measured(metrics), (), metrics), evidence.engine)
    undefined = {m.name: row[m.name + UNDEFINED] for m in metrics if not m.is_total}
    values = {m.name: row[m.name] for m in metrics}
    find_intervals = later(evidence.engine, lambda: _overall_intervals(evidence, metrics, confidence))
    return Overall(row[ITEMS], row[WEIGHT], values, undefined, find_intervals, evidence.sample)


def _overall_intervals(evidence: Evidence, metrics: Sequence[Metric], confidence: float) -> dict[str, Interval]:
    rows = evidence.sample.expand(evidence.measured(metrics))
    sums = evidence.engine.checkpoint(sum_up(rows, (IDEAL,), metrics))
    lifted = lift_with_intervals(
        sums,
        (),
        metrics=metrics,
        total_weight=evidence.estimated_weight,
        sample=evidence.sample,
        confidence=confidence,
    )
    row = only_row(lifted, evidence.engine)
    return read_intervals(row, metrics, confidence=confidence, sample=evidence.sample)


def tabulate_clusters(evidence: Evidence, side: str, metrics: Sequence[Metric]) -> MetricTable:
    """Average metrics over the common items of every ideal or actual cluster."""
    frame = evidence.lift(evidence.measured(metrics), (side,), metrics)
    title = "Ideal clusters" if side == IDEAL else "Actual clusters"
    return MetricTable(title, frame, evidence.engine, order=((WEIGHT, True), (side, False)))


def tabulate_items(evidence: Evidence, metrics: Sequence[Metric]) -> MetricTable:
    """List every common item with its confusion matrix and metrics."""
    values = [m.name for m in metrics if not m.means]
    measured = evidence.measured(metrics).select(IDEAL, ACTUAL, TP, FP, FN, TN, *values)
    items = evidence.weighed_items().select(ITEM, IDEAL, ACTUAL, WEIGHT)
    frame = items.join(measured, on=[IDEAL, ACTUAL], how="inner")
    share = (nw.col(WEIGHT) / evidence.common_weight).alias(SHARE)
    columns = (ITEM, IDEAL, ACTUAL, WEIGHT, SHARE, TP, FP, FN, TN, *values)
    return MetricTable("Items", frame.with_columns(share).select(*columns), evidence.engine, quiet=(SHARE,))


def tabulate_slices(
    evidence: Evidence, specs: Sequence[Any], metrics: Sequence[Metric], *, confidence: float | None = None
) -> MetricTable:
    """Average metrics over slices, with intervals for a confidence; several slicings stand below one another."""
    cuts = [read_slicing(spec, evidence.slice_schema) for spec in specs]
    if len(cuts) == 1:
        return _tabulate_slicing(evidence, cuts[0], metrics, confidence=confidence)
    return list_slices(evidence, specs, metrics, confidence=confidence)


def list_slices(
    evidence: Evidence, specs: Sequence[Any], metrics: Sequence[Metric], *, confidence: float | None = None
) -> MetricTable:
    """Average metrics over slices, which the columns `slice` and `value` name; with intervals for a confidence."""
    cuts = [read_slicing(spec, evidence.slice_schema) for spec in specs]
    return _side_by_side(cuts, [_tabulate_slicing(evidence, cut, metrics, confidence=confidence) for cut in cuts])


def _tabulate_slicing(
    evidence: Evidence, cut: Slicing, metrics: Sequence[Metric], *, confidence: float | None
) -> MetricTable:
    check_names(cut.names, metrics)
    names = [key.column for key in cut.keys]
    frame = _lift_slices(evidence, cut, metrics, confidence)
    title = evidence.sample.title(f"Slices by {cut.name}")
    quiet = () if confidence is None else (WEIGHT,)  # the share says it too, and intervals need the room
    made = partial(
        MetricTable, title, engine=evidence.engine, quiet=quiet, keys=cut.names, confidence=confidence or CONFIDENCE
    )
    bands = band_keys(cut)
    if not bands:
        return made(frame=frame, order=((WEIGHT, True), *((name, False) for name in names)))
    starts = {name: f"_{name}_start" for name in bands}
    frame = frame.with_columns(*(nw.col(name).alias(start) for name, start in starts.items()))
    frame = frame.with_columns(*(band_label(name).alias(name) for name in bands))
    order = tuple((starts.get(name, name), False) for name in names)
    return made(frame=frame, order=order, hidden=tuple(starts.values()))


def _lift_slices(evidence: Evidence, cut: Slicing, metrics: Sequence[Metric], confidence: float | None) -> nw.LazyFrame:
    names, rows = [key.column for key in cut.keys], slice_cells(evidence, cut, metrics)
    if confidence is None:
        return evidence.estimate(rows, names, metrics)
    sums = evidence.engine.checkpoint(sum_up(evidence.sample.expand(rows), (*names, IDEAL), metrics))
    total, sample = evidence.estimated_weight, evidence.sample
    return lift_with_intervals(sums, names, metrics=metrics, total_weight=total, sample=sample, confidence=confidence)


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
        keyed = items.select(IDEAL, ACTUAL, WEIGHT, *(expression.alias(name) for name, expression in keys))
        split = keyed.group_by(IDEAL, ACTUAL, *(name for name, _ in keys))
        sums = split.agg(nw.len().alias(ITEMS), nw.col(WEIGHT).sum())
        rows = sums.join(rows.drop(ITEMS, WEIGHT), on=[IDEAL, ACTUAL], how="inner")
    bands = [band_start(SIZES[k.name]).alias(k.column) for k in cut.keys if k.expression is None]
    return rows.with_columns(*bands) if bands else rows


def items_for(evidence: Evidence, keys: Sequence[Key]) -> nw.LazyFrame:
    """Return the items with the columns that keys need, for a user's own expression also under the user's names."""
    items = evidence.items_with(needed_columns(evidence, keys))
    if all(key.columns is not None for key in keys):
        return items
    columns = [nw.col(inside(c)).alias(c) for c in evidence.slice_schema]
    return items.with_columns(*columns) if columns else items


def needed_columns(evidence: Evidence, keys: Sequence[Key]) -> list[str]:
    """List the item columns that the keys of a slicing need."""
    if any(key.columns is None for key in keys):
        return list(evidence.slice_schema)
    return [column for key in keys for column in key.columns or ()]


def _side_by_side(cuts: Sequence[Slicing], tables: Sequence[MetricTable]) -> MetricTable:
    parts = []
    for number, (cut, table) in enumerate(zip(cuts, tables, strict=True)):
        names = [key.column for key in cut.keys]
        value = _as_text(names)
        labels = (nw.lit(cut.name).alias("slice"), value.alias("value"), nw.lit(number).alias("_number"))
        others = (c for c in table.columns if c not in cut.names)
        parts.append(table.frame.select(*labels, *others))
    order = (("_number", False), (WEIGHT, True), ("value", False))
    first = tables[0]
    return MetricTable(
        "Slices",
        nw.concat(parts),
        first.engine,
        order=order,
        hidden=("_number",),
        quiet=first.quiet,
        keys=("value",),
        confidence=first.confidence,
    )


def _as_text(names: Sequence[str]) -> nw.Expr:
    """Write the values that make a slice as one; that of one column is missing where the column's is."""
    texts = [nw.col(name).cast(nw.String) for name in names]
    if len(texts) == 1:
        return texts[0]
    named = [nw.when(text.is_null()).then(nw.lit(MISSING)).otherwise(text) for text in texts]
    return nw.concat_str(named, separator=", ")


def check_names(names: Sequence[str], metrics: Sequence[Metric]) -> None:
    """Refuse slices whose names are columns of their table already."""
    taken = {ITEMS, WEIGHT, SHARE, IDEAL, ACTUAL, IDEAL_CLUSTERS, *(c for m in metrics for c in columns_of(m))}
    taken |= {m.name + end for m in metrics for end in (LOW, HIGH)}
    if len({n.lower() for n in names}) < len(names):
        raise UsageError(f"A slice crosses a column with itself: {', '.join(names)}.")
    clash = [name for name in names if name.lower() in taken]
    if clash:
        raise UsageError(f"A slice cannot be called {clash[0]!r}, as a column of its table is. Rename the column.")
