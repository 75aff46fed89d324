"""Sampling: pairs of items drawn in proportion to what they weigh, the same on every engine.

The random numbers are determined by texts (`engines.chance`). Listing all rows for every draw would be too expensive.
So rows are hashed into buckets; the few sums per bucket are collected, a bucket is drawn, and only the rows of that
bucket compete for the draw.
"""

from __future__ import annotations

import hashlib
from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

import narwhals.stable.v2 as nw
import numpy as np

from pointwise.columns import (
    ACTUAL,
    ACTUAL_ITEMS,
    ACTUAL_WEIGHT,
    FN,
    FP,
    IDEAL,
    IDEAL_ITEMS,
    IDEAL_WEIGHT,
    ITEM,
    ITEMS,
    SQUARES,
    TP,
    WEIGHT,
)
from pointwise.core.evidence import Evidence
from pointwise.diffs.strata import MERGE, MINUS, PLUS, SPLIT, STRATA, mass_column, weigh_pairs
from pointwise.engines.base import Engine, Step, Uniform
from pointwise.engines.chance import uniform, with_score, with_uniform
from pointwise.engines.queries import from_rows

if TYPE_CHECKING:
    import pyarrow as pa

_BUCKETS = 10_000  # of all cells
_FEW_BUCKETS = 1_000  # of the rows of one group
_LABEL, _BUCKET, _WITHOUT, _SALT = "_label", "_bucket", "_without", "_salt"
_KEY, _MASS, _UNIFORM, _SCORE, _LEAST = "_key", "_mass", "_uniform", "_score", "_least"
_UNION, _ROWS, _OWN, _ITEM = "_union", "_rows", "_own", "_item"

SHEET = "sheet"
STABLE = "stable"
_SIDES = {SPLIT: (IDEAL, ACTUAL), MERGE: (ACTUAL, IDEAL)}  # where a pair is together, and where it is apart

_SIZES = (TP, IDEAL_WEIGHT, ACTUAL_WEIGHT, _UNION, ITEMS, IDEAL_ITEMS, ACTUAL_ITEMS)

Row = Mapping[str, Any]


@dataclass(frozen=True)
class Drawn:
    """A pair of items that was drawn.

    Args:
        stratum: What it was drawn for.
        draw: Which draw of the stratum it is.
        items: The two items.
        cluster_weight: Weight of the cluster that holds both, on the side where a split or merge pair is together.
        unions: For each item the weight of what its two clusters hold.
    """

    stratum: str
    draw: int
    items: tuple[Any, Any]
    cluster_weight: float
    unions: tuple[float, float]


@dataclass(frozen=True)
class _Draw:
    """Something to be drawn: one row of a group."""

    label: str
    group: tuple[Any, ...] = ()
    without: str | None = None  # the key of a row that cannot be drawn
    without_mass: float = 0.0


@dataclass(frozen=True)
class Sheet:
    """An item with members of what its two clusters hold.

    Args:
        number: Which draw it is.
        item: The item.
        weight: Its weight.
        members: The part ("split", "stable" or "merge") that each member is from, the member, and the weight that it
            stands for.
    """

    number: int
    item: Any
    weight: float
    members: list[tuple[str, Any, float]] = field(default_factory=list)


@dataclass(frozen=True)
class _Part:
    """A part of what the two clusters of an item hold."""

    label: str  # of the sheet
    kind: str
    cell: Row
    item: Any
    item_weight: float
    items: int
    weight: float


def _parts_of(label: str, cell: Row, drawn: Row) -> list[_Part]:
    """Divide what the two clusters of an item hold into what was split off, what stayed and what was merged in."""
    own = drawn[ITEM], drawn[WEIGHT]
    sizes = {
        SPLIT: (cell[IDEAL_ITEMS] - cell[ITEMS], cell[IDEAL_WEIGHT] - cell[TP]),
        STABLE: (cell[ITEMS] - 1, cell[TP] - drawn[WEIGHT]),
        MERGE: (cell[ACTUAL_ITEMS] - cell[ITEMS], cell[ACTUAL_WEIGHT] - cell[TP]),
    }
    return [_Part(label, kind, cell, *own, items, weight) for kind, (items, weight) in sizes.items() if items]


