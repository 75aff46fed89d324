"""An independent judge: the paper's set definitions, item by item, in exact fractions.

Quadratic on purpose, and without a line of the package: it knows sets of items and nothing of cells.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Hashable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from itertools import combinations

Item = Hashable
Clustering = Mapping[Item, Hashable]
Weights = Mapping[Item, Fraction | int | float]
Value = Fraction | float | None  # None: undefined


@dataclass(frozen=True)
class Sets:
    """The four sets that an item divides all items into."""

    tp: frozenset[Item]
    fp: frozenset[Item]
    fn: frozenset[Item]
    tn: frozenset[Item]


@dataclass(frozen=True)
class Matrix:
    """The weights of the four sets."""

    tp: Fraction
    fp: Fraction
    fn: Fraction
    tn: Fraction


def members(clustering: Clustering, item: Item, among: Collection[Item]) -> frozenset[Item]:
    """List the items that share the item's cluster; none if the clustering lacks the item."""
    if item not in clustering:
        return frozenset()
    return frozenset(other for other in among if other in clustering and clustering[other] == clustering[item])


def sets(ideal: Clustering, actual: Clustering, counted: Collection[Item] | None = None) -> dict[Item, Sets]:
    """Divide the common items, or others that count, from the perspective of each of them."""
    common = [item for item in ideal if item in actual] if counted is None else counted
    found = {}
    for item in common:
        ideal_cluster, actual_cluster = members(ideal, item, common), members(actual, item, common)
        tp = ideal_cluster & actual_cluster
        fp, fn = actual_cluster - ideal_cluster, ideal_cluster - actual_cluster
        found[item] = Sets(tp, fp, fn, frozenset(common) - (tp | fp | fn))
    return found


def matrices(
    ideal: Clustering,
    actual: Clustering,
    weights: Weights | None = None,
    counted: Collection[Item] | None = None,
) -> dict[Item, Matrix]:
    """Weigh the four sets of every item that counts; without weights every item weighs 1."""

    def weigh(some: frozenset[Item]) -> Fraction:
        return sum((weight_of(item, weights) for item in some), Fraction(0))

    return {
        item: Matrix(weigh(four.tp), weigh(four.fp), weigh(four.fn), weigh(four.tn))
        for item, four in sets(ideal, actual, counted).items()
    }


def weight_of(item: Item, weights: Weights | None) -> Fraction:
    """Look up an item's weight as a fraction, exactly."""
    return Fraction(1) if weights is None else Fraction(weights[item])


def _share(part: Fraction, whole: Fraction) -> Fraction | None:
    return part / whole if whole else None


def _all_defined(formula: Callable[..., Value], *parts: Value) -> Value:
    return None if any(part is None for part in parts) else formula(*parts)


def precision(m: Matrix) -> Value:
    return _share(m.tp, m.tp + m.fp)


def recall(m: Matrix) -> Value:
    return _share(m.tp, m.tp + m.fn)


def specificity(m: Matrix) -> Value:
    return _share(m.tn, m.tn + m.fp)


def negative_predictive_value(m: Matrix) -> Value:
    return _share(m.tn, m.tn + m.fn)


def everything(m: Matrix) -> Fraction:
    return m.tp + m.fp + m.fn + m.tn


def f_beta(m: Matrix, beta: Fraction | int) -> Value:
    """Take the weighted harmonic mean of precision and recall."""
    p, r = precision(m), recall(m)
    return (1 + beta**2) * p * r / (beta**2 * p + r) if p and r else Fraction(0)


def matthews(m: Matrix) -> Value:
    sides = (m.tp + m.fp) * (m.tp + m.fn) * (m.tn + m.fp) * (m.tn + m.fn)
    return float(m.tp * m.tn - m.fp * m.fn) / math.sqrt(sides) if sides else None


def adjusted_rand(m: Matrix) -> Value:
    """Use the textbook form: (index - expected) / (mean of the margins - expected)."""
    total = everything(m)
    expected = (m.tp + m.fn) * (m.tp + m.fp) + (m.tn + m.fn) * (m.tn + m.fp)
    return _share(total * (m.tp + m.tn) - expected, total * total - expected)


