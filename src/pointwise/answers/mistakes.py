"""Mistakes: which clusters are merged or split, and how much of the over-merge and under-merge rate that costs."""

from __future__ import annotations

import heapq
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import islice
from numbers import Integral
from typing import TYPE_CHECKING, Any, Protocol

import narwhals.stable.v2 as nw

from pointwise.answers.breakdown import Breakdown, break_down, find_examples
from pointwise.answers.costs import cost_clusters
from pointwise.answers.levels import lift_overall
from pointwise.answers.mistake import MISSING, OUTSIDE, OVER_MERGE, UNDER_MERGE, Mistake, Part, Rest
from pointwise.answers.pairs import PairRanking
from pointwise.answers.records import DIFFERS_MEANS, NOTHING_SHOWN, Example, Shown, record_columns, write_record
from pointwise.columns import ACTUAL, COST, IDEAL, ITEMS, SHARE, WEIGHT, Column, Kind
from pointwise.core.evidence import Evidence
from pointwise.core.metrics import find_metrics
from pointwise.core.sample import UNKNOWN, Sample
from pointwise.engines.queries import count
from pointwise.errors import UsageError
from pointwise.inputs.options import MistakeKind, MistakesBy, check_choice
from pointwise.results import Result, rows_as_table
from pointwise.text.drawing import Drawing
from pointwise.text.values import format_metric, short

if TYPE_CHECKING:
    import pyarrow as pa

LARGEST = 3
"""How many parts of a cluster are listed."""

_RATES = {
    OVER_MERGE: "over_merge_rate",
    OUTSIDE: "over_merge_rate",
    UNDER_MERGE: "under_merge_rate",
    MISSING: "under_merge_rate",
}
_PARTIAL = {OUTSIDE: "Mistakes with members outside the truth", MISSING: "Missing items"}
_MORE = {"over_merge_rate": "{:,} more that merge", "under_merge_rate": "{:,} more that are split"}
_WHAT = "what happened"


@dataclass(frozen=True, repr=False)
class Mistakes(Result, Sequence[Mistake]):
    """Mistakes, costliest first. With the rest they add up to the rates.

    Args:
        mistakes: The costliest ones.
        rates: The overall rates that they are part of.
        rest: What is not listed, per rate.
        kind: Which mistakes were requested. Those of the kinds "outside" and "missing" are only a part of their rate.
        by: Whether a mistake is a cluster, or a pair of its parts.
        shown: What is shown of the examples beside their ids.
        sample: How the ideal clusters of the truth were drawn: rates, costs and shares are for all that they stand for.

    Examples:
        >>> import pointwise as pw
        >>> evaluation = pw.evaluate(ideal=[["i1", "i2"], ["i3"]], actual=[["i1", "i3"], ["i2"]])
        >>> [(mistake.kind, mistake.cluster) for mistake in evaluation.mistakes()]
        [('over-merge', 0), ('under-merge', 0)]
    """

    mistakes: tuple[Mistake, ...]
    rates: Mapping[str, float]
    rest: tuple[Rest, ...]
    kind: MistakeKind = "both"
    by: MistakesBy = "cluster"
    shown: Shown = NOTHING_SHOWN
    sample: Sample = field(default=UNKNOWN, compare=False)

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
        return COLUMNS if self.by == "cluster" else PAIR_COLUMNS

    def to_dicts(self) -> list[dict[str, Any]]:
        """Return the mistakes listed as dictionaries."""
        return [mistake.to_dict() if self.by == "cluster" else mistake.to_pair() for mistake in self.mistakes]

    def to_arrow(self) -> pa.Table:
        """Return the mistakes listed as a PyArrow table; ids are text where they are of several types."""
        rows = self.to_dicts()
        parts = [part for row in rows for part in row.get("largest", ())]
        if len({type(part["cluster"]) for part in parts if part["cluster"] is not None}) > 1:
            for part in parts:
                part["cluster"] = None if part["cluster"] is None else str(part["cluster"])
        return rows_as_table(rows, self.describe())

    def drawing(self) -> Drawing:
        """Say what to show: the mistakes and their parts, what each costs, and the rest."""
        rates = " and ".join(f"{name} {format_metric(value)}" for name, value in self.rates.items())
        begin = f"{_PARTIAL[self.kind]}, part of" if self.kind in _PARTIAL else "Mistakes that make up"
        title = self.sample.title(f"{begin} {rates}")
        differing = {name for mistake in self.mistakes for name in mistake.differing}
        records = record_columns(self.shown, (column.name for column in _DRAWN))
        rows = [row for mistake in self.mistakes for row in _draw(mistake, records)]
        rows += [_row(r.cost, r.share, _MORE[r.rate].format(r.count)) for r in self.rest if r.count]
        note = (DIFFERS_MEANS if differing else "") if rows else "There are none."
        drawn = (*_DRAWN, *records.values()) if self.mistakes else _DRAWN
        blank = {column.name: "" for column in drawn}  # where the row above has the value
        return Drawing(title, drawn, [blank | row for row in rows], note)


