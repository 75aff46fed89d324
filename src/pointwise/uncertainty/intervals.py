"""Intervals: how far a value may lie from what a larger truth would give.

The ideal clusters are the sampling units, because the items of a cluster depend on each other. Every value is a ratio M
= sum(a) / sum(b) over ideal clusters, a being weight times metric and b the weight. Leaving one cluster out moves M by
its *influence*

    e = (a - M b) / (sum(b) - b)

and the jackknife makes a standard error of that: error² = (n - 1) / n · sum(e²). Sizes of clusters are skewed, and a
few heavy clusters dominate, so the degrees of freedom of the error are estimated as well (Satterthwaite): 2n / (κ - 1)
with κ = n sum(e⁴) / sum(e²)², at least 1 and at most n - 1. The interval of a difference of two values is symmetric on
the plain scale. That of a value is symmetric on the logit scale of the metric's range, except that its end away from
the nearer border is averaged with a beta quantile: a truth in which few clusters have mistakes says little about how
large the rare mistakes can be. Where nothing varies and the value is at the border, the interval is a one-sided bound.
`benchmarks/intervals.py` shows how often such intervals contain the true value.

Where it is known how the truth was drawn, sums are expanded to the population before they come here, and every
influence counts with the share of its kind of cluster that was not drawn (`Sample`).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import reduce
from typing import Any

import narwhals.stable.v2 as nw
import pyarrow as pa

from pointwise.columns import HIGH, IDEAL, IDEAL_CLUSTERS, ITEMS, LOW, SHARE, WEIGHT
from pointwise.core.arithmetic import compute_columns
from pointwise.core.crosstab import has_no_cluster
from pointwise.core.lifting import add_up, columns_of, defined_weight, of_means, sum_columns
from pointwise.core.measurement import item_metrics
from pointwise.core.metrics import Metric
from pointwise.core.sample import REST, STRATUM, Sample
from pointwise.engines.base import Engine, Hold, apply
from pointwise.inputs.options import CONFIDENCE
from pointwise.uncertainty.ends import COUNTED, FOURTH, SQUARE, VARIANCE, lifting, may_be_bounded, reaching, run
from pointwise.uncertainty.student_t import two_sided_p

INFLUENCE = "__influence"
_TOTAL, _MEAN, _PULL, _OPEN = "__total", "__mean", "__pull", "__open"
STEP = 1e-6  # of the numerical derivative of a metric of means


@dataclass(frozen=True)
class Interval:
    """Where a value may lie, or why that cannot be said.

    Args:
        low: Lower end; None if there is no interval.
        high: Upper end.
        ideal_clusters: Number of ideal clusters behind the value.
        confidence: How often such intervals contain the true value.
        reason: Why there is no interval.
        is_one_sided: Whether the value is at the end of its range and nothing varies, so that the interval is a bound
            on unseen errors.

    Examples:
        >>> import pointwise as pw
        >>> evaluation = pw.evaluate(ideal=[["i1", "i2"], ["i3"]], actual=[["i1", "i3"], ["i2"]])
        >>> interval = evaluation.overall.interval("recall")
        >>> 0.9 in interval, interval.ideal_clusters, interval.confidence
        (True, 2, 0.95)
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


def read_intervals(
    row: Mapping[str, Any], metrics: Iterable[Metric], *, confidence: float, sample: Sample
) -> dict[str, Interval]:
    """Take the intervals from a row that `lift_varied` gives."""
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


def vary_sums(
    sums: nw.LazyFrame,
    by: Sequence[str],
    metrics: Sequence[Metric],
    *,
    sample: Sample,
    whole: Mapping[str, Any] | None = None,
    plan: Hold = apply,
) -> nw.LazyFrame:
    """Sum over groups of ideal clusters everything that values and their intervals need.

    Args:
        sums: What `sum_up` gives by the group's columns and the ideal cluster.
        by: Columns that make the groups; none for everything together.
        metrics: What was summed.
        sample: How the ideal clusters were drawn.
        whole: The row of `sum_up` over everything, where the only group is that and the row is at hand.
        plan: Applies a step, as an engine's `plan` does.

    Returns:
        One row per group, as `lift_varied` takes it.
    """
    rows = sums if whole is None else _with_whole(sums, item_metrics(metrics), whole)
    clusters = [] if sample.clusters is None else [sample.clusters]
    settings = {"by": tuple(by), "metrics": tuple(metrics), "has_spurious": sample.has_spurious}
    return plan(_vary_sums, rows, *clusters, **settings, has_totals=whole is not None)


