"""Mistakes: which merges and splits cost how much of the over-merge rate and the under-merge rate."""

from __future__ import annotations

import heapq
import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations, groupby, islice
from typing import TYPE_CHECKING, Any, Literal, get_args

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
)
from pointwise.core.evidence import Evidence
from pointwise.core.metrics import find_metrics
from pointwise.engines.queries import count, from_rows
from pointwise.errors import UsageError
from pointwise.text.terminal import draw_html, draw_table
from pointwise.text.values import format_count, format_metric, format_share, format_weight

if TYPE_CHECKING:
    import pandas as pd
    import polars as pl
    import pyarrow as pa

Kind = Literal["over-merge", "under-merge", "both"]

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
class Mistakes(Sequence[Mistake]):
    """Mistakes, dearest first. With the rest they add up to the rates.

    Args:
        mistakes: The dearest ones.
        rates: The overall rates that they are part of.
        rest: What is not listed, per rate.
    """

    mistakes: tuple[Mistake, ...]
    rates: Mapping[str, float]
    rest: tuple[Rest, ...]

    def __len__(self) -> int:
        """Count the mistakes listed."""
        return len(self.mistakes)

    def __getitem__(self, index: Any) -> Any:
        """Return one of the mistakes listed, or several."""
        return self.mistakes[index]

    @property
    def columns(self) -> list[str]:
        """Names of the facts that `to_dicts` gives of a mistake."""
        return list(_FIELDS)

    def to_dicts(self) -> list[dict[str, Any]]:
        """Return the mistakes listed as dictionaries."""
        return [mistake.to_dict() for mistake in self.mistakes]

    def to_arrow(self) -> pa.Table:
        """Return the mistakes listed as a PyArrow table; ids are text where they are of several types."""
        import pyarrow as pa

        return pa.table({name: _as_array(values) for name, values in self._columns().items()})

    def to_pandas(self) -> pd.DataFrame:
        """Return the mistakes listed as a pandas data frame."""
        return self.to_arrow().to_pandas()

    def to_polars(self) -> pl.DataFrame:
        """Return the mistakes listed as a Polars data frame."""
        import polars as pl

        return pl.DataFrame(self.to_arrow())

    def _columns(self) -> dict[str, list[Any]]:
        rows = self.to_dicts()
        return {name: [row[name] for row in rows] for name in _FIELDS}

    def _drawn(self) -> tuple[str, list[str], list[dict[str, Any]], str]:
        rates = " and ".join(f"{name} {format_metric(value)}" for name, value in self.rates.items())
        rows = [_row(m.kind, m.cost, m.share, str(m)) for m in self.mistakes]
        for rest in self.rest:
            if rest.count:
                kind = OVER_MERGE if rest.rate == _RATES[OVER_MERGE] else UNDER_MERGE
                rows.append(_row(kind, rest.cost, rest.share, f"{rest.count:,} more"))
        note = "" if rows else "There are none."
        return f"Mistakes that make up {rates}", ["kind", "cost", "of the rate", "what happened"], rows, note

    def __repr__(self) -> str:
        """Draw the mistakes as sentences, with what each costs."""
        title, columns, rows, note = self._drawn()
        return draw_table(title, columns, rows, note=note) if rows else f"{title}\n{note}"

    def _repr_html_(self) -> str:
        title, columns, rows, note = self._drawn()
        return draw_html(title, columns, rows, note=note)


_FIELDS = tuple(Mistake("", "", 0.0, Part("", 0, 0.0), Part("", 0, 0.0), 0.0, 0.0).to_dict())


def _row(kind: str, cost: float, share: float, text: str) -> dict[str, Any]:
    return {"kind": kind, "cost": cost, "of the rate": format_share(share), "what happened": text}


def _as_array(values: list[Any]) -> pa.Array:
    import pyarrow as pa

    try:
        return pa.array(values)
    except (pa.ArrowInvalid, pa.ArrowTypeError):
        return pa.array([None if value is None else str(value) for value in values])


def find_mistakes(evidence: Evidence, n: int, kind: Kind) -> Mistakes:
    """Rank the mistakes by what they cost, and list the first `n`."""
    if kind not in get_args(Kind):
        raise UsageError(f"kind={kind!r} is not one of {', '.join(map(repr, get_args(Kind)))}.")
    if n < 1:
        raise UsageError(f"n={n!r}: list at least one mistake.")
    kinds = (OVER_MERGE, UNDER_MERGE) if kind == "both" else (kind,)
    metrics = find_metrics([_RATES[k] for k in kinds])
    evidence.sample.check(metrics)
    overall = lift_overall(evidence, metrics)
    rates = {_RATES[k]: overall[_RATES[k]] for k in kinds}
    sides = [_Side(evidence, k) for k in kinds]
    ranked = heapq.merge(*(side.ranked(n) for side in sides), key=lambda found: -found.cost)
    listed = _with_examples(evidence, list(islice(ranked, n)))
    mistakes = tuple(_finished(found, rates) for found in listed)
    rest = tuple(_rest(_RATES[side.kind], side.count(), mistakes, rates) for side in sides)
    return Mistakes(mistakes, rates, rest)


