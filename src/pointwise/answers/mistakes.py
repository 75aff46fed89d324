"""Mistakes: which merges and splits cost how much of the over-merge rate and the under-merge rate."""

from __future__ import annotations

import heapq
import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations, groupby, islice
from typing import Any, Literal, get_args

import narwhals.stable.v2 as nw

from pointwise.answers.levels import lift_overall
from pointwise.columns import (
    ACTUAL,
    ACTUAL_ITEMS,
    ACTUAL_WEIGHT,
    IDEAL,
    IDEAL_WEIGHT,
    ITEM,
    ITEMS,
    TP,
    WEIGHT,
    Column,
    Kind,
)
from pointwise.core.evidence import Evidence
from pointwise.core.metrics import find_metrics
from pointwise.engines.queries import count, from_rows
from pointwise.errors import UsageError
from pointwise.results import Result
from pointwise.text.drawing import Drawing
from pointwise.text.values import format_count, format_metric, format_weight

MistakeKind = Literal["over-merge", "under-merge", "outside", "both"]

OVER_MERGE = "over-merge"
UNDER_MERGE = "under-merge"
OUTSIDE = "outside"  # an over-merge with members that the truth does not list, where these count as wrong

_RATES = {OVER_MERGE: "over_merge_rate", UNDER_MERGE: "under_merge_rate", OUTSIDE: "over_merge_rate"}

_HEAVIEST, _LEADER, _COST, _CELLS = "heaviest", "leader", "cost", "cells"
_PEAK = "peak"
_COMMON_ITEMS, _COMMON_WEIGHT = "common_items", "common_weight"


@dataclass(frozen=True)
class Part:
    """A cell that takes part in a mistake: what of another cluster lies in the cluster."""

    cluster: Any  # None: the members that the truth does not list
    items: int
    weight: float
    examples: tuple[Any, ...] = ()

    def describe(self, kind: str) -> str:
        """Name the cluster, with its size here and some of its items."""
        size = format_count(self.items, "item")
        if self.weight != self.items:
            size += f" of weight {format_weight(self.weight)}"
        if self.examples:
            size += f", e.g. {', '.join(map(str, self.examples))}"
        name = "members outside the truth" if self.cluster is None else f"{kind} {self.cluster}"
        return f"{name} ({size})"


@dataclass(frozen=True)
class Mistake:
    """Two parts of different clusters that were merged, or two parts of one cluster that were split.

    Args:
        kind: "over-merge", "under-merge", or "outside": an over-merge with members that the truth does not list.
        cluster: The actual cluster that merges, or the ideal cluster that was split.
        cluster_weight: Its weight.
        first: The heavier part; of an "outside" mistake, the part that the truth lists.
        second: The lighter part, or the outside members.
        cost: How much of the rate would go away with this mistake.
        share: The same as a share of the rate.
    """

    kind: str
    cluster: Any
    cluster_weight: float
    first: Part
    second: Part
    cost: float
    share: float

    def __str__(self) -> str:
        """Say in a sentence what went wrong."""
        if self.kind == UNDER_MERGE:
            first, second = self.first.describe("actual"), self.second.describe("actual")
            return f"ideal {self.cluster} was split into {first} and {second}"
        if self.kind == OUTSIDE:
            first, second = self.first.describe("ideal"), self.second.describe("ideal")
            return f"{first} was merged with {second} in actual {self.cluster}"
        first, second = self.first.describe("ideal"), self.second.describe("ideal")
        return f"{first} and {second} were merged in actual {self.cluster}"

    def to_dict(self) -> dict[str, Any]:
        """Return all facts by name."""
        facts: dict[str, Any] = {"kind": self.kind, "cost": self.cost, "share_of_rate": self.share}
        facts |= {"cluster": self.cluster, "cluster_weight": self.cluster_weight}
        for name, part in (("first", self.first), ("second", self.second)):
            facts |= {f"{name}_cluster": part.cluster, f"{name}_items": part.items, f"{name}_weight": part.weight}
            facts[f"{name}_examples"] = list(part.examples)
        return facts


@dataclass(frozen=True)
class Rest:
    """The mistakes of a rate that are not listed, together."""

    rate: str
    count: int
    cost: float
    share: float


