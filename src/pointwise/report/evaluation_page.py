"""The page of an evaluation: what was evaluated, how good it is, where it is wrong, and for whom."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from pointwise import charts
from pointwise.answers.breakdown import break_down
from pointwise.answers.mistake import Mistake
from pointwise.answers.mistakes import Mistakes
from pointwise.answers.records import Shown, write_record
from pointwise.columns import ACTUAL, IDEAL, ITEM, Column, Kind
from pointwise.core.metrics import Metric
from pointwise.errors import PointwiseError
from pointwise.inputs.composite import id_columns
from pointwise.pages.details import (
    MOST_ATTRIBUTES,
    MOST_CELLS,
    MOST_CLUSTERS,
    ClusterDetail,
    RecordsDetail,
    describe_cells,
    item_heads,
)
from pointwise.pages.excerpts import costly_clusters, hold
from pointwise.pages.facts import Headline, describe_coverage, describe_inputs, headlines, name_run, say_intervals
from pointwise.pages.grids import Grid, Head, Line, Value, bounded_value, make_grid, share_bar, write
from pointwise.pages.sentences import say_balance, without_parameters
from pointwise.report.pictures import Picture, count_pictures, draw_chart
from pointwise.text.drawing import Drawing
from pointwise.text.values import format_metric

if TYPE_CHECKING:
    from pointwise.evaluation import Evaluation


MOST_SLICES = 100  # rows of one table
MOST_SLICINGS = 12
MOST_MISTAKES = 20

_NAMED = 5  # bubbles of one picture

_SIZE_SLICE = "ideal_cluster_size"


@dataclass(frozen=True)
class SliceSection:
    """The slices of one kind."""

    name: str
    grid: Grid
    pictures: list[Picture]


@dataclass(frozen=True)
class EvaluationPage:
    """Everything that the template of an evaluation draws."""

    title: str
    warnings: list[str]
    inputs: list[tuple[str, str]]
    headlines: list[Headline]
    interval_note: str
    balance: str
    coverage: list[tuple[str, str]]
    coverage_picture: Picture
    mistakes: list[tuple[str, Grid]]
    mistakes_note: str
    slices: list[SliceSection]
    pictures: list[Picture]
    clusters: list[Grid]
    metrics: list[Metric]


def describe_evaluation(evaluation: Evaluation, *, title: str | None = None) -> EvaluationPage:
    """Gather what the page shows. Nothing in it grows with the data."""
    numbers = count_pictures()
    overall = evaluation.overall
    mistakes = evaluation.mistakes(MOST_MISTAKES)
    return EvaluationPage(
        title=title or f"How good is {name_run(evaluation)}?",
        warnings=[without_parameters(warning) for warning in evaluation.warnings],
        inputs=list(describe_inputs(evaluation)),
        headlines=headlines(evaluation),
        interval_note=say_intervals(overall),
        balance=say_balance(overall.values),
        coverage=list(describe_coverage(evaluation)),
        coverage_picture=draw_chart(charts.coverage(evaluation), numbers),
        mistakes=_mistake_grids(mistakes),
        mistakes_note=_rest_in_words(mistakes),
        slices=list(_slices(evaluation, numbers)),
        pictures=[
            draw_chart(charts.distribution(evaluation), numbers),
            draw_chart(charts.clusters(evaluation, side="ideal", limit=_NAMED), numbers),
        ],
        clusters=[_clusters(evaluation, IDEAL), _clusters(evaluation, ACTUAL)],
        metrics=list(evaluation.metrics),
    )


def _mistake_grids(mistakes: Mistakes) -> list[tuple[str, Grid]]:
    kinds = {"under_merge_rate": "Wrong splits", "over_merge_rate": "Wrong merges"}
    found = []
    for rate, heading in kinds.items():
        rows = [m for m in mistakes if (m.kind == "under-merge") == (rate == "under_merge_rate")]
        columns = [
            Head("what happened"),
            Head("cost", f"how much of the {rate} this mistake makes up", is_number=True),
            Head("of the rate", f"the cost as a share of the {rate}", is_number=True),
        ]
        values = [
            Line(
                [Value(_sentence(m)), Value(format_metric(m.cost), m.cost), share_bar(m.share)],
                _records(m, mistakes.shown),
            )
            for m in rows
        ]
        rest = next(r for r in mistakes.rest if r.rate == rate)
        note = f"{rest.count:,} more cost {format_metric(rest.cost)} together." if rest.count else ""
        caption = f"{heading}: these make up the {rate.replace('_', '-', 1).replace('_', ' ')}"
        if rows:
            found.append(
                (f"{caption} of {format_metric(mistakes.rates[rate])}", Grid(rate, caption, columns, values, note))
            )
    return found


def _records(mistake: Mistake, shown: Shown) -> RecordsDetail | None:
    """List what is known about the example items of a mistake, with what differs marked."""
    if not shown.columns:
        return None
    heads = {name: Column(name) for name in shown.columns}
    first = next((example.record for part in mistake.largest for example in part.records), {})
    rows = [
        [
            *(write(Kind.TEXT, part) for part in id_columns(example.item).values()),
            write(Kind.TEXT, part.cluster),
            *(Value(text, text) for text in write_record(example.record, heads, first=first).values()),
        ]
        for part in mistake.largest
        for example in part.records
    ]
    names = next((list(id_columns(example.item)) for part in mistake.largest for example in part.records), [ITEM])
    return RecordsDetail(
        bounded_value(mistake.cluster).text, [*names, f"{mistake.other} cluster", *shown.columns], rows
    )


def _sentence(mistake: Any) -> str:
    text = str(mistake)
    return text if len(text) <= _LONG else text[: _LONG - 1] + "…"


_LONG = 400


def _rest_in_words(mistakes: Mistakes) -> str:
    if not len(mistakes):
        return "There are none: the two clusterings agree on all common items."
    return (
        "A cost is a part of the over-merge rate (1 - precision) or the under-merge rate (1 - recall): all costs add "
        "up to the two rates."
    )


def slice_specs(evaluation: Evaluation) -> list[Any]:
    """List the slices to show: those of the evaluation, and clusters by size."""
    specs = list(evaluation.options.slices)
    return [*specs, *([] if _SIZE_SLICE in specs else [_SIZE_SLICE])][:MOST_SLICINGS]


def _slices(evaluation: Evaluation, numbers: Iterator[int]) -> Iterator[SliceSection]:
    for number, spec in enumerate(slice_specs(evaluation)):
        try:
            table = hold(evaluation.by_slice(spec))
        except PointwiseError:
            continue  # a stored run may lack the column
        total, rows = len(table), table.head(MOST_SLICES).to_dicts()
        note = f"{len(rows):,} of {total:,} slices, the heaviest first." if total > len(rows) else ""
        name = ", ".join(table.drawn_keys)
        drawing = Drawing(table.title, table.describe(), rows, note)
        grid = make_grid(f"slices-{number}", table.title, drawing, is_searchable=total > _SHORT)
        drawn = [charts.slices(evaluation, table, metric=m.name) for m in evaluation.metrics[:2]]
        yield SliceSection(bounded_value(name).text, grid, [draw_chart(chart, numbers) for chart in drawn])


_SHORT = 12


def _attributes(evaluation: Evaluation) -> list[str]:
    """Choose which columns of example items to show: those requested, or the first ones."""
    shown = evaluation.shown
    return list(shown.columns) if shown.is_asked else list(evaluation.evidence.slice_schema)[:MOST_ATTRIBUTES]


def _clusters(evaluation: Evaluation, side: str) -> Grid:
    kind = "ideal" if side == IDEAL else "actual"
    names = [m.name for m in evaluation.metrics]
    table = costly_clusters(evaluation, side, names)
    total, rows = len(table), table.head(MOST_CLUSTERS).to_dicts()
    attributes = _attributes(evaluation)
    keys = [row[side] for row in rows]
    found = break_down(evaluation.evidence, side, keys, cells=MOST_CELLS, columns=attributes)
    ids = evaluation.evidence.ids
    heads = item_heads([found], attributes, ids=ids)
    verb = "It lies in" if side == IDEAL else "Its items come from"
    details = [
        ClusterDetail(
            bounded_value(row[side]).text,
            [describe_cells(found[row[side]], side, attributes, verb=verb, ids=ids)],
            heads,
        )
        for row in rows
    ]
    shown = f"{len(rows):,} of {total:,}" if total > len(rows) else f"all {total:,}"
    note = f"{shown} {kind} clusters, the costliest first. Open a row to see the cells of the cluster."
    title = f"{kind.capitalize()} clusters"
    drawing = Drawing(title, table.describe(), rows, note)
    return make_grid(f"{kind}-clusters", title, drawing, is_searchable=True, details=details)
