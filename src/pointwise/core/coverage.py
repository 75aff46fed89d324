"""Coverage: how far the truth and the actual clustering share items."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, fields
from functools import cached_property
from typing import Any

import narwhals.stable.v2 as nw

from pointwise.columns import (
    ACTUAL,
    ACTUAL_ITEMS,
    ACTUAL_WEIGHT,
    BAD_WEIGHTS,
    CLUSTER,
    COVERAGE_SHARES,
    IDEAL,
    IDEAL_ITEMS,
    ITEM,
    ITEM_SHARES,
    ITEMS,
    TP,
    VALUE,
    WEIGHT,
    WEIGHT_SHARES,
    Column,
    Kind,
    keys,
)
from pointwise.core import alignment
from pointwise.core.common import Common
from pointwise.core.crosstab import count_bad_weights
from pointwise.engines.base import Engine
from pointwise.engines.queries import count, count_each, only_row, total
from pointwise.engines.turns import LateProperty, later
from pointwise.inputs.checks import check_repeats
from pointwise.inputs.reading import Inputs
from pointwise.results import Result
from pointwise.text.drawing import Drawing
from pointwise.text.values import format_value


@dataclass(frozen=True, repr=False)
class Coverage(Result):
    """How far the truth and the actual clustering share items.

    A weight is None where it is not known, for example that of an actual item when weights are a column of the
    ideal clustering, and so is a share of the weight. *Outside* items are members of the touched actual clusters that
    the truth does not list. A cluster is *touched* if it holds a common item.

    Examples:
        >>> import pointwise as pw
        >>> weights = {"i1": 1, "i2": 1, "i3": 2, "i4": 4, "i5": 1, "i6": 1}
        >>> actual = [["i1", "i2", "i5"], ["i3"], ["i6"]]
        >>> coverage = pw.evaluate(ideal=[["i1", "i2"], ["i3", "i4"]], actual=actual, weights=weights).coverage
        >>> coverage.common_items, coverage.missing_items, coverage.outside_items
        (3, 1, 1)
        >>> coverage.common_share, coverage.missing_share, coverage.outside_share
        (0.75, 0.25, 0.25)
        >>> coverage.is_weighted, coverage.common_weight_share, coverage.missing_weight_share
        (True, 0.5, 0.5)
        >>> coverage.outside_weight_share
        0.2
        >>> coverage.actual_clusters, coverage.actual_clusters_untouched, coverage.ideal_clusters_untouched
        (3, 1, 0)
    """

    ideal_items: int
    actual_items: int
    common_items: int
    missing_items: int
    outside_items: int
    ideal_weight: float | None
    actual_weight: float | None
    common_weight: float
    missing_weight: float | None
    outside_weight: float | None
    least_precision: float | None  # overall, if all outside members are wrong; None where weights do not tell
    ideal_clusters: int
    ideal_clusters_touched: int
    actual_clusters_touched: int
    _count_actual_clusters: Callable[[], int] = field(repr=False, compare=False)

    @LateProperty
    def actual_clusters(self) -> int:
        """Number of actual clusters. Counting them takes a pass over all actual items, so it is done on demand."""
        return self._count_actual_clusters()

    @property
    def actual_clusters_untouched(self) -> int:
        """Number of actual clusters without a common item."""
        return self.actual_clusters - self.actual_clusters_touched

    @property
    def ideal_clusters_untouched(self) -> int:
        """Number of ideal clusters without a common item."""
        return self.ideal_clusters - self.ideal_clusters_touched

    @property
    def common_share(self) -> float:
        """Share of the ideal items that the actual clustering has."""
        return self.common_items / self.ideal_items

    @property
    def missing_share(self) -> float:
        """Share of the ideal items that the actual clustering lacks."""
        return self.missing_items / self.ideal_items

    @property
    def outside_share(self) -> float:
        """Share of the members of touched actual clusters that the truth does not list."""
        return self.outside_items / (self.common_items + self.outside_items)

    @property
    def common_weight_share(self) -> float | None:
        """Share of the ideal items' weight that the actual clustering has."""
        return _share_of(self.common_weight, self.missing_weight, part=self.common_weight)

    @property
    def missing_weight_share(self) -> float | None:
        """Share of the ideal items' weight that the actual clustering lacks."""
        return _share_of(self.common_weight, self.missing_weight, part=self.missing_weight)

    @property
    def outside_weight_share(self) -> float | None:
        """Share of the weight of touched actual clusters that lies outside the truth."""
        return _share_of(self.common_weight, self.outside_weight, part=self.outside_weight)

    @property
    def is_weighted(self) -> bool:
        """Whether shares of the weight say anything that shares of the items do not."""
        pairs = zip(ITEM_SHARES, WEIGHT_SHARES, strict=True)
        return any(says_more(getattr(self, items), getattr(self, weight)) for items, weight in pairs)

    def to_dict(self, *, counted: bool = True) -> dict[str, int | float | None]:
        """Return all numbers by name.

        Args:
            counted: Whether to count the actual clusters, which takes a pass over all actual items; otherwise the
                two numbers that need it are left out.
        """
        plain = [f.name for f in fields(self) if f.name != "_count_actual_clusters"]
        costly = ("actual_clusters", "actual_clusters_untouched") if counted else ()
        return {name: getattr(self, name) for name in (*plain, "ideal_clusters_untouched", *costly, *COVERAGE_SHARES)}

    def describe(self) -> tuple[Column, ...]:
        """Say what the columns are, and what each holds."""
        return (*keys("name"), Column(VALUE, Kind.WEIGHT))

    def to_dicts(self) -> list[dict[str, Any]]:
        """Return one row per number."""
        return [{"name": name, VALUE: value} for name, value in self.to_dict().items()]

    def drawing(self) -> Drawing:
        """Say what to show: every number, written as what it is."""
        texts = {name: format_value(_kind_of(name), value) for name, value in self.to_dict().items()}
        width = max(map(len, texts.values()))
        rows = [{"name": name, VALUE: text.rjust(width)} for name, text in texts.items()]
        return Drawing("Coverage", (*keys("name"), Column(VALUE)), rows)