@dataclass(frozen=True)
class _Rows:
    """Rows to draw from, in groups.

    Args:
        frame: Columns of the group, `_mass`, `_bucket` and others.
        key: The columns that together distinguish the rows of a group.
        by: Columns that make the groups; without any, all rows are one.
        buckets: How many buckets there are.
        engine: Where they are.
    """

    frame: nw.LazyFrame
    key: tuple[str, ...]
    by: tuple[str, ...]
    buckets: int
    engine: Engine

    def weighed(self, step: Step, **settings: Hashable) -> _Rows:
        """Return the same rows with another mass, which a step adds, without those that have none."""
        return replace(self, frame=self.engine.plan(step, self.frame, **settings))


@dataclass(frozen=True)
class Sampler:
    """Draws pairs of items for one round of questions.

    Args:
        evidence: The items and their cells.
        seed: The same seed gives the same pairs.
        round: Every round draws afresh.
    """

    evidence: Evidence
    seed: int
    round: int = 1

    def draw(self, sizes: Mapping[str, int]) -> list[Drawn]:
        """Draw pairs, with replacement, as many per stratum as requested.

        First come the cells that the two items lie in, which does not look at items; then the items of these few cells
        are held, and one item of each cell is drawn.
        """
        wanted = {stratum: number for stratum, number in sizes.items() if number}
        first = self._draw_cells(wanted)
        second = first | self._draw_partners(first, SPLIT) | self._draw_partners(first, MERGE)
        one, other = self._draw_items(first, second)
        drawn = []
        for stratum in (s for s in STRATA if s in wanted):
            for number in range(wanted[stratum]):
                label = _label(stratum, number)
                cells = first[label], second[label]
                cluster_weight = cells[0][ACTUAL_WEIGHT if stratum == MERGE else IDEAL_WEIGHT]
                items = one[label][ITEM], other[label][ITEM]
                drawn.append(Drawn(stratum, number, items, cluster_weight, (cells[0][_UNION], cells[1][_UNION])))
        return drawn

    def _draw_cells(self, wanted: Mapping[str, int]) -> dict[str, Row]:
        """Draw the cell of the first item, in proportion to the mass of its pairs."""
        cells = self._affected_cells
        found: dict[str, Row] = {}
        for stratum, number in wanted.items():
            draws = [_Draw(_label(stratum, n)) for n in range(number)]
            found |= self._choose(cells.weighed(_weigh_for, stratum=stratum), draws, "cell")
        return found

    @cached_property
    def _affected_cells(self) -> _Rows:
        """The cells whose items a change affects, in buckets."""
        changed = self._engine.plan(_find_affected, self.evidence.cells)
        return self._into_buckets(changed, (IDEAL, ACTUAL), (), _BUCKETS)

    def checksum(self) -> str:
        """Return a checksum of the clusters that a change affects: the same on every engine for the same seed."""
        sums = self._affected_cells.frame.group_by(_BUCKET).agg(nw.len().alias(_ROWS), nw.col(ITEMS).sum())
        rows = sorted(tuple(map(int, row.values())) for row in self._engine.collect(sums).to_pylist())
        return hashlib.md5(repr(rows).encode(), usedforsecurity=False).hexdigest()

    def _draw_partners(self, first: Mapping[str, Row], stratum: str) -> dict[str, Row]:
        """Draw the cell of the second item of split or merge pairs: another one of the same cluster, by weight."""
        own = {label: cell for label, cell in first.items() if label.startswith(f"{stratum}|")}
        return self._draw_others(own, stratum) if own else {}

    def _draw_others(self, own: Mapping[str, Row], stratum: str) -> dict[str, Row]:
        side, other = _SIDES[stratum]
        clusters = from_rows([{side: value} for value in _distinct(cell[side] for cell in own.values())], self._engine)
        rows = self._engine.plan(_cells_of, self.evidence.cells, clusters, side=side)
        held = self._into_buckets(rows, (other,), (side,), _FEW_BUCKETS)
        draws = [_Draw(label, (cell[side],), str(cell[other]), cell[TP]) for label, cell in own.items()]
        return self._choose(held, draws, "partner")

    def draw_sheets(self, number: int, members: int) -> list[Sheet]:
        """Draw affected items, by weight and with replacement, each with members of what its two clusters hold.

        A part with at most that many members is listed completely. From a larger one, that many are drawn, by weight.
        """
        draws = [_Draw(_label(SHEET, n)) for n in range(number)]
        first = self._choose(self._affected_cells.weighed(_weigh_items), draws, "cell")
        rows = self._items_of(list(first.values()))
        items = self._choose(rows, [_Draw(label, _cell(cell)) for label, cell in first.items()], "item")
        sheets = {label: Sheet(n, items[label][ITEM], items[label][WEIGHT]) for n, label in enumerate(first)}
        parts = [part for label, cell in first.items() for part in _parts_of(label, cell, items[label])]
        small = [part for part in parts if part.items <= members]
        found = [*self._list_parts(small), *self._draw_parts([p for p in parts if p.items > members], members)]
        for part, member, weight in found:
            sheets[part.label].members.append((part.kind, member, weight))
        return list(sheets.values())

    def _list_parts(self, parts: Sequence[_Part]) -> list[tuple[_Part, Any, float]]:
        """List all members of small parts, with their weights."""
        found = []
        items = self.evidence.weighed_items().select(ITEM, IDEAL, ACTUAL, WEIGHT)
        for kind in (SPLIT, MERGE, STABLE):
            own = {part.label: part for part in parts if part.kind == kind}
            if not own:
                continue
            side, other = _SIDES.get(kind, (IDEAL, ACTUAL))
            wanted = [{_LABEL: p.label, side: p.cell[side], _OWN: p.cell[other], _ITEM: p.item} for p in own.values()]
            rows = items.join(from_rows(wanted, self._engine), on=side, how="inner")
            is_stable = nw.col(other) == nw.col(_OWN)
            inside = is_stable & (nw.col(ITEM) != nw.col(_ITEM)) if kind == STABLE else ~is_stable
            members = self._engine.collect(rows.filter(inside).select(_LABEL, ITEM, WEIGHT)).to_pylist()
            found += [(own[row[_LABEL]], row[ITEM], row[WEIGHT]) for row in members]
        return sorted(found, key=lambda entry: (entry[0].label, entry[0].kind, str(entry[1])))

    def _draw_parts(self, parts: Sequence[_Part], members: int) -> list[tuple[_Part, Any, float]]:
        """Draw members of large parts, each of which stands for an equal share of its part's weight."""
        draws = {f"{part.label}|{part.kind}|{n}": part for part in parts for n in range(members)}
        cells = {label: part.cell for label, part in draws.items() if part.kind == STABLE}
        for kind in (SPLIT, MERGE):
            own = {label: part.cell for label, part in draws.items() if part.kind == kind}
            cells |= self._draw_others(own, kind) if own else {}
        if not cells:
            return []
        rows = self._items_of(list(cells.values()))
        wanted = [
            _Draw(label, _cell(cell), str(draws[label].item), draws[label].item_weight)
            if draws[label].kind == STABLE
            else _Draw(label, _cell(cell))
            for label, cell in cells.items()
        ]
        chosen = self._choose(rows, wanted, "member")
        return [(part, chosen[label][ITEM], part.weight / members) for label, part in draws.items()]

    def _draw_items(self, first: Mapping[str, Row], second: Mapping[str, Row]) -> tuple[dict[str, Row], dict[str, Row]]:
        """Draw an item of each cell, by weight; the two items of a stable pair are different ones of one cell."""
        rows = self._items_of([*first.values(), *second.values()])
        stable = {label: cell for label, cell in first.items() if label.startswith((f"{PLUS}|", f"{MINUS}|"))}
        changed = {label: cell for label, cell in first.items() if label not in stable}
        one = self._choose(rows, [_Draw(label, _cell(cell)) for label, cell in changed.items()], "item")
        # The more items there are to pair it with, the more likely an item is to be the first of a pair.
        paired = rows.weighed(_weigh_with_partners)
        one |= self._choose(paired, [_Draw(label, _cell(cell)) for label, cell in stable.items()], "item")
        draws = [
            _Draw(label, _cell(cell), str(one[label][ITEM]), one[label][WEIGHT])
            if label in stable
            else _Draw(label, _cell(cell))
            for label, cell in second.items()
        ]
        return one, self._choose(rows, draws, "other item")

    def _items_of(self, cells: Sequence[Row]) -> _Rows:
        """Hold the items of the cells that were drawn."""
        names = (IDEAL, ACTUAL, TP)
        unique = {_cell(cell): {name: cell[name] for name in names} for cell in cells}
        wanted = from_rows(list(unique.values()), self._engine)
        rows = self._engine.plan(_items_in, self.evidence.weighed_items(), wanted)
        return self._into_buckets(rows, (ITEM,), (IDEAL, ACTUAL), _FEW_BUCKETS)

    def _into_buckets(self, frame: nw.LazyFrame, key: tuple[str, ...], by: tuple[str, ...], buckets: int) -> _Rows:
        """Hash rows into buckets by their keys, and hold them."""
        salted = frame.with_columns(nw.lit(f"{self.seed}|").alias(_SALT))
        hashed = self._engine.plan(_hash, salted, key=key, buckets=buckets, draw=self._engine.uniform)
        return _Rows(self._engine.checkpoint(hashed), key, by, buckets, self._engine)

    def _choose(self, rows: _Rows, draws: Sequence[_Draw], step: str) -> dict[str, Row]:
        """Draw one row per draw, in proportion to its mass among the rows of its group."""
        if not draws:
            return {}
        sums = self._engine.plan(_sum_buckets, rows.frame, by=rows.by)
        groups = _read_groups(self._engine.collect(sums).to_pylist(), rows.by)
        buckets = [self._choose_bucket(draw, groups[draw.group], rows.buckets, step) for draw in draws]
        salts = [f"{self.seed}|{self.round}|{step}|{draw.label}|" for draw in draws]
        chosen = from_rows(_as_table(draws, buckets, salts, rows.by), self._engine)
        how = {"key": rows.key, "by": rows.by, "draw": self._engine.uniform}
        rivals = self._engine.checkpoint(self._engine.plan(_score_rivals, rows.frame, chosen, **how))
        found = self._engine.collect(self._engine.plan(_take_winners, rivals)).to_pylist()
        return {row[_LABEL]: row for row in sorted(found, key=lambda row: str(row[_KEY]), reverse=True)}

    def _choose_bucket(self, draw: _Draw, group: _Group, buckets: int, step: str) -> int:
        """Draw a bucket of the draw's group in proportion to its mass, without the row that cannot be drawn."""
        if draw.without is not None:
            group = group.without(int(uniform(f"{self.seed}|{draw.without}") * buckets), draw.without_mass)
        return group.bucket_at(uniform(f"{self.seed}|{self.round}|{step}|bucket|{draw.label}"))

    @property
    def _engine(self) -> Engine:
        return self.evidence.engine


