"""Uncertainty: how far a value may lie from what a larger truth would give.

The ideal clusters are the sampling units, because the items of a cluster stand and fall together. Every value is
a ratio M = sum(a) / sum(b) over ideal clusters, a being weight times metric and b the weight. Leaving one cluster
out moves M by its *influence*

    e = (a - M b) / (sum(b) - b)

and the jackknife makes a standard error of that: error² = (n - 1) / n · sum(e²). Sizes of clusters are skewed, so
that a few heavy clusters decide; the degrees of freedom that such an error rests on are estimated as well
(Satterthwaite): 2n / (κ - 1) with κ = n sum(e⁴) / sum(e²)², at least 1 and at most n - 1. The interval of a difference
of two values is symmetric on the plain scale. That of a value is symmetric on the logit scale of the metric's range,
except that its end away from the nearer border is averaged with a beta quantile: a truth in which few clusters have
mistakes says little about how large the rare mistakes can be. Where nothing varies and the value is at the border,
the interval is a one-sided bound. `benchmarks/intervals.py` shows how often such intervals hold the true value.

Where it is known how the truth was drawn, sums are expanded to the population before they come here, and every
influence counts with the share of its kind of cluster that was not drawn (`Sample`).
"""

from __future__ import annotations

import math
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
from pointwise.core.sample import REST, STRATUM, Sample
from pointwise.errors import UsageError
from pointwise.uncertainty.student_t import critical_polynomial, normal_value, two_sided_p

CONFIDENCE = 0.95

# Suffixes of the columns behind an interval. No metric has two underscores in its name, so that none can meet them.
INFLUENCE = "__influence"
ERROR = "__error"
FREEDOM = "__df"
REACH = "__reach"  # the error times the critical value
LIGHTNESS = "__lightness"  # one over the number of clusters of equal weight that would tell as much
SQUARE, FOURTH, COUNTED, VARIANCE = "__square", "__fourth", "__counted", "__variance"  # of influences, summed
_TOTAL, _MEAN, _PULL, _OPEN, _EXCESS, _X = "__total", "__mean", "__pull", "__open", "__excess", "__x"

_NO_SPREAD = 1e-12  # what rounding leaves of a standard error of zero
_LONGEST_WAY = 600.0  # on the logit scale, before the exponential function overflows
STEP = 1e-6  # of the numerical derivative of a metric of means
_PRIOR = 0.1  # clusters with an error of one that the far end reckons with, beside those seen


@dataclass(frozen=True)
class Interval:
    """Where a value may lie, or why that cannot be said.

    Args:
        low: Lower end; None if there is no interval.
        high: Upper end.
        ideal_clusters: Number of ideal clusters that the value rests on.
        confidence: How often such intervals hold the true value.
        reason: Why there is no interval.
        is_one_sided: Whether the value is at the end of its range and nothing varies, so that the interval is a bound
            on the errors that were not seen.
    """

    low: float | None
    high: float | None
    ideal_clusters: int
    confidence: float = CONFIDENCE
    reason: str = ""
    is_one_sided: bool = False

    def __contains__(self, value: float) -> bool:
        """Tell whether a value lies in the interval."""
        return self.low is not None and self.high is not None and self.low <= value <= self.high


def check_confidence(confidence: float) -> float:
    """Return a confidence that means something.

    Raises:
        UsageError: It does not lie between 0 and 1.
    """
    if not isinstance(confidence, (int, float)) or not 0 < confidence < 1:
        raise UsageError(f"confidence={confidence!r} must lie between 0 and 1, such as 0.95.")
    return float(confidence)


def read_intervals(
    row: Mapping[str, Any], metrics: Iterable[Metric], *, confidence: float, sample: Sample
) -> dict[str, Interval]:
    """Take the intervals from a row that `lift_with_intervals` gives."""
    clusters = int(row[IDEAL_CLUSTERS])
    intervals = {}
    for metric in metrics:
        value, low, high = (row[metric.name + end] for end in ("", LOW, HIGH))
        reason = explain_absence(metric, clusters, value, sample) if low is None else ""
        is_one_sided = low is not None and value in metric.range
        intervals[metric.name] = Interval(low, high, clusters, confidence, reason, is_one_sided)
    return intervals


def explain_absence(metric: Metric, clusters: int, value: float | None, sample: Sample) -> str:
    """Say why a value has no interval."""
    if value in metric.range and not may_be_bounded(metric, sample):
        return (
            "no error was seen, but members of actual clusters outside the truth were not looked at, and errors may "
            "hide there"
        )
    if clusters < 2:  # noqa: PLR2004  # one alone has no spread
        return "a single ideal cluster shows no spread"
    return f"the value does not vary among the {clusters:,} ideal clusters, so its spread is not known"


