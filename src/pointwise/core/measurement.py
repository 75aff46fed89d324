"""Measurement: the value of every metric for every cell."""

from collections.abc import Iterable

import narwhals.stable.v2 as nw

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
