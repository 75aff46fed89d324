"""Pairs: the costliest pairs of cells that lie in one cluster, without listing all pairs.

Two parts of different ideal clusters in one actual cluster were merged, two parts of one ideal cluster were split.
"""

from __future__ import annotations

import heapq
from collections.abc import Iterator, Sequence
from functools import cached_property
from itertools import combinations, groupby, islice
from typing import Any

import narwhals.stable.v2 as nw

from pointwise.answers.costs import judged_weight
from pointwise.answers.mistake import MISSING, OUTSIDE, OVER_MERGE, UNDER_MERGE, Mistake, Part
from pointwise.columns import (
    ACTUAL,
    ACTUAL_ITEMS,
    ACTUAL_WEIGHT,
    COST,
    IDEAL,
    IDEAL_ITEMS,
    IDEAL_WEIGHT,
    ITEMS,
    NO_CLUSTER,
    TP,
    WEIGHT,
)
from pointwise.core.confusion import is_empty
from pointwise.core.evidence import Evidence
from pointwise.engines.queries import count, matching, total

_HEAVIEST, _LEADER, _CELLS = "heaviest", "leader", "cells"
_PEAK = "peak"
_COMMON_ITEMS, _COMMON_WEIGHT = "common_items", "common_weight"
_LACKING_ITEMS, _LACKING, _STANDS_FOR = "lacking_items", "lacking_weight", "lacking_expanded"