def may_be_bounded(metric: Metric, sample: Sample) -> bool:
    """Tell whether a value without any error bounds the errors that were not seen."""
    return _is_bounded(metric) and (sample.sees_outside or not metric.sees_false_positives)


def lift_with_intervals(
    sums: nw.LazyFrame,
    by: Sequence[str],
    *,
    metrics: Sequence[Metric],
    total_weight: float,
    sample: Sample,
    confidence: float = CONFIDENCE,
) -> nw.LazyFrame:
    """Average every metric over groups of ideal clusters, with intervals.

    Args:
        sums: What `sum_up` gives by the group's columns and the ideal cluster. It is used twice.
        by: Columns that make the groups; none for everything together.
        metrics: What to average.
        total_weight: What `share` is a share of.
        sample: How the ideal clusters were drawn.
        confidence: How often the intervals shall hold the true value.

    Returns:
        What `lift` gives, with `ideal_clusters`, and for every metric the ends of its interval in `<metric>_low`
        and `<metric>_high`: null where fewer than two ideal clusters, or no spread among them, allow none.
    """
    parts, names = item_metrics(metrics), [m.name for m in metrics]
    weights = list(dict.fromkeys(defined_weight(m) for m in parts))
    squares = [(nw.col(weight) * nw.col(weight)).alias(weight + SQUARE) for weight in weights]
    rows = find_influences(sums, by, metrics).with_columns(*squares)
    carry = [*sum_columns(parts), *(weight + SQUARE for weight in weights)]
    varied = vary(rows, by, names, sample=sample, carry=carry)
    return lift_varied(varied, by, metrics=metrics, total_weight=total_weight, sample=sample, confidence=confidence)


def lift_varied(
    varied: nw.LazyFrame,
    by: Sequence[str],
    *,
    metrics: Sequence[Metric],
    total_weight: float,
    sample: Sample,
    confidence: float,
) -> nw.LazyFrame:
    """Do what `lift_with_intervals` does, for groups whose influences were summed already.

    Args:
        varied: One row per group with the sums of `sum_up`, the squares of their weights, and what `vary` gives.
        by: Columns that make the groups.
        metrics: What to average.
        total_weight: What `share` is a share of.
        sample: How the ideal clusters were drawn.
        confidence: How often the intervals shall hold the true value.
    """
    parts, names = item_metrics(metrics), [m.name for m in metrics]
    weights = list(dict.fromkeys(defined_weight(m) for m in parts))
    carry = [*sum_columns(parts), *(weight + SQUARE for weight in weights), IDEAL_CLUSTERS]
    grouped = _reach_out(varied, by, names, confidence=confidence, carry=carry)
    grouped = grouped.with_columns(*(_lightness(m) for m in metrics))
    spreads = [name + suffix for name in names for suffix in (REACH, LIGHTNESS)]
    lifted = average(grouped, by, metrics=metrics, total_weight=total_weight, carry=[IDEAL_CLUSTERS, *spreads])
    per_metric = [c for m in metrics for c in (*columns_of(m), m.name + LOW, m.name + HIGH)]
    ended = with_interval_ends(lifted, metrics, confidence=confidence, sample=sample)
    return ended.select(*by, ITEMS, WEIGHT, SHARE, IDEAL_CLUSTERS, *per_metric)


def _lightness(metric: Metric) -> nw.Expr:
    weight = defined_weight(item_metrics([metric])[0])
    square = nw.col(weight) * nw.col(weight)
    return nw.when(square > 0).then(nw.col(weight + SQUARE) / square).alias(metric.name + LIGHTNESS)


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
        ends = [of_means(metric, [*means[:n], means[n] + step, *means[n + 1 :]]) for step in (STEP, -STEP)]
        terms.append((ends[0] - ends[1]) * (0.5 / STEP) * nw.col(name + INFLUENCE))
    return reduce(lambda a, b: a + b, terms)


def spread(
    rows: nw.LazyFrame,
    by: Sequence[str],
    names: Sequence[str],
    *,
    confidence: float,
    sample: Sample,
    carry: Sequence[str] = (),
) -> nw.LazyFrame:
    """Turn the influences of ideal clusters into the standard error of each group.

    Args:
        rows: One per group and ideal cluster, with `<name>_influence`.
        by: Columns that make the groups.
        names: Of the metrics.
        confidence: How often intervals shall hold the true value.
        sample: How the ideal clusters were drawn.
        carry: Further columns to sum.

    Returns:
        One row per group, with `ideal_clusters`, and for every name the standard error, its degrees of freedom and
        the reach of an interval on the plain scale; null without spread.
    """
    varied = vary(rows, by, names, sample=sample, carry=carry)
    return _reach_out(varied, by, names, confidence=confidence, carry=[*carry, IDEAL_CLUSTERS])


