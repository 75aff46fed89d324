"""Lifting: from the values of items to those of clusters, slices and the whole, as weighted averages."""

from collections.abc import Iterable, Sequence

import narwhals.stable.v2 as nw

from pointwise.columns import ITEMS, SHARE, UNDEFINED, WEIGHT
from pointwise.confusion import Confusion
from pointwise.measurement import item_metrics
from pointwise.metrics import Metric


def lift(measured: nw.LazyFrame, by: Sequence[str], *, metrics: Iterable[Metric], total_weight: float) -> nw.LazyFrame:
    """Average every metric over groups of rows, weighted.

    An item for which a metric is undefined is left out of that metric's average together with its weight;
    `<metric>_undefined` then says which share of the group's weight was left out.

    Args:
        measured: Rows that stand for items with the same values, with columns `items`, `weight` and one per
            metric.
        by: Columns that make the groups; none for everything together.
        metrics: What to average.
        total_weight: What `share` is a share of.

    Returns:
        One row per group, with `items`, `weight`, `share` and the metrics.
    """
    metrics = tuple(metrics)
    parts = item_metrics(metrics)
    products = [(nw.col(m.name) * nw.col(WEIGHT)).alias(m.name) for m in parts]
    defined = [
        nw.when(~nw.col(m.name).is_null()).then(nw.col(WEIGHT)).otherwise(nw.lit(0.0)).alias(_defined(m))
        for m in parts
        if not m.is_total
    ]
    sums = [*(m.name for m in parts), *(_defined(m) for m in parts if not m.is_total)]
    rows = measured.select(*by, ITEMS, WEIGHT, *products, *defined)
    totals = [nw.col(name).sum() for name in (ITEMS, WEIGHT, *sums)]
    grouped = rows.group_by(*by).agg(*totals) if by else rows.select(*totals)
    means = grouped.with_columns(
        nw.col(ITEMS).cast(nw.Int64),
        (nw.col(WEIGHT) / total_weight).alias(SHARE),
        *(_mean(m) for m in parts),
        *((1 - nw.col(_defined(m)) / nw.col(WEIGHT)).alias(m.name + UNDEFINED) for m in parts if not m.is_total),
    )
    combined = [_of_means(m) for m in metrics if m.means]
    means = means.with_columns(*combined) if combined else means
    return means.select(*by, ITEMS, WEIGHT, SHARE, *(name for m in metrics for name in columns_of(m)))


def columns_of(metric: Metric) -> tuple[str, ...]:
    """Name the columns that a metric has in a lifted table."""
    return (metric.name,) if metric.is_total else (metric.name, metric.name + UNDEFINED)


def _defined(metric: Metric) -> str:
    return metric.name + "_defined_weight"


def _mean(metric: Metric) -> nw.Expr:
    weight = nw.col(WEIGHT) if metric.is_total else nw.col(_defined(metric))
    return nw.when(weight > 0).then(nw.col(metric.name) / weight).alias(metric.name)


def _of_means(metric: Metric) -> nw.Expr:
    values = (nw.col(name) for name in metric.means)
    return metric.formula(Confusion.of_columns(), *values).alias(metric.name)  # type: ignore[no-any-return]