def _label(stratum: str, number: int) -> str:
    return f"{stratum}|{number}"


def _cell(row: Row) -> tuple[Any, Any]:
    return row[IDEAL], row[ACTUAL]


def _find_affected(cells: nw.LazyFrame) -> nw.LazyFrame:
    """Find the cells whose items a change affects."""
    changed = _with_union(cells).filter((nw.col(FN) > 0) | (nw.col(FP) > 0))
    return changed.select(IDEAL, ACTUAL, FN, FP, WEIGHT, SQUARES, *_SIZES)


def _cells_of(cells: nw.LazyFrame, clusters: nw.LazyFrame, *, side: str) -> nw.LazyFrame:
    """Find the cells of some clusters, to be drawn by weight."""
    found = _with_union(cells).join(clusters, on=side, how="inner")
    return found.select(IDEAL, ACTUAL, *_SIZES, nw.col(TP).alias(_MASS))


def _items_in(items: nw.LazyFrame, cells: nw.LazyFrame) -> nw.LazyFrame:
    """Find the items of some cells, to be drawn by weight."""
    found = items.select(ITEM, IDEAL, ACTUAL, WEIGHT).join(cells, on=[IDEAL, ACTUAL], how="inner")
    return found.with_columns(nw.col(WEIGHT).alias(_MASS))