@dataclass(frozen=True, repr=False)
class Mistakes(Result, Sequence[Mistake]):
    """Mistakes, costliest first. With the rest they add up to the rates.

    Args:
        mistakes: The costliest ones.
        rates: The overall rates that they are part of.
        rest: What is not listed, per rate.
        kind: Which mistakes were asked for. Those of the kind "outside" are only a part of their rate.
    """

    mistakes: tuple[Mistake, ...]
    rates: Mapping[str, float]
    rest: tuple[Rest, ...]
    kind: MistakeKind = "both"

    def __len__(self) -> int:
        """Count the mistakes listed."""
        return len(self.mistakes)

    def __getitem__(self, index: Any) -> Any:
        """Return one of the mistakes listed, or several."""
        return self.mistakes[index]

    def __iter__(self) -> Iterator[Mistake]:
        """Go through the mistakes listed."""
        return iter(self.mistakes)

    def describe(self) -> tuple[Column, ...]:
        """Say what the columns are, and what each holds."""
        return COLUMNS

    def to_dicts(self) -> list[dict[str, Any]]:
        """Return the mistakes listed as dictionaries."""
        return [mistake.to_dict() for mistake in self.mistakes]

    def drawing(self) -> Drawing:
        """Say what people shall see: the mistakes as sentences, what each costs, and the rest."""
        rates = " and ".join(f"{name} {format_metric(value)}" for name, value in self.rates.items())
        title = f"Mistakes with members outside the truth, part of {rates}" if self.kind == OUTSIDE else ""
        rows = [_row(m.kind, m.cost, m.share, str(m)) for m in self.mistakes]
        for rest in self.rest:
            if rest.count:
                kind = next(k for k in (self.kind, OVER_MERGE, UNDER_MERGE) if _RATES.get(k) == rest.rate)
                rows.append(_row(kind, rest.cost, rest.share, f"{rest.count:,} more"))
        return Drawing(title or f"Mistakes that make up {rates}", DRAWN, rows, "" if rows else "There are none.")


DRAWN = (Column("kind"), Column("cost", Kind.METRIC), Column("share", Kind.SHARE), Column("what happened"))
"""What a drawing shows of a mistake."""

COLUMNS = (
    Column("kind"),
    Column("cost", Kind.METRIC),
    Column("share_of_rate", Kind.SHARE),
    Column("cluster"),
    Column("cluster_weight", Kind.WEIGHT),
    *(
        Column(f"{part}_{name}", kind)
        for part in ("first", "second")
        for name, kind in {
            "cluster": Kind.TEXT,
            "items": Kind.COUNT,
            "weight": Kind.WEIGHT,
            "examples": Kind.TEXT,
        }.items()
    ),
)
"""What is known of a mistake."""


def _row(kind: str, cost: float, share: float, text: str) -> dict[str, Any]:
    return dict(zip((column.name for column in DRAWN), (kind, cost, share, text), strict=True))


def find_mistakes(evidence: Evidence, limit: int, kind: MistakeKind) -> Mistakes:
    """Rank the mistakes by what they cost, and list the first ones."""
    if kind not in get_args(MistakeKind):
        raise UsageError(f"kind={kind!r} is not one of {', '.join(map(repr, get_args(MistakeKind)))}.")
    if limit < 1:
        raise UsageError(f"limit={limit!r}: list at least one mistake.")
    kinds = (OVER_MERGE, UNDER_MERGE) if kind == "both" else (kind,)
    metrics = find_metrics([_RATES[k] for k in kinds])
    evidence.sample.check(metrics)
    overall = lift_overall(evidence, metrics)
    rates = {_RATES[k]: overall[_RATES[k]] for k in kinds}
    sides = [_Side(evidence, k) for k in kinds]
    ranked = heapq.merge(*(side.ranked(limit) for side in sides), key=lambda found: -found.cost)
    listed = _with_examples(evidence, list(islice(ranked, limit)))
    mistakes = tuple(_finished(found, rates) for found in listed)
    return Mistakes(mistakes, rates, tuple(_rest(side, mistakes, rates) for side in sides), kind)


def _finished(mistake: Mistake, rates: Mapping[str, float]) -> Mistake:
    rate = rates[_RATES[mistake.kind]]
    return replace(mistake, share=mistake.cost / rate)


def _rest(side: _Side, mistakes: Sequence[Mistake], rates: Mapping[str, float]) -> Rest:
    name = _RATES[side.kind]
    costs = [m.cost for m in mistakes if _RATES[m.kind] == name]
    count, rate = side.count() - len(costs), rates[name]
    cost = max(0.0, side.total_cost(rate) - math.fsum(costs)) if count else 0.0
    return Rest(name, count, cost, cost / rate if rate else 0.0)