def says_more(items: float, weight: float | None) -> bool:
    """Tell whether a share of the weight differs from that of the items."""
    return weight is not None and not math.isclose(items, weight, rel_tol=1e-9)


def _share_of(*parts: float | None, part: float | None) -> float | None:
    """Divide a part by the sum of all parts, where all are known."""
    known = [each for each in parts if each is not None]
    if part is None or len(known) < len(parts) or not sum(known):
        return None
    return part / sum(known)


_FULL, _SHARED, _COMMON, _OUTSIDE = "_full", "_shared", "_common", "_outside"
_MOST_ADDED_UP = 10**9  # items, so that a 64-bit integer holds the sum of the parts of all their clusters


def _kind_of(name: str) -> Kind:
    """Say what one of our own numbers is."""
    if name in COVERAGE_SHARES:
        return Kind.SHARE
    if name == "least_precision":
        return Kind.METRIC
    return Kind.WEIGHT if name.endswith(WEIGHT) else Kind.COUNT


def coverage_of(numbers: Mapping[str, Any]) -> Coverage:
    """Make a coverage from the numbers that `Coverage.to_dict` gave."""
    names = {f.name for f in fields(Coverage)} - {"_count_actual_clusters"}
    actual_clusters = int(numbers["actual_clusters"])
    known: dict[str, Any] = {n: numbers.get(n) if n == "least_precision" else numbers[n] for n in names}
    return Coverage(**known, _count_actual_clusters=lambda: actual_clusters)


@dataclass(frozen=True)
class KnownScope:
    """What a stored run knows of the items that were left out.

    Args:
        coverage: How many there are.
        engine: Where the others live.
        missing: The ideal items that the actual clustering lacks, as `Scope.missing` has them; None if they were not
            stored.
    """

    coverage: Coverage
    engine: Engine
    missing: nw.LazyFrame | None = None


