"""Discovery: the slices for which a metric is clearly worse than for all other items, found by searching.

Candidates are the values of attributes, bands of numbers and dates, and pairs of the most striking ones with the values
of others. Each is compared with all items outside of it. The spread among ideal clusters shows how large such a
difference can be by chance, and p-values are adjusted for the number of candidates tried.

A column takes one pass over the items, which the metric was joined to once, grouped by value and ideal cluster. To
group by value and cell first, and join the metric to these groups, saves nothing: values belong to items, so that every
column takes that pass anyway, and then a join and a second grouping (1.6 times the processor time on 200,000 items).
"""

from __future__ import annotations

import datetime as dt
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import narwhals.stable.v2 as nw
import numpy as np

from pointwise.answers.conditions import parse_condition
from pointwise.answers.levels import tabulate_slices
from pointwise.columns import (
    ACTUAL,
    HIGH,
    IDEAL,
    IDEAL_CLUSTERS,
    ITEM_SIZES,
    ITEMS,
    LOW,
    P_ADJUSTED,
    RESERVED,
    SHARE,
    SLICE,
    VALUE,
    WEIGHT,
    Column,
    Kind,
    inside,
    keys,
    with_ends,
)
from pointwise.core.evidence import Evidence
from pointwise.core.metrics import Metric, find_metric
from pointwise.engines.queries import only_row
from pointwise.errors import UsageError
from pointwise.results import Result
from pointwise.text.drawing import Drawing
from pointwise.text.values import SHOWN_ROWS, format_confidence
from pointwise.uncertainty.verdict import ENOUGH

if TYPE_CHECKING:
    from pointwise.evaluation import Evaluation

LEAST_SHARE = 0.01
"""The least share of the weight that a slice must have to be looked at."""

FALSE_FINDINGS = 0.05
"""How large an adjusted p-value may be."""

_REST, _EXCESS = "rest", "excess"
_KEY, _Y, _TOTAL_W, _TOTAL_Y = "_key", "_y", "_total_weight", "_total_y"
_FEW_VALUES = 12  # numbers with more values are cut into bands
_BANDS = 5
_CROSSED = 3  # candidates that are crossed with all others
_OVERLAP = 0.5  # of two slices that share more than this, the less striking one is left out
_WORDS = frozenset({"and", "or", "not", "in", "is", "null", "true", "false"})


@dataclass(frozen=True, repr=False)
class FoundSlices(Result):
    """Slices for which a metric is clearly worse than for all other items, the most striking first.

    A row has the condition (`slice`), which `by_slice` and `--slice` accept, the sizes, the `value` with its interval,
    the value of all other items (`rest`), what the overall value would gain if the slice were as good as the rest
    (`excess`), and the p-value, adjusted for the number of slices tried.

    Args:
        metric: The metric.
        rows: The slices.
        tried: How many slices were looked at.
        confidence: How often the intervals should contain the true value.

    Examples:
        >>> import pointwise as pw
        >>> people = pw.datasets.people()
        >>> evaluation = pw.evaluate(ideal=people.truth, actual=people.clusters, attributes=people.records)
        >>> pw.find_slices(evaluation, metric="recall").rows[0]["slice"]
        'born is null'
    """

    metric: str
    rows: tuple[Mapping[str, Any], ...]
    tried: int
    confidence: float

    def describe(self) -> tuple[Column, ...]:
        """Say what the columns are, and what each holds."""
        values = (*with_ends(Column(VALUE, Kind.METRIC)), Column(_REST, Kind.METRIC), Column(_EXCESS, Kind.METRIC))
        return (
            *keys(SLICE),
            *ITEM_SIZES,
            Column(IDEAL_CLUSTERS, Kind.COUNT),
            *values,
            Column(P_ADJUSTED, Kind.P_VALUE),
        )

    def to_dicts(self) -> list[dict[str, Any]]:
        """Return the slices as dictionaries."""
        return [dict(row) for row in self.rows]

    def drawing(self) -> Drawing:
        """Say what to show: the slices, and how many were tried."""
        tried = f"{self.tried:,} slices were tried, for which the p-values are adjusted."
        none = f"No slice is clearly worse than the rest. {tried}"
        has_intervals = any(row[VALUE + LOW] is not None for row in self.rows)
        ends = f"\n[low, high]: the {format_confidence(self.confidence)} interval" if has_intervals else ""
        note = f"{tried}{ends}" if self.rows else none
        return Drawing(f"Slices where {self.metric} is worse", self.describe(), self.rows, note)