def _with_union(cells: nw.LazyFrame) -> nw.LazyFrame:
    return cells.with_columns((nw.col(IDEAL_WEIGHT) + nw.col(FP)).alias(_UNION))


def _weigh_for(cells: nw.LazyFrame, *, stratum: str) -> nw.LazyFrame:
    """Let cells have the mass of their pairs in a stratum."""
    return _with_mass(weigh_pairs(cells), nw.col(mass_column(stratum)))


def _weigh_items(cells: nw.LazyFrame) -> nw.LazyFrame:
    """Let cells have the weight of their items."""
    return _with_mass(cells, nw.col(TP))


def _weigh_with_partners(items: nw.LazyFrame) -> nw.LazyFrame:
    """Let items have the mass of the pairs that they make with others of their cell."""
    return _with_mass(items, nw.col(_MASS) * (nw.col(TP) - nw.col(_MASS)))


def _with_mass(rows: nw.LazyFrame, mass: nw.Expr) -> nw.LazyFrame:
    return rows.with_columns(mass.alias(_MASS)).filter(nw.col(_MASS) > 0)


def _hash(rows: nw.LazyFrame, *, key: tuple[str, ...], buckets: int, draw: Uniform) -> nw.LazyFrame:
    """Hash salted rows into buckets by their keys."""
    hashed = with_uniform(rows, draw, _UNIFORM, nw.col(_SALT), _text_of(key))
    bucket = (nw.col(_UNIFORM) * buckets).floor().cast(nw.Int64).alias(_BUCKET)
    return hashed.with_columns(bucket).drop(_UNIFORM, _SALT)