def _vary_sums(
    sums: nw.LazyFrame,
    clusters: nw.LazyFrame | None = None,
    *,
    by: Sequence[str],
    metrics: Sequence[Metric],
    has_spurious: bool,
    has_totals: bool,
) -> nw.LazyFrame:
    parts = item_metrics(metrics)
    weights = _weights_of(parts)
    squares = [(nw.col(weight) * nw.col(weight)).alias(weight + SQUARE) for weight in weights]
    rows = find_influences(sums, by, metrics, has_totals=has_totals).with_columns(*squares)
    carry = [*sum_columns(parts), *(weight + SQUARE for weight in weights)]
    sample = Sample(clusters=clusters, has_spurious=has_spurious)
    return vary(rows, by, [m.name for m in metrics], sample=sample, carry=carry)


def lift_varied(
    varied: nw.LazyFrame,
    by: Sequence[str],
    *,
    metrics: Sequence[Metric],
    total_weight: float,
    sample: Sample,
    confidence: float,
) -> nw.LazyFrame:
    """Average every metric over groups of ideal clusters, with intervals.

    Args:
        varied: What `vary_sums` gives.
        by: Columns that make the groups.
        metrics: What to average.
        total_weight: What `share` is a share of.
        sample: How the ideal clusters were drawn.
        confidence: How often the intervals should contain the true value.

    Returns:
        What `lift` gives, with `ideal_clusters`, and for every metric the ends of its interval in `<metric>_low`
        and `<metric>_high`: null where fewer than two ideal clusters, or no spread among them, allow none.
    """
    program = lifting(metrics, total_weight=total_weight, sample=sample, confidence=confidence)
    return compute_columns(varied, program).select(*by, *lifted_columns(metrics))


def lift_collected(
    varied: pa.Table,
    by: Sequence[str],
    *,
    metrics: Sequence[Metric],
    total_weight: float,
    sample: Sample,
    confidence: float,
) -> pa.Table:
    """Do what `lift_varied` does, for rows in memory."""
    program = lifting(metrics, total_weight=total_weight, sample=sample, confidence=confidence)
    return run(program, varied).select([*by, *lifted_columns(metrics)])


def lifted_columns(metrics: Sequence[Metric]) -> list[str]:
    """Name the columns of a lifted table with intervals."""
    per_metric = [c for m in metrics for c in (*columns_of(m), m.name + LOW, m.name + HIGH)]
    return [ITEMS, WEIGHT, SHARE, IDEAL_CLUSTERS, *per_metric]


def find_influences(
    sums: nw.LazyFrame, by: Sequence[str], metrics: Sequence[Metric], *, has_totals: bool = False
) -> nw.LazyFrame:
    """Add to the sums of every ideal cluster how much leaving it out would move each metric of its group.

    Args:
        sums: What `sum_up` gives by the group's columns and the ideal cluster. It is used twice, unless
            it has the totals.
        by: Columns that make the groups; none for everything together.
        metrics: What was summed.
        has_totals: Whether the weights and means of the groups were added to the sums already.
    """
    parts = item_metrics(metrics)
    rows = sums if has_totals else _with_totals(sums, by, parts)
    rows = rows.with_columns(*(_influence(m).alias(m.name + INFLUENCE) for m in parts))
    combined = [_influence_of_means(m).alias(m.name + INFLUENCE) for m in metrics if m.means]
    rows = rows.with_columns(*combined) if combined else rows
    names = dict.fromkeys([m.name for m in (*parts, *metrics)])
    return rows.select(*by, IDEAL, *sum_columns(parts), *(name + INFLUENCE for name in names))


def _with_totals(sums: nw.LazyFrame, by: Sequence[str], parts: Sequence[Metric]) -> nw.LazyFrame:
    """Add the weights and means of their group to the sums of ideal clusters."""
    keys = {f"_key_{n}": _joinable(column) for n, column in enumerate(by)} or {"_key": nw.lit("")}
    keyed = sums.with_columns(*(expression.alias(key) for key, expression in keys.items()))
    totals = add_up(keyed, list(keys), sum_columns(parts)).select(
        *keys,
        *(nw.col(weight).alias(weight + _TOTAL) for weight in _weights_of(parts)),
        *((nw.col(m.name) / nw.col(defined_weight(m))).alias(m.name + _MEAN) for m in parts),
    )
    return keyed.join(totals, on=list(keys), how="inner")


def _with_whole(sums: nw.LazyFrame, parts: Sequence[Metric], whole: Mapping[str, Any]) -> nw.LazyFrame:
    """Do the same where the only group is everything, whose sums are known."""
    weights = {m: float(whole[defined_weight(m)]) for m in parts}
    # Where nothing has a weight, there is no influence to ask for the mean.
    means = {m: float(whole[m.name]) / weight if weight else 0.0 for m, weight in weights.items()}
    return sums.with_columns(
        *(nw.lit(float(whole[weight])).alias(weight + _TOTAL) for weight in _weights_of(parts)),
        *(nw.lit(mean).alias(m.name + _MEAN) for m, mean in means.items()),
    )


