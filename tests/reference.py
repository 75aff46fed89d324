"""Intervals from their definitions, in NumPy and SciPy, without a line of the package."""

from __future__ import annotations

import math

import numpy as np
from scipy import stats


def sums_by_cluster(rows, name):
    """Weight times value and weight of every ideal cluster, where the metric is defined."""
    clusters = sorted({row["ideal_cluster"] for row in rows if row[name] is not None})
    number = {cluster: n for n, cluster in enumerate(clusters)}
    a, b = np.zeros(len(clusters)), np.zeros(len(clusters))
    for row in rows:
        if row[name] is not None:
            a[number[row["ideal_cluster"]]] += row["weight"] * row[name]
            b[number[row["ideal_cluster"]]] += row["weight"]
    return a, b


def reference_ends(whole, error, df, w, confidence):
    t, z = stats.t.ppf((1 + confidence) / 2, df), stats.norm.ppf((1 + confidence) / 2)
    wrong = min(whole, 1 - whole)
    way = t * error / (wrong * (1 - wrong))
    near, far = stats.logistic.cdf(stats.logistic.ppf(wrong) + np.array([-way, way]))
    prior = 0.1 * w
    mean = (wrong + prior) / (1 + prior)
    variance = (error**2 * t**2 / z**2 + prior * w * (1 - wrong) ** 2) / (1 + prior) ** 2
    k = mean * (1 - mean) / variance - 1
    beta = beta_quantile(mean * k, (1 - mean) * k, z)
    far = 1.0 if beta is None else stats.logistic.cdf((stats.logistic.ppf(far) + stats.logistic.ppf(beta)) / 2)
    return [near, far] if whole <= 0.5 else [1 - far, 1 - near]


def beta_quantile(a, b, z):
    if a <= 0 or b <= 0:
        return None
    s_a, s_b = 1 / (9 * a), 1 / (9 * b)
    u_a, u_b = 1 - s_a, 1 - s_b
    under, inner = u_b**2 - z**2 * s_b, u_a**2 * s_b + u_b**2 * s_a - z**2 * s_a * s_b
    if under <= 0 or inner < 0:
        return None
    x = (u_a * u_b + z * math.sqrt(inner)) / under
    return a * x**3 / (a * x**3 + b) if x > 0 else None
