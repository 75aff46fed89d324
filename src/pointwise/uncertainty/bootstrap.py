"""Bootstrap: the spread of values when the ideal clusters are resampled.

It needs no formula for the error, so it shows whether the closed form of `intervals` can be trusted with few ideal
clusters. Degrees of freedom and the scale of the intervals are the same.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import narwhals.stable.v2 as nw
import numpy as np
import pyarrow as pa

from pointwise.columns import HIGH, IDEAL, IDEAL_CLUSTERS, LOW
from pointwise.core.confusion import Confusion
from pointwise.core.evidence import Evidence
from pointwise.core.lifting import defined_weight, sum_columns, sum_up
from pointwise.core.measurement import item_metrics
from pointwise.core.metrics import Metric
from pointwise.core.sample import UNKNOWN, Sample
from pointwise.engines.base import Engine
from pointwise.errors import UsageError
from pointwise.inputs.options import CONFIDENCE
from pointwise.uncertainty.ends import ERROR, FREEDOM, LIGHTNESS, REACH, ending, run
from pointwise.uncertainty.intervals import Interval, find_influences, read_intervals, spread
from pointwise.uncertainty.student_t import critical_value

RESAMPLES = 2000
MOST_CLUSTERS = 1_000_000  # whose sums are held in this process; with more, resampling adds nothing
_CHUNK = 4_000_000  # counts held at a time

Arrays = Mapping[str, np.ndarray]


def bootstrap_values(
    evidence: Evidence,
    metrics: Sequence[Metric],
    *,
    resamples: int = RESAMPLES,
    seed: int = 0,
    confidence: float = CONFIDENCE,
) -> dict[str, Interval]:
    """Return an interval for every metric of all items together."""
    engine, sample, names = evidence.engine, evidence.sample, [m.name for m in metrics]
    sums = engine.checkpoint(sum_up(sample.expand(evidence.measured(metrics)), (IDEAL,), metrics))
    rows = find_influences(sums, (), metrics)
    (tests,) = spread(rows, (), names, engine=engine, confidence=confidence, sample=sample)
    check_number(tests[IDEAL_CLUSTERS])
    shrink = shrinkage(rows, tests, names, sample=sample, engine=engine)
    columns = _arrays(engine.collect(sums), metrics)
    draws = average_draws(resample(columns, resamples, seed), metrics)
    row: dict[str, Any] = {IDEAL_CLUSTERS: tests[IDEAL_CLUSTERS]}
    for metric in metrics:
        weights = columns[defined_weight(item_metrics([metric])[0])]
        value = average_draws({n: c.sum(keepdims=True) for n, c in columns.items()}, [metric])[metric.name]
        error = None if tests[metric.name + REACH] is None else np.nanstd(draws[metric.name]) * shrink[metric.name]
        reach = None if error is None else critical_value(confidence, tests[metric.name + FREEDOM]) * error
        lightness = (weights**2).sum() / weights.sum() ** 2
        low, high = find_ends(metric, value, [reach], [lightness], confidence=confidence, sample=sample)
        row |= {metric.name: float(value[0]), metric.name + LOW: low[0], metric.name + HIGH: high[0]}
    return read_intervals(row, metrics, confidence=confidence, sample=sample)


def check_number(clusters: int) -> None:
    """Refuse more ideal clusters than one process should hold.

    Raises:
        UsageError: There are too many.
    """
    if clusters > MOST_CLUSTERS:
        raise UsageError(
            f"bootstrap() draws from at most {MOST_CLUSTERS:,} ideal clusters, which it holds in memory, and there are "
            f"{clusters:,}. Use the intervals that the tables show: with so many clusters they say the same."
        )


def shrinkage(
    rows: nw.LazyFrame, tests: Mapping[str, Any], names: Sequence[str], *, sample: Sample, engine: Engine
) -> dict[str, float]:
    """Return by how much the design makes errors smaller than the bootstrap's drawing with replacement."""
    if sample.clusters is None:
        return dict.fromkeys(names, 1.0)
    (plain,) = spread(rows, (), names, engine=engine, confidence=CONFIDENCE, sample=UNKNOWN)
    errors = {name: (tests[name + ERROR], plain[name + ERROR]) for name in names}
    return {name: own / other if own and other else 1.0 for name, (own, other) in errors.items()}


def resample(columns: Arrays, resamples: int, seed: int) -> dict[str, np.ndarray]:
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


def average_draws(sums: Arrays, metrics: Sequence[Metric]) -> dict[str, np.ndarray]:
    """Divide the sums of draws by their weights, and apply the formulas of metrics of means."""
    with np.errstate(invalid="ignore", divide="ignore"):
        means = {m.name: sums[m.name] / sums[defined_weight(m)] for m in item_metrics(metrics)}
    confusion = Confusion(0, 0, 0, 0, 0)
    for metric in (m for m in metrics if m.means):
        parts = zip(*(means[name] for name in metric.means), strict=True)
        means[metric.name] = np.array([metric.formula(confusion, *map(float, values)) for values in parts])
    return means


def find_ends(
    metric: Metric,
    values: Sequence[float] | np.ndarray,
    reach: Sequence[float | None],
    lightness: Sequence[float],
    *,
    confidence: float,
    sample: Sample,
) -> tuple[list[float | None], list[float | None]]:
    """Return the ends of the intervals of many values of one metric."""
    numbers = {metric.name: values, metric.name + REACH: reach, metric.name + LIGHTNESS: lightness}
    rows = pa.table({name: pa.array(column, pa.float64()) for name, column in numbers.items()})
    found = run(ending([metric], sample=sample, confidence=confidence), rows)
    return found[metric.name + LOW].to_pylist(), found[metric.name + HIGH].to_pylist()


def _arrays(table: pa.Table, metrics: Sequence[Metric]) -> dict[str, np.ndarray]:
    names = sum_columns(item_metrics(metrics))[1:]
    return {name: table[name].to_numpy(zero_copy_only=False).astype(float) for name in names}
