"""Alignment: the items that both clusterings have, and what is left out."""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import narwhals.stable.v2 as nw

from pointwise.columns import (
    ACTUAL,
    BAD_WEIGHTS,
    CLUSTER,
    IDEAL,
    ITEM,
    ITEMS,
    LEAST_WEIGHT,
    NO_CLUSTER,
    TP,
    WEIGHT,
    inside,
)
from pointwise.core.crosstab import has_no_cluster, is_bad_weight
from pointwise.engines.base import Engine
from pointwise.engines.queries import EXAMPLES, examples
from pointwise.errors import EngineError, NoCommonItemsError, WeightError
from pointwise.inputs.checks import check_repeats
from pointwise.inputs.tables import Table
from pointwise.inputs.unassigned import MISSING_ITEM
from pointwise.text.values import format_count, short

_OTHER = "_of_actual"  # suffix of what both clusterings have


def align(ideal: nw.LazyFrame, actual: nw.LazyFrame, *, keep_outside: bool) -> nw.LazyFrame:
    """Bring the two clusterings of every item side by side, in one pass over each.

    Args:
        ideal: Columns `item`, `cluster`, and others.
        actual: The same. A column that both have is taken from the ideal clustering.
        keep_outside: Whether to keep the items that only the actual clustering has. That makes the join cost more
            when the ideal clustering is small, and gives more to check by when it is not.

    Returns:
        Columns `item`, `ideal_cluster` (null if the ideal clustering lacks the item), `actual_cluster` (likewise),
        and the others.
    """
    own, others = ideal.collect_schema().names(), actual.collect_schema().names()
    joined = ideal.join(actual, on=ITEM, how="full" if keep_outside else "left", suffix=_OTHER)
    item = nw.col(ITEM)
    if keep_outside:
        item = nw.when(~item.is_null()).then(item).otherwise(nw.col(ITEM + _OTHER))
    clusters = nw.col(CLUSTER).alias(IDEAL), nw.col(CLUSTER + _OTHER).alias(ACTUAL)
    carried = dict.fromkeys(c for c in (*own, *others) if c not in (ITEM, CLUSTER))
    return joined.select(item.alias(ITEM), *clusters, *carried)


def pad_missing(aligned: nw.LazyFrame) -> nw.LazyFrame:
    """Put every ideal item that the actual clustering lacks into an actual cluster of its own."""
    return _fill(aligned, ACTUAL, _own_cluster(MISSING_ITEM), among=~nw.col(IDEAL).is_null())


def pad_outside(aligned: nw.LazyFrame) -> nw.LazyFrame:
    """Put every actual item that the ideal clustering lacks into an ideal cluster of its own."""
    return _fill(aligned, IDEAL, _own_cluster(MISSING_ITEM))


def keep_missing(aligned: nw.LazyFrame) -> nw.LazyFrame:
    """Give every ideal item that the actual clustering lacks an empty actual cluster; one id stands for all."""
    return _fill(aligned, ACTUAL, nw.lit(NO_CLUSTER), among=~nw.col(IDEAL).is_null())


def keep_outside_items(aligned: nw.LazyFrame) -> nw.LazyFrame:
    """Give every actual item that the ideal clustering lacks an empty ideal cluster.

    Each gets one of its own: ideal clusters are what intervals take for drawn independently.
    """
    return _fill(aligned, IDEAL, _own_cluster(f"{NO_CLUSTER} "))


def _own_cluster(beginning: str) -> nw.Expr:
    return nw.concat_str([nw.lit(beginning), nw.col(ITEM).cast(nw.String)])


def _fill(aligned: nw.LazyFrame, side: str, cluster: nw.Expr, *, among: nw.Expr | None = None) -> nw.LazyFrame:
    is_lacking = nw.col(side).is_null() if among is None else nw.col(side).is_null() & among
    filled = nw.when(is_lacking).then(cluster).otherwise(nw.col(side).cast(nw.String))
    return aligned.with_columns(filled.alias(side))


