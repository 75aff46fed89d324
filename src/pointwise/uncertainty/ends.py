"""Ends: from the summed influences of ideal clusters to errors, degrees of freedom and the ends of intervals.

`intervals` says what these are. The formulas are programs that an engine runs over tables of any size, and NumPy over
the few rows of most questions.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np
import pyarrow as pa

from pointwise.columns import HIGH, LOW
from pointwise.core.arithmetic import Arithmetic, Get, Program, compute_arrays, in_step
from pointwise.core.lifting import defined_weight, find_averages
from pointwise.core.measurement import item_metrics
from pointwise.core.metrics import Metric
from pointwise.core.sample import Sample
from pointwise.errors import UsageError
from pointwise.text.values import short
from pointwise.uncertainty.student_t import critical_polynomial, normal_value

# Suffixes of the columns behind an interval. No metric has two underscores in its name, so none can clash with them.
ERROR = "__error"
FREEDOM = "__df"
REACH = "__reach"  # the error times the critical value
LIGHTNESS = "__lightness"  # one over the effective number of clusters
SQUARE, FOURTH, COUNTED, VARIANCE = "__square", "__fourth", "__counted", "__variance"  # of influences, summed
_EXCESS, _X = "__excess", "__x"

_NO_SPREAD = 1e-12  # below this, a standard error is zero but for rounding
_LONGEST_WAY = 600.0  # on the logit scale, beyond which the exponential function overflows
_PRIOR = 0.1  # clusters with an error of one that the far end assumes beside those seen


def check_confidence(confidence: float) -> float:
    """Return a valid confidence.

    Raises:
        UsageError: It does not lie between 0 and 1.
    """
    if not isinstance(confidence, (int, float)) or not 0 < confidence < 1:
        raise UsageError(f"confidence={short(confidence)} must lie between 0 and 1, such as 0.95.")
    return float(confidence)


def may_be_bounded(metric: Metric, sample: Sample) -> bool:
    """Tell whether a value without any error gives a bound on unseen errors."""
    return _is_bounded(metric) and (sample.sees_outside or not metric.sees_false_positives)


def _is_bounded(metric: Metric) -> bool:
    return bool(np.isfinite(metric.range).all())


def run(program: Program, rows: pa.Table) -> pa.Table:
    """Run a program over the rows of a small table; numbers that are undefined become null."""
    is_number = {name: _is_number(kind) for name, kind in zip(rows.column_names, rows.schema.types, strict=True)}
    # Not with PyArrow's own conversions: they load pandas wherever it is installed, which takes longer than the work.
    arrays = {n: np.array(rows[n].to_pylist(), np.float64) for n, found in is_number.items() if found}
    columns = {name: rows[name] for name in rows.column_names}
    for name, values in compute_arrays(arrays, program).items():
        if values is not arrays.get(name):
            columns[name] = _as_column(np.array(np.broadcast_to(values, len(rows)), np.float64))
    return pa.table(columns)


def _as_column(values: np.ndarray) -> pa.Array:
    """Convert numbers to Arrow, with NaN as null."""
    is_known = np.packbits(~np.isnan(values), bitorder="little")
    return pa.Array.from_buffers(pa.float64(), len(values), [pa.py_buffer(is_known), pa.py_buffer(values)])


def _is_number(kind: pa.DataType) -> bool:
    return bool(pa.types.is_floating(kind) or pa.types.is_integer(kind))


def lifting(metrics: Sequence[Metric], *, total_weight: float, sample: Sample, confidence: float) -> Program:
    """Return the program from summed influences and values to averages and the ends of their intervals."""

    def program(get: Get, arithmetic: Arithmetic) -> Iterator[Mapping[str, Any]]:
        yield from reaching([m.name for m in metrics], confidence)(get, arithmetic)
        yield {m.name + LIGHTNESS: _lightness(m, get, arithmetic) for m in metrics}
        yield from find_averages(get, arithmetic, metrics=metrics, total_weight=total_weight)
        yield from ending(metrics, sample=sample, confidence=confidence)(get, arithmetic)

    return program


def _lightness(metric: Metric, get: Get, arithmetic: Arithmetic) -> Any:
    weight = defined_weight(item_metrics([metric])[0])
    square = get(weight) * get(weight)
    return arithmetic.choose(square > 0, get(weight + SQUARE) / square)


def reaching(names: Sequence[str], confidence: float) -> Program:
    """Return the program from summed influences to errors, degrees of freedom, and how far intervals reach."""
    coefficients = critical_polynomial(check_confidence(confidence))

    def program(get: Get, arithmetic: Arithmetic) -> Iterator[Mapping[str, Any]]:
        return in_step(_find_reach(name, get, arithmetic, coefficients) for name in names)

    return program


def _find_reach(
    name: str, get: Get, arithmetic: Arithmetic, coefficients: Sequence[float]
) -> Iterator[Mapping[str, Any]]:
    n, square, fourth, variance = (get(name + suffix) for suffix in (COUNTED, SQUARE, FOURTH, VARIANCE))
    has_spread = (n > 1) & (variance > _NO_SPREAD * _NO_SPREAD)
    # The excess measures how much heavier the influences' tails are than those of two equal values of opposite sign.
    yield {
        name + ERROR: arithmetic.choose(has_spread, (n - 1) / n * arithmetic.sqrt(variance)),
        name + _EXCESS: arithmetic.choose(fourth > 0, n * fourth / (square * square) - 1),
    }
    excess = get(name + _EXCESS)
    found = arithmetic.choose(excess * (n - 1) > 2 * n, 2 * n / excess, n - 1)
    freedom = arithmetic.choose(found > 1, found, 1.0)
    yield {name + FREEDOM: arithmetic.choose(arithmetic.is_defined(excess), freedom)}
    yield {name + _X: 2 / get(name + FREEDOM) - 1}
    x, critical = get(name + _X), coefficients[-1]
    for coefficient in reversed(coefficients[:-1]):
        critical = x * critical + coefficient
    yield {name + REACH: arithmetic.exp(critical) * get(name + ERROR)}


def ending(metrics: Sequence[Metric], *, sample: Sample, confidence: float) -> Program:
    """Return the program from values, reaches and lightnesses to both ends of every value's interval."""
    z, bounded = normal_value(confidence), [m for m in metrics if _is_bounded(m)]

    def program(get: Get, arithmetic: Arithmetic) -> Iterator[Mapping[str, Any]]:
        yield from in_step(_find_shares(m, get, arithmetic, z) for m in bounded)
        ends: dict[str, Any] = {}
        for metric in metrics:
            if _is_bounded(metric):
                has_bound = may_be_bounded(metric, sample)
                ends |= _ends(metric, get, arithmetic, confidence=confidence, has_bound=has_bound)
            else:
                ends |= _plain_ends(metric, get, arithmetic)
        yield ends

    return program