def _finished(mistake: Mistake, rates: Mapping[str, float]) -> Mistake:
    rate = rates[_RATES[mistake.kind]]
    return replace(mistake, share=mistake.cost / rate)


def _rest(rate: str, total: int, mistakes: Sequence[Mistake], rates: Mapping[str, float]) -> Rest:
    costs = [m.cost for m in mistakes if _RATES[m.kind] == rate]
    count = total - len(costs)
    cost = max(0.0, rates[rate] - math.fsum(costs)) if count else 0.0
    return Rest(rate, count, cost, cost / rates[rate] if rates[rate] else 0.0)


class _Side:
    """The mistakes of one kind: the pairs of cells that lie in one cluster of one side.

    A pair costs `2 tp_a tp_b / (cluster weight * total weight)`. All pairs of a cluster are too many to list. Call the
    heaviest cell of a cluster its leader. If a pair without the leader is among the dearest, then both of its cells
    with the leader are pairs that cost at least as much. So the dearest n pairs with a leader name all cells that the
    dearest n pairs can consist of.

    In a sample, a cell of expanded weight v stands for more than itself, and a pair costs `(v_a tp_b + tp_a v_b)`
    over the same product.
    """

    def __init__(self, evidence: Evidence, kind: str) -> None:
        self.evidence, self.kind = evidence, kind
        self.side, self.other = (ACTUAL, IDEAL) if kind == OVER_MERGE else (IDEAL, ACTUAL)
        self.margin = ACTUAL_WEIGHT if kind == OVER_MERGE else IDEAL_WEIGHT
        self.cells = evidence.sample.expand(evidence.cells)

    def ranked(self, n: int) -> Iterator[Mistake]:
        """Yield the dearest mistakes, at least n of them if there are so many, dearest first."""
        found = [self._pairs(n)]
        if self.kind == OVER_MERGE:
            found.append(self._outside(n))
        return heapq.merge(*found, key=lambda mistake: -mistake.cost)

    def count(self) -> int:
        """Count all mistakes of this kind."""
        sizes = self._clusters().group_by(_CELLS).agg(nw.len().alias("clusters"))
        rows = self.evidence.engine.collect(sizes).to_pylist()
        pairs = sum(int(row["clusters"]) * (int(row[_CELLS]) * (int(row[_CELLS]) - 1) // 2) for row in rows)
        if self.kind != OVER_MERGE:
            return pairs
        return pairs + count(self._outside_cells(), self.evidence.engine)

    def _clusters(self) -> nw.LazyFrame:
        sums = self.evidence.cells.group_by(self.side).agg(nw.len().alias(_CELLS), nw.col(TP).max().alias(_HEAVIEST))
        return sums.with_columns(nw.col(_CELLS).cast(nw.Int64))

    def _pairs(self, n: int) -> Iterator[Mistake]:
        """Find the dearest pairs of cells."""
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
        dearest = followers.sort(*order, descending=[True, False, False]).head(n)
        columns = (self.side, self.other, ITEMS, TP, WEIGHT, self.margin)
        chosen = dearest.select(*columns, _LEADER)
        rows = self.evidence.engine.collect(chosen).to_pylist()
        rows += self._leaders(rows, columns)
        rows.sort(key=lambda row: (str(row[self.side]), -row[TP], str(row[self.other])))
        groups = [list(group) for _, group in groupby(rows, key=lambda row: str(row[self.side]))]
        return islice(self._best_first(groups), n)

    def _unequal_pairs(self, n: int) -> list[Mistake]:
        """Find the dearest pairs of cells that stand for unequally many.

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
        """Yield the pairs of cells of every cluster, whose cells are sorted by weight, dearest first."""
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

    def _outside(self, n: int) -> Iterator[Mistake]:
        """Find the cells that outside members cost most."""
        others = nw.col(ACTUAL_WEIGHT) - nw.col(_COMMON_WEIGHT)
        cost = nw.col(WEIGHT) * others / (nw.col(ACTUAL_WEIGHT) * self.evidence.estimated_weight)
        dearest = self._outside_cells().with_columns(cost.alias(_COST))
        dearest = dearest.sort(_COST, ACTUAL, IDEAL, descending=[True, False, False]).head(n)
        for row in self.evidence.engine.collect(dearest).to_pylist():
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
