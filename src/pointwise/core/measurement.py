"""Measurement: the value of every metric for every cell."""

import math
from collections.abc import Iterable, Mapping
from typing import Any

import narwhals.stable.v2 as nw
import numpy as np

from pointwise.columns import ACTUAL_WEIGHT, FP, IDEAL_WEIGHT, TN, TP
from pointwise.core.arithmetic import ARRAYS
from pointwise.core.confusion import Confusion
from pointwise.core.metrics import Metric, find_metric


def measure(cells: nw.LazyFrame, metrics: Iterable[Metric]) -> nw.LazyFrame:
    """Add one column per metric; null where a metric is undefined.

    Args:
        cells: Cells with their confusion matrix, as `confuse` gives them.
        metrics: What to compute. A metric of means needs the metrics that it is made of.
    """
    confusion = Confusion.of_columns()
    columns = {m: m.formula(confusion).alias(m.name) for m in item_metrics(metrics)}
    measured = cells.with_columns(*columns.values()) if columns else cells
    clipped = [_clip(m) for m in columns if m.is_clipped]
    return measured.with_columns(*clipped) if clipped else measured


def measure_cell(cell: Mapping[str, Any], metrics: Iterable[Metric]) -> dict[str, float | None]:
    """Compute metrics of one cell that was fetched, for which planning a query would take far longer.

    Args:
        cell: Its confusion matrix, as `confuse` gives it.
        metrics: What to compute; none of means.
    """
    tp, ideal, actual, tn = (np.float64(cell[name]) for name in (TP, IDEAL_WEIGHT, ACTUAL_WEIGHT, TN))
    confusion = Confusion(tp, ideal, actual, ideal + np.float64(cell[FP]) + tn, tn, ARRAYS)
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        return {m.name: _defined(m, float(m.formula(confusion))) for m in metrics}


def _defined(metric: Metric, value: float) -> float | None:
    """Write an undefined value as null, and clip what rounding pushed out of its range."""
    low, high = metric.range
    if math.isnan(value):
        return None
    return min(max(value, low), high) if metric.is_clipped else value


def _clip(metric: Metric) -> nw.Expr:
    value, (low, high) = nw.col(metric.name), metric.range
    upper = nw.when(value > high).then(nw.lit(high)).otherwise(value)
    return nw.when(value < low).then(nw.lit(low)).otherwise(upper).alias(metric.name)


def item_metrics(metrics: Iterable[Metric]) -> tuple[Metric, ...]:
    """List the metrics that have a value for an item, with those that metrics of means are made of."""
    found: dict[str, Metric] = {}
    for metric in metrics:
        for part in [find_metric(name) for name in metric.means] or [metric]:
            found.setdefault(part.name, part.with_empty if metric.meets_empty else part)
    return tuple(found.values())
