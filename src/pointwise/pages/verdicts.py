"""Verdicts: how much better or worse one clustering is than another, in words, numbers and tables."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from pointwise.answers.tables import MetricTable
from pointwise.columns import (
    BASELINE,
    BASELINE_VALUE,
    DELTA,
    DOWN_CLUSTERS,
    EXPERIMENT,
    EXPERIMENT_VALUE,
    HIGH,
    IDEAL_CLUSTERS,
    ITEMS,
    LOW,
    METRIC,
    P_ADJUSTED,
    P_VALUE,
    SHARE,
    UP_CLUSTERS,
    VERDICT,
    Kind,
)
from pointwise.core.metrics import Metric
from pointwise.pages.grids import Grid, Head, Line, Value, bounded_value, define, head_of, write
from pointwise.text.drawing import Drawing
from pointwise.text.values import NOTHING, format_interval, format_share, format_value, name_interval
from pointwise.uncertainty.verdict import BETTER, NOT_CLEAR, SAME, TOO_FEW, WORSE

MOST_ROWS = 100  # of one table
_SHORT = 12  # rows that need no search


@dataclass(frozen=True)
class MetricVerdict:
    """What a comparison says about one metric, in words."""

    metric: str
    word: str  # as `judge` says
    delta: str
    interval: str
    sentence: str


def describe_verdict(row: Mapping[str, Any], pair: Mapping[str, str], confidence: float) -> MetricVerdict:
    """Say how much a metric changed between two clusterings, and how sure that is."""
    metric, low, high = row[METRIC], row.get(DELTA + LOW), row.get(DELTA + HIGH)
    word = row.get(VERDICT, NOT_CLEAR)
    before, after = (format_value(Kind.METRIC, row[value]) for value in (BASELINE_VALUE, EXPERIMENT_VALUE))
    ends = format_interval(Kind.DELTA, low, high)
    interval = f"{name_interval(confidence)} {ends}" if ends else ""
    p, up, down = row.get(P_VALUE), row[UP_CLUSTERS], row[DOWN_CLUSTERS]
    changed = f" {up:,} ideal clusters went up, {down:,} down." if up or down else " No ideal cluster changed."
    chance = "" if p is None or word == TOO_FEW else _say_chance(p)
    one, other = (bounded_value(pair[side]).text for side in (EXPERIMENT, BASELINE))
    sentence = f"{one} has {after}, {other} has {before}.{changed}{chance}"
    return MetricVerdict(metric, word, format_value(Kind.DELTA, row[DELTA]), interval, sentence)


def _say_chance(p: float) -> str:
    return (
        " If both were equally good on the whole population, a difference at least this large would appear in "
        f"{_often(p)} of samples."
    )


def _often(p: float) -> str:
    return "under 0.1%" if p < 0.001 else format_share(p)  # noqa: PLR2004


def summarise(verdicts: Sequence[MetricVerdict], experiment: str, baseline: str) -> str:
    """Say in a sentence or two on which metrics the experiment is better, worse or not clearly different."""
    names = {
        word: _listed([verdict.metric.replace("_", " ") for verdict in verdicts if verdict.word == word])
        for word in (BETTER, WORSE, NOT_CLEAR, TOO_FEW, SAME)
    }
    one, other = bounded_value(experiment).text, bounded_value(baseline).text
    said = []
    if names[BETTER]:
        said.append(f"{one} is clearly better than {other} on {names['better']}.")
    if names[WORSE]:
        said.append(f"{one} is clearly worse than {other} on {names['worse']}.")
    if names[NOT_CLEAR]:
        said.append(f"On {names[NOT_CLEAR]} there is no clear difference between {one} and {other}.")
    if names[TOO_FEW]:
        said.append(f"On {names[TOO_FEW]} too few clusters changed to tell.")
    if names[SAME]:
        said.append(f"On {names[SAME]} nothing changed.")
    return " ".join(said)


def _listed(names: Sequence[str]) -> str:
    return " and ".join([", ".join(names[:-1]), names[-1]]) if len(names) > 1 else "".join(names)


def tabulate_changes(
    name: str, caption: str, table: MetricTable, keys: Sequence[str], metrics: Sequence[Metric]
) -> Grid:
    """Put the differences of a slice or a variant in all metrics into one row."""
    grouped: dict[tuple[Any, ...], dict[str, Mapping[str, Any]]] = {}
    for row in table:
        grouped.setdefault(tuple(row[key] for key in keys), {})[row[METRIC]] = row
    found = sorted(grouped.values(), key=lambda rows: -max(row[SHARE] or 0.0 for row in rows.values()))
    firsts = [next(iter(rows.values())) for rows in found]
    columns = [c for c in table.describe() if c.name in (*keys, ITEMS, SHARE, IDEAL_CLUSTERS)]
    heads = [head_of(column, Drawing("", columns, firsts)) for column in columns]
    heads += [Head(f"change in {m.name.replace('_', ' ')}", define(m.name), is_number=True) for m in metrics]
    lines = [
        Line([*(write(c.kind, first[c.name]) for c in columns), *(_change(rows.get(m.name)) for m in metrics)])
        for rows, first in zip(found[:MOST_ROWS], firsts, strict=False)
    ]
    note = f"{len(lines)} of {len(found):,} rows, the heaviest first." if len(found) > len(lines) else ""
    return Grid(name, caption, heads, lines, note, is_searchable=len(found) > _SHORT)


def _change(row: Mapping[str, Any] | None) -> Value:
    if row is None or row[DELTA] is None:
        return Value(NOTHING)
    low, high, word = row.get(DELTA + LOW), row.get(DELTA + HIGH), row.get(VERDICT, NOT_CLEAR)
    before, after = (format_value(Kind.METRIC, row[value]) for value in (BASELINE_VALUE, EXPERIMENT_VALUE))
    tip, moved = f"{before} before, {after} after", f"{row[UP_CLUSTERS]:,} up, {row[DOWN_CLUSTERS]:,} down"
    if row.get(P_VALUE) is not None:
        tip += f"; p-value {row[P_VALUE]:.2g}, adjusted for the number of tests of this metric {row[P_ADJUSTED]:.2g}"
    if word == TOO_FEW:
        tip += "; too few clusters changed to tell, and the interval is rough"
    ends = format_interval(Kind.DELTA, low, high)
    interval = f"roughly {ends}" if ends and word == TOO_FEW else ends
    value, beside = write(Kind.DELTA, row[DELTA]), "\n".join(text for text in (interval, moved) if text)
    return replace(value, aside=beside, full=tip, verdict=word if word in (BETTER, WORSE) else "")
