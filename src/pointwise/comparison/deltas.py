"""Deltas: how the values of two clusterings differ, over the same groups of the same truth."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import narwhals.stable.v2 as nw
import numpy as np
import pyarrow as pa

from pointwise.columns import (
    ACTUAL,
    ACTUAL_WEIGHT,
    BASELINE,
    BASELINE_VALUE,
    CONTRIBUTION,
    DELTA,
    DOWN_CLUSTERS,
    EXPERIMENT,
    EXPERIMENT_VALUE,
    FN,
    FP,
    HIGH,
    IDEAL,
    IDEAL_CLUSTERS,
    IDEAL_WEIGHT,
    ITEM,
    ITEM_SIZES,
    ITEMS,
    LOW,
    METRIC,
    P_ADJUSTED,
    P_VALUE,
    SHARE,
    TN,
    TP,
    UNDEFINED,
    UP_CLUSTERS,
    VARIANT,
    VERDICT,
    WEIGHT,
    Column,
    Kind,
    keys,
    name_part,
    with_ends,
)
from pointwise.core.evidence import Evidence
from pointwise.core.lifting import add_up, average, defined_weight, of_means, sum_columns, sum_measured
from pointwise.core.measurement import item_metrics
from pointwise.core.metrics import Metric, find_metric
from pointwise.core.sample import EXPANSION, Sample
from pointwise.engines.base import Engine
from pointwise.engines.queries import from_rows, holding, only_row
from pointwise.inputs.options import CONFIDENCE
from pointwise.uncertainty.bootstrap import RESAMPLES, average_draws, check_number, resample, shrinkage
from pointwise.uncertainty.ends import ERROR, FREEDOM, REACH
from pointwise.uncertainty.intervals import (
    INFLUENCE,
    Interval,
    adjust_jointly,
    adjust_p_values,
    find_influences,
    spread,
    two_sided_p_value,
)
from pointwise.uncertainty.planning import FoundDifference
from pointwise.uncertainty.student_t import critical_value
from pointwise.uncertainty.verdict import judge

_PAIR, _SIGN, _DEFINED = "_pair", "_sign", "__defined"
_OWN, _SIDES, _UP, _DOWN = "__own", "__sides", "__up", "__down"
_NO_CHANGE = 1e-9  # of a cluster's own value: rounding depends on the order of its cells

Row = dict[str, Any]

DELTA_COLUMNS = (
    Column(METRIC),
    Column(ITEMS, Kind.COUNT),
    Column(SHARE, Kind.SHARE),
    Column(IDEAL_CLUSTERS, Kind.COUNT),
    Column(BASELINE_VALUE, Kind.METRIC),
    Column(EXPERIMENT_VALUE, Kind.METRIC),
    *with_ends(Column(DELTA, Kind.DELTA)),
    Column(P_VALUE, Kind.P_VALUE),
    Column(P_ADJUSTED, Kind.P_VALUE),
    Column(UP_CLUSTERS, Kind.COUNT),
    Column(DOWN_CLUSTERS, Kind.COUNT),
    Column(VERDICT),
    Column(CONTRIBUTION, Kind.DELTA),
)
"""The columns of `find_deltas` beside the names of pair, group and metric."""


@dataclass(frozen=True)
class VariantPair:
    """Two variants; a delta is the experiment's value minus the baseline's."""

    baseline: str
    experiment: str


def stack_sums(
    variants: Mapping[str, Evidence],
    by: Sequence[str],
    metrics: Sequence[Metric],
    *,
    rows_of: Callable[[Evidence], nw.LazyFrame],
) -> nw.LazyFrame:
    """Sum every variant by groups and ideal clusters, stacked by variant, in one pass over each.

    Args:
        variants: What to compare, all on one engine.
        by: Columns that make the groups.
        metrics: What to sum.
        rows_of: Returns the cells of a variant, not measured yet, with the columns that make the groups.
    """
    engine = next(iter(variants.values())).engine
    columns = (*by, IDEAL, ITEMS, WEIGHT, TP, FP, FN, TN, IDEAL_WEIGHT, ACTUAL_WEIGHT)
    parts = [e.sample.expand(rows_of(e)).select(nw.lit(name).alias(VARIANT), *columns) for name, e in variants.items()]
    return holding(engine)(sum_measured, nw.concat(parts), by=(VARIANT, *by, IDEAL), metrics=tuple(metrics))


def find_deltas(
    sums: nw.LazyFrame,
    by: Sequence[str],
    pairs: Sequence[VariantPair],
    *,
    metrics: Sequence[Metric],
    engine: Engine,
    confidence: float,
    sample: Sample,
) -> list[Row]:
    """Compare pairs of variants over groups, with intervals and tests paired by ideal cluster.

    Everything about single clusters happens on the engine; what comes back is one row per pair, group and metric.

    Args:
        sums: What `stack_sums` gives.
        by: Columns that make the groups; none for everything together.
        pairs: Which variants to compare.
        metrics: What to compare.
        engine: What computes.
        confidence: How often the intervals should contain the true difference.
        sample: How the ideal clusters were drawn.

    Returns:
        Rows with the names of the pair, the group's columns, `metric`, both values, `delta`, its interval, its p-value,
        raw and adjusted for the number of rows of the same metric, how many ideal clusters went up and down, the
        verdict, and `contribution`, which adds up over the groups to the delta of everything together.
    """
    found = engine.collect(_lifted(sums, by, metrics)).to_pylist()
    values = {(row[VARIANT], *(row[key] for key in by)): row for row in found}
    totals = _total_weights(found, metrics)
    tests = spread_pairs(sums, by, pairs, metrics=metrics, engine=engine, confidence=confidence, sample=sample)
    rows = []
    for test in sorted(tests, key=lambda row: row[_PAIR]):
        pair, group = pairs[test[_PAIR]], tuple(test[key] for key in by)
        ends = [values.get((name, *group)) for name in (pair.baseline, pair.experiment)]
        shares = [totals[name] for name in (pair.baseline, pair.experiment)]
        for metric in metrics:
            head = {EXPERIMENT: pair.experiment, BASELINE: pair.baseline, **dict(zip(by, group, strict=True))}
            rows.append(head | _delta(metric, test, *ends, shares=shares))
    _adjust(rows, by)
    for row in rows:
        row[VERDICT] = judge(
            find_metric(row[METRIC]).better,
            row[DELTA],
            row[P_ADJUSTED],
            changed=row[UP_CLUSTERS] + row[DOWN_CLUSTERS],
            confidence=confidence,
            is_complete=sample.is_complete,
        )
    return rows


def _lifted(sums: nw.LazyFrame, by: Sequence[str], metrics: Sequence[Metric]) -> nw.LazyFrame:
    groups = (VARIANT, *by)
    grouped = add_up(sums, groups, sum_columns(item_metrics(metrics)))
    return average(grouped, groups, metrics=metrics, total_weight=1.0)


def _total_weights(rows: Iterable[Row], metrics: Sequence[Metric]) -> dict[str, dict[str, float]]:
    """Sum the weight for which each metric is defined, and all weight, by variant."""
    totals: dict[str, dict[str, float]] = {}
    for row in rows:
        sums = totals.setdefault(row[VARIANT], dict.fromkeys([WEIGHT, *(m.name for m in metrics)], 0.0))
        sums[WEIGHT] += row[WEIGHT]
        for metric in metrics:
            sums[metric.name] += _defined(row, metric)
    return totals


def _defined(row: Row, metric: Metric) -> float:
    share = 1.0 if metric.is_total else 1.0 - row[metric.name + UNDEFINED]
    return float(row[WEIGHT] * share)


def spread_pairs(
    sums: nw.LazyFrame,
    by: Sequence[str],
    pairs: Sequence[VariantPair],
    *,
    metrics: Sequence[Metric],
    engine: Engine,
    sample: Sample,
    confidence: float = CONFIDENCE,
) -> list[Row]:
    """Sum up the spread of the difference of every pair and group."""
    moves = pair_influences(sums, by, pairs, metrics=metrics, engine=engine)
    names = [m.name for m in metrics]
    carry = [n + end for n in names for end in (_UP, _DOWN)]
    groups = (_PAIR, *by)
    return spread(moves, groups, names, engine=engine, confidence=confidence, sample=sample, carry=carry)


def find_moves(
    sums: nw.LazyFrame,
    pair: VariantPair,
    metrics: Sequence[Metric],
    *,
    engine: Engine,
    confidence: float,
    sample: Sample,
) -> tuple[nw.LazyFrame, list[FoundDifference]]:
    """Return by how much every ideal cluster moves the differences of a pair, and what these are so far."""
    rows = find_deltas(sums, (), [pair], metrics=metrics, engine=engine, confidence=confidence, sample=sample)
    moves = engine.checkpoint(pair_influences(sums, (), [pair], metrics=metrics, engine=engine))
    names = [m.name for m in metrics]
    (test,) = spread(moves, (), names, engine=engine, confidence=confidence, sample=sample)
    changes = []
    for metric, row in zip(metrics, rows, strict=True):
        found = row[DELTA], row[DELTA + LOW], row[DELTA + HIGH]
        spread_of = test[metric.name + ERROR], test[metric.name + FREEDOM]
        changes.append(FoundDifference(metric, found, *spread_of, changed=row[UP_CLUSTERS] + row[DOWN_CLUSTERS]))
    return moves, changes


def pair_influences(
    sums: nw.LazyFrame, by: Sequence[str], pairs: Sequence[VariantPair], *, metrics: Sequence[Metric], engine: Engine
) -> nw.LazyFrame:
    """Subtract the baseline's influence of every ideal cluster from the experiment's, and add its direction."""
    sides = [(p.experiment, n, 1.0) for n, p in enumerate(pairs)] + [(p.baseline, n, -1.0) for n, p in enumerate(pairs)]
    table = pa.table(dict(zip((VARIANT, _PAIR, _SIGN), map(list, zip(*sides, strict=True)), strict=True)))
    return engine.plan(_pair_influences, sums, from_rows(table, engine), by=tuple(by), metrics=tuple(metrics))


def _pair_influences(
    sums: nw.LazyFrame, signs: nw.LazyFrame, *, by: Sequence[str], metrics: Sequence[Metric]
) -> nw.LazyFrame:
    names = [m.name for m in metrics]
    influences = _with_own_values(find_influences(sums, (VARIANT, *by), metrics), metrics)
    influences = influences.join(signs, on=VARIANT, how="inner")
    signed = [(nw.col(n + end) * nw.col(_SIGN)).alias(n + end) for n in names for end in (INFLUENCE, _OWN)]
    counted = [
        (~nw.col(n + end).is_null()).cast(nw.Int64).alias(n + number)
        for n in names
        for end, number in ((INFLUENCE, _DEFINED), (_OWN, _SIDES))
    ]
    groups, ends = (_PAIR, *by, IDEAL), (INFLUENCE, _OWN, _DEFINED, _SIDES)
    combined = add_up(influences.select(*groups, *signed, *counted), groups, [n + end for n in names for end in ends])
    # A sum over nothing is zero, but a cluster where the metric is undefined on both sides must not count.
    defined = [nw.when(nw.col(n + _DEFINED) > 0).then(nw.col(n + INFLUENCE)).alias(n + INFLUENCE) for n in names]
    return combined.with_columns(*defined, *(way for n in names for way in _ways(n)))


def _with_own_values(rows: nw.LazyFrame, metrics: Sequence[Metric]) -> nw.LazyFrame:
    """Add the value that every ideal cluster has by itself."""
    parts = item_metrics(metrics)
    own = [nw.when(nw.col(defined_weight(m)) > 0).then(nw.col(m.name) / nw.col(defined_weight(m))) for m in parts]
    rows = rows.with_columns(*(value.alias(m.name + _OWN) for m, value in zip(parts, own, strict=True)))
    combined = [of_means(m, [nw.col(name + _OWN) for name in m.means]).alias(m.name + _OWN) for m in metrics if m.means]
    return rows.with_columns(*combined) if combined else rows


def _ways(name: str) -> Iterator[nw.Expr]:
    """Tell whether a cluster that both variants have went up or down."""
    change, has_both = nw.col(name + _OWN), nw.col(name + _SIDES) == _TWO
    for way, suffix in ((change > _NO_CHANGE, _UP), (change < -_NO_CHANGE, _DOWN)):
        yield nw.when(has_both & way).then(nw.lit(1)).otherwise(nw.lit(0)).cast(nw.Int64).alias(name + suffix)


_TWO = 2


def _delta(
    metric: Metric, test: Row, baseline: Row | None, experiment: Row | None, *, shares: Sequence[Mapping[str, float]]
) -> Row:
    name = metric.name
    before, after = (row[name] if row else None for row in (baseline, experiment))
    delta = None if before is None or after is None else after - before
    reach, width = test[name + REACH], metric.range[1] - metric.range[0]
    has_interval = delta is not None and reach is not None
    parts = [_part(metric, row, total) for row, total in zip((baseline, experiment), shares, strict=True)]
    p_value = two_sided_p_value(delta, test[name + ERROR], test[name + FREEDOM])
    shown, total = (experiment, shares[1]) if experiment else (baseline, shares[0])
    return {
        METRIC: name,
        ITEMS: shown[ITEMS] if shown else 0,
        SHARE: shown[WEIGHT] / total[WEIGHT] if shown else 0.0,
        IDEAL_CLUSTERS: test[IDEAL_CLUSTERS],
        BASELINE_VALUE: before,
        EXPERIMENT_VALUE: after,
        DELTA: delta,
        DELTA + LOW: max(delta - reach, -width) if has_interval else None,
        DELTA + HIGH: min(delta + reach, width) if has_interval else None,
        P_VALUE: p_value,
        P_ADJUSTED: p_value,
        UP_CLUSTERS: int(test[name + _UP] or 0),
        DOWN_CLUSTERS: int(test[name + _DOWN] or 0),
        VERDICT: "",
        CONTRIBUTION: None if metric.means else parts[1] - parts[0],
    }


def _part(metric: Metric, row: Row | None, total: Mapping[str, float]) -> float:
    if row is None or row[metric.name] is None or not total[metric.name]:
        return 0.0
    return float(row[metric.name] * _defined(row, metric) / total[metric.name])


def _adjust(rows: Sequence[Row], by: Sequence[str]) -> None:
    """Adjust the p-values of one metric: among all groups of a pair, or without groups among all pairs.

    Among many groups, a few false findings are acceptable (Benjamini and Hochberg); among a few variants, none is
    (Holm). A group in which nothing changed cannot differ by chance, so it does not count as a test.
    """
    adjust = adjust_p_values if by else adjust_jointly
    families: dict[tuple[Any, ...], list[Row]] = {}
    for row in rows:
        if row[DELTA + LOW] is not None:
            key = (row[EXPERIMENT], row[BASELINE], row[METRIC]) if by else (row[METRIC],)
            families.setdefault(key, []).append(row)
    for family in families.values():
        for row, p in zip(family, adjust([row[P_VALUE] for row in family]), strict=True):
            row[P_ADJUSTED] = p


CLUSTER_COLUMNS = (*keys(IDEAL), *ITEM_SIZES)
"""The columns of `pair_clusters` before the metrics."""

ITEM_COLUMNS = (
    *keys(ITEM, IDEAL),
    *ITEM_SIZES[1:],
    *(Column(name_part(ACTUAL, side)) for side in (BASELINE, EXPERIMENT)),
)
"""The columns of `pair_items` before the metrics."""


def pair_clusters(variants: Mapping[str, Evidence], pair: VariantPair, metrics: Sequence[Metric]) -> nw.LazyFrame:
    """Compare every ideal cluster of two variants."""

    def rows_of(evidence: Evidence) -> nw.LazyFrame:
        return evidence.lift(evidence.measured(metrics), (IDEAL,), metrics)

    return _paired(variants, pair, (IDEAL,), metrics, rows_of=rows_of)


def pair_items(variants: Mapping[str, Evidence], pair: VariantPair, metrics: Sequence[Metric]) -> nw.LazyFrame:
    """Compare every item of two variants, with its actual cluster in both."""
    metrics = [m for m in metrics if not m.means]

    def rows_of(evidence: Evidence) -> nw.LazyFrame:
        measured = evidence.measured(metrics).select(IDEAL, ACTUAL, *(m.name for m in metrics))
        items = evidence.weighed_items().select(ITEM, IDEAL, ACTUAL, WEIGHT)
        rows = items.join(measured, on=[IDEAL, ACTUAL], how="inner")
        defined = [nw.lit(0.0).alias(m.name + UNDEFINED) for m in metrics if not m.is_total]
        share = (nw.col(WEIGHT) / evidence.common_weight).alias(SHARE)
        return rows.with_columns(share, nw.lit(1).alias(ITEMS), *defined)

    return _paired(variants, pair, (ITEM, IDEAL), metrics, rows_of=rows_of, sided=(ACTUAL,)).drop(ITEMS)


def _paired(
    variants: Mapping[str, Evidence],
    pair: VariantPair,
    by: Sequence[str],
    metrics: Sequence[Metric],
    *,
    rows_of: Callable[[Evidence], nw.LazyFrame],
    sided: Sequence[str] = (),
) -> nw.LazyFrame:
    """Put two variants side by side, joined by columns of the truth; a row that one of them lacks has no delta.

    Returns:
        The columns in `by`, `items`, `weight`, `share`, the columns in `sided` for either side, and for every metric
        `<metric>_baseline`, `<metric>_experiment`, `<metric>_delta` and `<metric>_contribution`.
    """
    names = [m.name for m in metrics]
    sums = [name_part(m.name, CONTRIBUTION) for m in metrics if not m.means]
    sides = {BASELINE: variants[pair.baseline], EXPERIMENT: variants[pair.experiment]}
    sizes = (ITEMS, WEIGHT, SHARE)
    values = [name_part(c, side) for c in (*sizes, *sided, *names) for side in sides]
    parts = []
    for (side, evidence), sign in zip(sides.items(), (-1.0, 1.0), strict=True):
        frame = rows_of(evidence)
        columns = _sided(frame, (*sizes, *sided, *names), side)
        shares = _contributions(evidence, metrics, sign=sign)
        parts.append(evidence.sample.with_expansion(frame).select(*by, *(columns[c] for c in values), *shares))
    grouped = nw.concat(parts).group_by(*by)
    rows = grouped.agg(*(nw.col(c).max() for c in values), *(nw.col(c).sum() for c in sums))
    rows = rows.with_columns(*(_difference(n) for n in names), *(_either(c) for c in sizes))
    both = [name_part(c, side) for c in sided for side in sides]
    return rows.select(*by, *sizes, *both, *(column.name for m in metrics for column in paired_columns(m)))


def paired_columns(metric: Metric) -> list[Column]:
    """Describe the columns of a metric in a table that puts two variants side by side."""
    values = [Column(name_part(metric.name, side), Kind.METRIC) for side in (BASELINE, EXPERIMENT)]
    changes = (DELTA,) if metric.means else (DELTA, CONTRIBUTION)
    return values + [Column(name_part(metric.name, change), Kind.DELTA) for change in changes]


def _difference(metric: str) -> nw.Expr:
    after, before = nw.col(name_part(metric, EXPERIMENT)), nw.col(name_part(metric, BASELINE))
    return (after - before).alias(name_part(metric, DELTA))


def _either(column: str) -> nw.Expr:
    after, before = nw.col(name_part(column, EXPERIMENT)), nw.col(name_part(column, BASELINE))
    return nw.when(after.is_null()).then(before).otherwise(after).alias(column)


def _sided(frame: nw.LazyFrame, columns: Sequence[str], side: str) -> dict[str, nw.Expr]:
    """Name columns after the side that they come from, and leave the other side's empty."""
    types = frame.collect_schema()
    other = BASELINE if side == EXPERIMENT else EXPERIMENT
    own = {name_part(c, side): nw.col(c).alias(name_part(c, side)) for c in columns}
    return own | {name_part(c, other): nw.lit(None).cast(types[c]).alias(name_part(c, other)) for c in columns}