class PairRanking:
    """The mistakes of one kind: the pairs of cells that lie in one cluster of one side.

    A pair costs `2 tp_a tp_b / (cluster weight * total weight)`. All pairs of a cluster are too many to list. Call the
    heaviest cell of a cluster its leader. If a pair without the leader is among the costliest, then both of its cells
    with the leader are pairs that cost at least as much. So the costliest n pairs with a leader contain all cells that
    the costliest n pairs can consist of.

    In a sample, a cell of expanded weight v stands for more than itself, and a pair costs `(v_a tp_b + tp_a v_b)`
    over the same product.

    Items that the other side lacks are a part as well, where they count. They make a pair with every cell, and one with
    themselves, since each of them is alone.
    """

    def __init__(self, evidence: Evidence, kind: str) -> None:
        self.evidence, self.kind = evidence, kind
        is_split = kind in (UNDER_MERGE, MISSING)
        self.side, self.other = (IDEAL, ACTUAL) if is_split else (ACTUAL, IDEAL)
        self.margin = IDEAL_WEIGHT if is_split else ACTUAL_WEIGHT
        self.number = IDEAL_ITEMS if is_split else ACTUAL_ITEMS
        self.common = evidence.cells.filter(~is_empty()) if evidence.has_empty else evidence.cells
        self.cells = evidence.sample.expand(self.common)

    @property
    def has_lacking(self) -> bool:
        """Whether the other side may lack items, whose empty clusters there have ids that are text."""
        return self.evidence.has_empty and isinstance(self.evidence.cells.collect_schema()[self.other], nw.String)

    @cached_property
    def whole(self) -> float:
        """Weight of the items that the rate is an average over."""
        return judged_weight(self.evidence, self.side)

    def ranked(self, n: int) -> Iterator[Mistake]:
        """Yield the costliest mistakes, at least n of them if there are that many, costliest first."""
        found = [] if self.kind in (OUTSIDE, MISSING) else [self._pairs(n)]
        if self.side == ACTUAL:
            found.append(self._outside(n))
        if self.has_lacking:
            found.append(self._lacking(n))
        return heapq.merge(*found, key=lambda mistake: -mistake.cost)

    def total_cost(self, rate: float) -> float:
        """Sum what all mistakes of this kind cost: the whole rate, unless they are only some of it."""
        if self.kind not in (OUTSIDE, MISSING):
            return rate
        return total(self.partial_costs(), COST, self.evidence.engine)

    def count(self) -> int:
        """Count all mistakes of this kind."""
        partial = count(self.partial_costs(), self.evidence.engine)
        return partial if self.kind in (OUTSIDE, MISSING) else partial + self._count_pairs()

    def _count_pairs(self) -> int:
        sizes = self._clusters().group_by(_CELLS).agg(nw.len().alias("clusters"))
        rows = self.evidence.engine.collect(sizes).to_pylist()
        return sum(int(row["clusters"]) * (int(row[_CELLS]) * (int(row[_CELLS]) - 1) // 2) for row in rows)

    def _clusters(self) -> nw.LazyFrame:
        sums = self.common.group_by(self.side).agg(nw.len().alias(_CELLS), nw.col(TP).max().alias(_HEAVIEST))
        return sums.with_columns(nw.col(_CELLS).cast(nw.Int64))

    def _pairs(self, n: int) -> Iterator[Mistake]:
        """Find the costliest pairs of cells."""
        if self.kind == OVER_MERGE and self.evidence.sample.clusters is not None:
            return iter(self._unequal_pairs(n))
        clusters = self._clusters().filter(nw.col(_CELLS) > 1)
        cells = self.cells.join(clusters, on=self.side, how="inner")
        heaviest = cells.filter(nw.col(TP) == nw.col(_HEAVIEST))
        leaders = heaviest.group_by(self.side).agg(nw.col(self.other).min().alias(_LEADER))
        cells = cells.join(leaders, on=self.side, how="inner")
        cost = 2 * nw.col(WEIGHT) * nw.col(_HEAVIEST) / (nw.col(self.margin) * self.whole)
        followers = cells.filter(nw.col(self.other) != nw.col(_LEADER)).with_columns(cost.alias(COST))
        order = [COST, self.side, self.other]
        costliest = followers.sort(*order, descending=[True, False, False]).head(n)
        columns = (self.side, self.other, ITEMS, TP, WEIGHT, self.margin, self.number)
        chosen = costliest.select(*columns, _LEADER)
        rows = self.evidence.engine.collect(chosen).to_pylist()
        rows += self._leaders(rows, columns)
        rows.sort(key=lambda row: (str(row[self.side]), -row[TP], str(row[self.other])))
        groups = [list(group) for _, group in groupby(rows, key=lambda row: str(row[self.side]))]
        return islice(self._best_first(groups), n)

    def _unequal_pairs(self, n: int) -> list[Mistake]:
        """Find the costliest pairs of cells in a sample, where cells stand for different numbers of items.

        No pair with a cell costs more than the cell would with the greatest weights of its cluster. So the cells with
        the greatest such bounds are looked at, and more of them until the bound of the next falls below what was found.
        """
        peaks = self.cells.group_by(self.side).agg(
            nw.len().alias(_CELLS), nw.col(TP).max().alias(_HEAVIEST), nw.col(WEIGHT).max().alias(_PEAK)
        )
        cells = self.cells.join(peaks.filter(nw.col(_CELLS) > 1), on=self.side, how="inner")
        most = nw.col(WEIGHT) * nw.col(_HEAVIEST) + nw.col(TP) * nw.col(_PEAK)
        bound = most / (nw.col(self.margin) * self.whole)
        ranked = cells.with_columns(bound.alias(COST)).sort(
            COST, self.side, self.other, descending=[True, False, False]
        )
        taken = 4 * n
        while True:
            rows = self.evidence.engine.collect(ranked.head(taken)).to_pylist()
            groups: dict[Any, list[dict[str, Any]]] = {}
            for row in sorted(rows, key=lambda row: (-row[TP], str(row[self.other]))):
                groups.setdefault(row[self.side], []).append(row)
            pairs = (pair for group in groups.values() for pair in combinations(group, 2))
            found = heapq.nlargest(n, (self._mistake(*pair) for pair in pairs), key=lambda mistake: mistake.cost)
            if len(rows) < taken or (len(found) == n and found[-1].cost >= rows[-1][COST]):
                return found
            taken *= 4

    def _leaders(self, followers: Sequence[dict[str, Any]], columns: Sequence[str]) -> list[dict[str, Any]]:
        """Fetch the heaviest cells of the clusters that followers lie in."""
        if not followers:
            return []
        keys = sorted({(row[self.side], row[_LEADER]) for row in followers}, key=str)
        wanted = [{self.side: a, self.other: b} for a, b in keys]
        cells = matching(self.cells, wanted, self.evidence.engine).select(*columns)
        rows: list[dict[str, Any]] = self.evidence.engine.collect(cells).to_pylist()
        return rows

    def _best_first(self, groups: list[list[dict[str, Any]]]) -> Iterator[Mistake]:
        """Yield the pairs of cells of every cluster, whose cells are sorted by weight, costliest first."""
        heap: list[tuple[float, int, int, int]] = []

        def push(group: int, i: int, j: int) -> None:
            if j < len(groups[group]):
                heapq.heappush(heap, (-self._cost(groups[group][i], groups[group][j]), group, i, j))

        for group in range(len(groups)):
            push(group, 0, 1)
        while heap:
            _, group, i, j = heapq.heappop(heap)
            yield self._mistake(groups[group][i], groups[group][j])
            push(group, i, j + 1)
            if j == i + 1:
                push(group, j, j + 1)

    def _cost(self, a: dict[str, Any], b: dict[str, Any]) -> float:
        both = a[WEIGHT] * b[TP] + a[TP] * b[WEIGHT]
        return float(both / (a[self.margin] * self.whole))

    def _mistake(self, a: dict[str, Any], b: dict[str, Any]) -> Mistake:
        parts = tuple(Part(row[self.other], row[ITEMS], row[TP]) for row in (a, b))
        sizes = {"items": int(a[self.number]), "weight": a[self.margin]}
        return Mistake(self.kind, a[self.side], cost=self._cost(a, b), parts=len(parts), largest=parts, **sizes)

    def _outside_cells(self) -> nw.LazyFrame:
        """Find the cells of clusters with members that the truth does not list and that count as wrong."""
        known = self.evidence.cells.group_by(ACTUAL)  # spurious items are known, so none is outside
        sums = known.agg(nw.col(ITEMS).sum().alias(_COMMON_ITEMS), nw.col(WEIGHT).sum().alias(_COMMON_WEIGHT))
        joined = self.cells.join(sums, on=ACTUAL, how="inner")
        # Counts decide, because they are exact.
        return joined.filter(nw.col(ACTUAL_ITEMS) > nw.col(_COMMON_ITEMS))

    def _outside_cost(self) -> nw.Expr:
        others = nw.col(ACTUAL_WEIGHT) - nw.col(_COMMON_WEIGHT)
        return nw.col(WEIGHT) * others / (nw.col(ACTUAL_WEIGHT) * self.whole)

    def _outside(self, n: int) -> Iterator[Mistake]:
        """Find the cells for which outside members cost the most."""
        costliest = self._outside_cells().with_columns(self._outside_cost().alias(COST))
        costliest = costliest.sort(COST, ACTUAL, IDEAL, descending=[True, False, False]).head(n)
        for row in self.evidence.engine.collect(costliest).to_pylist():
            items, weight = int(row[ACTUAL_ITEMS] - row[_COMMON_ITEMS]), row[ACTUAL_WEIGHT] - row[_COMMON_WEIGHT]
            parts = Part(row[IDEAL], int(row[ITEMS]), row[TP]), Part(None, items, weight)
            sizes = {"items": int(row[ACTUAL_ITEMS]), "weight": row[ACTUAL_WEIGHT]}
            yield Mistake(OUTSIDE, row[ACTUAL], cost=row[COST], parts=len(parts), largest=parts, **sizes)

    def _lacking_pairs(self) -> nw.LazyFrame:
        """Pair the items of a cluster that the other side lacks with every cell of it, and with themselves."""
        cells = self.evidence.cells.filter(is_empty() & (nw.col(self.number) > 0))
        cells = self.evidence.sample.expand(cells.with_columns(nw.col(WEIGHT).alias(_LACKING)))
        summed = {ITEMS: _LACKING_ITEMS, _LACKING: _LACKING, WEIGHT: _STANDS_FOR}
        margins = (self.margin, self.number)
        sums = cells.group_by(self.side).agg(
            *(nw.col(c).sum().alias(name) for c, name in summed.items()), *(nw.col(c).max() for c in margins)
        )
        sums = sums.with_columns(nw.col(_LACKING_ITEMS).cast(nw.Int64))
        scale, columns = nw.col(self.margin) * self.whole, (self.side, self.other, ITEMS, TP, *margins)
        own = nw.lit(NO_CLUSTER).alias(self.other), nw.col(_LACKING_ITEMS).alias(ITEMS), nw.col(_LACKING).alias(TP)
        alone = sums.with_columns(*own, (nw.col(_STANDS_FOR) * nw.col(_LACKING) / scale).alias(COST))
        beside = self.cells.join(sums.drop(*margins), on=self.side, how="inner")
        beside = beside.with_columns((2 * nw.col(WEIGHT) * nw.col(_LACKING) / scale).alias(COST))
        return nw.concat([f.select(*columns, _LACKING_ITEMS, _LACKING, COST) for f in (beside, alone)])

    def _lacking(self, n: int) -> Iterator[Mistake]:
        """Find the costliest pairs with items that the other side lacks."""
        kind, lacking = (OUTSIDE, None) if self.side == ACTUAL else (MISSING, NO_CLUSTER)
        ranked = self._lacking_pairs().sort(COST, self.side, self.other, descending=[True, False, False]).head(n)
        for row in self.evidence.engine.collect(ranked).to_pylist():
            first = lacking if row[self.other] == NO_CLUSTER else row[self.other]
            parts = Part(first, int(row[ITEMS]), row[TP]), Part(lacking, int(row[_LACKING_ITEMS]), row[_LACKING])
            sizes = {"items": int(row[self.number]), "weight": row[self.margin]}
            yield Mistake(kind, row[self.side], cost=row[COST], parts=len(parts), largest=parts, **sizes)

    def partial_costs(self) -> nw.LazyFrame:
        """Compute what members outside the truth or missing items cost with every cell: the cluster, and `cost`."""
        found = []
        if self.side == ACTUAL:
            found.append(self._outside_cells().select(ACTUAL, self._outside_cost().alias(COST)))
        if self.has_lacking:
            found.append(self._lacking_pairs().select(self.side, COST))
        return nw.concat(found) if found else self.common.select(self.side, nw.lit(0.0).alias(COST)).head(0)
