"""The page of a comparison: the verdict per metric, what moved, and for whom."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from pointwise import charts
from pointwise.charts.excerpts import break_down
from pointwise.columns import HIGH, IDEAL, ITEMS, LOW, SHARE
from pointwise.core.metrics import Metric
from pointwise.errors import PointwiseError
from pointwise.report.details import (
    MOST_ATTRIBUTES,
    MOST_CELLS,
    MOST_CLUSTERS,
    ClusterDetail,
    describe_cells,
    item_columns,
)
from pointwise.report.evaluation_page import (
    MOST_SLICES,
    SliceSection,
    describe_coverage,
    describe_inputs,
    slice_specs,
)
from pointwise.report.grids import Column, Grid, Row, Value, clip, define, describe_column, make_grid, write
from pointwise.report.pictures import Picture, count_pictures, draw
from pointwise.text.values import format_count, format_difference, format_metric
from pointwise.uncertainty.intervals import name_interval
from pointwise.uncertainty.verdict import BETTER, NOT_CLEAR, SAME, TOO_FEW, WORSE

if TYPE_CHECKING:
    from pointwise.comparison.comparison import Comparison


MOST_VARIANTS = 50  # in a table
MOST_MOVED = 100

_FEW = 2
_MOST_ON_MAP = 20  # every pair of variants is measured
_SHORT = 12


@dataclass(frozen=True)
class Verdict:
    """What a comparison says of one metric."""

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
    verdicts: list[Verdict]
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
    pair = {"experiment": experiment, "baseline": baseline}
    rows = comparison.deltas(**pair).to_dicts()
    verdicts = [_verdict(row, experiment, baseline, comparison.confidence) for row in rows]
    return ComparisonPage(
        title=title or f"Is {clip(experiment).text} better than {clip(baseline).text}?",
        experiment=clip(experiment).text,
        baseline=clip(baseline).text,
        level=f"{100 * (1 - comparison.confidence):.10g}%",
        warnings=list(_warnings(comparison, pair)),
        summary=_summary(verdicts, experiment, baseline),
        verdicts=verdicts,
        overall=_overall(comparison),
        differences=_differences(comparison, baseline) if len(comparison.variants) > _FEW else None,
        pictures=[draw(chart, numbers) for chart in _variant_charts(comparison)],
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
    """Draw how many variants lie to one another; two say it all in the verdicts."""
    number = len(comparison.variants)
    if number > _FEW:
        yield charts.history(comparison)
    if _FEW < number <= _MOST_ON_MAP:
        yield charts.distance_map(comparison)


def _warnings(comparison: Comparison, pair: Mapping[str, str]) -> Iterator[str]:
    yield from comparison.notes
    found: dict[str, list[str]] = {}
    for name in (pair["baseline"], pair["experiment"]):
        for warning in comparison[name].warnings:
            found.setdefault(warning, []).append(clip(name).text)
    for warning, names in found.items():
        yield f"{' and '.join(names)}: {warning}"


def _verdict(row: Mapping[str, Any], experiment: str, baseline: str, confidence: float) -> Verdict:
    metric, low, high = row["metric"], row.get(f"delta{LOW}"), row.get(f"delta{HIGH}")
    word = row.get("verdict", NOT_CLEAR)
    before, after = (write(metric, row[f"{side}_value"]).text for side in ("baseline", "experiment"))
    between = f"{format_difference(low)} to {format_difference(high)}" if low is not None and high is not None else ""
    interval = f"{name_interval(confidence)} {between}" if between else ""
    p, up, down = row.get("p_value"), row["up_clusters"], row["down_clusters"]
    changed = f" {up:,} ideal clusters went up, {down:,} down." if up or down else " No ideal cluster changed."
    chance = "" if p is None or word == TOO_FEW else _say_chance(p)
    sentence = f"{clip(experiment).text} has {after}, {clip(baseline).text} has {before}.{changed}{chance}"
    return Verdict(metric, word, write("delta", row["delta"]).text, interval, sentence)


def _say_chance(p: float) -> str:
    return (
        " If both were equally good on the whole population, a difference at least this large would appear in "
        f"{_often(p)} of samples."
    )


def _often(p: float) -> str:
    return "under 0.1%" if p < 0.001 else f"{p:.1%}"  # noqa: PLR2004


def _summary(verdicts: Sequence[Verdict], experiment: str, baseline: str) -> str:
    """Say in a sentence or two on which metrics the experiment is better, worse or not clearly different."""
    names = {
        word: _listed([verdict.metric.replace("_", " ") for verdict in verdicts if verdict.word == word])
        for word in (BETTER, WORSE, NOT_CLEAR, TOO_FEW, SAME)
    }
    one, other = clip(experiment).text, clip(baseline).text
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


def _overall(comparison: Comparison) -> Grid:
    table = comparison.overall
    total, rows = len(table), table.head(MOST_VARIANTS).to_dicts()
    note = f"{len(rows)} of {total:,} variants." if total > len(rows) else ""
    return make_grid("variants", "All variants", table.columns, rows, note=note, is_searchable=total > _SHORT)


def _differences(comparison: Comparison, baseline: str) -> Grid:
    """Show all variants against one, a row each."""
    rows = comparison.deltas(baseline=baseline).to_dicts()
    return _pivot(
        "differences", f"All variants against {clip(baseline).text}", rows, ["experiment"], comparison.metrics
    )


def _pivot(
    name: str, caption: str, rows: Sequence[Mapping[str, Any]], keys: Sequence[str], metrics: Sequence[Metric]
) -> Grid:
    """Put the differences of all metrics of a slice or a variant into one row."""
    grouped: dict[tuple[Any, ...], dict[str, Mapping[str, Any]]] = {}
    for row in rows:
        grouped.setdefault(tuple(row[key] for key in keys), {})[row["metric"]] = row
    lines = sorted(grouped.values(), key=lambda found: -max(row[SHARE] or 0.0 for row in found.values()))
    firsts = [next(iter(found.values())) for found in lines]
    heads = [describe_column(key, firsts) for key in (*keys, ITEMS, SHARE, "ideal_clusters")]
    heads += [Column(m.name, f"change of {m.name.replace('_', ' ')}", define(m.name), is_number=True) for m in metrics]
    drawn = [
        Row(
            [*(write(head.key, first[head.key]) for head in heads[: len(keys) + 3])]
            + [_change(found.get(m.name)) for m in metrics]
        )
        for found, first in zip(lines[:MOST_SLICES], firsts, strict=False)
    ]
    note = f"{len(drawn)} of {len(lines):,} rows, the heaviest first." if len(lines) > len(drawn) else ""
    return Grid(name, caption, heads, drawn, note, is_searchable=len(lines) > _SHORT)


def _change(row: Mapping[str, Any] | None) -> Value:
    if row is None or row["delta"] is None:
        return Value("–")
    low, high, word = row.get(f"delta{LOW}"), row.get(f"delta{HIGH}"), row.get("verdict", NOT_CLEAR)
    interval = "" if low is None or high is None else f"{format_difference(low)} to {format_difference(high)}"
    tip = f"{_number(row['baseline_value'])} before, {_number(row['experiment_value'])} after"
    tip += f"; {row['up_clusters']:,} clusters up, {row['down_clusters']:,} down"
    if row.get("p_value") is not None:
        tip += f"; p-value {row['p_value']:.2g}, adjusted for the number of tests {row['p_adjusted']:.2g}"
    if word == TOO_FEW:
        tip += "; too few clusters changed to tell, and the interval is rough"
    value = write("delta", row["delta"])
    return replace(value, aside=interval, full=tip, verdict=word if word in (BETTER, WORSE) else "")


def _number(value: float | None) -> str:
    return "–" if value is None else format_metric(value)


def _changes(comparison: Comparison, pair: Mapping[str, str]) -> Grid:
    table = comparison.count_changes(**pair)
    return make_grid("changes", "What happened to the ideal clusters", table.columns, table.to_dicts())


def _movers(comparison: Comparison, pair: Mapping[str, str], numbers: Iterator[int]) -> Iterator[Picture]:
    for metric in comparison.metrics[:_FEW]:
        try:
            chart = charts.movers(
                comparison, metric=metric.name, experiment=pair["experiment"], baseline=pair["baseline"]
            )
        except PointwiseError:
            continue  # nothing moved it
        yield draw(chart, numbers)


def _clusters(comparison: Comparison, pair: Mapping[str, str]) -> Grid:
    table = comparison.changes(**pair)
    total, rows = len(table), table.head(MOST_CLUSTERS).to_dicts()
    before, after = (comparison[pair[side]] for side in ("baseline", "experiment"))
    attributes = list(after.evidence.slice_schema)[:MOST_ATTRIBUTES]
    keys = [row[IDEAL] for row in rows]
    found = [break_down(e, IDEAL, keys, cells=MOST_CELLS, attributes=attributes) for e in (before, after)]
    columns = item_columns(found, attributes)
    verbs = (f"In {clip(pair['baseline']).text} it lies in", f"In {clip(pair['experiment']).text} it lies in")
    details = [
        ClusterDetail(
            clip(key).text,
            [describe_cells(part.get(key), IDEAL, columns, verb=verb) for part, verb in zip(found, verbs, strict=True)],
            columns,
        )
        for key in keys
    ]
    shown = f"{len(rows):,} of {total:,}" if total > len(rows) else f"all {total:,}"
    note = (
        f"{shown} ideal clusters, those with the most moved items first. Open a row to see its cells before and after."
    )
    return make_grid(
        "clusters-changed", "Ideal clusters", table.columns, rows, note=note, is_searchable=True, details=details
    )


def _moved(comparison: Comparison, pair: Mapping[str, str]) -> Grid:
    table = comparison.moved_items(**pair)
    total, rows = len(table), table.head(MOST_MOVED).to_dicts()
    note = f"{len(rows):,} of {total:,} items." if total > len(rows) else f"{format_count(total, 'item')}."
    return make_grid(
        "moved", "Items that left their actual cluster", table.columns, rows, note=note, is_searchable=True
    )


def _slices(comparison: Comparison, pair: Mapping[str, str], numbers: Iterator[int]) -> Iterator[SliceSection]:
    for number, spec in enumerate(slice_specs(comparison[pair["experiment"]])):
        try:
            table = comparison.by_slice(spec, **pair)
        except PointwiseError:
            continue  # a stored run may lack the column
        keys = [c for c in table.columns[: table.columns.index("metric")] if c not in pair]
        name = clip(", ".join(keys)).text
        grid = _pivot(f"slices-{number}", f"Slices by {name}", table.to_drawn_dicts(), keys, comparison.metrics)
        pictures = [draw(charts.deltas(comparison, table, metric=m.name), numbers) for m in comparison.metrics[:_FEW]]
        yield SliceSection(name, grid, pictures)
