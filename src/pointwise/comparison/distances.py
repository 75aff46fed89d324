"""Distances between clusterings: any distance of sets, lifted to clusterings by the paper's theorem."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import reduce
from itertools import combinations
from typing import Any

import narwhals.stable.v2 as nw
import numpy as np

from pointwise.columns import ACTUAL, CLUSTER, IDEAL, ITEM, LEAST_WEIGHT, WEIGHT, Column, Kind, keys
from pointwise.core.alignment import check_spread
from pointwise.core.confusion import Confusion, Totals, confuse
from pointwise.core.crosstab import cross_tabulate, is_bad_weight
from pointwise.core.metrics import METRICS, Formula
from pointwise.engines import Engine, choose_engine
from pointwise.engines.queries import count, examples, only_row, total
from pointwise.errors import NoCommonItemsError, NotFoundError, UsageError, WeightError
from pointwise.inputs.links import table_of
from pointwise.inputs.options import ColumnNames, DistanceMissing, Options, check_choice
from pointwise.inputs.reading import read_clusterings
from pointwise.inputs.tables import Table
from pointwise.inputs.unassigned import ALONE
from pointwise.results import Result
from pointwise.text.drawing import Drawing
from pointwise.text.values import format_count, listed, short

DISTANCES: dict[str, Formula] = {
    "jaccard": METRICS["jaccard_distance"].formula,
    "symmetric_difference": lambda c: c.fp + c.fn,
}
"""Distances of two weighted sets by name. `c.tp` is the weight they share, `c.ideal` and `c.actual` are theirs."""

_MEMBER = "_cluster_{}"


def distance(
    one: Any,
    other: Any,
    *,
    by: str | Formula = "jaccard",
    weights: Any = None,
    weight: str | None = None,
    item: ColumnNames | None = None,
    cluster: ColumnNames | None = None,
    missing: DistanceMissing = "drop",
    header: bool | Mapping[str, bool] = True,
    engine: Engine | str | None = None,
) -> float:
    """Measure how far apart two clusterings are.

    For more than two clusterings use `distance_matrix`, which compares all of them on the same items.

    Args:
        one: A clustering of any kind that `evaluate` reads.
        other: Another one.
        by: The distance between two sets that is averaged over items: "jaccard", "symmetric_difference", or a
            function of a `Confusion` that gives the distance of two sets from the weights of what they share (`c.tp`)
            and of either (`c.ideal`, `c.actual`). If that is a metric, so is the distance of clusterings.
        weights: A table of items and their weights; without it, and without `weight`, every item weighs 1.
        weight: Column with the weight of an item, in `weights` or in one of the clusterings.
        item: Column or columns that identify an item.
        cluster: The same for clusters.
        missing: What happens to items that not all clusterings have: left out ("drop"), or alone in a cluster of
            their own where they are missing ("singleton").
        header: Whether CSV files begin with the names of their columns.
        engine: As in `evaluate`.

    Examples:
        >>> import pointwise as pw
        >>> pw.distance([["i1", "i2"], ["i3"]], [["i1"], ["i2"], ["i3"]])
        0.3333333333333333
    """
    matrix = distance_matrix(
        {"one": one, "other": other},
        by=by,
        weights=weights,
        weight=weight,
        item=item,
        cluster=cluster,
        missing=missing,
        header=header,
        engine=engine,
    )
    return matrix["one", "other"]


def distance_matrix(
    clusterings: Mapping[str, Any],
    *,
    by: str | Formula = "jaccard",
    weights: Any = None,
    weight: str | None = None,
    item: ColumnNames | None = None,
    cluster: ColumnNames | None = None,
    missing: DistanceMissing = "drop",
    header: bool | Mapping[str, bool] = True,
    engine: Engine | str | None = None,
) -> DistanceMatrix:
    """Measure how far apart several clusterings are, on the items that all of them have.

    With different items for every pair, the distances would not obey the triangle inequality.

    Args:
        clusterings: Clusterings by name.
        by: As in `distance`.
        weights: As in `distance`.
        weight: As in `distance`.
        item: As in `distance`.
        cluster: As in `distance`.
        missing: As in `distance`.
        header: As in `distance`; a mapping where the clusterings differ.
        engine: As in `distance`.

    Examples:
        >>> import pointwise as pw
        >>> matrix = pw.distance_matrix({"a": [["i1", "i2"]], "b": [["i1"], ["i2"]], "c": [["i2", "i1"]]})
        >>> matrix["a", "b"], matrix["a", "c"]
        (0.5, 0.0)
    """
    if not isinstance(clusterings, Mapping):
        raise UsageError("Name each clustering: distance_matrix({'monday': ..., 'tuesday': ...}).")
    check_choice("missing", missing, DistanceMissing)
    if len(clusterings) < 2:  # noqa: PLR2004  # a distance lies between two
        raise UsageError("A distance needs two clusterings.")
    engine = choose_engine(engine, (*map(table_of, clusterings.values()), weights))
    formula, called = _find_distance(by)
    options = Options(item, cluster, weight, header=header)
    tables, weighing = read_clusterings(engine, clusterings, weights=weights, options=options, missing=missing)
    items = _common_items(tables, engine, missing=missing)
    if weighing is not None:
        items = items.join(weighing.frame, on=ITEM, how="left")
    items = engine.checkpoint(items)
    if WEIGHT in items.collect_schema().names():
        _check_weights(items, engine)
    totals = _totals(items, engine)
    if not totals.items:
        raise NoCommonItemsError("There is no item that all clusterings have. missing='singleton' keeps all items.")
    values = np.zeros((len(tables), len(tables)))
    for a, b in combinations(range(len(tables)), 2):
        found = _distance_of_pair(items, (a, b), formula=formula, totals=totals, engine=engine)
        values[a, b] = values[b, a] = found
    return DistanceMatrix(tuple(clusterings), values, totals.items, called)


def nearest(clustering: Any, others: Mapping[str, Any], **settings: Any) -> dict[str, float]:
    """Return the distances of a clustering to others by name, the nearest first.

    All distances are measured on the items that all of them have. `distance` explains the settings.

    Examples:
        >>> import pointwise as pw
        >>> pw.nearest([["i1", "i2"]], {"far": [["i1"], ["i2"]], "near": [["i2", "i1"]]})
        {'near': 0.0, 'far': 0.5}
    """
    own = _free_name("this one", others)
    matrix = distance_matrix({own: clustering, **others}, **settings)
    return dict(sorted(((name, matrix[own, name]) for name in others), key=lambda pair: pair[1]))


@dataclass(frozen=True, repr=False)
class DistanceMatrix(Result):
    """How far apart several clusterings are.

    Args:
        names: The clusterings.
        values: Their distances: symmetric, with zeros in the diagonal.
        items: Number of items that they were compared on.
        by: The distance of sets that was averaged.

    Examples:
        >>> import pointwise as pw
        >>> matrix = pw.distance_matrix({"one": [["i1", "i3"], ["i2"]], "other": [["i1", "i2"], ["i3"]]})
        >>> matrix.names, matrix.items
        (('one', 'other'), 3)
    """

    names: tuple[str, ...]
    values: np.ndarray
    items: int
    by: str

    def __getitem__(self, pair: tuple[str, str]) -> float:
        """Return the distance of two clusterings."""
        for name in pair:
            if name not in self.names:
                raise NotFoundError(f"There is no clustering {short(name)}. There are {listed(self.names)}.")
        return float(self.values[self.names.index(pair[0]), self.names.index(pair[1])])

    @property
    def title(self) -> str:
        """What the numbers are."""
        return f"Distances ({self.by}) on {format_count(self.items, 'common item')}"

    @property
    def _key(self) -> str:
        """The column that names the clustering of a row; no clustering has this name."""
        return _free_name(_CLUSTERING, self.names)

    def describe(self) -> tuple[Column, ...]:
        """Say what the columns are, and what each holds."""
        return (*keys(self._key), *(Column(name, Kind.METRIC) for name in self.names))

    def to_dicts(self) -> list[dict[str, Any]]:
        """Return one row per clustering with its distance to every other."""
        rows = zip(self.names, self.values.tolist(), strict=True)
        return [{self._key: name} | dict(zip(self.names, row, strict=True)) for name, row in rows]

    def drawing(self) -> Drawing:
        """Say what to show: the whole matrix."""
        return Drawing(self.title, self.describe(), self.to_dicts())


_CLUSTERING = "clustering"


def _free_name(name: str, taken: Iterable[str]) -> str:
    """Lengthen a name until it is unique, ignoring case."""
    others = {other.lower() for other in taken}
    while name.lower() in others:
        name += "'"
    return name


def _find_distance(by: str | Formula) -> tuple[Formula, str]:
    if callable(by):
        return by, getattr(by, "__name__", "a function")
    if by not in DISTANCES:
        raise UsageError(f"by={short(by)} is not one of {', '.join(map(repr, DISTANCES))}.")
    return DISTANCES[by], by


def _common_items(tables: Sequence[Table], engine: Engine, *, missing: DistanceMissing) -> nw.LazyFrame:
    """Put the clusters of every item side by side, one column per clustering."""
    frames = [table.frame.rename({CLUSTER: _MEMBER.format(n)}) for n, table in enumerate(tables)]
    if missing == "drop":
        return reduce(lambda a, b: a.join(b, on=ITEM, how="inner"), frames)
    if any(WEIGHT in frame.collect_schema().names() for frame in frames):
        raise UsageError("missing='singleton' needs the weights of all items: give them as a table (weights=...).")
    rows = nw.concat([frame.select(ITEM) for frame in frames])
    every = engine.checkpoint(rows.group_by(ITEM).agg(nw.len().alias("_rows")).select(ITEM))
    alone = nw.concat_str([nw.lit(ALONE), nw.col(ITEM).cast(nw.String)])
    for n, frame in enumerate(frames):
        column = nw.col(_MEMBER.format(n))
        padded = nw.when(column.is_null()).then(alone).otherwise(column.cast(nw.String))
        every = every.join(frame, on=ITEM, how="left").with_columns(padded.alias(_MEMBER.format(n)))
    return every


def _totals(items: nw.LazyFrame, engine: Engine) -> Totals:
    size = count(items.select(ITEM), engine)
    if WEIGHT not in items.collect_schema().names():
        return Totals(size, float(size))
    return Totals(size, total(items, WEIGHT, engine))


def _check_weights(items: nw.LazyFrame, engine: Engine) -> None:
    bad = items.filter(is_bad_weight())
    number = count(bad, engine)
    if number:
        raise WeightError(
            f"{format_count(number, 'item')} with a weight that is missing or not a positive finite number, e.g. "
            f"{examples(bad, engine)}. Weights must be greater than zero: fix or drop these items."
        )
    if count(items.head(1), engine):
        row = only_row(items.select(nw.col(WEIGHT).min().alias(LEAST_WEIGHT), nw.col(WEIGHT).sum()), engine)
        check_spread(float(row[LEAST_WEIGHT]), float(row[WEIGHT]))


def _distance_of_pair(
    items: nw.LazyFrame, pair: tuple[int, int], *, formula: Formula, totals: Totals, engine: Engine
) -> float:
    columns = [nw.col(_MEMBER.format(n)).alias(side) for n, side in zip(pair, (IDEAL, ACTUAL), strict=True)]
    weight = [WEIGHT] if WEIGHT in items.collect_schema().names() else []
    # Like `establish`, but nothing is held: cells are read once, and those of many pairs would fill the memory.
    cells = confuse(cross_tabulate(items.select(*columns, *weight)), totals)
    weighed = cells.select((formula(Confusion.of_columns()) * nw.col(WEIGHT)).alias(WEIGHT))
    return total(weighed, WEIGHT, engine) / totals.weight