def _weights_of(parts: Sequence[Metric]) -> list[str]:
    return list(dict.fromkeys(defined_weight(m) for m in parts))


def _joinable(column: str) -> nw.Expr:
    """Write a value as text, so that missing values match each other in a join."""
    text = nw.concat_str([nw.lit("="), nw.col(column).cast(nw.String)])
    return nw.when(nw.col(column).is_null()).then(nw.lit("")).otherwise(text)


def _influence(metric: Metric) -> nw.Expr:
    weight = defined_weight(metric)
    others = nw.col(weight + _TOTAL) - nw.col(weight)
    excess = nw.col(metric.name) - nw.col(metric.name + _MEAN) * nw.col(weight)
    return nw.when((nw.col(weight) > 0) & (others > 0)).then(excess / others)


def _influence_of_means(metric: Metric) -> Any:
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
    engine: Engine,
    confidence: float,
    sample: Sample,
    carry: Sequence[str] = (),
) -> list[dict[str, Any]]:
    """Turn the influences of ideal clusters into the standard error of each group.

    Args:
        rows: One per group and ideal cluster, with `<name>__influence`.
        by: Columns that make the groups.
        names: Of the metrics.
        engine: Where the rows are.
        confidence: How often intervals should contain the true value.
        sample: How the ideal clusters were drawn.
        carry: Further columns to sum.

    Returns:
        One row per group, with `ideal_clusters`, and for every name the standard error, its degrees of freedom and
        the reach of an interval on the plain scale; None without spread.
    """
    varied = engine.collect(vary(rows, by, names, sample=sample, carry=carry))
    return list(run(reaching(names, confidence), varied).to_pylist())


def vary(
    rows: nw.LazyFrame, by: Sequence[str], names: Sequence[str], *, sample: Sample, carry: Sequence[str] = ()
) -> nw.LazyFrame:
    """Sum the squares and fourth powers of influences over groups, and count them.

    Returns:
        One row per group, with the columns in `carry` summed, `ideal_clusters`, and for every name `_square`,
        `_fourth`, `_counted` and `_variance`.
    """
    carried = [*carry, IDEAL_CLUSTERS]
    one: nw.Expr = nw.lit(1)
    if sample.has_spurious:  # whose empty ideal clusters do not count, though intervals depend on them as well
        one = nw.when(has_no_cluster(IDEAL)).then(nw.lit(0)).otherwise(one)
    rows = rows.with_columns(one.cast(nw.Int64).alias(IDEAL_CLUSTERS))
    if sample.clusters is None:
        grouped = _vary(rows, by, names, carried)
    else:
        grouped = _vary_drawn(rows, by, names, carried, sample.clusters)
    return grouped.with_columns(nw.col(IDEAL_CLUSTERS).cast(nw.Int64))


def _vary(rows: nw.LazyFrame, by: Sequence[str], names: Sequence[str], carry: Sequence[str]) -> nw.LazyFrame:
    """Sum the powers of influences over groups of clusters drawn uniformly from very many."""
    rows = rows.with_columns(*(column for n in names for column in _powers(n)))
    summed = [n + suffix for n in names for suffix in (SQUARE, FOURTH, COUNTED)]
    grouped = add_up(rows, by, [*carry, *summed])
    return grouped.with_columns(*(_scatter(n, nw.col(n + SQUARE)) for n in names))


def _vary_drawn(
    rows: nw.LazyFrame, by: Sequence[str], names: Sequence[str], carry: Sequence[str], clusters: nw.LazyFrame
) -> nw.LazyFrame:
    """Sum the powers of influences over the strata of groups, and then over groups.

    A stratum with a single cluster counts with its whole influence, which overstates the variance rather than
    understates it.
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
    """Return the part of the sum of squares that is due to influences of a stratum not cancelling out."""
    pull, rest = nw.col(name + _PULL), nw.col(name + _OPEN)
    centred = nw.when((rest > 0) & (nw.col(name + COUNTED) > 1)).then(pull * pull / rest)
    return centred.otherwise(nw.lit(0.0)).alias(name + _PULL)


def _scatter(name: str, squares: nw.Expr) -> nw.Expr:
    n = nw.col(name + COUNTED)
    return nw.when(n > 1).then(n / (n - 1) * squares).otherwise(squares).alias(name + VARIANCE)


def two_sided_p_value(delta: float | None, error: float | None, freedom: float | None) -> float | None:
    """Return how often samples of two equally good clusterings would show a difference at least this large.

    Where nothing changed or varies, there is nothing to test.
    """
    if error is None or delta is None:
        return None
    return two_sided_p(delta / error, freedom or 1.0)


def adjust_p_values(p_values: Sequence[float | None]) -> list[float | None]:
    """Adjust the p-values of many tests (Benjamini and Hochberg).

    Among differences with an adjusted value of at most 0.05, on average at most one in twenty is due to chance.

    Examples:
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

    Examples:
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