def present_items(items: nw.LazyFrame) -> nw.LazyFrame:
    """Leave out the items, or pairs of clusters, that one of the clusterings lacks and a policy keeps nevertheless."""
    schema = items.collect_schema()
    if isinstance(schema[ACTUAL], nw.String):
        items = items.filter(~(nw.col(ACTUAL).str.starts_with(MISSING_ITEM) | has_no_cluster(ACTUAL)))
    return items.filter(~has_no_cluster(IDEAL)) if isinstance(schema[IDEAL], nw.String) else items


def common_items(aligned: nw.LazyFrame) -> nw.LazyFrame:
    """Keep the items, or pairs of clusters, that both clusterings have: the paper's set T."""
    return aligned.filter(~nw.col(IDEAL).is_null() & ~nw.col(ACTUAL).is_null())


def outside_items(aligned: nw.LazyFrame) -> nw.LazyFrame:
    """Keep the items, or pairs, that only the actual clustering has."""
    return aligned.filter(nw.col(IDEAL).is_null())


def touching(members: nw.LazyFrame, cells: nw.LazyFrame) -> nw.LazyFrame:
    """Keep the members of actual clusters that hold a common item."""
    touched = cells.group_by(ACTUAL).agg(nw.col(ITEMS).sum()).select(ACTUAL)
    dtype = touched.collect_schema()[ACTUAL]  # text if a policy made up ids, whatever the clustering has
    return members.with_columns(nw.col(ACTUAL).cast(dtype)).join(touched, on=ACTUAL, how="inner")


@dataclass(frozen=True)
class Counts:
    """How many items of an alignment are of which kind, and what they weigh."""

    rows: int
    common: int
    missing: int  # ideal items that the actual clustering lacks
    outside: int  # actual items that the ideal clustering lacks, if they were kept
    bad_weights: int  # among the common items
    bad_missing_weights: int
    bad_outside_weights: int
    common_weight: float
    missing_weight: float | None  # None: not all of these weights are known
    outside_weight: float | None
    spread: Mapping[str, tuple[float, float]]  # the least weight and the sum by kind, where items have weights


def count_items(pairs: nw.LazyFrame) -> nw.LazyFrame:
    """Count and weigh the items of an alignment by kind, from the pairs of clusters that they are in.

    Args:
        pairs: With columns `ideal_cluster`, `actual_cluster`, `items`, `tp` and, if items have weights of their own,
            `bad_weights`, which says how many of these are unusable, and `least_weight`.
    """
    kinds = [(~nw.col(IDEAL).is_null()).alias("is_ideal"), (~nw.col(ACTUAL).is_null()).alias("is_actual")]
    present = pairs.collect_schema().names()
    sums = [nw.col(c).sum() for c in (ITEMS, TP, BAD_WEIGHTS) if c in present]
    least = [nw.col(c).min() for c in (LEAST_WEIGHT,) if c in present]
    return pairs.with_columns(*kinds).group_by("is_ideal", "is_actual").agg(*sums, *least)


def read_counts(rows: Iterable[Mapping[str, Any]]) -> Counts:
    """Add up the rows that `count_items` gives."""
    items: Counter[str] = Counter()
    bad: Counter[str] = Counter()
    weight: defaultdict[str, float] = defaultdict(float)
    spread = {}
    for row in rows:
        kind = ("common" if row["is_actual"] else "missing") if row["is_ideal"] else "outside"
        items[kind] += int(row[ITEMS])
        bad[kind] += int(row.get(BAD_WEIGHTS, 0))
        weight[kind] += row[TP] or 0.0
        if row.get(LEAST_WEIGHT) is not None:
            spread[kind] = (float(row[LEAST_WEIGHT]), float(row[TP]))
    return Counts(
        rows=items.total(),
        common=items["common"],
        missing=items["missing"],
        outside=items["outside"],
        bad_weights=bad["common"],
        bad_missing_weights=bad["missing"],
        bad_outside_weights=bad["outside"],
        common_weight=float(weight["common"]),
        missing_weight=None if bad["missing"] else finite(weight["missing"]),
        outside_weight=None if bad["outside"] else finite(weight["outside"]),
        spread=spread,
    )