METRICS: dict[str, Callable[[Matrix], Value]] = {
    "precision": precision,
    "recall": recall,
    "f1": lambda m: f_beta(m, 1),
    "jaccard_index": lambda m: m.tp / (m.tp + m.fp + m.fn),
    "jaccard_distance": lambda m: 1 - m.tp / (m.tp + m.fp + m.fn),
    "over_merge_rate": lambda m: _all_defined(lambda p: 1 - p, precision(m)),
    "under_merge_rate": lambda m: _all_defined(lambda r: 1 - r, recall(m)),
    "accuracy": lambda m: (m.tp + m.tn) / everything(m),
    "element_similarity": lambda m: _all_defined(min, precision(m), recall(m)),
    "fowlkes_mallows": lambda m: _all_defined(lambda p, r: math.sqrt(p * r), precision(m), recall(m)),
    "prevalence": lambda m: (m.tp + m.fn) / everything(m),
    "predicted_prevalence": lambda m: (m.tp + m.fp) / everything(m),
    "specificity": specificity,
    "negative_predictive_value": negative_predictive_value,
    "fall_out": lambda m: _all_defined(lambda s: 1 - s, specificity(m)),
    "miss_rate": lambda m: _all_defined(lambda r: 1 - r, recall(m)),
    "false_discovery_rate": lambda m: _all_defined(lambda p: 1 - p, precision(m)),
    "false_omission_rate": lambda m: _all_defined(lambda n: 1 - n, negative_predictive_value(m)),
    "informedness": lambda m: _all_defined(lambda r, s: r + s - 1, recall(m), specificity(m)),
    "markedness": lambda m: _all_defined(lambda p, n: p + n - 1, precision(m), negative_predictive_value(m)),
    "balanced_accuracy": lambda m: _all_defined(lambda r, s: (r + s) / 2, recall(m), specificity(m)),
    "balanced_predictive_value": lambda m: _all_defined(
        lambda p, n: (p + n) / 2, precision(m), negative_predictive_value(m)
    ),
    "matthews": matthews,
    "adjusted_rand": adjusted_rand,
}


def item_values(
    name: str,
    ideal: Clustering,
    actual: Clustering,
    weights: Weights | None = None,
    counted: Collection[Item] | None = None,
) -> dict[Item, Value]:
    """Compute a metric for every item that counts."""
    metric = METRICS.get(name) or (lambda m: f_beta(m, Fraction(name.removeprefix("f"))))
    return {item: metric(matrix) for item, matrix in matrices(ideal, actual, weights, counted).items()}


def lift(values: Mapping[Item, Value], weights: Weights | None = None, among: Collection[Item] | None = None) -> Value:
    """Average values over some items, weighted; an item without a value is left out with its weight."""
    chosen = [item for item in (values if among is None else among) if values[item] is not None]
    if not chosen:
        return None
    total = sum(values[item] * weight_of(item, weights) for item in chosen)
    return total / sum(weight_of(item, weights) for item in chosen)


def value(
    name: str,
    ideal: Clustering,
    actual: Clustering,
    weights: Weights | None = None,
    among: Collection[Item] | None = None,
    *,
    counted: Collection[Item] | None = None,
) -> Value:
    """Compute a metric of a set of items; of all that count, which are the common ones, unless said otherwise."""
    if name == "f1_of_means":
        p, r = (value(part, ideal, actual, weights, among, counted=counted) for part in ("precision", "recall"))
        return _all_defined(lambda p, r: 2 * p * r / (p + r) if p + r else None, p, r)
    return lift(item_values(name, ideal, actual, weights, counted), weights, among)


def pair_matrix(ideal: Clustering, actual: Clustering, weights: Weights | None = None) -> Matrix:
    """Look at every pair of distinct items; a pair counts the product of its weights."""
    entries = dict.fromkeys(("tp", "fp", "fn", "tn"), Fraction(0))
    for a, b in combinations([item for item in ideal if item in actual], 2):
        in_ideal, in_actual = ideal[a] == ideal[b], actual[a] == actual[b]
        entry = ("t" if in_ideal == in_actual else "f") + ("p" if in_actual else "n")
        entries[entry] += weight_of(a, weights) * weight_of(b, weights)
    return Matrix(**entries)