def _contributions(evidence: Evidence, metrics: Sequence[Metric], *, sign: float) -> Iterator[nw.Expr]:
    """Return what each row adds to the overall value of every metric, with all that its ideal cluster stands for."""
    overall = only_row(evidence.estimate(evidence.measured(metrics), (), metrics), evidence.engine)
    for metric in metrics:
        if metric.means:
            continue
        weight = nw.col(WEIGHT) * nw.col(EXPANSION)
        weight = weight if metric.is_total else weight * (1 - nw.col(metric.name + UNDEFINED))
        part = nw.when(~nw.col(metric.name).is_null()).then(nw.col(metric.name) * weight).otherwise(nw.lit(0.0))
        yield (part * (sign / (_defined(overall, metric) or 1.0))).alias(name_part(metric.name, CONTRIBUTION))


def bootstrap_deltas(
    variants: Mapping[str, Evidence],
    pair: VariantPair,
    metrics: Sequence[Metric],
    *,
    resamples: int = RESAMPLES,
    seed: int = 0,
    confidence: float = CONFIDENCE,
) -> dict[str, Interval]:
    """Return an interval for the difference in every metric; both variants are resampled with the same clusters."""
    both = {name: variants[name] for name in (pair.baseline, pair.experiment)}
    engine, sample, names = variants[pair.baseline].engine, variants[pair.baseline].sample, [m.name for m in metrics]
    sums = stack_sums(both, (), metrics, rows_of=lambda evidence: evidence.cells)
    moves = pair_influences(sums, (), [pair], metrics=metrics, engine=engine)
    (tests,) = spread(moves, (), names, engine=engine, confidence=confidence, sample=sample)
    check_number(tests[IDEAL_CLUSTERS])
    shrink = shrinkage(moves, tests, names, sample=sample, engine=engine)
    sides = _side_by_side(engine.collect(sums), pair, metrics)
    before, after = (average_draws(resample(side, resamples, seed), metrics) for side in sides)
    starts, ends = (average_draws({n: c.sum(keepdims=True) for n, c in side.items()}, metrics) for side in sides)
    clusters, intervals = int(tests[IDEAL_CLUSTERS]), {}
    for metric in metrics:
        delta = float(ends[metric.name][0] - starts[metric.name][0])
        if tests[metric.name + REACH] is None:
            intervals[metric.name] = Interval(None, None, clusters, confidence, _NOTHING_CHANGED)
            continue
        error = np.nanstd(after[metric.name] - before[metric.name]) * shrink[metric.name]
        reach = float(critical_value(confidence, tests[metric.name + FREEDOM]) * error)
        width = metric.range[1] - metric.range[0]
        intervals[metric.name] = Interval(max(delta - reach, -width), min(delta + reach, width), clusters, confidence)
    return intervals


_NOTHING_CHANGED = "no ideal cluster changed, or there is only one, so there is no spread"


def _side_by_side(table: pa.Table, pair: VariantPair, metrics: Sequence[Metric]) -> list[dict[str, np.ndarray]]:
    """Return the sums of both variants with one row per ideal cluster, zero where a variant lacks it."""
    clusters = {cluster: n for n, cluster in enumerate(sorted(set(table[IDEAL].to_pylist())))}
    names = sum_columns(item_metrics(metrics))[1:]
    sides = {name: {column: np.zeros(len(clusters)) for column in names} for name in (pair.baseline, pair.experiment)}
    rows = np.array([clusters[cluster] for cluster in table[IDEAL].to_pylist()])
    variants = np.array(table[VARIANT].to_pylist())
    for name, side in sides.items():
        mask = variants == name
        for column in names:
            side[column][rows[mask]] = table[column].to_numpy(zero_copy_only=False)[mask]
    return list(sides.values())