def finite(weight: float | None) -> float | None:
    """Return a sum of weights, or None where it is too large for a floating-point number."""
    number = float(weight or 0.0)
    return number if math.isfinite(number) else None


def check_alignment(
    counts: Counts, ideal: Table, actual: Table, others: list[Table], engine: Engine, *, rows: tuple[int, int]
) -> None:
    """Refuse an alignment that repeats items or has none.

    An inner join of J rows equals the number of matched ideal rows exactly when no matched item repeats in the
    actual clustering, and that of matched actual rows exactly when none repeats in the ideal one. Counting is
    all it takes; the items are looked for only when the counts say that there are some.

    Args:
        counts: What the alignment holds.
        ideal: The ideal clustering.
        actual: The actual clustering.
        others: Tables joined to the alignment by item.
        engine: What counts.
        rows: Number of rows of the ideal and the actual clustering. That of the actual one is -1 if items
            outside the ideal clustering were not kept; then repeats in the ideal one are looked for elsewhere.
    """
    ideal_rows, actual_rows = rows
    is_exact = counts.common == ideal_rows - counts.missing
    is_exact &= actual_rows < 0 or counts.common == actual_rows - counts.outside
    if not is_exact:
        check_repeats(ideal, engine, among=actual.frame)
        check_repeats(actual, engine, among=ideal.frame)
        for other in others:
            check_repeats(other, engine)
        raise EngineError("The clusterings changed while they were read.")
    if counts.common == 0:
        raise NoCommonItemsError(_no_common_items(ideal, actual, engine))


def refuse_weights(
    counts: Counts, items: nw.LazyFrame, table: Table | None, column: str, engine: Engine
) -> WeightError:
    """Say which weights are not positive finite numbers."""
    bad = items.filter(is_bad_weight())
    rows = engine.collect(bad.select(ITEM, WEIGHT).head(EXAMPLES)).to_pylist()
    absent = "missing or not a number" if table and _is_text(table, column) else "missing"
    shown = ", ".join(f"{short(r[ITEM])}: {absent if r[WEIGHT] is None else r[WEIGHT]}" for r in rows)
    where = f" in the {table.role} ({table.source.name})" if table else ""
    verb = "has" if counts.bad_weights == 1 else "have"
    many = f"{counts.bad_weights:,} of {format_count(counts.common, 'item')}"
    return WeightError(
        f"{many} {verb} a weight {column!r}{where} that is missing or not a positive finite number, e.g. {shown}. "
        "Weights must be greater than zero: fix or drop these items."
    )


_LIGHTEST, _HEAVIEST = 1e-100, 1e100  # products of two weights keep all their digits in between
_SPREAD = 2.0**52  # what is added to something this much heavier gets lost


def check_spread(least: float, total: float) -> None:
    """Refuse weights so small, so large or so far apart that floating-point numbers would lose some of them.

    Args:
        least: The least weight of an item.
        total: The weight of all items.

    Raises:
        WeightError: The numbers would be wrong.
    """
    if least < _LIGHTEST or total > _HEAVIEST:
        raise WeightError(
            f"The lightest item weighs {least:g} and all items together {total:g}. Multiply all weights by one number, "
            f"so that they lie between {_LIGHTEST:g} and {_HEAVIEST:g}: it changes no metric."
        )
    if total > least * _SPREAD:
        raise WeightError(
            f"The lightest item weighs {least:g} and all items together {total:g}: floating-point numbers cannot add "
            "weights so far apart. Drop the lightest items, which no metric would notice, or give them more weight."
        )


def _is_text(table: Table, column: str) -> bool:
    """Tell whether weights were read from text, which may say anything."""
    return (
        isinstance(table.source.load((column,)).collect_schema()[inside(column)], nw.String)
        or not table.source.is_typed
    )


def _no_common_items(ideal: Table, actual: Table, engine: Engine) -> str:
    return (
        f"The {ideal.role} ({ideal.source.name}) and the {actual.role} ({actual.source.name}) have no item in common. "
        f"Items look like {examples(ideal.frame, engine)} in the {ideal.role} and like "
        f"{examples(actual.frame, engine)} in the {actual.role}. Check that both identify items in the same way."
    )