def find_slices(
    evaluation: Evaluation,
    metric: str | Metric = "recall",
    *,
    columns: Sequence[str] | None = None,
    limit: int = SHOWN_ROWS,
    least_share: float = LEAST_SHARE,
) -> FoundSlices:
    """Find the slices for which a metric is clearly worse than for all other items.

    Args:
        evaluation: Where to look; it needs attributes, or a stored run with columns to slice by.
        metric: What to look at: a metric of items with a direction.
        columns: Attributes to look at; by default all.
        limit: How many slices to list.
        least_share: The least share of the weight that a slice must have.

    Returns:
        The slices, the most striking first. Where two share most of their items, only the first is listed.

    Examples:
        >>> import pointwise as pw
        >>> people = pw.datasets.people()
        >>> evaluation = pw.evaluate(ideal=people.truth, actual=people.clusters, attributes=people.records)
        >>> found = pw.find_slices(evaluation, metric="recall")
        >>> round(found.rows[0]["value"], 2), round(found.rows[0]["rest"], 2)
        (0.33, 0.94)
    """
    chosen = find_metric(metric) if isinstance(metric, str) else metric
    evidence = evaluation.evidence
    names = list(evidence.slice_schema) if columns is None else list(columns)
    _check(evidence, chosen, names, limit, least_share)
    search = _Search.begin(evidence, chosen, names, least_share)
    candidates = list(search.candidates())
    striking = [c for c in search.adjusted(candidates) if c.p_adjusted < FALSE_FINDINGS]
    kept = search.without_overlaps(sorted(striking, key=lambda c: c.rank), limit)
    rows = tuple(_as_row(evidence, c, chosen, evaluation.confidence) for c in kept)
    return FoundSlices(chosen.name, rows, len(candidates), evaluation.confidence)


def _check(evidence: Evidence, metric: Metric, names: Sequence[str], limit: int, least_share: float) -> None:
    if metric.better is None or metric.means:
        raise UsageError(f"{metric.name!r} has no worse values for an item, so slices cannot be searched by it.")
    evidence.sample.check((metric,))
    if limit < 1 or not 0 < least_share < 1:
        raise UsageError(
            f"limit={limit!r}, least_share={least_share!r}: list at least one, of a share between 0 and 1."
        )
    unknown = [name for name in names if name not in evidence.slice_schema]
    if unknown or not names:
        there = ", ".join(map(repr, evidence.slice_schema)) or "none"
        what = f"There is no column {unknown[0]!r} to search." if unknown else "There is nothing to search."
        raise UsageError(f"{what} There are {there}. More columns come from attributes=....")


@dataclass(frozen=True)
class _Axis:
    """A column whose values, or bands of them, are candidates."""

    column: str
    key: nw.Expr
    name: Callable[[Any], str]


@dataclass(frozen=True)
class _Candidate:
    """A slice with what is known about it."""

    condition: str
    column: str
    items: int
    weight: float
    value: float
    rest: float
    p: float
    is_pair: bool = False
    p_adjusted: float = 1.0

    @property
    def rank(self) -> tuple[float, bool, str]:
        """What to sort by: among slices that are equally striking, up to rounding, the simplest comes first."""
        return float(f"{self.p:.6g}"), self.is_pair, self.condition


@dataclass(frozen=True)
class _Totals:
    """Sums over all ideal clusters, of their weights w and of weights times values y."""

    clusters: int
    w: float
    y: float
    ww: float
    wy: float
    yy: float


