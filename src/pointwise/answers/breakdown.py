"""Breakdowns: the heaviest cells of a few clusters, with examples of their items and what is known about them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import narwhals.stable.v2 as nw

from pointwise.answers.records import Example, fetch_examples
from pointwise.columns import ACTUAL, ACTUAL_ITEMS, ACTUAL_WEIGHT, IDEAL, IDEAL_ITEMS, ITEM, ITEMS, WEIGHT
from pointwise.core.evidence import Evidence
from pointwise.engines.queries import matching

_CELLS, _ALL_ITEMS, _ALL_WEIGHT = "cells", "all_items", "all_weight"
_MANY_CELLS = 1_000

CellKey = tuple[Any, Any]
"""The ideal and the actual cluster of a cell."""


@dataclass(frozen=True)
class Cell:
    """A cell of a cluster, with a few of its items.

    Args:
        other: The cluster on the other side.
        items: How many items it has.
        weight: Their weight.
        share: The same as a share of the weight of the cluster's common items.
        examples: The first and the last of its items.
    """

    other: Any
    items: int
    weight: float
    share: float
    examples: tuple[Example, ...]


@dataclass(frozen=True)
class Breakdown:
    """The heaviest cells of a cluster.

    Args:
        cells: The heaviest ones.
        number: How many cells it has.
        items: How many common items it has.
        weight: Their weight.
        outside_items: Of an actual cluster, how many members that the truth does not list count as wrong in it.
        outside_weight: Their weight.
    """

    cells: list[Cell]
    number: int
    items: int
    weight: float
    outside_items: int = 0
    outside_weight: float = 0.0


def break_down(
    evidence: Evidence, side: str, clusters: Sequence[Any], *, cells: int, columns: Sequence[str] = ()
) -> dict[Any, Breakdown]:
    """Break clusters into their heaviest cells, with the first and the last item of each as examples.

    Args:
        evidence: Where the clusters are.
        side: Which side they are on.
        clusters: Their ids, not many.
        cells: How many cells of each to return.
        columns: What to fetch of an example item.

    Returns:
        The cells by cluster. A cluster without common items is not in it.
    """
    if not clusters:
        return {}
    other, evidence = ACTUAL if side == IDEAL else IDEAL, evidence.by(side)
    engine, wanted = evidence.engine, [{side: cluster} for cluster in clusters]
    chosen = engine.checkpoint(matching(evidence.cells, wanted, engine))
    if evidence.sample.has_spurious and side == ACTUAL:
        chosen = _without_spurious(chosen)
    totals = {row[side]: row for row in engine.collect(engine.plan(_totals, chosen, side=side)).to_pylist()}
    rows = _heaviest_of_each(evidence, chosen.filter(nw.col(ITEMS) > 0), side, totals, cells)
    keys = [(row[IDEAL], row[ACTUAL]) for found in rows.values() for row in found]
    examples = find_examples(evidence, keys, columns)

    def as_cell(row: Mapping[str, Any]) -> Cell:
        share = row[WEIGHT] / totals[row[side]][WEIGHT]
        found = examples.get((row[IDEAL], row[ACTUAL]), ())
        return Cell(row[other], int(row[ITEMS]), row[WEIGHT], share, found)

    return {
        cluster: Breakdown([as_cell(row) for row in rows.get(cluster, ())], **_sizes(totals[cluster], side))
        for cluster in totals
    }


def _without_spurious(cells: nw.LazyFrame) -> nw.LazyFrame:
    """Let items that the truth lacks count only in the margins of their clusters, as members outside the truth do."""
    is_spurious = nw.col(IDEAL_ITEMS) == 0
    return cells.with_columns(
        *(nw.when(is_spurious).then(nw.lit(0)).otherwise(nw.col(n)).alias(n) for n in (ITEMS, WEIGHT))
    )


def _totals(cells: nw.LazyFrame, *, side: str) -> nw.LazyFrame:
    counted = cells.with_columns((nw.col(ITEMS) > 0).cast(nw.Int64).alias(_CELLS))
    return counted.group_by(side).agg(
        nw.col(_CELLS).sum(),
        nw.col(ITEMS).sum(),
        nw.col(WEIGHT).sum(),
        nw.col(ACTUAL_ITEMS).max().alias(_ALL_ITEMS),
        nw.col(ACTUAL_WEIGHT).max().alias(_ALL_WEIGHT),
    )


def _sizes(row: Mapping[str, Any], side: str) -> dict[str, Any]:
    sizes = {"number": int(row[_CELLS]), "items": int(row[ITEMS]), "weight": float(row[WEIGHT])}
    outside = int(row[_ALL_ITEMS] - row[ITEMS])
    if side == IDEAL or outside <= 0:  # counts decide, because they are exact
        return sizes
    return sizes | {"outside_items": outside, "outside_weight": float(row[_ALL_WEIGHT] - row[WEIGHT])}


def _heaviest_of_each(
    evidence: Evidence, chosen: nw.LazyFrame, side: str, totals: Mapping[Any, Mapping[str, Any]], most: int
) -> dict[Any, list[dict[str, Any]]]:
    """Fetch the heaviest cells of every cluster; one with very many cells is fetched separately."""
    crowded = [cluster for cluster, row in totals.items() if row[_CELLS] > _MANY_CELLS]
    rows = {c: _heaviest(evidence, chosen.filter(nw.col(side) == c), most) for c in crowded}
    rest = chosen.filter(~nw.col(side).is_in(crowded)) if crowded else chosen
    for row in _heaviest(evidence, rest):
        rows.setdefault(row[side], []).append(row)
    return {cluster: found[:most] for cluster, found in rows.items()}


def _heaviest(evidence: Evidence, cells: nw.LazyFrame, most: int | None = None) -> list[dict[str, Any]]:
    """Fetch cells, the heaviest first."""
    ordered = cells.select(IDEAL, ACTUAL, ITEMS, WEIGHT).sort(WEIGHT, IDEAL, ACTUAL, descending=[True, False, False])
    fetched = ordered if most is None else ordered.head(most)
    rows: list[dict[str, Any]] = evidence.engine.collect(fetched).to_pylist()
    return rows


def find_examples(
    evidence: Evidence, cells: Iterable[CellKey], columns: Sequence[str] = ()
) -> dict[CellKey, tuple[Example, ...]]:
    """Find the first and the last item of cells, with their records."""
    wanted = [{IDEAL: ideal, ACTUAL: actual} for ideal, actual in dict.fromkeys(cells)]
    if not wanted:
        return {}
    ends = evidence.engine.plan(_find_ends, matching(evidence.items, wanted, evidence.engine))
    rows = evidence.engine.collect(ends).to_pylist()
    found = {(r[IDEAL], r[ACTUAL]): tuple(dict.fromkeys((r["least"], r["greatest"]))) for r in rows}
    known = fetch_examples(evidence, [item for pair in found.values() for item in pair], columns)
    return {cell: tuple(known[item] for item in pair) for cell, pair in found.items()}


def _find_ends(items: nw.LazyFrame) -> nw.LazyFrame:
    ends = nw.col(ITEM).min().alias("least"), nw.col(ITEM).max().alias("greatest")
    return items.group_by(IDEAL, ACTUAL).agg(*ends)