class _Side:
    """The mistakes of one kind: the pairs of cells that lie in one cluster of one side.

    A pair costs `2 tp_a tp_b / (cluster weight * total weight)`. All pairs of a cluster are too many to list. Call the
    heaviest cell of a cluster its leader. If a pair without the leader is among the costliest, then both of its cells
    with the leader are pairs that cost at least as much. So the costliest n pairs with a leader name all cells that the
    costliest n pairs can consist of.

    In a sample, a cell of expanded weight v stands for more than itself, and a pair costs `(v_a tp_b + tp_a v_b)`
    over the same product.
    """

    def __init__(self, evidence: Evidence, kind: str) -> None:
        self.evidence, self.kind = evidence, kind
        self.side, self.other = (ACTUAL, IDEAL) if kind == OVER_MERGE else (IDEAL, ACTUAL)
        self.margin = ACTUAL_WEIGHT if kind == OVER_MERGE else IDEAL_WEIGHT
        self.cells = evidence.sample.expand(evidence.cells)

    def ranked(self, n: int) -> Iterator[Mistake]:
        """Yield the costliest mistakes, at least n of them if there are so many, costliest first."""
        found = [] if self.kind == OUTSIDE else [self._pairs(n)]
        if self.kind != UNDER_MERGE:
            found.append(self._outside(n))
        return heapq.merge(*found, key=lambda mistake: -mistake.cost)

    def total_cost(self, rate: float) -> float:
        """Sum what all mistakes of this kind cost: the whole rate, unless they are only the outside ones."""
        if self.kind != OUTSIDE:
            return rate
        costs = self._outside_cells().select(self._outside_cost().alias(_COST)).select(nw.col(_COST).sum())
        return float(self.evidence.engine.collect(costs)[_COST][0].as_py() or 0.0)

    def count(self) -> int:
        """Count all mistakes of this kind."""
        outside = 0 if self.kind == UNDER_MERGE else count(self._outside_cells(), self.evidence.engine)
        return outside if self.kind == OUTSIDE else outside + self._count_pairs()

    def _count_pairs(self) -> int:
        sizes = self._clusters().group_by(_CELLS).agg(nw.len().alias("clusters"))
        rows = self.evidence.engine.collect(sizes).to_pylist()
        return sum(int(row["clusters"]) * (int(row[_CELLS]) * (int(row[_CELLS]) - 1) // 2) for row in rows)

    def _clusters(self) -> nw.LazyFrame:
        sums = self.evidence.cells.group_by(self.side).agg(nw.len().alias(_CELLS), nw.col(TP).max().alias(_HEAVIEST))
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
        cost = 2 * nw.col(WEIGHT) * nw.col(_HEAVIEST) / (nw.col(self.margin) * self.evidence.estimated_weight)
        followers = cells.filter(nw.col(self.other) != nw.col(_LEADER)).with_columns(cost.alias(_COST))
        order = [_COST, self.side, self.other]
        costliest = followers.sort(*order, descending=[True, False, False]).head(n)
        columns = (self.side, self.other, ITEMS, TP, WEIGHT, self.margin)
        chosen = costliest.select(*columns, _LEADER)
        rows = self.evidence.engine.collect(chosen).to_pylist()
        rows += self._leaders(rows, columns)
        rows.sort(key=lambda row: (str(row[self.side]), -row[TP], str(row[self.other])))
        groups = [list(group) for _, group in groupby(rows, key=lambda row: str(row[self.side]))]
        return islice(self._best_first(groups), n)

    def _unequal_pairs(self, n: int) -> list[Mistake]:
        """Find the costliest pairs of cells that stand for unequally many.

        No pair with a cell costs more than the cell would with the greatest weights of its cluster. So the cells with
        the greatest such bounds are looked at, and more of them until the bound of the next falls below what was found.
        """
        peaks = self.cells.group_by(self.side).agg(
            nw.len().alias(_CELLS), nw.col(TP).max().alias(_HEAVIEST), nw.col(WEIGHT).max().alias(_PEAK)
        )
        cells = self.cells.join(peaks.filter(nw.col(_CELLS) > 1), on=self.side, how="inner")
        most = nw.col(WEIGHT) * nw.col(_HEAVIEST) + nw.col(TP) * nw.col(_PEAK)
        bound = most / (nw.col(self.margin) * self.evidence.estimated_weight)
        ranked = cells.with_columns(bound.alias(_COST)).sort(
            _COST, self.side, self.other, descending=[True, False, False]
        )
        taken = 4 * n
        while True:
            rows = self.evidence.engine.collect(ranked.head(taken)).to_pylist()
            groups: dict[Any, list[dict[str, Any]]] = {}
            for row in sorted(rows, key=lambda row: (-row[TP], str(row[self.other]))):
                groups.setdefault(row[self.side], []).append(row)
            pairs = (pair for group in groups.values() for pair in combinations(group, 2))
            found = heapq.nlargest(n, (self._mistake(*pair) for pair in pairs), key=lambda mistake: mistake.cost)
            if len(rows) < taken or (len(found) == n and found[-1].cost >= rows[-1][_COST]):
                return found
            taken *= 4

    def _leaders(self, followers: Sequence[dict[str, Any]], columns: Sequence[str]) -> list[dict[str, Any]]:
        """Fetch the heaviest cells of the clusters that followers lie in."""
        if not followers:
            return []
        keys = {(row[self.side], row[_LEADER]) for row in followers}
        wanted = _as_frame(self.evidence, self.side, self.other, keys)
        cells = self.cells.join(wanted, on=[self.side, self.other], how="inner").select(*columns)
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
        return float(both / (a[self.margin] * self.evidence.estimated_weight))

    def _mistake(self, a: dict[str, Any], b: dict[str, Any]) -> Mistake:
        parts = [Part(row[self.other], row[ITEMS], row[TP]) for row in (a, b)]
        return Mistake(self.kind, a[self.side], a[self.margin], parts[0], parts[1], self._cost(a, b), 0.0)

    def _outside_cells(self) -> nw.LazyFrame:
        """Find the cells of clusters with members that the truth does not list and that count as wrong."""
        sums = self.evidence.cells.group_by(ACTUAL).agg(
            nw.col(ITEMS).sum().alias(_COMMON_ITEMS), nw.col(TP).sum().alias(_COMMON_WEIGHT)
        )
        joined = self.cells.join(sums, on=ACTUAL, how="inner")
        # Counts decide, because they are exact.
        return joined.filter(nw.col(ACTUAL_ITEMS) > nw.col(_COMMON_ITEMS))

    def _outside_cost(self) -> nw.Expr:
        others = nw.col(ACTUAL_WEIGHT) - nw.col(_COMMON_WEIGHT)
        return nw.col(WEIGHT) * others / (nw.col(ACTUAL_WEIGHT) * self.evidence.estimated_weight)

    def _outside(self, n: int) -> Iterator[Mistake]:
        """Find the cells that outside members cost most."""
        costliest = self._outside_cells().with_columns(self._outside_cost().alias(_COST))
        costliest = costliest.sort(_COST, ACTUAL, IDEAL, descending=[True, False, False]).head(n)
        for row in self.evidence.engine.collect(costliest).to_pylist():
            inside = Part(row[IDEAL], int(row[ITEMS]), row[TP])
            items, weight = int(row[ACTUAL_ITEMS] - row[_COMMON_ITEMS]), row[ACTUAL_WEIGHT] - row[_COMMON_WEIGHT]
            yield Mistake(OUTSIDE, row[ACTUAL], row[ACTUAL_WEIGHT], inside, Part(None, items, weight), row[_COST], 0.0)


def _as_frame(evidence: Evidence, side: str, other: str, keys: Iterable[tuple[Any, Any]]) -> nw.LazyFrame:
    """Turn pairs of clusters into a frame on the engine, to join cells or items with."""
    return from_rows([{side: a, other: b} for a, b in sorted(keys, key=str)], evidence.engine)


def _with_examples(evidence: Evidence, mistakes: Sequence[Mistake]) -> list[Mistake]:
    """Add the first and the last item of every part."""
    cells = {_cell(m, part) for m in mistakes for part in (m.first, m.second) if part.cluster is not None}
    if not cells:
        return list(mistakes)
    items = evidence.items.join(_as_frame(evidence, IDEAL, ACTUAL, cells), on=[IDEAL, ACTUAL], how="inner")
    ends = items.group_by(IDEAL, ACTUAL).agg(nw.col(ITEM).min().alias("least"), nw.col(ITEM).max().alias("greatest"))
    rows = evidence.engine.collect(ends).to_pylist()
    found = {(r[IDEAL], r[ACTUAL]): tuple(dict.fromkeys((r["least"], r["greatest"]))) for r in rows}

    def filled(mistake: Mistake, part: Part) -> Part:
        return replace(part, examples=found.get(_cell(mistake, part), ()))

    return [replace(m, first=filled(m, m.first), second=filled(m, m.second)) for m in mistakes]


def _cell(mistake: Mistake, part: Part) -> tuple[Any, Any]:
    """Return the ideal and the actual cluster of a part."""
    return (mistake.cluster, part.cluster) if mistake.kind == UNDER_MERGE else (part.cluster, mistake.cluster)
