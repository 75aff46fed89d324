"""The page of a comparison: the verdict per metric, what moved, and for whom."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from pointwise import charts
from pointwise.answers.breakdown import break_down
from pointwise.answers.tables import MetricTable
from pointwise.columns import (
    BASELINE,
    BASELINE_VALUE,
    DELTA,
    DOWN_CLUSTERS,
    EXPERIMENT,
    EXPERIMENT_VALUE,
    HIGH,
    IDEAL,
    IDEAL_CLUSTERS,
    ITEM_SHARES,
    ITEMS,
    LOW,
    METRIC,
    P_ADJUSTED,
    P_VALUE,
    SHARE,
    UP_CLUSTERS,
    VERDICT,
    WEIGHT,
    WEIGHT_SHARES,
    Kind,
)
from pointwise.core.metrics import Metric
from pointwise.errors import PointwiseError
from pointwise.pages.details import (
    MOST_ATTRIBUTES,
    MOST_CELLS,
    MOST_CLUSTERS,
    ClusterDetail,
    describe_cells,
    item_heads,
)
from pointwise.pages.facts import describe_coverage, describe_inputs
from pointwise.pages.grids import Grid, Head, Line, Value, bounded_value, define, head_of, make_grid, write
from pointwise.pages.sentences import without_parameters
from pointwise.report.evaluation_page import (
    MOST_SLICES,
    SliceSection,
    slice_specs,
)
from pointwise.report.pictures import Picture, count_pictures, draw_chart
from pointwise.text.drawing import Drawing
from pointwise.text.values import (
    NOTHING,
    format_confidence,
    format_count,
    format_interval,
    format_share,
    format_value,
    name_interval,
)
from pointwise.uncertainty.verdict import BETTER, NOT_CLEAR, SAME, TOO_FEW, WORSE

if TYPE_CHECKING:
    from pointwise.comparison.comparison import Comparison


MOST_VARIANTS = 50  # in a table
MOST_MOVED = 100

_FEW = 2
_MOST_ON_MAP = 20  # every pair of variants is measured
_SHORT = 12


@dataclass(frozen=True)
class MetricVerdict:
    """What a comparison says about one metric."""

    metric: str
    word: str  # as `judge` says
    delta: str
    interval: str
    sentence: str


@dataclass(frozen=True)
class ComparisonPage:
    """Everything that the template of a comparison draws."""

    title: str
    experiment: str
    baseline: str
    level: str  # of the p-values of clear differences
    warnings: list[str]
    summary: str
    basis: str  # what the values and their intervals describe
    verdicts: list[MetricVerdict]
    overall: Grid
    differences: Grid | None
    pictures: list[Picture]
    inputs: list[tuple[str, str]]
    coverage: list[tuple[str, str]]
    changes: Grid
    movers: list[Picture]
    clusters: Grid
    moved: Grid
    slices: list[SliceSection]
    metrics: list[Metric]


def describe_comparison(comparison: Comparison, *, title: str | None = None) -> ComparisonPage:
    """Gather what the page shows: all variants in short, and the last one against the baseline at length."""
    numbers = count_pictures()
    baseline = comparison.baseline or comparison.variants[0]
    experiment = [name for name in comparison.variants if name != baseline][-1]
    pair = {EXPERIMENT: experiment, BASELINE: baseline}
    rows = comparison.deltas(**pair).to_dicts()
    verdicts = [_verdict(row, pair, comparison.confidence) for row in rows]
    return ComparisonPage(
        title=title or f"Is {bounded_value(experiment).text} better than {bounded_value(baseline).text}?",
        experiment=bounded_value(experiment).text,
        baseline=bounded_value(baseline).text,
        level=format_confidence(1 - comparison.confidence),
        warnings=list(_warnings(comparison, pair)),
        summary=_summary(verdicts, experiment, baseline),
        basis=_basis(comparison, experiment),
        verdicts=verdicts,
        overall=_overall(comparison),
        differences=_differences(comparison, baseline) if len(comparison.variants) > _FEW else None,
        pictures=[draw_chart(chart, numbers) for chart in _variant_charts(comparison)],
        inputs=list(describe_inputs(comparison[experiment])),
        coverage=list(describe_coverage(comparison[experiment])),
        changes=_changes(comparison, pair),
        movers=list(_movers(comparison, pair, numbers)),
        clusters=_clusters(comparison, pair),
        moved=_moved(comparison, pair),
        slices=list(_slices(comparison, pair, numbers)),
        metrics=list(comparison.metrics),
    )


def _variant_charts(comparison: Comparison) -> Iterator[Any]:
    """Draw how several variants relate to each other; for two, the verdicts suffice."""
    number = len(comparison.variants)
    if number > _FEW:
        yield charts.history(comparison)
    if _FEW < number <= _MOST_ON_MAP:
        yield charts.distance_map(comparison)


def _warnings(comparison: Comparison, pair: Mapping[str, str]) -> Iterator[str]:
    yield from map(without_parameters, comparison.notes)
    found: dict[str, list[str]] = {}
    for name in (pair[BASELINE], pair[EXPERIMENT]):
        for warning in comparison[name].warnings:
            found.setdefault(without_parameters(warning), []).append(bounded_value(name).text)
    for warning, names in found.items():
        yield f"{' and '.join(names)}: {warning}"


def _verdict(row: Mapping[str, Any], pair: Mapping[str, str], confidence: float) -> MetricVerdict:
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


def _summary(verdicts: Sequence[MetricVerdict], experiment: str, baseline: str) -> str:
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


def _basis(comparison: Comparison, experiment: str) -> str:
    """Say what the values describe, and under which assumption the intervals hold."""
    overall, sample = comparison[experiment].overall, comparison.sample
    if sample.words:
        return f"The values are {sample.words}."
    if not overall.has_intervals:
        return "The truth is complete, so every difference is real." if sample.is_complete else ""
    return f"The intervals take the truth as ideal clusters that were drawn uniformly from all{overall.exception}."


def _listed(names: Sequence[str]) -> str:
    return " and ".join([", ".join(names[:-1]), names[-1]]) if len(names) > 1 else "".join(names)


def _overall(comparison: Comparison) -> Grid:
    table = comparison.by_variant()
    total, rows = len(table), table.head(MOST_VARIANTS).to_dicts()
    note = f"{len(rows)} of {total:,} variants." if total > len(rows) else ""
    is_weighted = any(evaluation.coverage.is_weighted for evaluation in comparison.evaluations.values())
    said_by_missing = (ITEM_SHARES[0], WEIGHT_SHARES[0])  # the common shares
    said_already = said_by_missing if is_weighted else (*said_by_missing, WEIGHT, *WEIGHT_SHARES)
    columns = [column for column in table.describe() if column.name not in said_already]
    drawing = Drawing("All variants", columns, rows, note)
    return make_grid("variants", drawing.title, drawing, is_searchable=total > _SHORT)


def _differences(comparison: Comparison, baseline: str) -> Grid:
    """Show all variants against one, a row each."""
    table = comparison.deltas(baseline=baseline)
    caption = f"All variants against {bounded_value(baseline).text}"
    return _pivot("differences", caption, table, [EXPERIMENT], comparison.metrics)


def _pivot(name: str, caption: str, table: MetricTable, keys: Sequence[str], metrics: Sequence[Metric]) -> Grid:
    """Put the differences of all metrics of a slice or a variant into one row."""
    grouped: dict[tuple[Any, ...], dict[str, Mapping[str, Any]]] = {}
    for row in table:
        grouped.setdefault(tuple(row[key] for key in keys), {})[row[METRIC]] = row
    found = sorted(grouped.values(), key=lambda rows: -max(row[SHARE] or 0.0 for row in rows.values()))
    firsts = [next(iter(rows.values())) for rows in found]
    columns = [c for c in table.describe() if c.name in (*keys, ITEMS, SHARE, IDEAL_CLUSTERS)]
    heads = [head_of(column, Drawing("", columns, firsts)) for column in columns]
    heads += [Head(f"change of {m.name.replace('_', ' ')}", define(m.name), is_number=True) for m in metrics]
    lines = [
        Line([*(write(c.kind, first[c.name]) for c in columns), *(_change(rows.get(m.name)) for m in metrics)])
        for rows, first in zip(found[:MOST_SLICES], firsts, strict=False)
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
        tip += f"; p-value {row[P_VALUE]:.2g}, adjusted for the number of tests {row[P_ADJUSTED]:.2g}"
    if word == TOO_FEW:
        tip += "; too few clusters changed to tell, and the interval is rough"
    ends = format_interval(Kind.DELTA, low, high)
    interval = f"roughly {ends}" if ends and word == TOO_FEW else ends
    value, beside = write(Kind.DELTA, row[DELTA]), "\n".join(text for text in (interval, moved) if text)
    return replace(value, aside=beside, full=tip, verdict=word if word in (BETTER, WORSE) else "")


def _changes(comparison: Comparison, pair: Mapping[str, str]) -> Grid:
    table = comparison.count_changes(**pair)
    drawing = Drawing("What happened to the ideal clusters", table.describe(), table.to_dicts())
    return make_grid("changes", drawing.title, drawing)


def _movers(comparison: Comparison, pair: Mapping[str, str], numbers: Iterator[int]) -> Iterator[Picture]:
    for metric in comparison.metrics[:_FEW]:
        try:
            chart = charts.movers(comparison, metric=metric.name, experiment=pair[EXPERIMENT], baseline=pair[BASELINE])
        except PointwiseError:
            continue  # nothing moved it
        yield draw_chart(chart, numbers)


def _clusters(comparison: Comparison, pair: Mapping[str, str]) -> Grid:
    table = comparison.changes(**pair)
    total, rows = len(table), table.head(MOST_CLUSTERS).to_dicts()
    before, after = (comparison[pair[side]] for side in (BASELINE, EXPERIMENT))
    attributes = list(after.evidence.slice_schema)[:MOST_ATTRIBUTES]
    keys = [row[IDEAL] for row in rows]
    found = [break_down(e.evidence, IDEAL, keys, cells=MOST_CELLS, columns=attributes) for e in (before, after)]
    ids = comparison.ids
    heads = item_heads(found, attributes, ids=ids)
    verbs = (
        f"In {bounded_value(pair[BASELINE]).text} it lies in",
        f"In {bounded_value(pair[EXPERIMENT]).text} it lies in",
    )
    details = [
        ClusterDetail(
            bounded_value(key).text,
            [
                describe_cells(part.get(key), IDEAL, attributes, verb=verb, ids=ids)
                for part, verb in zip(found, verbs, strict=True)
            ],
            heads,
        )
        for key in keys
    ]
    shown = f"{len(rows):,} of {total:,}" if total > len(rows) else f"all {total:,}"
    note = (
        f"{shown} ideal clusters, those with the most moved items first. Open a row to see its cells before and after."
    )
    drawing = Drawing("Ideal clusters", table.describe(), rows, note)
    return make_grid("clusters-changed", drawing.title, drawing, is_searchable=True, details=details)


def _moved(comparison: Comparison, pair: Mapping[str, str]) -> Grid:
    table = comparison.moved_items(**pair)
    total, rows = len(table), table.head(MOST_MOVED).to_dicts()
    note = f"{len(rows):,} of {total:,} items." if total > len(rows) else f"{format_count(total, 'item')}."
    drawing = Drawing("Items that left their actual cluster", table.describe(), rows, note)
    return make_grid("moved", drawing.title, drawing, is_searchable=True)


def _slices(comparison: Comparison, pair: Mapping[str, str], numbers: Iterator[int]) -> Iterator[SliceSection]:
    for number, spec in enumerate(slice_specs(comparison[pair[EXPERIMENT]])):
        try:
            table = comparison.by_slice(spec, **pair)
        except PointwiseError:
            continue  # a stored run may lack the column
        name = bounded_value(", ".join(table.drawn_keys)).text
        grid = _pivot(f"slices-{number}", f"Slices by {name}", table, table.drawn_keys, comparison.metrics)
        pictures = [
            draw_chart(charts.deltas(comparison, table, metric=m.name), numbers) for m in comparison.metrics[:_FEW]
        ]
        yield SliceSection(name, grid, pictures)
