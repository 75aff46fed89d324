"""Levels: tables of items, clusters and slices with their metrics."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import narwhals.stable.v2 as nw

from pointwise.columns import ACTUAL, FN, FP, IDEAL, ITEM, ITEMS, SHARE, TN, TP, UNDEFINED, WEIGHT
from pointwise.errors import UsageError
from pointwise.evidence import Evidence
from pointwise.lifting import columns_of
from pointwise.metrics import Metric
from pointwise.slices import SIZES, Key, Slicing, band_label, band_start, read_slicing
from pointwise.tables import MetricTable, Overall


def lift_overall(evidence: Evidence, metrics: Sequence[Metric]) -> Overall:
    """Average metrics over all common items."""
    row = evidence.engine.collect(evidence.lift(evidence.measured(metrics), (), metrics)).to_pylist()[0]
    undefined = {m.name: row[m.name + UNDEFINED] for m in metrics if not m.is_total}
    return Overall(row[ITEMS], row[WEIGHT], {m.name: row[m.name] for m in metrics}, undefined)


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
    return MetricTable("Items", frame.with_columns(share).select(*columns), evidence.engine)


def tabulate_slices(evidence: Evidence, specs: Sequence[Any], metrics: Sequence[Metric]) -> MetricTable:
    """Average metrics over slices; several slicings stand below one another."""
    cuts = [read_slicing(spec, evidence.slice_schema) for spec in specs]
    tables = [_tabulate_slicing(evidence, cut, metrics) for cut in cuts]
    return tables[0] if len(tables) == 1 else _side_by_side(cuts, tables)


def _tabulate_slicing(evidence: Evidence, cut: Slicing, metrics: Sequence[Metric]) -> MetricTable:
    names = [key.name for key in cut.keys]
    _check_names(names, metrics)
    frame = evidence.lift(slice_cells(evidence, cut, metrics), names, metrics)
    title = f"Slices by {cut.name}"
    bands = [key.name for key in cut.keys if key.name in SIZES and key.expression is None]
    if not bands:
        order = ((WEIGHT, True), *((name, False) for name in names))
        return MetricTable(title, frame, evidence.engine, order=order)
    starts = {name: f"_{name}_start" for name in bands}
    frame = frame.with_columns(*(nw.col(name).alias(start) for name, start in starts.items()))
    frame = frame.with_columns(*(band_label(name).alias(name) for name in bands))
    order = tuple((starts.get(name, name), False) for name in names)
    return MetricTable(title, frame, evidence.engine, order=order, hidden=tuple(starts.values()))


def slice_cells(evidence: Evidence, cut: Slicing, metrics: Sequence[Metric]) -> nw.LazyFrame:
    """Split every measured cell by the slices that its items are in.

    Returns:
        Rows with one column per key of the slicing, the clusters, `items`, `weight` and the metrics. A band of
        cluster sizes is given by its least size.
    """
    rows = evidence.measured(metrics)
    keys = [(key.name, key.expression) for key in cut.keys if key.expression is not None]
    if keys:
        items = evidence.items_with(_needed(evidence, cut.keys))
        keyed = items.select(IDEAL, ACTUAL, WEIGHT, *(expression.alias(name) for name, expression in keys))
        split = keyed.group_by(IDEAL, ACTUAL, *(name for name, _ in keys))
        sums = split.agg(nw.len().alias(ITEMS), nw.col(WEIGHT).sum())
        rows = sums.join(rows.drop(ITEMS, WEIGHT), on=[IDEAL, ACTUAL], how="inner")
    bands = [band_start(SIZES[k.name]).alias(k.name) for k in cut.keys if k.expression is None]
    return rows.with_columns(*bands) if bands else rows


def _needed(evidence: Evidence, keys: Sequence[Key]) -> list[str]:
    if any(key.columns is None for key in keys):
        return list(evidence.slice_schema)
    return [column for key in keys for column in key.columns or ()]


def _side_by_side(cuts: Sequence[Slicing], tables: Sequence[MetricTable]) -> MetricTable:
    parts = []
    for number, (cut, table) in enumerate(zip(cuts, tables, strict=True)):
        names = [key.name for key in cut.keys]
        value = nw.concat_str([_as_text(name) for name in names], separator=", ")
        labels = (nw.lit(cut.name).alias("slice"), value.alias("value"), nw.lit(number).alias("_number"))
        parts.append(table.frame.select(*labels, *(c for c in table.columns if c not in names)))
    order = (("_number", False), (WEIGHT, True), ("value", False))
    return MetricTable("Slices", nw.concat(parts), tables[0].engine, order=order, hidden=("_number",))


def _as_text(name: str) -> nw.Expr:
    text = nw.col(name).cast(nw.String)
    return nw.when(text.is_null()).then(nw.lit("(missing)")).otherwise(text)


def _check_names(names: Sequence[str], metrics: Sequence[Metric]) -> None:
    taken = {ITEMS, WEIGHT, SHARE, IDEAL, ACTUAL, *(c for m in metrics for c in columns_of(m))}
    if len({n.lower() for n in names}) < len(names):
        raise UsageError(f"A slice crosses a column with itself: {', '.join(names)}.")
    clash = [name for name in names if name.lower() in taken]
    if clash:
        raise UsageError(f"A slice cannot be called {clash[0]!r}, as a column of its table is. Rename the column.")