def vary(
    rows: nw.LazyFrame, by: Sequence[str], names: Sequence[str], *, sample: Sample, carry: Sequence[str] = ()
) -> nw.LazyFrame:
    """Sum the squares and fourth powers of influences over groups, and count them.

    Returns:
        One row per group, with the columns in `carry` summed, `ideal_clusters`, and for every name `_square`,
        `_fourth`, `_counted` and `_variance`.
    """
    carried = [*carry, IDEAL_CLUSTERS]
    rows = rows.with_columns(nw.lit(1).cast(nw.Int64).alias(IDEAL_CLUSTERS))
    if sample.clusters is None:
        grouped = _vary(rows, by, names, carried)
    else:
        grouped = _vary_drawn(rows, by, names, carried, sample.clusters)
    return grouped.with_columns(nw.col(IDEAL_CLUSTERS).cast(nw.Int64))


def _reach_out(
    varied: nw.LazyFrame, by: Sequence[str], names: Sequence[str], *, confidence: float, carry: Sequence[str]
) -> nw.LazyFrame:
    check_confidence(confidence)
    grouped = varied.with_columns(*(_error(n) for n in names))
    grouped = grouped.with_columns(*(_excess(n) for n in names)).with_columns(*(_freedom(n) for n in names))
    grouped = grouped.with_columns(*((2 / nw.col(n + FREEDOM) - 1).alias(n + _X) for n in names))
    spreads = [n + suffix for n in names for suffix in (ERROR, FREEDOM)]
    return grouped.select(*by, *carry, *spreads, *(_reach(n, confidence) for n in names))


def _vary(rows: nw.LazyFrame, by: Sequence[str], names: Sequence[str], carry: Sequence[str]) -> nw.LazyFrame:
    """Sum the powers of influences over groups: clusters drawn alike from very many."""
    rows = rows.with_columns(*(column for n in names for column in _powers(n)))
    summed = [n + suffix for n in names for suffix in (SQUARE, FOURTH, COUNTED)]
    grouped = add_up(rows, by, [*carry, *summed])
    return grouped.with_columns(*(_scatter(n, nw.col(n + SQUARE)) for n in names))


def _vary_drawn(
    rows: nw.LazyFrame, by: Sequence[str], names: Sequence[str], carry: Sequence[str], clusters: nw.LazyFrame
) -> nw.LazyFrame:
    """Sum the powers of influences over the strata of groups, and then over groups.

    A stratum with a single cluster counts with its influence as it is, which rather says too much than too little.
    """
    rows = rows.join(clusters.select(IDEAL, REST, STRATUM), on=IDEAL, how="inner")
    rows = rows.with_columns(*(column for n in names for column in _powers(n, nw.col(REST))))
    rows = rows.with_columns(*(column for n in names for column in _pulls(n)))
    summed = [n + suffix for n in names for suffix in (SQUARE, FOURTH, COUNTED)]
    pulls = [n + suffix for n in names for suffix in (_PULL, _OPEN)]
    strata = add_up(rows, (*by, STRATUM), [*carry, *summed, *pulls])
    strata = strata.with_columns(*(_mean_pull(n) for n in names))
    strata = strata.with_columns(*(_scatter(n, nw.col(n + SQUARE) - nw.col(n + _PULL)) for n in names))
    return add_up(strata, by, [*carry, *summed, *(n + VARIANCE for n in names)])


def _powers(name: str, rest: nw.Expr | None = None) -> tuple[nw.Expr, nw.Expr, nw.Expr]:
    influence = nw.col(name + INFLUENCE)
    square = influence * influence if rest is None else influence * influence * rest
    counted = nw.when(influence.is_null()).then(nw.lit(0.0)).otherwise(nw.lit(1.0))
    return square.alias(name + SQUARE), (square * square).alias(name + FOURTH), counted.alias(name + COUNTED)


def _pulls(name: str) -> tuple[nw.Expr, nw.Expr]:
    rest = nw.col(REST)
    return (nw.col(name + INFLUENCE) * rest).alias(name + _PULL), (nw.col(name + COUNTED) * rest).alias(name + _OPEN)


