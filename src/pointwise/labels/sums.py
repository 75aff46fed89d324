"""Sums over the cells of two label arrays, from which the metrics of other families follow."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from pointwise.core.metrics import METRICS
from pointwise.labels.cells import Cells, Floats, sum_by_code
from pointwise.related.sums import CellSums, SideSums, Sums, cell_terms, count_pairs, count_terms, entropy_term


def sum_cells(cells: Cells) -> Sums:
    """Reduce the cells of two label arrays to sums."""
    parts: dict[str, list[float]] = {}
    by_cell = {name: np.empty(len(cells.tp)) for name in ("f1", "bcubed_precision", "bcubed_recall")}
    for part in cells.parts():
        weights = cells.confusion(part)
        counts = cells.counts(part)
        terms = cell_terms(weights, counts, np.log)
        terms |= count_terms(counts.tp, counts.ideal, counts.actual, log=np.log, mark=np.float64)
        terms |= count_pairs(cells.items[part], cells.tp[part], cells.squares[part])
        for name, term in terms.items():
            parts.setdefault(name, []).append(float(term.sum()))
        for name, kept in by_cell.items():
            kept[part] = terms[name] if name in terms else METRICS[name].formula(weights)
    sums = {name: math.fsum(values) for name, values in parts.items()}
    ideal, actual = (_sum_side(cells, by_cell, codes.astype(np.int64)) for codes in (cells.ideal, cells.actual))
    lightest = float((cells.tp / cells.items).min())
    squares = float(cells.squares.sum())
    of_cells = CellSums(len(cells.tp), **sums)
    return Sums(cells.total_items, cells.total_weight, squares, lightest, of_cells, ideal, actual)


def _sum_side(cells: Cells, by_cell: dict[str, Floats], codes: Any) -> SideSums:
    items = sum_by_code(codes, cells.items)
    occupied = np.flatnonzero(items)  # not every code needs to occur

    def total(values: Floats) -> Floats:
        return sum_by_code(codes, values)[occupied]

    def best(values: Floats) -> Floats:
        greatest = np.zeros(len(items))
        np.maximum.at(greatest, codes, values)
        return greatest[occupied]

    weight = total(cells.tp)
    terms = {
        "entropy": entropy_term(weight, cells.total_weight, np.log),
        "best_weight": best(cells.tp),
        "best_f1": best(by_cell["f1"]) * weight,
        "mean_precision": total(by_cell["bcubed_precision"]) / weight,
        "mean_recall": total(by_cell["bcubed_recall"]) / weight,
        "squared": weight * weight,
    }
    terms |= count_pairs(items[occupied], weight, total(cells.squares))
    sizes, numbers = np.unique(items[occupied], return_counts=True)
    return SideSums(
        len(occupied),
        **{name: float(term.sum()) for name, term in terms.items()},
        heaviest=float(weight.max()),
        sizes=tuple(zip(sizes.astype(int).tolist(), numbers.tolist(), strict=True)),
    )
