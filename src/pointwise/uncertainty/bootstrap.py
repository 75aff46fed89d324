"""Bootstrap: the spread of values when the ideal clusters are drawn again and again.

It needs no formula for the error, and so shows whether the closed form of `uncertainty` can be trusted with few
ideal clusters. Degrees of freedom and the scale of the intervals are the same.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import pyarrow as pa

from pointwise.columns import HIGH, IDEAL, IDEAL_CLUSTERS, LOW
from pointwise.core.confusion import Confusion
from pointwise.core.evidence import Evidence
from pointwise.core.lifting import defined_weight, sum_columns, sum_up
from pointwise.core.measurement import item_metrics
from pointwise.core.metrics import Metric
from pointwise.engines.base import Engine
from pointwise.engines.queries import from_rows, only_row
from pointwise.errors import UsageError
from pointwise.uncertainty.intervals import (
    CONFIDENCE,
    FREEDOM,
    REACH,
    Interval,
    explain_absence,
    find_influences,
    spread,
    with_interval_ends,
)
from pointwise.uncertainty.student_t import critical_value

RESAMPLES = 2000
_CHUNK = 4_000_000  # counts held at a time

Columns = Mapping[str, np.ndarray]


def bootstrap_values(
    evidence: Evidence, metrics: Sequence[Metric], *, resamples: int = RESAMPLES, seed: int = 0
) -> dict[str, Interval]:
    """Return an interval for every metric of all items together."""
    engine = evidence.engine
    sums = engine.checkpoint(sum_up(evidence.measured(metrics), (IDEAL,), metrics))
    names = [m.name for m in metrics]
    tests = only_row(spread(find_influences(sums, (), metrics), (), names, confidence=CONFIDENCE), engine)
    columns = _arrays(engine.collect(sums), metrics)
    draws = average_draws(resample(columns, resamples, seed), metrics)
    values = average_draws({name: column.sum(keepdims=True) for name, column in columns.items()}, metrics)
    clusters, intervals = int(tests[IDEAL_CLUSTERS]), {}
    for metric in metrics:
        if tests[metric.name + REACH] is None:
            intervals[metric.name] = Interval(None, None, clusters, reason=explain_absence(clusters))
            continue
        reach = critical_value(CONFIDENCE, tests[metric.name + FREEDOM]) * np.nanstd(draws[metric.name])
        low, high = find_ends(metric, values[metric.name], np.array([reach]), engine)
        intervals[metric.name] = Interval(float(low[0]), float(high[0]), clusters)
    return intervals


def resample(columns: Columns, resamples: int, seed: int) -> dict[str, np.ndarray]:
    """Draw as many rows as there are, with replacement, many times; sum each column of every draw."""
    if resamples < 2:  # noqa: PLR2004  # one draw has no spread
        raise UsageError(f"resamples={resamples} are too few: hundreds are needed, thousands are better.")
    table = np.column_stack(list(columns.values()))
    rows, generator = len(table), np.random.default_rng(seed)
    parts, step = [], max(1, _CHUNK // rows)
    for start in range(0, resamples, step):
        number = min(step, resamples - start)
        counts = np.empty((number, rows))
        for n in range(number):
            counts[n] = np.bincount(generator.integers(0, rows, rows, dtype=np.int32), minlength=rows)
        parts.append(counts @ table)
    return dict(zip(columns, np.concatenate(parts).T, strict=True))


def average_draws(sums: Columns, metrics: Sequence[Metric]) -> dict[str, np.ndarray]:
    """Divide the sums of draws by their weights, and apply the formulas of metrics of means."""
    with np.errstate(invalid="ignore", divide="ignore"):
        means = {m.name: sums[m.name] / sums[defined_weight(m)] for m in item_metrics(metrics)}
    confusion = Confusion(0, 0, 0, 0, 0)
    for metric in (m for m in metrics if m.means):
        parts = zip(*(means[name] for name in metric.means), strict=True)
        means[metric.name] = np.array([metric.formula(confusion, *map(float, values)) for values in parts])
    return means


def find_ends(metric: Metric, values: np.ndarray, reach: np.ndarray, engine: Engine) -> tuple[np.ndarray, np.ndarray]:
    """Return the ends of the intervals of many values of one metric."""
    table = pa.table({metric.name: values, metric.name + REACH: reach, "_row": range(len(values))})
    frame = (
        with_interval_ends(from_rows(table, engine), [metric])
        .select("_row", metric.name + LOW, metric.name + HIGH)
        .sort("_row")
    )
    found = engine.collect(frame)
    return tuple(found[metric.name + end].to_numpy(zero_copy_only=False) for end in (LOW, HIGH))


def _arrays(table: pa.Table, metrics: Sequence[Metric]) -> dict[str, np.ndarray]:
    names = sum_columns(item_metrics(metrics))[1:]
    return {name: table[name].to_numpy(zero_copy_only=False).astype(float) for name in names}
