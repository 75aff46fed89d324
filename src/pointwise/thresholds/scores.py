"""Scores: the metrics of every threshold's clusters, summed over ideal clusters in NumPy.

The sums are what `lift_varied` turns into values and intervals, so both come from the same formulas as in an
evaluation. Only the summing is written again here: an engine would take many times as long for a hundred thresholds.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pointwise.columns import IDEAL_CLUSTERS, ITEMS, WEIGHT
from pointwise.core.arithmetic import ARRAYS
from pointwise.core.confusion import Confusion, Totals
from pointwise.core.lifting import defined_weight
from pointwise.core.measurement import item_metrics
from pointwise.core.metrics import Metric
from pointwise.inputs.graphs import Nodes
from pointwise.labels.cells import Cells, Floats, cross_tabulate, measure_cells, sum_by_code
from pointwise.labels.codes import Codes, Integers
from pointwise.uncertainty.ends import COUNTED, FOURTH, SQUARE, VARIANCE
from pointwise.uncertainty.intervals import STEP

Row = dict[str, float]


@dataclass(frozen=True)
class SampleArrays:
    """What every ideal cluster stands for: arrays in the order of the ideal codes."""

    expansion: Floats
    rest: Floats
    stratum: Integers


@dataclass(frozen=True)
class Truth:
    """What does not depend on the threshold.

    Args:
        ideal: Ideal cluster of each common item; all codes occur.
        node: The common items' numbers among those of the links; ideal items without any come after these.
        present: Which common items are in the links.
        weight: Weight of each common item; None if each weighs 1.
        outside: Numbers of the other items of the links, and of the spurious ones.
        outside_weight: Their weights, if these are known or each is 1; None if they do not count as wrong.
        population: All that the truth stands for, if it is a sample.
        design: How it was drawn, likewise.
        is_spurious: Which ideal clusters are empty, if any are: those of items that should not exist.
        keeps_missing: Whether items that the links lack have an empty actual cluster, instead of being alone.
    """

    ideal: Codes
    node: Nodes
    present: Any
    weight: Floats | None
    outside: Nodes
    outside_weight: Floats | None = None
    population: Totals | None = None
    design: SampleArrays | None = None
    is_spurious: NDArray[np.bool_] | None = None
    keeps_missing: bool = False


@dataclass(frozen=True)
class _Outside:
    """Members of touched actual clusters that the truth does not list, by actual code."""

    items: Floats
    weight: Floats


@dataclass(frozen=True)
class _SweptCells(Cells):
    """Cells among members outside the truth that count as wrong, with empty clusters, or in a population.

    Args:
        outside: Members of actual clusters that count as wrong.
        population: What the matrices count.
        is_spurious: Which ideal clusters are empty, if any are.
        nowhere: Code of the empty actual cluster, if there is one.
    """

    outside: _Outside | None = None
    population: Totals | None = None
    is_spurious: NDArray[np.bool_] | None = None
    nowhere: int | None = None

    @cached_property
    def is_solid(self) -> NDArray[np.bool_] | None:
        """Which cells have items on both sides; None if all have."""
        if self.is_spurious is None and self.nowhere is None:
            return None
        solid = np.ones(len(self.ideal), dtype=np.bool_)
        if self.is_spurious is not None:
            solid &= ~self.is_spurious[self.ideal]
        if self.nowhere is not None:
            solid &= self.actual != self.nowhere
        return solid

    @cached_property
    def ideal_items(self) -> Floats:
        return self._ideal_margin(super().ideal_items)

    @cached_property
    def ideal_weight(self) -> Floats:
        return self._ideal_margin(super().ideal_weight) if self.is_weighted else self.ideal_items

    def _ideal_margin(self, own: Floats) -> Floats:
        return own if self.is_spurious is None else np.where(self.is_spurious, 0.0, own)

    def _actual_margin(self, own: Floats) -> Floats:
        if self.nowhere is not None:
            own[self.nowhere] = 0.0
        return own

    @cached_property
    def actual_items(self) -> Floats:
        own = self._actual_margin(np.bincount(self.pred.array, minlength=self.pred.size).astype(np.float64))
        return own if self.outside is None else own + self.outside.items

    @cached_property
    def actual_weight(self) -> Floats:
        if not self.is_weighted:
            return self.actual_items
        own = self._actual_margin(sum_by_code(self.actual, self.tp, self.pred.size))
        return own if self.outside is None else own + self.outside.weight

    @cached_property
    def total_items(self) -> float:
        if self.population is not None:
            return float(self.population.items)
        return float(len(self.true.array)) + (0.0 if self.outside is None else float(self.outside.items.sum()))

    @cached_property
    def total_weight(self) -> float:
        if self.population is not None:
            return self.population.weight
        return float(self.tp.sum()) + (0.0 if self.outside is None else float(self.outside.weight.sum()))

    def counts(self, part: slice) -> Confusion:
        matrix = super().counts(part)
        if self.is_solid is not None:
            solid = self.is_solid[part]
            matrix = replace(matrix, tp=matrix.tp * solid, tn=matrix.tn - matrix.tp * ~solid)
        tn = np.maximum(matrix.tn, 0.0)  # the given population may be too small
        return Confusion(matrix.tp, matrix.ideal, matrix.actual, matrix.ideal + matrix.fp + tn, tn, ARRAYS)

    def confusion(self, part: slice) -> Confusion:
        if self.is_solid is None or not self.is_weighted:
            return super().confusion(part)
        counts = self.counts(part)
        ideal, actual = self.ideal_weight[self.ideal[part]], self.actual_weight[self.actual[part]]
        tp = self.tp[part] * self.is_solid[part]
        tn = np.maximum(self.total_weight - ideal - (actual - tp), 0.0)
        tn[counts.tn == 0] = 0.0
        return Confusion(tp, ideal, actual, ideal + (actual - tp) + tn, tn, ARRAYS)


def score_clusters(truth: Truth, labels: Nodes, metrics: Sequence[Metric]) -> Row:
    """Sum the metrics of the clusters at one threshold.

    Args:
        truth: What does not depend on the threshold.
        labels: Number of the actual cluster of every node.
        metrics: What to sum.

    Returns:
        What `lift_varied` takes, and the coverage that depends on the threshold.
    """
    codes, clusters = _actual_codes(truth, labels)
    known = truth.present
    if truth.is_spurious is not None:
        known = known & ~truth.is_spurious[truth.ideal.array]
    common = np.bincount(codes[known], minlength=clusters)
    outside = labels[truth.outside]
    is_touching = common[outside] > 0
    row: Row = {"actual_clusters_touched": int((common > 0).sum()), "outside_items": int(is_touching.sum())}
    wrong = None
    if truth.outside_weight is not None:
        members, weight = outside[is_touching], truth.outside_weight[is_touching]
        items = np.bincount(members, minlength=clusters).astype(np.float64)
        wrong = _Outside(items, sum_by_code(members, weight, clusters))
    cells = cross_tabulate(truth.ideal, Codes(codes, clusters), weight=truth.weight)
    found = cells.true, cells.pred, cells.weight, cells.ideal, cells.actual, cells.items, cells.cell_of
    nowhere = clusters - 1 if truth.keeps_missing and not truth.present.all() else None
    swept = _SweptCells(*found, wrong, truth.population, truth.is_spurious, nowhere)
    return row | _summed(swept, truth.design, metrics)


def _actual_codes(truth: Truth, labels: Nodes) -> tuple[Integers, int]:
    """Return the actual cluster of every common item; what the links lack is alone, or all of it in the last one."""
    clusters = int(labels.max(initial=-1)) + 1
    if truth.present.all():
        return labels[truth.node].astype(np.int64), clusters
    missing = int((~truth.present).sum())
    codes = np.empty(len(truth.node), dtype=np.int64)
    codes[truth.present] = labels[truth.node[truth.present]]
    codes[~truth.present] = clusters + (0 if truth.keeps_missing else np.arange(missing))
    return codes, clusters + (1 if truth.keeps_missing else missing)


def _summed(cells: _SweptCells, design: SampleArrays | None, metrics: Sequence[Metric]) -> Row:
    """Sum metrics and their influences over the ideal clusters."""
    parts = item_metrics(metrics)
    sums = _by_ideal_cluster(cells, parts)
    if design is not None:
        sums = {name: values * design.expansion for name, values in sums.items()}
    totals = {name: float(values.sum()) for name, values in sums.items()}
    weights = dict.fromkeys(defined_weight(m) for m in parts)
    row: Row = totals | {weight + SQUARE: float((sums[weight] * sums[weight]).sum()) for weight in weights}
    spurious = 0 if cells.is_spurious is None else int(cells.is_spurious.sum())
    row |= {ITEMS: len(cells.true.array), IDEAL_CLUSTERS: cells.true.size - spurious}
    influences = {m.name: _influence(m, sums, totals) for m in parts}
    for metric in metrics:
        influence = _influence_of_means(metric, influences, totals) if metric.means else influences[metric.name]
        row |= {metric.name + suffix: value for suffix, value in _powers(influence, design).items()}
    return row


def _by_ideal_cluster(cells: Cells, parts: Sequence[Metric]) -> dict[str, Floats]:
    """Sum the weighted metrics over the cells of every ideal cluster; cells are in the order of these."""
    products = {m.name: np.empty_like(cells.tp) for m in parts}
    for part in cells.parts():
        matrix, weight = cells.confusion(part), cells.tp[part]
        for metric in parts:
            np.multiply(measure_cells(metric, matrix), weight, out=products[metric.name][part])
    starts = np.searchsorted(cells.ideal, np.arange(cells.true.size, dtype=cells.ideal.dtype))
    sums: dict[str, Floats] = {WEIGHT: np.add.reduceat(cells.tp, starts)}
    for metric in parts:
        values = products[metric.name]
        if not metric.is_total:
            is_defined = ~np.isnan(values)
            sums[defined_weight(metric)] = np.add.reduceat(cells.tp * is_defined, starts)
            values = np.where(is_defined, values, 0.0)
        sums[metric.name] = np.add.reduceat(values, starts)
    return sums


def _influence(metric: Metric, sums: dict[str, Floats], totals: Row) -> Floats:
    """Return how much leaving out each ideal cluster would move a metric; NaN where nothing would be left."""
    weight, total = sums[defined_weight(metric)], totals[defined_weight(metric)]
    others = total - weight
    is_known = (weight > 0) & (others > 0)
    excess = sums[metric.name] - (totals[metric.name] / total if total else math.nan) * weight
    influence: Floats = np.divide(excess, others, out=np.full(len(weight), math.nan), where=is_known)
    return influence


def _influence_of_means(metric: Metric, influences: dict[str, Floats], totals: Row) -> Floats:
    """Linearise a metric of means: its derivatives times the influences on the means."""
    parts = item_metrics([metric])
    weights = [totals[defined_weight(part)] for part in parts]
    means = [totals[p.name] / weight if weight else math.nan for p, weight in zip(parts, weights, strict=True)]
    return np.sum(list(_terms(metric, means, influences)), axis=0)  # type: ignore[no-any-return]


def _terms(metric: Metric, means: list[float], influences: dict[str, Floats]) -> Iterator[Floats]:
    nowhere = Confusion(*(math.nan,) * 5)
    for n, name in enumerate(metric.means):
        ends = [metric.formula(nowhere, *means[:n], means[n] + step, *means[n + 1 :]) for step in (STEP, -STEP)]
        yield (ends[0] - ends[1]) * (0.5 / STEP) * influences[name]


def _powers(influence: Floats, design: SampleArrays | None) -> Row:
    is_counted = ~np.isnan(influence)
    known, number = influence[is_counted], int(is_counted.sum())
    rest = None if design is None else design.rest[is_counted]
    squares = known * known if rest is None else known * known * rest
    square = float(squares.sum())
    if design is None or rest is None:
        variance = number / (number - 1) * square if number > 1 else square
    else:
        variance = _variance_of_strata(known * rest, squares, rest, design.stratum[is_counted])
    return {SQUARE: square, FOURTH: float((squares * squares).sum()), COUNTED: number, VARIANCE: variance}


def _variance_of_strata(pulls: Floats, squares: Floats, rest: Floats, stratum: Integers) -> float:
    """Sum the scatter within strata, about the mean of each that has several clusters."""
    number = np.bincount(stratum).astype(np.float64)
    square, pull, still_open = (np.bincount(stratum, values) for values in (squares, pulls, rest))
    is_centred = (still_open > 0) & (number > 1)
    centred = np.divide(pull * pull, still_open, out=np.zeros_like(pull), where=is_centred)
    factor = np.divide(number, number - 1, out=np.ones_like(number), where=number > 1)
    return float((factor * (square - centred)).sum())