@dataclass(frozen=True)
class Scope:
    """What coverage is computed from: everything that was read, common or not."""

    inputs: Inputs
    common: Common
    cells: nw.LazyFrame
    engine: Engine

    @cached_property
    def coverage(self) -> Coverage:
        """Count what is common and what is left out, once."""
        self.common.files.check()
        counts = self.common.counts
        ideal_clusters, ideal_touched, actual_touched = self._count_clusters()
        return Coverage(
            ideal_items=self.inputs.rows[0],
            actual_items=self.inputs.rows[1],
            common_items=counts.common,
            missing_items=counts.missing,
            outside_items=self._outside.items,
            ideal_weight=_plus(counts.common_weight, counts.missing_weight),
            actual_weight=self._actual_weight(),
            common_weight=counts.common_weight,
            missing_weight=counts.missing_weight,
            outside_weight=self._outside.weight,
            least_precision=self._least_precision(),
            ideal_clusters=ideal_clusters,
            ideal_clusters_touched=ideal_touched,
            actual_clusters_touched=actual_touched,
            _count_actual_clusters=later(self.engine, self._count_actual_clusters),
        )

    @property
    def missing(self) -> nw.LazyFrame:
        """The ideal items that the actual clustering lacks: `item` and `ideal_cluster`."""
        self.common.files.check()
        ideal = self.inputs.ideal.frame.select(nw.col(ITEM), nw.col(CLUSTER).alias(IDEAL))
        return ideal.join(self.inputs.actual.frame.select(ITEM), on=ITEM, how="anti")

    def _count_clusters(self) -> tuple[int, int, int]:
        """Count the ideal clusters, and those of both sides that hold a common item."""
        ideal_touched, actual_touched = self._add_up_clusters() if self._has_plain_margins else self._count_touched()
        if not self.common.counts.missing:  # then every ideal cluster holds a common item
            return ideal_touched, ideal_touched, actual_touched
        ideal = _grouped(self.common.all_pairs.filter(~nw.col(IDEAL).is_null()), IDEAL)
        return count(ideal, self.engine), ideal_touched, actual_touched

    @property
    def _has_plain_margins(self) -> bool:
        """Whether the cells are those of the common items, and their margins count nothing else."""
        common = self.common
        is_plain = common.totals.items == common.counts.common and not common.counts_outside
        return is_plain and common.totals.items <= _MOST_ADDED_UP

    def _add_up_clusters(self) -> list[int]:
        """Count the touched clusters without telling them apart: the shares that cells have in one add up to 1.

        Grouping the cells by cluster would take as much memory as their margins did. Shares are counted in parts so
        small that what they lose by being whole numbers of parts, less than one for each cell, does not add up to half
        a cluster. So the result is exact.
        """
        parts = 1 << (4 * self.common.totals.items).bit_length()
        cells = self.cells.select(
            *((nw.col(ITEMS) / nw.col(side) * parts).cast(nw.Int64).alias(side) for side in (IDEAL_ITEMS, ACTUAL_ITEMS))
        )
        sums = only_row(cells.select(nw.col(IDEAL_ITEMS, ACTUAL_ITEMS).sum()), self.engine)
        return [(int(sums[side]) + parts // 2) // parts for side in (IDEAL_ITEMS, ACTUAL_ITEMS)]

    def _count_touched(self) -> list[int]:
        """Count the touched clusters one by one, where a policy lets other items count in their margins."""
        common = alignment.common_items(self.common.all_pairs)
        return count_each([_grouped(common, IDEAL), _grouped(common, ACTUAL)], self.engine)

    def _count_actual_clusters(self) -> int:
        return count(_grouped(self.inputs.actual.frame, CLUSTER), self.engine)

    @cached_property
    def _outside(self) -> _Outside:
        """Find the members of touched actual clusters that the truth does not list, in one look at all members."""
        if self.common.keeps_outside and not self.common.counts.outside:
            return _Outside(0, 0.0)
        found = self.engine.checkpoint(self._outside_by_cluster(), most_rows=self.common.counts.common)
        names = [c for c in found.collect_schema().names() if c != ACTUAL]
        sums = only_row(found.select(nw.col(*names).sum()), self.engine)
        items = int(sums[ITEMS] or 0)
        if not items:
            return _Outside(0, 0.0)  # nothing weighs nothing, whatever is known
        is_known = WEIGHT in names and not sums.get(BAD_WEIGHTS)
        return _Outside(items, alignment.finite(sums[WEIGHT]) if is_known else None, found)

    def _outside_by_cluster(self) -> nw.LazyFrame:
        """Count the outside members of every touched actual cluster; weigh them as far as weights are known."""
        common = self.common
        if common.outside is not None:
            return common.outside
        if common.keeps_outside:
            pairs = alignment.touching(alignment.outside_items(common.all_pairs), self._touched)
            bad = [c for c in pairs.collect_schema().names() if c == BAD_WEIGHTS]
            return pairs.select(ACTUAL, ITEMS, nw.col(TP).alias(WEIGHT), *bad)
        if self.inputs.weight_role is None:
            return self._rest_of_clusters()
        others = self._members.join(self.inputs.ideal.frame.select(ITEM), on=ITEM, how="anti")
        members = alignment.touching(others, self._touched)
        sums = [nw.len().alias(ITEMS)]
        if WEIGHT in members.collect_schema().names():
            members = members.select(ACTUAL, WEIGHT, count_bad_weights())
            sums += [nw.col(WEIGHT).sum(), nw.col(BAD_WEIGHTS).sum()]
        return members.group_by(ACTUAL).agg(*sums)

    def _rest_of_clusters(self) -> nw.LazyFrame:
        """Count the members of touched actual clusters and take off the common items.

        That takes a look at the clusters of all members only, which is half as much as at their items, too.
        """
        own = self._touched.group_by(ACTUAL).agg(nw.col(ITEMS).sum().alias(_COMMON))
        dtype = own.collect_schema()[ACTUAL]  # text if a policy made up ids, whatever the clustering has
        members = self._members.select(nw.col(ACTUAL).cast(dtype)).join(own, on=ACTUAL, how="inner")
        full = members.group_by(ACTUAL, _COMMON).agg(nw.len().alias(ITEMS))
        rest = (nw.col(ITEMS).cast(nw.Int64) - nw.col(_COMMON).cast(nw.Int64)).alias(ITEMS)
        counted = full.select(ACTUAL, rest).filter(nw.col(ITEMS) > 0)
        return counted.with_columns(nw.col(ITEMS).cast(nw.Float64).alias(WEIGHT))

    @property
    def _touched(self) -> nw.LazyFrame:
        """The pairs of clusters that common items are in, without items that only one side has."""
        return alignment.present_items(self.cells) if self.common.has_empty else self.cells

    @cached_property
    def _members(self) -> nw.LazyFrame:
        """List the members of all actual clusters, with their weights where these are known."""
        frame, weights = self.inputs.actual.frame.rename({CLUSTER: ACTUAL}), self.inputs.weights
        if weights is None:
            return frame
        return frame.join(weights.frame, on=ITEM, how="left")

    def _least_precision(self) -> float | None:
        """Average the precision that items have if whatever else their actual clusters hold does not belong there."""
        if self._outside.weight is None:
            return None
        cells = self.cells.filter(nw.col(TP) > 0) if self.common.has_empty else self.cells
        full = nw.col(ACTUAL_WEIGHT)
        if self._outside.by_cluster is not None and not self.common.counts_outside:
            others = self._outside.by_cluster.select(ACTUAL, nw.col(WEIGHT).alias(_OUTSIDE))
            cells = cells.join(others, on=ACTUAL, how="left")
            full = full + nw.col(_OUTSIDE).fill_null(0)
        rows = cells.with_columns(full.alias(_FULL)).select((nw.col(TP) * nw.col(TP) / nw.col(_FULL)).alias(_SHARED))
        whole = total(cells, TP, self.engine) if self.common.has_empty else self.common.totals.weight
        return total(rows, _SHARED, self.engine) / whole

    def _actual_weight(self) -> float | None:
        counts = self.common.counts
        if self.inputs.weight_role is None:
            return float(self.inputs.rows[1])
        if self.common.keeps_outside:
            return _plus(counts.common_weight, counts.outside_weight)
        if self.inputs.weights is not None and count(self._members.select(ACTUAL), self.engine) > self.inputs.rows[1]:
            check_repeats(self.inputs.weights, self.engine)  # of items outside the truth, which no join has shown yet
        if WEIGHT not in self._members.collect_schema().names():
            return None
        rows = self._members.select(WEIGHT, count_bad_weights())
        row = only_row(rows.select(nw.col(WEIGHT).sum(), nw.col(BAD_WEIGHTS).sum()), self.engine)
        return None if row[BAD_WEIGHTS] else alignment.finite(row[WEIGHT])


@dataclass(frozen=True)
class _Outside:
    """Members of touched actual clusters that the truth does not list.

    Args:
        items: How many there are.
        weight: What they weigh; None unless all of their weights are known.
        by_cluster: Both by actual cluster, where there are some.
    """

    items: int
    weight: float | None
    by_cluster: nw.LazyFrame | None = None


def _plus(a: float, b: float | None) -> float | None:
    return None if b is None else a + b


def _grouped(frame: nw.LazyFrame, column: str) -> nw.LazyFrame:
    """Return a row for every value of a column."""
    return frame.group_by(column).agg(nw.len().alias("_rows"))
