"""Lifting: from the values of items to those of clusters, slices and the whole, as weighted averages."""

from collections.abc import Iterable, Iterator, Sequence
from functools import partial
from typing import Any

import narwhals.stable.v2 as nw

from pointwise.columns import ITEMS, SHARE, UNDEFINED, WEIGHT
from pointwise.core.arithmetic import COLUMNS, Arithmetic, Get, compute_columns
from pointwise.core.confusion import Confusion
from pointwise.core.crosstab import sum_counts
from pointwise.core.measurement import item_metrics, measure
from pointwise.core.metrics import Metric
from pointwise.engines.base import Hold, apply


def lift(
    measured: nw.LazyFrame,
    by: Sequence[str],
    *,
    metrics: Iterable[Metric],
    total_weight: float,
    plan: Hold = apply,
) -> nw.LazyFrame:
    """Average every metric over groups of rows, weighted.

    An item for which a metric is undefined is left out of that metric's average together with its weight;
    `<metric>_undefined` then says which share of the group's weight was left out.

    Args:
        measured: Rows that stand for items with the same values, with columns `items`, `weight` and one per
            metric.
        by: Columns that make the groups; none for everything together.
        metrics: What to average.
        total_weight: What `share` is a share of.
        plan: Applies a step, as an engine's `plan` does.

    Returns:
        One row per group, with `items`, `weight`, `share` and the metrics.
    """
    metrics = tuple(metrics)
    sums = plan(sum_up, measured, by=tuple(by), metrics=metrics)
    return average(sums, by, metrics=metrics, total_weight=total_weight)


def sum_up(measured: nw.LazyFrame, by: Sequence[str], metrics: Iterable[Metric]) -> nw.LazyFrame:
    """Sum the weighted values of every metric over groups of rows.

    Returns:
        One row per group, with `items`, `weight`, for every metric the sum of weight times value under its name,
        and in `defined_weight` of the metric what to divide that by.
    """
    parts = item_metrics(metrics)
    products = [(nw.col(m.name) * nw.col(WEIGHT)).alias(m.name) for m in parts]
    defined = [
        nw.when(~nw.col(m.name).is_null()).then(nw.col(WEIGHT)).otherwise(nw.lit(0.0)).alias(defined_weight(m))
        for m in parts
        if not m.is_total
    ]
    return add_up(measured.select(*by, ITEMS, WEIGHT, *products, *defined), by, sum_columns(parts))


def sum_measured(cells: nw.LazyFrame, *, by: Sequence[str], metrics: Sequence[Metric]) -> nw.LazyFrame:
    """Measure cells and sum the weighted values of every metric over groups of them, as `sum_up` does."""
    return sum_up(measure(cells, metrics), by, metrics)


def sum_columns(parts: Iterable[Metric]) -> list[str]:
    """Name the columns of `sum_up` that belong to no group key."""
    return list(dict.fromkeys([ITEMS, WEIGHT, *(c for m in parts for c in (m.name, defined_weight(m)))]))


def add_up(rows: nw.LazyFrame, by: Sequence[str], columns: Sequence[str]) -> nw.LazyFrame:
    """Sum columns over groups of rows, or over all rows."""
    totals = [sum_counts(name) if name == ITEMS else nw.col(name).sum() for name in columns]
    return rows.group_by(*by).agg(*totals) if by else rows.select(*totals)


def average(
    sums: nw.LazyFrame, by: Sequence[str], *, metrics: Sequence[Metric], total_weight: float, carry: Sequence[str] = ()
) -> nw.LazyFrame:
    """Divide the sums of groups by their weights; keep the columns in `carry` as they are."""
    means = compute_columns(sums, partial(find_averages, metrics=metrics, total_weight=total_weight))
    return means.select(*by, ITEMS, WEIGHT, SHARE, *(name for m in metrics for name in columns_of(m)), *carry)


def find_averages(
    get: Get, arithmetic: Arithmetic, *, metrics: Sequence[Metric], total_weight: float
) -> Iterator[dict[str, Any]]:
    """Divide the sums of `sum_up` by their weights, and apply the formulas of metrics of means to the averages."""
    parts = item_metrics(metrics)
    means = {m.name: _mean(m, get, arithmetic) for m in parts}
    undefined = {m.name + UNDEFINED: 1 - get(defined_weight(m)) / get(WEIGHT) for m in parts if not m.is_total}
    yield {SHARE: get(WEIGHT) / total_weight} | means | undefined
    combined = [m for m in metrics if m.means]
    if combined:
        yield {m.name: of_means(m, [get(name) for name in m.means], arithmetic) for m in combined}


def columns_of(metric: Metric) -> tuple[str, ...]:
    """Name the columns that a metric has in a lifted table."""
    return (metric.name,) if metric.is_total else (metric.name, metric.name + UNDEFINED)


def defined_weight(metric: Metric) -> str:
    """Name the column with the weight of the items for which a metric is defined."""
    return WEIGHT if metric.is_total else metric.name + "__defined_weight"


def of_means(metric: Metric, means: Sequence[Any], arithmetic: Arithmetic = COLUMNS) -> Any:
    """Apply the formula of a metric of means."""
    return metric.formula(Confusion(0, 0, 0, 0, 0, arithmetic), *means)


def _mean(metric: Metric, get: Get, arithmetic: Arithmetic) -> Any:
    weight = get(defined_weight(metric))
    return arithmetic.choose(weight > 0, get(metric.name) / weight)