@dataclass(frozen=True)
class _Search:
    """Everything that a search needs: items with values, the sums of ideal clusters, and the axes.

    Values are negated where lower is better, so that worse always means less.
    """

    evidence: Evidence
    rows: nw.LazyFrame
    clusters: nw.LazyFrame
    totals: _Totals
    axes: tuple[_Axis, ...]
    least_share: float
    sign: float
    schema: Mapping[str, Any] = field(default_factory=dict)

    @staticmethod
    def begin(evidence: Evidence, metric: Metric, names: Sequence[str], least_share: float) -> _Search:
        """Join the metric and the attributes to the items, once."""
        sign = -1.0 if metric.better == "lower" else 1.0
        measured = evidence.measured((metric,)).select(IDEAL, ACTUAL, metric.name)
        joined = evidence.items_with(names).join(measured, on=[IDEAL, ACTUAL], how="inner")
        expanded = evidence.sample.expand(joined.filter(~nw.col(metric.name).is_null()))
        values = (nw.col(WEIGHT) * nw.col(metric.name) * sign).alias(_Y)
        rows = evidence.engine.checkpoint(expanded.select(IDEAL, WEIGHT, values, *map(inside, names)))
        sums = rows.group_by(IDEAL).agg(nw.col(WEIGHT).sum().alias(_TOTAL_W), nw.col(_Y).sum().alias(_TOTAL_Y))
        clusters = evidence.engine.checkpoint(sums)
        axes = tuple(axis for name in names if (axis := _axis(evidence, rows, name)) is not None)
        schema = {name: evidence.slice_schema[name] for name in names}
        return _Search(evidence, rows, clusters, _sum_all(clusters, evidence), axes, least_share, sign, schema)

    def candidates(self) -> Iterator[_Candidate]:
        """Look at every value or band, then at those of other columns within the most striking ones."""
        found = [c for axis in self.axes for c in self._look(axis, self.rows)]
        yield from found
        striking = sorted((c for c in found if c.value < c.rest), key=lambda c: c.rank)[:_CROSSED]
        for first in striking:
            within = self.rows.filter(self._expression(first.condition))
            for axis in (axis for axis in self.axes if axis.column != first.column):
                for second in self._look(axis, within):
                    condition = f"{first.condition} and {second.condition}"
                    yield replace(second, condition=condition, is_pair=True)

    def _expression(self, condition: str) -> nw.Expr:
        return parse_condition(condition, dict(self.schema), reserved=RESERVED).expression

    def _look(self, axis: _Axis, rows: nw.LazyFrame) -> Iterator[_Candidate]:
        """Compare every value of an axis with all other items, in one pass."""
        keyed = rows.select(axis.key.alias(_KEY), IDEAL, WEIGHT, _Y)
        parts = keyed.group_by(_KEY, IDEAL).agg(
            nw.len().alias(ITEMS), nw.col(WEIGHT).sum().alias("a"), nw.col(_Y).sum().alias("b")
        )
        joined = parts.join(self.clusters, on=IDEAL, how="inner").rename({_TOTAL_W: "w", _TOTAL_Y: "y"})
        products = ((nw.col(pair[0]) * nw.col(pair[1])).alias(pair) for pair in _PRODUCTS)
        multiplied = joined.with_columns(*products)
        sums = multiplied.group_by(_KEY).agg(
            nw.len().alias(IDEAL_CLUSTERS), *(nw.col(name).sum() for name in (ITEMS, "a", "b", *_PRODUCTS))
        )
        least = self.least_share * self.totals.w
        large = sums.filter((nw.col(IDEAL_CLUSTERS) >= ENOUGH) & (nw.col("a") >= least))
        others = large.filter(nw.col("a") <= self.totals.w - least)
        for row in self.evidence.engine.collect(others.sort(_KEY)).to_pylist():
            yield self._candidate(axis, row)

    def _candidate(self, axis: _Axis, row: Mapping[str, Any]) -> _Candidate:
        value, rest, p = _compare(row, self.totals)
        condition = axis.name(row[_KEY])
        return _Candidate(condition, axis.column, int(row[ITEMS]), row["a"], value * self.sign, rest * self.sign, p)

    def adjusted(self, candidates: Sequence[_Candidate]) -> list[_Candidate]:
        """Adjust p-values for everything that was tried (Benjamini and Hochberg).

        Only the most striking slices are crossed with others, which amounts to trying all pairs, so each pair counts
        for several.
        """
        singles = sum(not c.is_pair for c in candidates)
        more = max(1.0, singles / _CROSSED)
        weights = [more if c.is_pair else 1.0 for c in candidates]
        total, least, found = sum(weights), 1.0, dict.fromkeys(range(len(candidates)), 1.0)
        order = sorted(range(len(candidates)), key=lambda n: -candidates[n].p)
        for rank, number in zip(range(len(order), 0, -1), order, strict=True):
            least = min(least, candidates[number].p * total / rank)
            found[number] = least
        return [replace(c, p_adjusted=found[n]) for n, c in enumerate(candidates)]

    def without_overlaps(self, ranked: Sequence[_Candidate], limit: int) -> list[_Candidate]:
        """Leave out slices that share most of their weight with a more striking one."""
        few = ranked[: 4 * limit]
        if not few:
            return []
        flags = [_flag(self._expression(c.condition)).alias(f"_flag_{n}") for n, c in enumerate(few)]
        names = [f"_flag_{n}" for n in range(len(few))]
        sums = self.rows.select(WEIGHT, *flags).group_by(*names).agg(nw.col(WEIGHT).sum())
        table = self.evidence.engine.collect(sums)
        weights = table[WEIGHT].to_numpy()
        inside_of = [np.array([bool(flag) for flag in table[name].to_pylist()]) for name in names]
        kept: list[int] = []
        for number, candidate in enumerate(few):
            shares = (_overlap(weights, inside_of[number], inside_of[other]) for other in kept)
            if all(share <= _OVERLAP for share in shares) and self._stands(candidate, [few[n] for n in kept]):
                kept.append(number)
            if len(kept) == limit:
                break
        return [few[number] for number in kept]

    def _stands(self, candidate: _Candidate, kept: Sequence[_Candidate]) -> bool:
        """Tell whether a slice is still striking without the items of more striking ones."""
        if not kept:
            return True
        rows = self.rows
        for other in kept:
            rows = rows.filter(_flag(self._expression(other.condition)) == 0)
        axis = _Axis(candidate.column, _flag(self._expression(candidate.condition)), str)
        left = next((c for c in self._look(axis, rows) if c.condition == "1"), None)
        strictness = candidate.p_adjusted / candidate.p if candidate.p else 1.0
        return left is not None and left.p * strictness < FALSE_FINDINGS