def _mean_pull(name: str) -> nw.Expr:
    """Say how much of the sum of squares is there because the influences of a stratum do not cancel out."""
    pull, rest = nw.col(name + _PULL), nw.col(name + _OPEN)
    centred = nw.when((rest > 0) & (nw.col(name + COUNTED) > 1)).then(pull * pull / rest)
    return centred.otherwise(nw.lit(0.0)).alias(name + _PULL)


def _scatter(name: str, squares: nw.Expr) -> nw.Expr:
    n = nw.col(name + COUNTED)
    return nw.when(n > 1).then(n / (n - 1) * squares).otherwise(squares).alias(name + VARIANCE)


def _error(name: str) -> nw.Expr:
    n, variance = nw.col(name + COUNTED), nw.col(name + VARIANCE)
    has_spread = (n > 1) & (variance > _NO_SPREAD * _NO_SPREAD)
    return nw.when(has_spread).then((n - 1) / n * variance.sqrt()).alias(name + ERROR)


def _excess(name: str) -> nw.Expr:
    """Say by how much the influences have heavier tails than two equal ones of either sign."""
    n, square, fourth = (nw.col(name + suffix) for suffix in (COUNTED, SQUARE, FOURTH))
    return nw.when(fourth > 0).then(n * fourth / (square * square) - 1).alias(name + _EXCESS)


def _freedom(name: str) -> nw.Expr:
    n, excess = nw.col(name + COUNTED), nw.col(name + _EXCESS)
    found = nw.when(excess * (n - 1) > 2 * n).then(2 * n / excess).otherwise(n - 1)
    freedom = nw.when(found > 1).then(found).otherwise(nw.lit(1.0))
    return nw.when(~excess.is_null()).then(freedom).alias(name + FREEDOM)


def _within(value: nw.Expr, low: float, high: nw.Expr) -> nw.Expr:
    """Bring a value into a range; one that is missing must be dealt with outside."""
    return nw.max_horizontal(nw.min_horizontal(value, high), nw.lit(low))


def _reach(name: str, confidence: float) -> nw.Expr:
    critical, *others = (nw.lit(c) for c in reversed(critical_polynomial(confidence)))
    for coefficient in others:
        critical = critical * nw.col(name + _X) + coefficient
    return (critical.exp() * nw.col(name + ERROR)).alias(name + REACH)


def _is_bounded(metric: Metric) -> bool:
    return bool(np.isfinite(metric.range).all())


def with_interval_ends(
    lifted: nw.LazyFrame, metrics: Iterable[Metric], *, confidence: float, sample: Sample
) -> nw.LazyFrame:
    """Add both ends of every value's interval.

    Args:
        lifted: Rows with `<metric>`, `<metric>_reach` and `<metric>_lightness`.
        metrics: Of which metrics.
        confidence: How often the intervals shall hold the true value.
        sample: How the ideal clusters were drawn.
    """
    for metric in metrics:
        if not _is_bounded(metric):
            lifted = lifted.with_columns(*_plain_ends(metric))
            continue
        for step in _steps(metric, normal_value(confidence)):
            lifted = lifted.with_columns(*step)
        lifted = lifted.with_columns(*_ends(metric, confidence, has_bound=may_be_bounded(metric, sample)))
    return lifted


def _plain_ends(metric: Metric) -> Iterator[nw.Expr]:
    value, reach, (least, most) = nw.col(metric.name), nw.col(metric.name + REACH), metric.range
    for end, suffix in ((value - reach, LOW), (value + reach, HIGH)):
        yield nw.when(~reach.is_null()).then(_within(end, least, nw.lit(most))).alias(metric.name + suffix)


