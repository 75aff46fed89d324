"""The page of a diff: how much changed, whether that is better, what the changes are, and for whom."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from pointwise import charts
from pointwise.columns import Column, Kind
from pointwise.errors import PointwiseError
from pointwise.inputs.composite import id_columns
from pointwise.pages.details import RecordsDetail
from pointwise.pages.excerpts import hold
from pointwise.pages.facts import Headline, name_source, say_unassigned
from pointwise.pages.grids import Grid, Head, Line, Value, bounded_value, make_grid, share_bar, write
from pointwise.pages.impact import impact_headlines, judged_headlines, say_bounds, summarise_diff
from pointwise.report.evaluation_page import (
    MOST_SLICES,
    MOST_SLICINGS,
    SliceSection,
)
from pointwise.report.pictures import Picture, count_pictures, draw_chart
from pointwise.text.drawing import Drawing
from pointwise.text.values import (
    format_count,
    format_metric,
    format_weight,
    name_interval,
)

if TYPE_CHECKING:
    from pointwise.diffs.changes import Change, Changes
    from pointwise.diffs.diff import Diff
    from pointwise.diffs.estimation import Estimates

MOST_CHANGES = 20


@dataclass(frozen=True)
class DiffPage:
    """Everything that the template of a diff draws."""

    title: str
    summary: str
    warnings: list[str]
    headlines: list[Headline]
    bounds: str
    estimates: Grid | None
    estimates_picture: Picture | None
    estimates_note: str
    changes_note: str
    changes: list[tuple[str, Grid]]
    lineage: Grid
    slices: list[SliceSection]
    inputs: list[tuple[str, str]]
    extent: list[tuple[str, str]]
    definitions: list[tuple[str, str]]


def describe_diff(diff: Diff, estimates: Estimates | None, *, title: str | None = None) -> DiffPage:
    """Gather what the page shows. Nothing in it grows with the data."""
    numbers = count_pictures()
    changes = diff.changes(MOST_CHANGES)
    rows = _estimate_rows(estimates)
    return DiffPage(
        title=title or ("How precise is this clustering?" if diff.is_singletons else "What changed, and is it better?"),
        summary=summarise_diff(diff, estimates),
        warnings=list(estimates.problems) if estimates is not None else [],
        headlines=[*judged_headlines(estimates), *impact_headlines(diff)],
        bounds=say_bounds(diff),
        estimates=_estimate_grid(estimates, rows) if estimates is not None else None,
        estimates_picture=_draw_estimates(estimates, rows, numbers),
        estimates_note=_say_estimates(estimates),
        changes_note=_say_changes(changes),
        changes=list(_change_grids(changes)),
        lineage=_lineage(diff),
        slices=list(_slices(diff)),
        inputs=list(_describe_inputs(diff)),
        extent=list(_describe_extent(diff)),
        definitions=[*_impact_definitions(diff), *((row["metric"], row["meaning"]) for row in rows)],
    )


def _estimate_rows(estimates: Estimates | None) -> list[dict[str, Any]]:
    return [] if estimates is None else [row for row in estimates.to_dicts() if row["slice"] == "overall"]


def _estimate_grid(estimates: Estimates, rows: list[dict[str, Any]]) -> Grid:
    columns = [
        Column("metric"),
        Column("value", Kind.METRIC, "low", "high"),
        Column("low", Kind.END),
        Column("high", Kind.END),
        Column("questions", Kind.COUNT),
        Column("meaning"),
    ]
    named = [row | {"metric": row["metric"].replace("_", " ")} for row in rows]
    caption = f"Estimates with {name_interval(estimates.confidence)}s"
    return make_grid("estimates-all", caption, Drawing("", columns, named))


def _draw_estimates(estimates: Estimates | None, rows: list[dict[str, Any]], numbers: Iterator[int]) -> Picture | None:
    """Draw the good and bad parts of the two rates, with intervals."""
    told = [row | {"name": row["metric"].replace("_", " ")} for row in rows if row["metric"] in _DRAWN]
    if estimates is None or not any(row["value"] is not None for row in told):
        return None
    chart = charts.dots(
        told,
        metric="rate",
        title="What the change consists of",
        subtitle=f"estimates with {name_interval(estimates.confidence)}s",
        confidence=estimates.confidence,
    )
    return draw_chart(chart, numbers)


_DRAWN = ("good_split_rate", "bad_split_rate", "good_merge_rate", "bad_merge_rate", "delta_precision")


def _say_estimates(estimates: Estimates | None) -> str:
    if estimates is None:
        return "Nobody was asked yet: pointwise judge sample draws questions, and pointwise judge ask asks them."
    alpha = estimates.agreement.alpha
    agreed = f" Krippendorff's alpha of the judges is {alpha:.3f}." if alpha is not None else ""
    lacking = sorted({e.reason for e in estimates.overall.values() if e.reason})
    reasons = "".join(f" No estimate where there is {reason}." for reason in lacking)
    return (
        f"{estimates.answered:,} of {format_count(estimates.questions, 'question')} are answered. Pairs were drawn in "
        f"proportion to what they weigh.{agreed}{reasons}"
    )


def _say_changes(changes: Changes) -> str:
    if not len(changes):
        return "There are none: the two clusterings are the same on these items."
    return "A cost is a part of the split rate or of the merge rate: all costs add up to the two rates."


def _change_grids(changes: Changes) -> Iterator[tuple[str, Grid]]:
    for kind, heading in (("split", "Splits"), ("merge", "Merges")):
        own, rate = [change for change in changes if change.kind == kind], f"{kind}_rate"
        if not own:
            continue
        columns = [
            Head("what happened"),
            Head("cost", f"how much of the {kind} rate this change makes up", is_number=True),
            Head("of the rate", f"the cost as a share of the {kind} rate", is_number=True),
        ]
        number, cost = changes.rest.get(rate, (0, 0.0))
        note = f"{number:,} more cost {format_metric(cost)} together." if number else ""
        caption = f"{heading}: these make up the {kind} rate"
        grid = Grid(f"{kind}s", caption, columns, [_change_line(change) for change in own], note)
        yield f"{caption} of {format_metric(changes.rates[rate])}", grid


_LONG = 400


def _change_line(change: Change) -> Line:
    text = str(change)
    told = text if len(text) <= _LONG else text[: _LONG - 1] + "…"
    values = [
        Value(told),
        Value(format_metric(change.cost), change.cost),
        share_bar(change.share),
    ]
    return Line(values, _records(change))


_MOST_ATTRIBUTES = 8


def _records(change: Change) -> RecordsDetail | None:
    """List what is known about the example items of both parts."""
    names = list(dict.fromkeys(name for record in change.records.values() for name in record))[:_MOST_ATTRIBUTES]
    if not names:
        return None
    side = "experiment" if change.kind == "split" else "baseline"
    rows = [
        [
            *(write(Kind.TEXT, own) for own in id_columns(item).values()),
            write(Kind.TEXT, part.cluster),
            *(write(Kind.TEXT, known.get(n)) for n in names),
        ]
        for part in (change.first, change.second)
        for item in part.examples
        if (known := change.records.get(item)) is not None
    ]
    ids = list(id_columns(next(iter(change.records))))
    return RecordsDetail(bounded_value(change.cluster).text, [*ids, f"{side} cluster", *names], rows)


def _lineage(diff: Diff) -> Grid:
    return make_grid("lineage", "What became of the clusters", diff.lineage().drawing())


def _slices(diff: Diff) -> Iterator[SliceSection]:
    for number, spec in enumerate(diff.options.slices[:MOST_SLICINGS]):
        try:
            table = hold(diff.by_slice(spec))
        except PointwiseError:
            continue  # a stored diff may lack the column
        total, rows = len(table), table.head(MOST_SLICES).to_dicts()
        note = f"{len(rows):,} of {total:,} slices, the heaviest first." if total > len(rows) else ""
        drawing = replace(table.drawing(), rows=rows, note=note)
        grid = make_grid(f"slices-{number}", table.title, drawing)
        yield SliceSection(bounded_value(", ".join(table.drawn_keys)).text, grid, [])


def _describe_inputs(diff: Diff) -> Iterator[tuple[str, str]]:
    for role, source in diff.sources.items():
        is_alone = diff.is_singletons and role.startswith("experiment")
        yield role, "every item alone" if is_alone else bounded_value(name_source(source)).text
    yield "weight of an item", diff.options.weight or ("from the weights table" if "weights" in diff.sources else "1")
    yield "items without a cluster", say_unassigned(diff.options)


def _describe_extent(diff: Diff) -> Iterator[tuple[str, str]]:
    extent = diff.extent
    yield "items in both", f"{extent.common_items:,}"
    yield "items that only the baseline has", f"{extent.baseline_only:,}"
    yield "items that only the experiment has", f"{extent.experiment_only:,}"
    yield (
        "these",
        "are left out" if extent.on == "common" else "are alone where they are missing",
    )
    yield "items looked at", f"{diff.overall.items:,}, weight {format_weight(diff.overall.weight)}"


def _impact_definitions(diff: Diff) -> Iterator[tuple[str, str]]:
    for metric in diff.metrics:
        yield metric.name, f"{metric.summary}: {metric.text}"
