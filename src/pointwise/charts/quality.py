"""Charts of one evaluation: how good it is, for whom, and what it is based on."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import altair as alt
import narwhals.stable.v2 as nw

from pointwise.answers.costs import COST_RATES
from pointwise.answers.mistake import Mistake
from pointwise.answers.mistakes import Mistakes
from pointwise.answers.tables import MetricTable
from pointwise.charts.style import (
    ACTUAL_COLOR,
    IDEAL_COLOR,
    INK,
    OTHER_COLOR,
    ROW,
    SERIES,
    SHARED_COLOR,
    WIDTH,
    ChartRow,
    LayeredChart,
    base,
    compose,
    compose_row,
    number_axis,
    require_rows,
    short_label,
)
from pointwise.columns import ACTUAL, COST, HIGH, IDEAL, ITEMS, LOW, WEIGHT, Kind
from pointwise.core.metrics import Metric, find_metrics, name_of
from pointwise.pages.excerpts import bin_weights, costly_clusters
from pointwise.text.values import (
    SHOWN_ROWS,
    format_count,
    format_interval,
    format_key,
    format_metric,
    format_share,
    format_weight,
    name_interval,
)

if TYPE_CHECKING:
    from pointwise.core.coverage import Coverage
    from pointwise.diffs.changes import Change, Changes
    from pointwise.evaluation import Evaluation

_MOST_CLUSTERS = 300
_HEIGHT = 300
_LEAST_SIZE, _LARGEST_SIZE = 12, 900  # square pixels around a bubble
_LINE = 16

_COLUMNS = {"ideal": IDEAL, "actual": ACTUAL}


def distribution(evaluation: Evaluation, *, metrics: Sequence[str] = ("precision", "recall")) -> ChartRow:
    """Draw how the weight spreads over the items' values of some metrics; the best value is a bar of its own.

    Examples:
        >>> import pointwise as pw
        >>> evaluation = pw.evaluate(ideal=[["i1", "i2"], ["i3"]], actual=[["i1", "i3"], ["i2"]])
        >>> pw.charts.distribution(evaluation, metrics=["recall"]).title.text
        "How the weight spreads over items' recall"
    """
    charts = [_histogram(evaluation, name, n) for n, name in enumerate(metrics)]
    names = " and ".join(metrics)
    described = f"Histograms of the items' {names}; the height of a bar is its share of the weight."
    return compose_row(charts, title=f"How the weight spreads over items' {names}", description=described)


def _histogram(evaluation: Evaluation, name: str, number: int) -> Any:
    (metric,) = find_metrics(name)
    rows = bin_weights(evaluation.evidence, metric)
    require_rows(rows, f"{name} is undefined for every item")
    total = sum(row[WEIGHT] for row in rows)
    low, high = metric.range
    step = (high - low) / 20
    for row in rows:
        is_top = row["low"] == row["high"]
        row["end"] = row["high"] + step if is_top else row["high"]
        row["share"] = row[WEIGHT] / total
        row["range"] = f"exactly {high:g}" if is_top else f"{row['low']:.2f} to under {row['high']:.2f}"
        row["told"], row["count"] = format_share(row["share"]), f"{row[ITEMS]:,}"
        row["weighs"] = format_weight(row[WEIGHT])
    tips = {"range": name, "told": "share of the weight", "weighs": "weight", "count": "items"}
    bars = base(rows, tips).mark_rect(color=SERIES[number % len(SERIES)], stroke=INK, strokeWidth=0.5)
    x_axis = alt.Axis(values=[low, (low + high) / 2, high], format=".1f", grid=False)
    x_scale = alt.Scale(domain=[low, high + step], nice=False)
    title = "share of the weight" if number == 0 else None
    drawn = bars.encode(
        x=alt.X("low:Q", title=name, axis=x_axis, scale=x_scale),
        x2="end:Q",
        y=alt.Y("share:Q", title=title, axis=number_axis(5, format="%"), scale=alt.Scale(domain=[0, 1])),
        y2=alt.datum(0),
    )
    return drawn.properties(width=WIDTH // 2 - 30, height=150)


def clusters(evaluation: Evaluation, *, side: str = "ideal", limit: int = SHOWN_ROWS) -> LayeredChart:
    """Draw clusters as bubbles, precision against recall, area by weight; the costliest are named.

    Args:
        evaluation: Where the clusters are.
        side: "ideal" or "actual".
        limit: How many clusters to name.

    Examples:
        >>> import pointwise as pw
        >>> evaluation = pw.evaluate(ideal=[["i1", "i2"], ["i3"]], actual=[["i1", "i3"], ["i2"]])
        >>> pw.charts.clusters(evaluation).title.text
        'The ideal clusters: precision against recall'
    """
    column = _COLUMNS[side]
    table = costly_clusters(evaluation, column, ("precision", "recall"))
    if evaluation.evidence.has_empty:  # a cluster without one of the two cannot be drawn
        table = replace(table, frame=table.frame.filter(*(~nw.col(m).is_null() for m in ("precision", "recall"))))
    total, found = len(table), table.head(_MOST_CLUSTERS).to_dicts()
    heaviest = max((row[WEIGHT] for row in found), default=1.0)
    rows = [_bubble(row, column, heaviest) for row in found]
    tips = {"name": f"{side} cluster", "p": "precision", "r": "recall", "weighs": "weight", "count": "items"}
    tips["costs"] = f"adds to the {COST_RATES[column].replace('_', '-').replace('-rate', ' rate')}"
    least = {name: _floor(row[name] for row in rows) for name in ("recall", "precision")}
    scale = {name: alt.Scale(domain=[floor, 1], nice=False, padding=16) for name, floor in least.items()}
    x = alt.X("recall:Q", scale=scale["recall"], axis=number_axis(10))
    y = alt.Y("precision:Q", scale=scale["precision"], axis=number_axis(5))
    names = _place_names(rows, least, limit)
    color = IDEAL_COLOR if side == "ideal" else ACTUAL_COLOR
    bubbles = base(rows, tips).mark_circle(color=color, opacity=0.55, stroke=color, strokeWidth=1)
    bubbles = bubbles.encode(x=x, y=y, size=alt.Size("size:Q", scale=None, legend=None))
    labels = [
        base([name])
        .mark_text(dy=name["dy"], align=name["align"], fontSize=12, color=INK)
        .encode(x=x, y=y, text="name:N")
        for name in names
    ]
    shown = (
        f"{len(rows):,} of {total:,} {side} clusters: those that cost most"
        if total > len(rows)
        else format_count(total, f"{side} cluster")
    )
    return compose(
        [bubbles, *labels],
        title=f"The {side} clusters: precision against recall",
        subtitle=f"{shown}; the area is the weight",
        description=f"A bubble for each of {shown}. Top right is perfect. {_worst_in_words(names)}",
        height=_HEIGHT,
    )


def _bubble(row: Mapping[str, Any], column: str, heaviest: float) -> dict[str, Any]:
    told = {"p": format_metric(row["precision"]), "r": format_metric(row["recall"])}
    told |= {"weighs": format_weight(row[WEIGHT]), "count": f"{row[ITEMS]:,}", "costs": format_metric(row[COST])}
    kept = {name: row[name] for name in ("precision", "recall", COST)}
    size = max(_LEAST_SIZE, _LARGEST_SIZE * row[WEIGHT] / heaviest)
    return kept | told | {"name": short_label(row[column], 24), "size": size}


def _floor(values: Iterable[float]) -> float:
    """Choose where an axis begins: as near to perfect as the clusters allow."""
    least = min(values, default=0.0)
    return next(floor for floor in (0.9, 0.5, 0.0) if least >= floor)


def _place_names(rows: Sequence[Mapping[str, Any]], least: Mapping[str, float], limit: int) -> list[dict[str, Any]]:
    """Choose bubbles to name, costliest first, whose names do not overlap."""
    placed: list[dict[str, Any]] = []
    for row in rows:
        if len(placed) == limit or row[COST] <= 0:
            break
        x = WIDTH * _part(row["recall"], least["recall"])
        y = _HEIGHT * (1 - _part(row["precision"], least["precision"]))
        width = 7 * len(row["name"])
        align = "left" if x < width else "right" if x > WIDTH - width else "center"
        left = x - {"left": 0, "center": width / 2, "right": width}[align]
        dy = -(math.sqrt(row["size"]) / 2 + 9)
        name = dict(row) | {"align": align, "dy": dy, "left": left, "right": left + width, "top": y + dy}
        if not any(touch(name, other) for other in placed):
            placed.append(name)
    return placed


def _part(value: float, least: float) -> float:
    return (value - least) / (1 - least)


def touch(a: Mapping[str, Any], b: Mapping[str, Any]) -> bool:
    """Tell whether two lines of text, given by `left`, `right` and `top`, overlap."""
    is_across = a["left"] < b["right"] and b["left"] < a["right"]
    return bool(is_across and abs(a["top"] - b["top"]) < _LINE)


def _worst_in_words(rows: Sequence[Mapping[str, Any]]) -> str:
    if not rows:
        return "No cluster costs anything."
    worst = "; ".join(f"{r['name']} (precision {r['p']}, recall {r['r']})" for r in rows)
    return f"Those that cost most: {worst}."


def coverage(evaluation: Evaluation) -> LayeredChart:
    """Draw how far the truth and the actual clustering share items, as bars of weight.

    Examples:
        >>> import pointwise as pw
        >>> evaluation = pw.evaluate(ideal=[["i1", "i2"], ["i3"]], actual=[["i1", "i3"], ["i2"]])
        >>> pw.charts.coverage(evaluation).title.text
        'What the numbers rest on'
    """
    found = evaluation.coverage
    rows = _coverage_rows(found)
    unit = rows[0]["unit"]
    totals: dict[str, float] = {}
    for row in rows:
        row["start"] = totals.get(row["bar"], 0.0)
        totals[row["bar"]] = row["end"] = row["start"] + row["amount"]
    for row in rows:
        whole = totals[row["bar"]] or 1.0
        row["told"], row["share"] = format_weight(row["amount"]), format_share(row["amount"] / whole)
    tips = {"bar": "bar", "part": "part", "told": unit, "share": "share of the bar"}
    domain = ["in both", "missing", "outside the truth"]
    color = alt.Color(
        "part:N",
        scale=alt.Scale(domain=domain, range=[SHARED_COLOR, ACTUAL_COLOR, OTHER_COLOR]),
        legend=alt.Legend(title=None, orient="bottom", columns=3, columnPadding=30),
    )
    y = alt.Y("bar:N", title=None, sort=None, axis=alt.Axis(labelLimit=220, ticks=False, domain=False))
    bars = base([r for r in rows if r["amount"] > 0], tips).mark_bar(size=20)
    words = "; ".join(f"{r['bar']}, {r['part']}: {r['told']} ({r['share']})" for r in rows)
    return compose(
        [bars.encode(x=alt.X("start:Q", title=unit, axis=number_axis(5, format="~s")), x2="end:Q", y=y, color=color)],
        title="What the numbers rest on",
        description=f"Bars of {unit}. {words}.",
        height=70,
        width=WIDTH - 100,
    )


def _coverage_rows(found: Coverage) -> list[dict[str, Any]]:
    weighed = found.missing_weight is not None and found.outside_weight is not None
    unit = "weight" if weighed else "items"
    common, missing, outside = (float(getattr(found, f"{part}_{unit}")) for part in ("common", "missing", "outside"))
    truth, touched = "ideal clusters", "actual clusters touched"
    return [
        {"bar": truth, "part": "in both", "amount": common, "unit": unit},
        {"bar": truth, "part": "missing", "amount": missing, "unit": unit},
        {"bar": touched, "part": "in both", "amount": common, "unit": unit},
        {"bar": touched, "part": "outside the truth", "amount": outside, "unit": unit},
    ]


def mistakes(evaluation: Evaluation, limit: int = SHOWN_ROWS, *, found: Mistakes | None = None) -> LayeredChart:
    """Draw the costliest mistakes as a ranked bar chart, with all others together.

    Args:
        evaluation: Where the mistakes are.
        limit: How many to draw.
        found: The mistakes, where they are known already.

    Examples:
        >>> import pointwise as pw
        >>> evaluation = pw.evaluate(ideal=[["i1", "i2"], ["i3"]], actual=[["i1", "i3"], ["i2"]])
        >>> pw.charts.mistakes(evaluation).title.text
        'What costs most'
    """
    listed = evaluation.mistakes(limit) if found is None else found
    rows = [_mistake_row(m, number) for number, m in enumerate(listed[:limit], start=1)]
    require_rows(rows, "there are no mistakes")
    return _costs(rows, ("wrong split", "wrong merge"), listed.rates)


def changes(found: Changes, limit: int = SHOWN_ROWS) -> LayeredChart:
    """Draw the costliest changes of a diff as a ranked bar chart.

    Args:
        found: The changes.
        limit: How many to draw.

    Examples:
        >>> import pointwise as pw
        >>> change = pw.diff(baseline=[["i1", "i3"], ["i2"]], experiment=[["i1", "i2"], ["i3"]])
        >>> pw.charts.changes(change.changes()).title.text
        'What costs most'
    """
    rows = [_change_row(change, number) for number, change in enumerate(found[:limit], start=1)]
    require_rows(rows, "nothing changed")
    return _costs(rows, ("split", "merge"), found.rates)


def _costs(rows: Sequence[Mapping[str, Any]], kinds: Sequence[str], rates: Mapping[str, float]) -> LayeredChart:
    """Draw bars of two kinds, the costliest first."""
    tips = {"told": "what happened", "costs": "cost", "share": "share of its rate"}
    color = alt.Color(
        "kind:N",
        scale=alt.Scale(domain=list(kinds), range=[IDEAL_COLOR, ACTUAL_COLOR]),
        legend=alt.Legend(title=None, orient="bottom", columnPadding=30),
    )
    y = alt.Y("name:N", sort=None, title=None, axis=alt.Axis(ticks=False, domain=False, labelLimit=260))
    bars = base(rows, tips).mark_bar(size=14).encode(x=alt.X("cost:Q", axis=number_axis(5)), y=y, color=color)
    parts = " and ".join(f"{name.replace('_', ' ')} {format_metric(value)}" for name, value in rates.items())
    return compose(
        [bars],
        title="What costs most",
        subtitle=f"parts of {parts}",
        description="Bars of cost, costliest first: "
        + "; ".join(f"{r['told']}, cost {r['costs']}" for r in rows)
        + ".",
        height=ROW * len(rows),
        width=WIDTH - 220,
    )


def _mistake_row(mistake: Mistake, number: int) -> dict[str, Any]:
    kind, side = ("wrong split" if mistake.is_split else "wrong merge"), mistake.side
    return _cost_row(mistake, f"{number}. {side} {short_label(mistake.cluster, 24)}", kind)


def _change_row(change: Change, number: int) -> dict[str, Any]:
    side = "baseline" if change.kind == "split" else "experiment"
    return _cost_row(change, f"{number}. {side} {short_label(change.cluster, 24)}", change.kind)


def _cost_row(what: Mistake | Change, name: str, kind: str) -> dict[str, Any]:
    told = {"told": short_label(what, 300), "costs": format_metric(what.cost), "share": format_share(what.share)}
    return told | {"name": name, "kind": kind, "cost": what.cost}


def slices(
    evaluation: Evaluation, spec: Any, *, metric: str | Metric | None = None, limit: int = SHOWN_ROWS
) -> LayeredChart:
    """Draw slices as dots with intervals, the overall value as a dashed line.

    Args:
        evaluation: What to slice.
        spec: What to slice by, as for `by_slice`; or a table that `by_slice` gave.
        metric: What to draw; by default the metric of the evaluation that varies most.
        limit: How many slices to draw: the heaviest.

    Examples:
        >>> import pointwise as pw
        >>> evaluation = pw.evaluate(ideal=[["i1", "i2"], ["i3"]], actual=[["i1", "i3"], ["i2"]])
        >>> pw.charts.slices(evaluation, "ideal_cluster_size", metric="recall").title.text
        'Recall by ideal cluster size'
    """
    table = spec if isinstance(spec, MetricTable) else evaluation.by_slice(spec)
    total, found = len(table), table.head(limit).to_dicts()
    name = name_of(metric) if metric else _most_varied([m.name for m in evaluation.metrics], found)
    rows = [_slice_row(row, table.drawn_keys, name) for row in found]
    what = ", ".join(table.drawn_keys).replace("_", " ")
    shown = f"the {len(rows)} heaviest of {total:,} slices; " if total > len(rows) else ""
    return dots(
        rows,
        metric=name,
        title=f"{name.replace('_', ' ').capitalize()} by {short_label(what, 60)}",
        subtitle=f"{shown}dashed: all items together",
        reference=evaluation.overall.values.get(name),
        confidence=table.confidence,
    )


def _most_varied(names: Sequence[str], rows: Sequence[Mapping[str, Any]]) -> str:
    def spread(name: str) -> float:
        values = [row[name] for row in rows if row[name] is not None]
        return max(values) - min(values) if values else -1.0

    return max(names[:2], key=spread)


def _slice_row(row: Mapping[str, Any], keys: Sequence[str], metric: str) -> dict[str, Any]:
    return {
        "name": name_slice(row, keys),
        "value": row[metric],
        "low": row.get(metric + LOW),
        "high": row.get(metric + HIGH),
        "weighs": format_weight(row[WEIGHT]),
        "count": f"{row[ITEMS]:,}",
    }


def name_slice(row: Mapping[str, Any], keys: Sequence[str]) -> str:
    """Write the values that make a slice as one short name."""
    return short_label(", ".join(short_label(format_key(row[key])) for key in keys), 28)


def dots(
    rows: Sequence[Mapping[str, Any]],
    *,
    metric: str,
    title: str,
    confidence: float,
    subtitle: str = "",
    reference: float | None = None,
    reference_name: str = "overall",
) -> LayeredChart:
    """Draw values as dots with intervals, one line per name.

    Args:
        rows: Each with `name`, `value`, and where known `low` and `high`; further text fields `weighs` and `count`.
        metric: What the values are.
        title: Above the chart.
        confidence: How often the intervals should contain the true value.
        subtitle: Below the title.
        reference: A value to compare all with, drawn as a line.
        reference_name: What that value is.

    Examples:
        >>> import pointwise as pw
        >>> rows = [{"name": "old", "value": 0.5, "low": 0.4, "high": 0.6}, {"name": "new", "value": 0.9}]
        >>> pw.charts.dots(rows, metric="recall", title="Recall of two releases", confidence=0.95).title.text
        'Recall of two releases'
    """
    drawn = [row for row in rows if row["value"] is not None]
    require_rows(drawn, f"no value of {metric}")
    told = [
        dict(row)
        | {
            "told": format_metric(row["value"]),
            "between": format_interval(Kind.METRIC, row.get("low"), row.get("high")),
            "low": row.get("low") if row.get("low") is not None else row["value"],
            "high": row.get("high") if row.get("high") is not None else row["value"],
        }
        for row in drawn
    ]
    tips = {"name": "slice", "told": metric, "between": name_interval(confidence), "weighs": "weight", "count": "items"}
    y = alt.Y("name:N", sort=None, title=None, axis=alt.Axis(grid=True, ticks=False, domain=False))
    zero = alt.Scale(zero=False, nice=False, padding=12)
    rules = base(told).mark_rule(color=IDEAL_COLOR, strokeWidth=2)
    points = base(told, tips).mark_circle(color=IDEAL_COLOR, size=70, opacity=1)
    layers = [
        rules.encode(x=alt.X("low:Q", title=metric, scale=zero, axis=number_axis(6)), x2="high:Q", y=y),
        points.encode(x=alt.X("value:Q", scale=zero), y=y),
    ]
    if reference is not None:
        line = base([{"value": reference}]).mark_rule(color=INK, strokeDash=[4, 3])
        layers.insert(0, line.encode(x="value:Q"))
    words = "; ".join(
        f"{row['name']} {row['told']}{' (' + row['between'] + ')' if row['between'] else ''}" for row in told
    )
    dashed = (
        f" The dashed line is the {reference_name} value, {format_metric(reference)}." if reference is not None else ""
    )
    return compose(
        layers,
        title=title,
        subtitle=subtitle,
        description=f"Dots of {metric}: {words}.{dashed}",
        height=ROW * len(drawn) + 10,
        width=WIDTH - 150,
    )
