"""Chance: how much two random clusterings with given cluster sizes tell about each other."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

Sizes = Sequence[tuple[int, int]]
"""Cluster sizes, each with the number of clusters that have it."""

_SPREAD, _MARGIN = 12, 40  # how far from the mean a number of shared items can be before its probability rounds to 0


def expect_information(ideal: Sizes, actual: Sizes, items: float) -> float:
    """Sum n log(n items / (a b)) over all pairs of clusters, as expected for random clusterings of the same sizes.

    The number n that clusters of sizes a and b share is hypergeometric. Clusters of equal size behave alike, so the
    work is in pairs of distinct sizes, which are few, and in the numbers n that are not practically impossible.
    """
    from scipy.special import xlogy

    b, number = (np.asarray(column, dtype=float) for column in zip(*actual, strict=True))
    total = 0.0
    for size, clusters in ideal:
        a = float(size)
        n, chance = _chances(a, b, items)
        terms = (chance * xlogy(n, n * items / (a * b[:, None]))).sum(axis=1)
        total += clusters * float((number * terms).sum())
    return total


def _chances(a: float, b: Any, items: float) -> tuple[Any, Any]:
    """Return the numbers of items that a cluster of size a can share with others, and the chance of each.

    Chances come from the ratios of neighbours and add up to 1, which loses fewer digits than factorials do.

    Returns:
        Two arrays with a row per size in b.
    """
    low, high = (border[:, None] for border in _shared(a, b, items))
    n = np.minimum(low + np.arange(float((high - low).max()) + 1)[None, :], high)
    before, sizes = n[:, :-1], b[:, None]
    with np.errstate(divide="ignore"):
        steps = np.log((a - before) * (sizes - before) / ((before + 1) * (items - a - sizes + before + 1)))
    steps = np.where(n[:, 1:] > before, steps, -np.inf)  # beyond the greatest possible number
    logs = np.concatenate([np.zeros((len(b), 1)), np.cumsum(steps, axis=1)], axis=1)
    chances = np.exp(logs - logs.max(axis=1, keepdims=True))
    return n, chances / chances.sum(axis=1, keepdims=True)


def _shared(a: float, b: Any, items: float) -> tuple[Any, Any]:
    """Return the least and the greatest number of items that clusters of two sizes can share by chance."""
    mean = a * b / items
    reach = _SPREAD * np.sqrt(mean) + _MARGIN
    low = np.maximum(np.maximum(0, a + b - items), np.floor(mean - reach))
    return low, np.maximum(np.minimum(np.minimum(a, b), np.ceil(mean + reach)), low)