def _flag(condition: nw.Expr) -> nw.Expr:
    """Return 1 where a condition holds, and 0 where it does not or is unknown."""
    return nw.when(condition).then(nw.lit(1)).otherwise(nw.lit(0))


_PRODUCTS = ("aa", "ab", "bb", "ay", "aw", "by", "bw")


def _overlap(weights: Any, one: Any, other: Any) -> float:
    """Return the weight that two slices share, as a share of the lighter one's."""
    least = min(weights[one].sum(), weights[other].sum())
    return float(weights[one & other].sum() / least)


def _sum_all(clusters: nw.LazyFrame, evidence: Evidence) -> _Totals:
    w, y = nw.col(_TOTAL_W), nw.col(_TOTAL_Y)
    products = clusters.with_columns((w * w).alias("ww"), (w * y).alias("wy"), (y * y).alias("yy"))
    columns = {_TOTAL_W: "w", _TOTAL_Y: "y", "ww": "ww", "wy": "wy", "yy": "yy"}
    row = only_row(
        products.select(nw.len().alias("n"), *(nw.col(c).sum().alias(n) for c, n in columns.items())), evidence.engine
    )
    return _Totals(int(row["n"]), *(float(row[name] or 0.0) for name in columns.values()))


def _compare(s: Mapping[str, Any], t: _Totals) -> tuple[float, float, float]:
    """Compare a slice with the rest: both values, and how likely it is to be so much worse by chance alone.

    An ideal cluster of weight w and sum y, of which a and b lie in the slice, moves the difference by
    (b - R a) / A - ((y - b) - Q (w - a)) / (W - A), with R and Q the two values. The spread of these is that of the
    difference. They are summed without going through the clusters outside of the slice.
    """
    weight, others = float(s["a"]), t.w - float(s["a"])
    value, rest = s["b"] / weight, (t.y - s["b"]) / others
    p, q = 1 / weight + 1 / others, value / weight + rest / others
    outside = (t.yy - 2 * rest * t.wy + rest * rest * t.ww) / others**2
    squares = p * p * s["bb"] - 2 * p * q * s["ab"] + q * q * s["aa"]
    crossed = p * s["by"] - p * rest * s["bw"] - q * s["ay"] + q * rest * s["aw"]
    variance = (outside + squares - 2 * crossed / others) * t.clusters / (t.clusters - 1)
    if variance <= 0:
        return value, rest, 1.0
    from scipy.special import stdtr

    df = int(s[IDEAL_CLUSTERS]) - 1
    return value, rest, float(stdtr(df, (value - rest) / math.sqrt(variance)))