def _sum_buckets(rows: nw.LazyFrame, *, by: tuple[str, ...]) -> nw.LazyFrame:
    """Count and weigh the rows of every bucket."""
    sums = rows.group_by(*by, _BUCKET).agg(nw.len().alias(_ROWS), nw.col(_MASS).sum())
    return sums.sort(_BUCKET)


def _score_rivals(
    rows: nw.LazyFrame, draws: nw.LazyFrame, *, key: tuple[str, ...], by: tuple[str, ...], draw: Uniform
) -> nw.LazyFrame:
    """Let the rows of the buckets that were drawn compete for the draws."""
    rivals = rows.join(draws, on=[*by, _BUCKET], how="inner").with_columns(_text_of(key).alias(_KEY))
    rivals = rivals.filter(nw.col(_WITHOUT).is_null() | (nw.col(_KEY) != nw.col(_WITHOUT)))
    return with_score(with_uniform(rivals, draw, _UNIFORM, nw.col(_SALT), nw.col(_KEY)), _UNIFORM, _MASS, _SCORE)


def _take_winners(rivals: nw.LazyFrame) -> nw.LazyFrame:
    """Take the row with the lowest score of every draw."""
    least = rivals.group_by(_LABEL).agg(nw.col(_SCORE).min().alias(_LEAST))
    return rivals.join(least, on=_LABEL, how="inner").filter(nw.col(_SCORE) == nw.col(_LEAST))


def _text_of(key: Sequence[str]) -> nw.Expr:
    """Write a key as one text."""
    first, *others = (nw.col(name).cast(nw.String) for name in key)
    return nw.concat_str([first, *(part for other in others for part in (nw.lit("|"), other))]) if others else first


def _distinct(values: Iterable[Any]) -> list[Any]:
    return list(dict.fromkeys(values))


@dataclass(frozen=True)
class _Group:
    """The buckets of a group that hold rows, with how many and what these weigh."""

    buckets: np.ndarray
    rows: np.ndarray
    masses: np.ndarray

    @cached_property
    def _totals(self) -> np.ndarray:
        return np.cumsum(self.masses)

    def bucket_at(self, share: float) -> int:
        """Return the bucket in which a share of the whole mass is reached."""
        place = int(np.searchsorted(self._totals, share * self._totals[-1], side="right"))
        return int(self.buckets[min(place, len(self.buckets) - 1)])

    def without(self, bucket: int, mass: float) -> _Group:
        """Return the group without a row of a bucket. Counts are exact, differences of masses are not."""
        masses = self.masses.copy()
        own = np.searchsorted(self.buckets, bucket)
        masses[own] = max(0.0, masses[own] - mass) if self.rows[own] > 1 else 0.0
        full = masses > 0
        return _Group(self.buckets[full], self.rows[full], masses[full])


def _read_groups(sums: Iterable[Row], by: Sequence[str]) -> dict[tuple[Any, ...], _Group]:
    found: dict[tuple[Any, ...], list[tuple[int, int, float]]] = {}
    for row in sums:
        found.setdefault(tuple(row[name] for name in by), []).append((row[_BUCKET], row[_ROWS], row[_MASS]))
    columns = {key: zip(*rows, strict=True) for key, rows in found.items()}
    return {key: _Group(*(np.array(column) for column in three)) for key, three in columns.items()}


def _as_table(draws: Sequence[_Draw], buckets: Sequence[int], salts: Sequence[str], by: Sequence[str]) -> pa.Table:
    import pyarrow as pa

    groups = {name: pa.array([draw.group[n] for draw in draws]) for n, name in enumerate(by)}
    labels = pa.array([draw.label for draw in draws], pa.string())
    without = pa.array([draw.without for draw in draws], pa.string())
    drawn = pa.array(buckets, pa.int64())
    return pa.table({_LABEL: labels, _BUCKET: drawn, _WITHOUT: without, _SALT: pa.array(salts, pa.string()), **groups})
