"""Uncertainty: how far a value may lie from what a larger truth would give.

The ideal clusters are the sampling units, because the items of a cluster stand and fall together. Every value is
a ratio M = sum(a) / sum(b) over ideal clusters, a being weight times metric and b the weight. Leaving one cluster
out moves M by its *influence*

    e = (a - M b) / (sum(b) - b)

and the jackknife makes a standard error of that: error² = (n - 1) / n · sum(e²). Sizes of clusters are skewed, so
that a few heavy clusters decide; the degrees of freedom that such an error rests on are estimated as well
(Satterthwaite), df = 3 sum(e²)² / sum(e⁴), at least 1 and at most n - 1. A value's interval is symmetric on the logit
scale of the metric's range, that of a difference of two values on the plain scale. `benchmarks/intervals.py`
shows how often such intervals hold the true value, and how much less often simpler ones do.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import reduce
from typing import Any

import narwhals.stable.v2 as nw
import numpy as np

from pointwise.columns import HIGH, IDEAL, IDEAL_CLUSTERS, ITEMS, LOW, SHARE, WEIGHT
from pointwise.core.lifting import add_up, average, columns_of, defined_weight, of_means, sum_columns
from pointwise.core.measurement import item_metrics
from pointwise.core.metrics import Metric
from pointwise.errors import UsageError
from pointwise.uncertainty.student_t import critical_polynomial, two_sided_p

CONFIDENCE = 0.95

INFLUENCE = "_influence"  # suffixes of the columns behind an interval
ERROR = "_error"
FREEDOM = "_df"
REACH = "_reach"  # the error times the critical value
_SQUARE, _FOURTH, _COUNTED, _TOTAL, _MEAN = "_square", "_fourth", "_counted", "_total", "_mean"
_X, _FACTOR = "_x", "_factor"

_NO_SPREAD = 1e-12  # what rounding leaves of a standard error of zero
_LONGEST_WAY = 700.0  # on the logit scale, before the exponential function overflows
_STEP = 1e-6  # of the numerical derivative of a metric of means


@dataclass(frozen=True)
class Interval:
    """Where a value may lie, or why that cannot be said.

    Args:
        low: Lower end; None if there is no interval.
        high: Upper end.
        ideal_clusters: Number of ideal clusters that the value rests on.
        confidence: How often such intervals hold the true value.
        reason: Why there is no interval.
    """

    low: float | None
    high: float | None
    ideal_clusters: int
    confidence: float = CONFIDENCE
    reason: str = ""

    def __contains__(self, value: float) -> bool:
        """Tell whether a value lies in the interval."""
        return self.low is not None and self.high is not None and self.low <= value <= self.high


def read_intervals(row: Mapping[str, Any], metrics: Iterable[Metric]) -> dict[str, Interval]:
    """Take the intervals from a row that `lift_with_intervals` gives."""
    clusters = int(row[IDEAL_CLUSTERS])
    intervals = {}
    for metric in metrics:
        low, high = row[metric.name + LOW], row[metric.name + HIGH]
        reason = explain_absence(clusters) if low is None else ""
        intervals[metric.name] = Interval(low, high, clusters, reason=reason)
    return intervals


def explain_absence(clusters: int) -> str:
    """Say why a value has no interval."""
    if clusters < 2:  # noqa: PLR2004  # one alone has no spread
        return "a single ideal cluster shows no spread"
    return f"the value does not vary among the {clusters:,} ideal clusters, so its spread is not known"


def lift_with_intervals(
    sums: nw.LazyFrame,
    by: Sequence[str],
    *,
    metrics: Sequence[Metric],
    total_weight: float,
    confidence: float = CONFIDENCE,
) -> nw.LazyFrame:
    """Average every metric over groups of ideal clusters, with intervals.

    Args:
        sums: What `sum_up` gives by the group's columns and the ideal cluster. It is used twice.
        by: Columns that make the groups; none for everything together.
        metrics: What to average.
        total_weight: What `share` is a share of.
        confidence: How often the intervals shall hold the true value.

    Returns:
        What `lift` gives, with `ideal_clusters`, and for every metric the ends of its interval in `<metric>_low`
        and `<metric>_high`: null where fewer than two ideal clusters, or no spread among them, allow none.
    """
    rows, names = find_influences(sums, by, metrics), [m.name for m in metrics]
    spreads = [name + suffix for name in names for suffix in (ERROR, FREEDOM, REACH)]
    grouped = spread(rows, by, names, confidence=confidence, carry=sum_columns(item_metrics(metrics)))
    lifted = average(grouped, by, metrics=metrics, total_weight=total_weight, carry=[IDEAL_CLUSTERS, *spreads])
    per_metric = [c for m in metrics for c in (*columns_of(m), m.name + LOW, m.name + HIGH)]
    return with_interval_ends(lifted, metrics).select(*by, ITEMS, WEIGHT, SHARE, IDEAL_CLUSTERS, *per_metric)


def find_influences(sums: nw.LazyFrame, by: Sequence[str], metrics: Sequence[Metric]) -> nw.LazyFrame:
    """Add to the sums of every ideal cluster how much leaving it out would move each metric of its group."""
    parts = item_metrics(metrics)
    keys = {f"_key_{n}": _joinable(column) for n, column in enumerate(by)} or {"_key": nw.lit("")}
    keyed = sums.with_columns(*(expression.alias(key) for key, expression in keys.items()))
    columns = sum_columns(parts)
    weights = dict.fromkeys(defined_weight(m) for m in parts)
    totals = add_up(keyed, list(keys), columns).select(
        *keys,
        *(nw.col(weight).alias(weight + _TOTAL) for weight in weights),
        *((nw.col(m.name) / nw.col(defined_weight(m))).alias(m.name + _MEAN) for m in parts),
    )
    rows = keyed.join(totals, on=list(keys), how="inner")
    rows = rows.with_columns(*(_influence(m).alias(m.name + INFLUENCE) for m in parts))
    combined = [_influence_of_means(m).alias(m.name + INFLUENCE) for m in metrics if m.means]
    rows = rows.with_columns(*combined) if combined else rows
    names = dict.fromkeys([m.name for m in (*parts, *metrics)])
    return rows.select(*by, IDEAL, *columns, *(name + INFLUENCE for name in names))


def _joinable(column: str) -> nw.Expr:
    """Write a value as text in which the missing value equals itself, which it does not in a join."""
    text = nw.concat_str([nw.lit("="), nw.col(column).cast(nw.String)])
    return nw.when(nw.col(column).is_null()).then(nw.lit("")).otherwise(text)


def _influence(metric: Metric) -> nw.Expr:
    weight = defined_weight(metric)
    others = nw.col(weight + _TOTAL) - nw.col(weight)
    excess = nw.col(metric.name) - nw.col(metric.name + _MEAN) * nw.col(weight)
    return nw.when((nw.col(weight) > 0) & (others > 0)).then(excess / others)


def _influence_of_means(metric: Metric) -> nw.Expr:
    """Linearise a metric of means: its derivatives times the influences on the means."""
    means = [nw.col(part.name + _MEAN) for part in item_metrics([metric])]
    terms = []
    for n, name in enumerate(metric.means):
        ends = [of_means(metric, [*means[:n], means[n] + step, *means[n + 1 :]]) for step in (_STEP, -_STEP)]
        terms.append((ends[0] - ends[1]) * (0.5 / _STEP) * nw.col(name + INFLUENCE))
    return reduce(lambda a, b: a + b, terms)


def spread(
    rows: nw.LazyFrame,
    by: Sequence[str],
    names: Sequence[str],
    *,
    confidence: float,
    carry: Sequence[str] = (),
) -> nw.LazyFrame:
    """Turn the influences of ideal clusters into the standard error of each group.

    Args:
        rows: One per group and ideal cluster, with `<name>_influence`.
        by: Columns that make the groups.
        names: Of the metrics.
        confidence: How often intervals shall hold the true value.
        carry: Further columns to sum.

    Returns:
        One row per group, with `ideal_clusters`, and for every name the standard error, its degrees of freedom and
        the reach of an interval on the plain scale; null without spread.
    """
    _check_confidence(confidence)
    columns = (column for n in names for column in _powers(n))
    rows = rows.with_columns(*columns, nw.lit(1).cast(nw.Int64).alias(IDEAL_CLUSTERS))
    summed = [n + suffix for n in names for suffix in (_SQUARE, _FOURTH, _COUNTED)]
    grouped = add_up(rows, by, [*carry, IDEAL_CLUSTERS, *summed])
    clusters = nw.col(IDEAL_CLUSTERS).cast(nw.Int64)
    grouped = grouped.with_columns(clusters, *(_error(n) for n in names), *(_freedom(n) for n in names))
    grouped = grouped.with_columns(*((2 / nw.col(n + FREEDOM) - 1).alias(n + _X) for n in names))
    spreads = [n + suffix for n in names for suffix in (ERROR, FREEDOM)]
    return grouped.select(*by, *carry, IDEAL_CLUSTERS, *spreads, *(_reach(n, confidence) for n in names))


def _powers(name: str) -> tuple[nw.Expr, nw.Expr, nw.Expr]:
    influence = nw.col(name + INFLUENCE)
    square = influence * influence
    counted = nw.when(influence.is_null()).then(nw.lit(0.0)).otherwise(nw.lit(1.0))
    return square.alias(name + _SQUARE), (square * square).alias(name + _FOURTH), counted.alias(name + _COUNTED)


def _check_confidence(confidence: float) -> None:
    if not 0 < confidence < 1:
        raise UsageError(f"confidence={confidence!r} must lie between 0 and 1, such as 0.95.")


def _error(name: str) -> nw.Expr:
    n, square = nw.col(name + _COUNTED), nw.col(name + _SQUARE)
    has_spread = (n > 1) & (square > _NO_SPREAD * _NO_SPREAD)
    return nw.when(has_spread).then(((n - 1) / n * square).sqrt()).alias(name + ERROR)


def _freedom(name: str) -> nw.Expr:
    square, fourth = nw.col(name + _SQUARE), nw.col(name + _FOURTH)
    most = nw.col(name + _COUNTED) - 1
    return nw.when(fourth > 0).then(_within(3 * square * square / fourth, 1.0, most)).alias(name + FREEDOM)


def _within(value: nw.Expr, low: float, high: nw.Expr) -> nw.Expr:
    """Bring a value into a range; one that is missing must be dealt with outside."""
    return nw.max_horizontal(nw.min_horizontal(value, high), nw.lit(low))


def _reach(name: str, confidence: float) -> nw.Expr:
    critical, *others = (nw.lit(c) for c in reversed(critical_polynomial(confidence)))
    for coefficient in others:
        critical = critical * nw.col(name + _X) + coefficient
    return (critical * nw.col(name + ERROR)).alias(name + REACH)


def _is_bounded(metric: Metric) -> bool:
    return bool(np.isfinite(metric.range).all())


def _odds_factor(metric: Metric) -> nw.Expr:
    """Say how many times larger or smaller the odds of a value may be; null where there is no interval."""
    value, reach, (least, most) = nw.col(metric.name), nw.col(metric.name + REACH), metric.range
    way = reach * (most - least) / ((value - least) * (most - value))  # on the logit scale
    is_inside = ~reach.is_null() & (value > least) & (value < most)
    return nw.when(is_inside).then(_within(way, 0.0, nw.lit(_LONGEST_WAY)).exp()).alias(metric.name + _FACTOR)


def with_interval_ends(lifted: nw.LazyFrame, metrics: Iterable[Metric]) -> nw.LazyFrame:
    """Add both ends of every value's interval, symmetric on the logit scale where the metric's range has two ends.

    Args:
        lifted: Rows with `<metric>` and `<metric>_reach`.
        metrics: Of which metrics.
    """
    metrics = tuple(metrics)
    lifted = lifted.with_columns(*(_odds_factor(m) for m in metrics if _is_bounded(m)))
    return lifted.with_columns(*(end for m in metrics for end in _interval_ends(m)))


def _interval_ends(metric: Metric) -> Iterator[nw.Expr]:
    value, reach, (least, most) = nw.col(metric.name), nw.col(metric.name + REACH), metric.range
    if _is_bounded(metric):
        factor, width, below, above = nw.col(metric.name + _FACTOR), most - least, value - least, most - value
        low = least + width * (below / (below + above * factor))
        high = least + width * (below * factor / (below * factor + above))
    else:
        low, high = (
            nw.when(~reach.is_null()).then(_within(end, least, nw.lit(most))) for end in (value - reach, value + reach)
        )
    yield low.alias(metric.name + LOW)
    yield high.alias(metric.name + HIGH)


def two_sided_p_value(delta: float | None, error: float | None, freedom: float | None) -> float | None:
    """Return how often chance alone would make a difference this large.

    A difference of exactly zero without any spread is no evidence at all; one without spread cannot be tested.
    """
    if error is None or delta is None:
        return 1.0 if delta is not None and abs(delta) < _NO_SPREAD else None
    return two_sided_p(delta / error, freedom or 1.0)


def adjust_p_values(p_values: Sequence[float | None]) -> list[float | None]:
    """Adjust the p-values of many tests (Benjamini and Hochberg).

    Of the differences with an adjusted value of at most 0.05, about one in twenty is there by chance.

    Example:
        >>> adjust_p_values([0.01, 0.04, None, 0.03])
        [0.03, 0.04, None, 0.04]
    """
    order = sorted((p, n) for n, p in enumerate(p_values) if p is not None)
    adjusted: list[float | None] = [None] * len(p_values)
    least = 1.0
    for rank in range(len(order), 0, -1):
        p, n = order[rank - 1]
        least = min(least, p * len(order) / rank)
        adjusted[n] = least
    return adjusted