def _axis(evidence: Evidence, rows: nw.LazyFrame, name: str) -> _Axis | None:
    """Make an axis of a column; None for one that cannot be written in a condition."""
    dtype, column = evidence.slice_schema[name], nw.col(inside(name))
    if "`" in name or not name:
        return None
    if isinstance(dtype, (nw.String, nw.Boolean)):
        return _Axis(name, column, lambda value: _equals(name, value))
    if not (dtype.is_numeric() or isinstance(dtype, (nw.Date, nw.Datetime))):
        return None
    sums = rows.select(column.alias(_KEY), WEIGHT).filter(~nw.col(_KEY).is_null()).group_by(_KEY)
    table = evidence.engine.collect(sums.agg(nw.col(WEIGHT).sum()).sort(_KEY))
    if len(table) <= _FEW_VALUES:
        return _Axis(name, column, lambda value: _equals(name, value))
    return _bands(name, column, table)


def _bands(name: str, column: nw.Expr, table: Any) -> _Axis:
    """Cut the values of a column into bands of about the same weight."""
    values, shares = table[_KEY].to_pylist(), np.cumsum(table[WEIGHT].to_numpy())
    places = np.searchsorted(shares, [shares[-1] * n / _BANDS for n in range(1, _BANDS)])
    borders = sorted({values[n] for n in places if 0 < n < len(values) and values[n] == values[n]})  # NaN
    number: nw.Expr = nw.lit(0)
    for n, border in enumerate(borders, start=1):
        number = nw.when(column >= border).then(nw.lit(n)).otherwise(number)
    number = nw.when(~column.is_null()).then(number)

    def describe(band: int | None) -> str:
        if band is None:
            return _equals(name, None)
        ends = [f"{_quoted(name)} >= {_literal(borders[band - 1])}"] if band else []
        ends += [f"{_quoted(name)} < {_literal(borders[band])}"] if band < len(borders) else []
        return " and ".join(ends)

    return _Axis(name, number, describe)


def _quoted(name: str) -> str:
    return name if name.isidentifier() and name.isascii() and name.lower() not in _WORDS else f"`{name}`"


def _equals(name: str, value: Any) -> str:
    return f"{_quoted(name)} is null" if value is None else f"{_quoted(name)} = {_literal(value)}"


def _literal(value: Any) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, (str, dt.date)):
        text = value if isinstance(value, str) else value.isoformat()
        return "'" + text.replace("'", "''") + "'"
    return repr(value)


def _as_row(evidence: Evidence, found: _Candidate, metric: Metric, confidence: float) -> dict[str, Any]:
    """Write a slice with its interval, as `by_slice` finds it for the condition."""
    table = tabulate_slices(evidence, [found.condition], (metric,), confidence=confidence)
    row = next(row for row in table.to_dicts() if row[found.condition])
    ends = {VALUE: row[metric.name], VALUE + LOW: row[metric.name + LOW], VALUE + HIGH: row[metric.name + HIGH]}
    sizes = {name: row[name] for name in (ITEMS, WEIGHT, SHARE, IDEAL_CLUSTERS)}
    excess = row[SHARE] * abs(found.rest - row[metric.name])
    return {SLICE: found.condition, **sizes, **ends, _REST: found.rest, _EXCESS: excess, P_ADJUSTED: found.p_adjusted}