def _plain_ends(metric: Metric, get: Get, arithmetic: Arithmetic) -> dict[str, Any]:
    value, reach = get(metric.name), get(metric.name + REACH)
    ends = {LOW: value - reach, HIGH: value + reach}
    return {metric.name + suffix: _within(end, *metric.range, arithmetic) for suffix, end in ends.items()}


def _within(value: Any, low: float, high: float, arithmetic: Arithmetic) -> Any:
    """Bring a value into a range."""
    return arithmetic.choose(value > high, high, arithmetic.choose(value < low, low, value))


def _find_shares(metric: Metric, get: Get, arithmetic: Arithmetic, z: float) -> Iterator[Mapping[str, Any]]:
    """Compute both ends of an interval of the error, which is how far the value is from the nearer border.

    The error gets a beta distribution with the mean and variance seen, plus a tenth of a cluster in which everything is
    wrong. Its quantile is found by the normal approximation of the cube root of a ratio (Paulson). Every quotient
    becomes a column before it is divided again.
    """
    (least, most), width, choose = metric.range, metric.range[1] - metric.range[0], arithmetic.choose

    def of(name: str) -> Any:
        return get(f"_{metric.name}_{name}")

    def named(**columns: Any) -> dict[str, Any]:
        return {f"_{metric.name}_{name}": column for name, column in columns.items()}

    value, w = get(metric.name), get(metric.name + LIGHTNESS)
    below, above = (value - least) / width, (most - value) / width
    is_inside = arithmetic.is_defined(get(metric.name + REACH)) & (value > least) & (value < most)
    yield named(
        error=choose(is_inside & (below <= above), below, choose(is_inside, above)),
        reach=choose(is_inside, get(metric.name + REACH) / width),
    )
    error, rest, seen = of("error"), 1 - of("error"), 1 + _PRIOR * w
    yield named(
        mean=(error + _PRIOR * w) / seen,
        variance=(of("reach") * of("reach") / (z * z) + _PRIOR * w * w * rest * rest) / (seen * seen),
        odds=error / rest,
        way=_within(of("reach") / (error * rest), 0.0, _LONGEST_WAY, arithmetic),
    )
    mean = of("mean")
    yield named(k=mean * (1 - mean) / of("variance") - 1, mean_odds=mean / (1 - mean), factor=arithmetic.exp(of("way")))
    has_k = of("k") > 0
    yield named(s_a=choose(has_k, 1 / (9 * mean * of("k"))), s_b=choose(has_k, 1 / (9 * (1 - mean) * of("k"))))
    s_a, s_b = of("s_a"), of("s_b")
    u_a, u_b = 1 - s_a, 1 - s_b
    yield named(under=u_b * u_b - z * z * s_b, inner=u_a * u_a * s_b + u_b * u_b * s_a - z * z * s_a * s_b)
    root = arithmetic.sqrt(choose(of("inner") > 0, of("inner"), 0.0))
    is_found = (of("under") > 0) & (of("inner") >= 0)
    yield named(x=choose(is_found, (u_a * u_b + z * root) / of("under")))
    x, factor = of("x"), of("factor")
    far = arithmetic.sqrt(of("odds") * factor * of("mean_odds") * choose(x > 0, x * x * x))
    yield named(near=of("odds") / factor, far=far)
    # Where there is no such quantile, too little is known to exclude any larger error.
    share = choose(arithmetic.is_defined(of("far")), of("far") / (1 + of("far")), 1.0)
    yield named(near=of("near") / (1 + of("near")), far=choose(arithmetic.is_defined(error), share))


def _ends(metric: Metric, get: Get, arithmetic: Arithmetic, *, confidence: float, has_bound: bool) -> dict[str, Any]:
    (least, most), width, choose = metric.range, metric.range[1] - metric.range[0], arithmetic.choose
    value, has_reach = get(metric.name), arithmetic.is_defined(get(metric.name + REACH))
    near, far = (get(f"_{metric.name}_{end}") for end in ("near", "far"))
    is_low = value - least <= most - value
    low = choose(is_low, least + width * near, most - width * far)
    high = choose(is_low, least + width * far, most - width * near)
    if not has_bound:
        return {metric.name + LOW: choose(has_reach, low), metric.name + HIGH: choose(has_reach, high)}
    unseen = width * (1 - arithmetic.exp(math.log(1 - confidence) * get(metric.name + LIGHTNESS)))
    is_least, is_most = (away < _NO_SPREAD * width for away in (value - least, most - value))
    least_end = choose(is_least, float(least), choose(is_most, most - unseen))
    most_end = choose(is_least, least + unseen, choose(is_most, float(most)))
    return {metric.name + LOW: choose(has_reach, low, least_end), metric.name + HIGH: choose(has_reach, high, most_end)}