_DRAWN = (
    Column(COST, Kind.METRIC),
    Column(SHARE, Kind.SHARE),
    Column(_WHAT),
    Column(ITEMS, Kind.COUNT),
    Column("e.g."),
)
"""What a drawing shows of a mistake, before the records."""

COLUMNS = (
    Column("kind"),
    Column("cluster"),
    Column(COST, Kind.METRIC),
    Column("share_of_rate", Kind.SHARE),
    Column("parts", Kind.COUNT),
    Column(ITEMS, Kind.COUNT),
    Column(WEIGHT, Kind.WEIGHT),
    Column("differing"),
    Column("largest"),
)
"""Columns of a mistake."""

PAIR_COLUMNS = (
    Column("kind"),
    Column(COST, Kind.METRIC),
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
"""Columns of a pair."""


def _draw(mistake: Mistake, records: Mapping[str, Column]) -> Iterator[dict[str, Any]]:
    """Draw a mistake: a row for the cluster, then its parts; with records, a row for each example."""
    yield _row(mistake.cost, mistake.share, mistake.heading, mistake.items)
    first = next((example.record for part in mistake.largest for example in part.records), None)
    for part in mistake.largest:
        blank = _row("", "", f"• {part.name(mistake.other)}", part.items)
        if not records or not part.records:
            yield blank | {"e.g.": ", ".join(map(str, part.examples))}
            continue
        for number, example in enumerate(part.records):
            written = {"e.g.": str(example.item)} | write_record(example.record, records, first=first)
            yield (_row("", "", "") if number else blank) | written
    more = mistake.parts - len(mistake.largest)
    if more:
        yield _row("", "", f"• {more:,} more")


def _row(cost: Any, share: Any, text: str, items: Any = "") -> dict[str, Any]:
    return dict(zip((column.name for column in _DRAWN), (cost, share, text, items, ""), strict=True))


def find_mistakes(
    evidence: Evidence,
    limit: int,
    kind: MistakeKind,
    *,
    by: MistakesBy = "cluster",
    shown: Shown = NOTHING_SHOWN,
) -> Mistakes:
    """Rank the mistakes by what they cost, and list the first ones.

    Args:
        evidence: Where to look.
        limit: How many to list.
        kind: Which.
        by: What a mistake is: a cluster, or a pair of its parts.
        shown: What to show of the examples.
    """
    check_choice("kind", kind, MistakeKind)
    check_choice("by", by, MistakesBy)
    if not isinstance(limit, Integral) or limit < 1:
        raise UsageError(f"limit={short(limit)}: list at least one mistake.")
    kinds = (OVER_MERGE, UNDER_MERGE) if kind == "both" else (kind,)
    metrics = evidence.fit(find_metrics([_RATES[k] for k in kinds]))
    evidence.sample.check(metrics)
    overall = lift_overall(evidence, metrics)
    rates = {_RATES[k]: overall.values[_RATES[k]] or 0.0 for k in kinds}
    rankings: list[_Ranking] = [_rank_by(by)(evidence, k) for k in kinds]
    ranked = heapq.merge(*(ranking.ranked(limit) for ranking in rankings), key=lambda found: -found.cost)
    listed = _with_parts(evidence, list(islice(ranked, limit)), by, shown.columns)
    mistakes = tuple(replace(found, share=found.cost / rates[_RATES[found.kind]]) for found in listed)
    rest = tuple(_rest(ranking, mistakes, rates) for ranking in rankings)
    return Mistakes(mistakes, rates, rest, kind, by, shown, evidence.sample)


class _Ranking(Protocol):
    """The mistakes of one kind."""

    kind: str

    def ranked(self, n: int) -> Iterator[Mistake]:
        """Yield the costliest n mistakes, costliest first."""
        ...

    def count(self) -> int:
        """Count all mistakes."""
        ...

    def total_cost(self, rate: float) -> float:
        """Sum what all mistakes cost."""
        ...


def _rank_by(by: MistakesBy) -> type[PairRanking | _ClusterRanking]:
    return PairRanking if by == "pair" else _ClusterRanking


def _rest(ranking: _Ranking, mistakes: Sequence[Mistake], rates: Mapping[str, float]) -> Rest:
    name = _RATES[ranking.kind]
    costs = [m.cost for m in mistakes if _RATES[m.kind] == name]
    number, rate = ranking.count() - len(costs), rates[name]
    cost = max(0.0, ranking.total_cost(rate) - math.fsum(costs)) if number else 0.0
    return Rest(name, number, cost, cost / rate if rate else 0.0)


class _ClusterRanking:
    """The clusters of one side that cost something."""

    def __init__(self, evidence: Evidence, kind: str) -> None:
        self.evidence, self.kind = evidence, kind
        self.side = IDEAL if kind in (UNDER_MERGE, MISSING) else ACTUAL
        self.costs = self._known_costs()

    def _known_costs(self) -> nw.LazyFrame:
        """Return the clusters that cost something, as they were stored or else computed once."""
        known = self.evidence.known_costs
        stored = known(self.side) if known is not None and self.kind not in _PARTIAL else None
        if stored is not None:
            return stored.filter(nw.col(COST) > 0)
        return self.evidence.engine.checkpoint(self._costs().filter(nw.col(COST) > 0))

    def _costs(self) -> nw.LazyFrame:
        if self.kind not in _PARTIAL:
            return cost_clusters(self.evidence, self.side)
        return PairRanking(self.evidence, self.kind).partial_costs().group_by(self.side).agg(nw.col(COST).sum())

    def ranked(self, n: int) -> Iterator[Mistake]:
        """Yield the costliest clusters, costliest first; their parts are looked up for those that are listed."""
        # Rounding in parallel sums must not decide the order.
        rounded = self.costs.with_columns(nw.col(COST).round(_DIGITS).alias(_ORDER))
        costliest = rounded.sort(_ORDER, self.side, descending=[True, False]).head(n)
        for row in self.evidence.engine.collect(costliest).to_pylist():
            yield Mistake(self.kind, row[self.side], items=0, weight=0.0, cost=row[COST], parts=0, largest=())

    def count(self) -> int:
        """Count the clusters that cost something."""
        return count(self.costs, self.evidence.engine)

    def total_cost(self, rate: float) -> float:
        """Sum what all clusters cost: the whole rate, unless only outside members or missing items count."""
        return PairRanking(self.evidence, self.kind).total_cost(rate)


_ORDER, _DIGITS = "_order", 15


def _with_parts(
    evidence: Evidence, mistakes: Sequence[Mistake], by: MistakesBy, columns: Sequence[str]
) -> list[Mistake]:
    """Add the largest parts of clusters, and examples of every part."""
    if by == "pair":
        return _with_examples(evidence, mistakes, columns)
    found: dict[tuple[str, Any], Breakdown] = {}
    for side, is_split in ((ACTUAL, False), (IDEAL, True)):
        clusters = [m.cluster for m in mistakes if m.is_split == is_split]
        broken = break_down(evidence, side, clusters, cells=LARGEST, columns=columns)
        found |= {(side, cluster): breakdown for cluster, breakdown in broken.items()}
    return [_filled(m, found[IDEAL if m.is_split else ACTUAL, m.cluster]) for m in mistakes]


def _filled(mistake: Mistake, found: Breakdown) -> Mistake:
    parts = [Part(cell.other, cell.items, cell.weight, cell.examples) for cell in found.cells]
    if found.outside_items:
        parts.append(Part(None, found.outside_items, found.outside_weight))
    return replace(
        mistake,
        items=found.items + found.outside_items,
        weight=found.weight + found.outside_weight,
        parts=found.number + bool(found.outside_items),
        largest=tuple(parts),
    )


def _with_examples(evidence: Evidence, mistakes: Sequence[Mistake], columns: Sequence[str]) -> list[Mistake]:
    """Add the first and the last item of every part of pairs."""
    cells = [m.cell(part) for m in mistakes for part in m.largest if part.cluster is not None]
    found = find_examples(evidence, cells, columns)

    def filled(mistake: Mistake, part: Part) -> Part:
        examples: tuple[Example, ...] = found.get(mistake.cell(part), ())
        return replace(part, records=examples)

    return [replace(m, largest=tuple(filled(m, part) for part in m.largest)) for m in mistakes]
