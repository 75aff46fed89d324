"""The page of a comparison: the verdict per metric, what moved, and for whom."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from pointwise import charts
from pointwise.answers.breakdown import break_down
from pointwise.columns import (
    BASELINE,
    EXPERIMENT,
    IDEAL,
    ITEM_SHARES,
    VARIANT,
    WEIGHT,
    WEIGHT_SHARES,
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
from pointwise.pages.grids import Grid, bounded_value, make_grid
from pointwise.pages.miniatures import Trend, draw_trends
from pointwise.pages.sentences import without_parameters
from pointwise.pages.verdicts import MetricVerdict, describe_verdict, summarise, tabulate_changes
from pointwise.report.evaluation_page import (
    SliceSection,
    slice_specs,
)
from pointwise.report.pictures import Picture, count_pictures, draw_chart
from pointwise.text.drawing import Drawing
from pointwise.text.values import (
    format_confidence,
    format_count,
)

if TYPE_CHECKING:
    from pointwise.comparison.comparison import Comparison


MOST_VARIANTS = 50  # in a table
MOST_MOVED = 100

_FEW = 2
_MOST_ON_MAP = 20  # every pair of variants is measured
_SHORT = 12


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
    trends: list[Trend]
    map: Picture | None
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
    verdicts = [describe_verdict(row, pair, comparison.confidence) for row in rows]
    return ComparisonPage(
        title=title or f"Is {bounded_value(experiment).text} better than {bounded_value(baseline).text}?",
        experiment=bounded_value(experiment).text,
        baseline=bounded_value(baseline).text,
        level=format_confidence(1 - comparison.confidence),
        warnings=list(_warnings(comparison, pair)),
        summary=summarise(verdicts, experiment, baseline),
        basis=_basis(comparison, experiment),
        verdicts=verdicts,
        overall=_overall(comparison),
        differences=_differences(comparison, baseline) if len(comparison.variants) > _FEW else None,
        trends=list(_trends(comparison)),
        map=_map(comparison, numbers),
        inputs=list(describe_inputs(comparison[experiment])),
        coverage=list(describe_coverage(comparison[experiment])),
        changes=_changes(comparison, pair),
        movers=list(_movers(comparison, pair, numbers)),
        clusters=_clusters(comparison, pair),
        moved=_moved(comparison, pair),
        slices=list(_slices(comparison, pair, numbers)),
        metrics=list(comparison.metrics),
    )


def _trends(comparison: Comparison) -> Iterator[Trend]:
    """Draw the metrics of several variants in their order; for two, the verdicts suffice."""
    table = comparison.by_variant()
    if len(comparison.variants) > _FEW:
        yield from draw_trends(table.describe(), table.to_dicts(), key=VARIANT, noun="variants, in their order")


def _map(comparison: Comparison, numbers: Iterator[int]) -> Picture | None:
    """Draw how far several variants are apart."""
    is_drawn = _FEW < len(comparison.variants) <= _MOST_ON_MAP
    return draw_chart(charts.distance_map(comparison), numbers) if is_drawn else None


def _warnings(comparison: Comparison, pair: Mapping[str, str]) -> Iterator[str]:
    yield from map(without_parameters, comparison.notes)
    found: dict[str, list[str]] = {}
    for name in (pair[BASELINE], pair[EXPERIMENT]):
        for warning in comparison[name].warnings:
            found.setdefault(without_parameters(warning), []).append(bounded_value(name).text)
    for warning, names in found.items():
        yield f"{' and '.join(names)}: {warning}"


def _basis(comparison: Comparison, experiment: str) -> str:
    """Say what the values describe, and under which assumption the intervals hold."""
    overall, sample = comparison[experiment].overall, comparison.sample
    if sample.words:
        return f"The values are {sample.words}."
    if not overall.has_intervals:
        return "The truth is complete, so every difference is real." if sample.is_complete else ""
    return f"The intervals take the truth as ideal clusters that were drawn uniformly from all{overall.exception}."


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
    return tabulate_changes("differences", caption, table, [EXPERIMENT], comparison.metrics)


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
        grid = tabulate_changes(f"slices-{number}", f"Slices by {name}", table, table.drawn_keys, comparison.metrics)
        pictures = [
            draw_chart(charts.deltas(comparison, table, metric=m.name), numbers) for m in comparison.metrics[:_FEW]
        ]
        yield SliceSection(name, grid, pictures)