def _steps(metric: Metric, z: float) -> Iterator[list[nw.Expr]]:
    """Compute the odds of both ends of an interval of the error, which is how far the value is from the nearer border.

    The error E gets a beta distribution: its mean and variance are those seen, with a tenth of a cluster in which all
    is wrong beside them, and its quantile is found by the normal approximation of the cube root of a ratio (Paulson).
    Every quotient becomes a column before it is divided again.
    """
    (least, most), width = metric.range, metric.range[1] - metric.range[0]

    def col(name: str) -> nw.Expr:
        return nw.col(f"_{metric.name}_{name}")

    def named(**columns: nw.Expr) -> list[nw.Expr]:
        return [expression.alias(f"_{metric.name}_{name}") for name, expression in columns.items()]

    value, w = nw.col(metric.name), nw.col(metric.name + LIGHTNESS)
    below, above = (value - least) / width, (most - value) / width
    is_inside = ~nw.col(metric.name + REACH).is_null() & (value > least) & (value < most)
    yield named(
        error=nw.when(is_inside & (below <= above)).then(below).otherwise(nw.when(is_inside).then(above)),
        reach=nw.when(is_inside).then(nw.col(metric.name + REACH) / width),
    )
    error, rest, seen = col("error"), 1 - col("error"), 1 + _PRIOR * w
    yield named(
        mean=(error + _PRIOR * w) / seen,
        variance=(col("reach") * col("reach") / (z * z) + _PRIOR * w * w * rest * rest) / (seen * seen),
        odds=error / rest,
        way=_within(col("reach") / (error * rest), 0.0, nw.lit(_LONGEST_WAY)),
    )
    mean = col("mean")
    yield named(k=mean * (1 - mean) / col("variance") - 1, mean_odds=mean / (1 - mean), factor=col("way").exp())
    yield named(
        s_a=nw.when(col("k") > 0).then(1 / (9 * mean * col("k"))),
        s_b=nw.when(col("k") > 0).then(1 / (9 * (1 - mean) * col("k"))),
    )
    s_a, s_b = col("s_a"), col("s_b")
    u_a, u_b = 1 - s_a, 1 - s_b
    yield named(under=u_b * u_b - z * z * s_b, inner=u_a * u_a * s_b + u_b * u_b * s_a - z * z * s_a * s_b)
    root = nw.when(col("inner") > 0).then(col("inner")).otherwise(nw.lit(0.0)).sqrt()
    is_found = (col("under") > 0) & (col("inner") >= 0)
    yield named(x=nw.when(is_found).then((u_a * u_b + z * root) / col("under")))
    x, factor = col("x"), col("factor")
    far = (col("odds") * factor * col("mean_odds") * x * x * x).sqrt()
    yield named(near=col("odds") / factor, far=nw.when(x > 0).then(far))
    # Where there is no such quantile, too little is known to exclude any larger error.
    share = nw.when(~col("far").is_null()).then(col("far") / (1 + col("far"))).otherwise(nw.lit(1.0))
    yield named(near=col("near") / (1 + col("near")), far=nw.when(~error.is_null()).then(share))


def _ends(metric: Metric, confidence: float, *, has_bound: bool) -> Iterator[nw.Expr]:
    (least, most), width = metric.range, metric.range[1] - metric.range[0]
    value, reach = nw.col(metric.name), nw.col(metric.name + REACH)
    near, far = (nw.col(f"_{metric.name}_{end}") for end in ("near", "far"))
    is_low = value - least <= most - value
    unseen = width * (1 - (math.log(1 - confidence) * nw.col(metric.name + LIGHTNESS)).exp())
    is_bound = reach.is_null() & (nw.lit(has_bound) & ~value.is_null())
    is_least, is_most = (is_bound & (away < _NO_SPREAD * width) for away in (value - least, most - value))
    ends = {
        LOW: (least + width * near, most - width * far, nw.lit(float(least)), most - unseen),
        HIGH: (least + width * far, most - width * near, least + unseen, nw.lit(float(most))),
    }
    for suffix, (of_low, of_high, at_least, at_most) in ends.items():
        inside = nw.when(is_low).then(of_low).otherwise(of_high)
        bound = nw.when(is_least).then(at_least).otherwise(nw.when(is_most).then(at_most))
        yield nw.when(~reach.is_null()).then(inside).otherwise(bound).alias(metric.name + suffix)


def two_sided_p_value(delta: float | None, error: float | None, freedom: float | None) -> float | None:
    """Return how often samples of two equally good clusterings would show a difference at least this large.

    Where nothing changed or varies, there is nothing to test.
    """
    if error is None or delta is None:
        return None
    return two_sided_p(delta / error, freedom or 1.0)


def adjust_p_values(p_values: Sequence[float | None]) -> list[float | None]:
    """Adjust the p-values of many tests (Benjamini and Hochberg).

    Of the differences with an adjusted value of at most 0.05, on average at most one in twenty is there by chance.

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


def adjust_jointly(p_values: Sequence[float | None]) -> list[float | None]:
    """Adjust the p-values of several tests so that even one false finding among them is rare (Holm).

    Example:
        >>> adjust_jointly([0.01, 0.04, None, 0.03])
        [0.03, 0.06, None, 0.06]
    """
    order = sorted((p, n) for n, p in enumerate(p_values) if p is not None)
    adjusted: list[float | None] = [None] * len(p_values)
    most = 0.0
    for rank, (p, n) in enumerate(order):
        most = max(most, min(1.0, p * (len(order) - rank)))
        adjusted[n] = most
    return adjusted
