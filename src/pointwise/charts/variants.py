"""Charts of a comparison: what changed, for whom, and how far apart clusterings are."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import altair as alt
import numpy as np

from pointwise.answers.tables import MetricTable
from pointwise.charts.quality import name_slice, touch
from pointwise.charts.scaling import scale_down
from pointwise.charts.style import (
    BAD_COLOR,
    GOOD_COLOR,
    IDEAL_COLOR,
    INK,
    OTHER_COLOR,
    ROW,
    SERIES,
    SHADES,
    WIDTH,
    LayeredChart,
    base,
    compose,
    number_axis,
    require_rows,
    short_label,
)
from pointwise.columns import (
    BASELINE,
    BASELINE_VALUE,
    CONTRIBUTION,
    DELTA,
    EXPERIMENT,
    EXPERIMENT_VALUE,
    HIGH,
    IDEAL,
    ITEMS,
    LOW,
    METRIC,
    SHARE,
    SLICE,
    VALUE,
    VERDICT,
    Kind,
    name_part,
)
from pointwise.core.metrics import Metric, name_of
from pointwise.errors import UsageError
from pointwise.store.history import history as list_runs
from pointwise.text.values import (
    SHOWN_ROWS,
    format_count,
    format_interval,
    format_metric,
    format_share,
    format_value,
    listed,
    name_interval,
    short,
)
from pointwise.uncertainty.verdict import BETTER, NOT_CLEAR, WORSE

if TYPE_CHECKING:
    from pointwise.comparison.comparison import Comparison
    from pointwise.comparison.distances import DistanceMatrix

_MOST_VARIANTS = 40
_SQUARE = 320
_MAP = (440, 250)  # pixels


def deltas(
    comparison: Comparison,
    spec: Any,
    *,
    metric: str | Metric | None = None,
    experiment: str | None = None,
    baseline: str | None = None,
    limit: int = SHOWN_ROWS,
) -> LayeredChart:
    """Draw how much a metric changed in every slice, with intervals.

    Args:
        comparison: What to slice.
        spec: What to slice by, as for `by_slice`; or a table that `by_slice` gave.
        metric: What to draw; by default the first metric of the comparison.
        experiment: The variant to look at.
        baseline: What it is measured against.
        limit: How many slices to draw: the heaviest.

    Examples:
        >>> import pointwise as pw
        >>> releases = {"old": [["i1", "i3"], ["i2"]], "new": [["i1", "i2"], ["i3"]]}
        >>> comparison = pw.compare(ideal=[["i1", "i2"], ["i3"]], variants=releases)
        >>> pw.charts.deltas(comparison, "ideal_cluster_size", metric="recall").title.text
        'Change of recall by ideal cluster size'
    """
    name = name_of(metric or comparison.metrics[0])
    table = spec
    if not isinstance(spec, MetricTable):
        table = comparison.by_slice(spec, experiment=experiment, baseline=baseline, metrics=[name])
    found = [row for row in table.to_dicts() if row[METRIC] == name and row[DELTA] is not None]
    require_rows(found, f"no difference of {name}")
    found.sort(key=lambda row: -(row[SHARE] or 0.0))
    keys = table.drawn_keys
    rows = [_delta_row(row, keys) for row in found[:limit]]
    tips = {
        "name": "slice",
        "told": f"change of {name}",
        "between": name_interval(table.confidence),
        "before": "before",
        "after": "after",
    }
    tips |= {"weighs": "share of the weight", "count": "items"}
    y = alt.Y("name:N", sort=None, title=None, axis=alt.Axis(ticks=False, domain=False))
    scale = alt.Scale(nice=False, padding=12, zero=True)
    color = _verdict_color()
    rules, points = base(rows).mark_rule(strokeWidth=2), base(rows, tips).mark_circle(size=70, opacity=1)
    axis = number_axis(6, format="+.2~g")
    layers = [
        base([{"x": 0}]).mark_rule(color=INK, strokeDash=[4, 3]).encode(x="x:Q"),
        rules.encode(
            x=alt.X("low:Q", title=f"change of {name}", scale=scale, axis=axis), x2="high:Q", y=y, color=color
        ),
        points.encode(x=alt.X("delta:Q", scale=scale), y=y, color=color),
    ]
    words = "; ".join(f"{r['name']} {r['told']}{' (' + r['between'] + ')' if r['between'] else ''}" for r in rows)
    shown = (
        f"the {len(rows)} heaviest of {len(found):,} slices"
        if len(found) > len(rows)
        else format_count(len(rows), "slice")
    )
    what = ", ".join(keys) if keys != [SLICE, VALUE] else SLICE
    return compose(
        layers,
        title=f"Change of {name.replace('_', ' ')} by {short_label(what.replace('_', ' '), 60)}",
        subtitle=f"{shown}; a change is clear by its p-value, adjusted for their number, if enough clusters changed",
        description=f"Dots of change: {words}.",
        height=ROW * len(rows) + 10,
        width=WIDTH - 150,
    )


_VERDICTS = (BETTER, WORSE, NOT_CLEAR)


def _verdict_color(verdicts: Sequence[str] = _VERDICTS) -> Any:
    colors = dict(zip(_VERDICTS, (GOOD_COLOR, BAD_COLOR, OTHER_COLOR), strict=True))
    scale = alt.Scale(domain=list(verdicts), range=[colors[verdict] for verdict in verdicts])
    return alt.Color("verdict:N", scale=scale, legend=alt.Legend(title=None, orient="bottom", columnPadding=30))


def _delta_row(row: Mapping[str, Any], keys: Sequence[str]) -> dict[str, Any]:
    low, high, delta = row.get(DELTA + LOW), row.get(DELTA + HIGH), row[DELTA]
    return {
        "name": name_slice(row, keys),
        "delta": delta,
        "low": delta if low is None else low,
        "high": delta if high is None else high,
        "verdict": row[VERDICT] if row.get(VERDICT) in (BETTER, WORSE) else NOT_CLEAR,
        "told": format_value(Kind.DELTA, delta),
        "between": format_interval(Kind.DELTA, low, high),
        "before": format_value(Kind.METRIC, row[BASELINE_VALUE]),
        "after": format_value(Kind.METRIC, row[EXPERIMENT_VALUE]),
        "weighs": format_share(row[SHARE]),
        "count": f"{row[ITEMS]:,}",
    }


def movers(
    comparison: Comparison,
    *,
    metric: str | Metric | None = None,
    experiment: str | None = None,
    baseline: str | None = None,
    limit: int = SHOWN_ROWS,
) -> LayeredChart:
    """Draw the ideal clusters that gained and lost most, by what they add to the overall change.

    Args:
        comparison: Where the clusters are.
        metric: What to draw; by default the first metric of the comparison.
        experiment: The variant to look at.
        baseline: What it is measured against.
        limit: How many to draw of each.

    Examples:
        >>> import pointwise as pw
        >>> releases = {"old": [["i1", "i3"], ["i2"]], "new": [["i1", "i2"], ["i3"]]}
        >>> comparison = pw.compare(ideal=[["i1", "i2"], ["i3"]], variants=releases)
        >>> pw.charts.movers(comparison).title.text
        'Who moved the precision'
    """
    name = name_of(metric or comparison.metrics[0])
    pair = {EXPERIMENT: experiment, BASELINE: baseline}
    gains = comparison.gains(name, limit, **pair).to_dicts()
    losses = comparison.losses(name, limit, **pair).to_dicts()
    both = [("better", row) for row in gains] + [("worse", row) for row in reversed(losses)]
    rows = [_mover(kind, row, name) for kind, row in both]
    require_rows(rows, f"no ideal cluster changed its {name}")
    tips = {"name": "ideal cluster", "told": "adds to the change", "own": "its own change"}
    tips |= {"before": "before", "after": "after", "count": "items"}
    bars = base(rows, tips).mark_bar(size=14)
    drawn = bars.encode(
        x=alt.X("x:Q", title=f"adds to the change of {name}", axis=number_axis(6, format="+.2~g")),
        y=alt.Y("name:N", sort=None, title=None, axis=alt.Axis(ticks=False, domain=False)),
        color=_verdict_color(_VERDICTS[:2]),
    )
    words = "; ".join(f"{r['name']} {r['told']}" for r in rows)
    return compose(
        [drawn],
        title=f"Who moved the {name.replace('_', ' ')}",
        subtitle=f"ideal clusters: {len(gains)} that gained most, {len(losses)} that lost most",
        description=f"Bars of what ideal clusters add to the change: {words}.",
        height=ROW * len(rows),
        width=WIDTH - 160,
    )


def _mover(kind: str, row: Mapping[str, Any], metric: str) -> dict[str, Any]:
    contribution, own = row[name_part(metric, CONTRIBUTION)], row[name_part(metric, DELTA)]
    return {
        "name": short_label(row[IDEAL], 26),
        "verdict": kind,
        "x": contribution,
        "told": format_value(Kind.DELTA, contribution),
        "own": "" if own is None else format_value(Kind.DELTA, own),
        "before": format_value(Kind.METRIC, row[name_part(metric, BASELINE)]),
        "after": format_value(Kind.METRIC, row[name_part(metric, EXPERIMENT)]),
        "count": f"{row[ITEMS]:,}",
    }


def history(
    source: Comparison | MetricTable | str | os.PathLike[str], *, metrics: Sequence[str] | None = None
) -> LayeredChart:
    """Draw metrics over time: of a comparison's variants in their order, or of the runs stored below a folder.

    Args:
        source: A comparison, a folder with stored runs, or the table that `history` made of one.
        metrics: What to draw; by default precision and recall where there are, else the first metric.

    Examples:
        >>> import pointwise as pw
        >>> releases = {"old": [["i1", "i3"], ["i2"]], "new": [["i1", "i2"], ["i3"]]}
        >>> comparison = pw.compare(ideal=[["i1", "i2"], ["i3"]], variants=releases)
        >>> pw.charts.history(comparison).title.text
        'Precision and recall over time'
    """
    table = _as_table(source)
    found = [row for row in table.to_dicts() if not row.get("problem")]
    key = table.drawn_keys[0]
    names = list(metrics or _usual(table))
    points = [_point(row, key, name, n) for n, row in enumerate(found) for name in names if row.get(name) is not None]
    require_rows(points, f"no values of {', '.join(names)}")
    order = [short_label(row[key], 24) for row in found]
    x = alt.X("name:N", sort=order, title=None, axis=alt.Axis(labelAngle=-40, labelOverlap=True))
    y = alt.Y("value:Q", title=" and ".join(names), scale=alt.Scale(zero=False, padding=8), axis=number_axis(5))
    scale = alt.Scale(domain=names, range=list(SERIES[: len(names)]))
    color = alt.Color("metric:N", scale=scale, legend=alt.Legend(title=None, orient="bottom", columnPadding=30))
    tips = {
        "name": key,
        "metric": "metric",
        "told": "value",
        "between": name_interval(table.confidence),
        "when": "created",
    }
    layers = [
        base(points).mark_rule(strokeWidth=1.5, opacity=0.6).encode(x=x, y=alt.Y("low:Q"), y2="high:Q", color=color),
        base(points).mark_line(strokeWidth=2).encode(x=x, y=y, color=color, order="number:Q"),
        base(points, tips).mark_circle(size=60, opacity=1).encode(x=x, y=y, color=color),
    ]
    words = "; ".join(f"{p['name']}: {p['metric']} {p['told']}" for p in points)
    return compose(
        layers,
        title=f"{' and '.join(n.replace('_', ' ') for n in names).capitalize()} over time",
        description=f"Lines over {format_count(len(found), 'clustering')}. {words}.",
        height=220,
        width=max(220, min(WIDTH, 60 * len(found))),
    )


def _as_table(source: Any) -> MetricTable:
    if isinstance(source, (str, os.PathLike)):
        return list_runs(source)
    table: MetricTable = source if isinstance(source, MetricTable) else source.by_variant()
    return table


def _usual(table: MetricTable) -> list[str]:
    """Choose precision and recall where there are, else the first metric."""
    values = [column.name for column in table.describe() if column.kind is Kind.METRIC]
    return [name for name in values if name in ("precision", "recall")] or values[:1]


def _point(row: Mapping[str, Any], key: str, metric: str, number: int) -> dict[str, Any]:
    low, high, value = row.get(metric + LOW), row.get(metric + HIGH), row[metric]
    return {
        "name": short_label(row[key], 24),
        "metric": metric,
        "value": value,
        "number": number,
        "low": value if low is None else low,
        "high": value if high is None else high,
        "told": format_metric(value),
        "between": format_interval(Kind.METRIC, low, high),
        "when": row.get("created") or "",
    }


def distances(matrix: DistanceMatrix | Comparison, *, names: Sequence[str] | None = None) -> LayeredChart:
    """Draw how far apart clusterings are, as a heat map.

    Args:
        matrix: What `distance_matrix` gives; or a comparison, for the Jaccard distances of its variants.
        names: The clusterings to draw, in this order; by default all.

    Examples:
        >>> import pointwise as pw
        >>> releases = {"old": [["i1", "i3"], ["i2"]], "new": [["i1", "i2"], ["i3"]]}
        >>> comparison = pw.compare(ideal=[["i1", "i2"], ["i3"]], variants=releases)
        >>> pw.charts.distances(comparison).title.text
        'How far apart the clusterings are'
    """
    values, shown = _square(matrix, names)
    farthest = max(float(values.max()), 1e-12)
    rows = [
        {"one": a, "other": b, "value": values[i, j], "told": format_metric(float(values[i, j]))}
        for i, a in enumerate(shown)
        for j, b in enumerate(shown)
    ]
    tips = {"one": "from", "other": "to", "told": "distance"}
    x = alt.X("other:N", sort=shown, title=None, axis=alt.Axis(labelAngle=-40, ticks=False, domain=False))
    y = alt.Y("one:N", sort=shown, title=None, axis=alt.Axis(ticks=False, domain=False))
    scale = alt.Scale(domain=[0, farthest], range=list(SHADES))
    boxes = base(rows, tips).mark_rect(stroke=INK, strokeWidth=0.3)
    layers = [boxes.encode(x=x, y=y, color=alt.Color("value:Q", scale=scale, legend=None))]
    if len(shown) <= 8:  # noqa: PLR2004  # more numbers than that do not fit
        far, near = ([r for r in rows if (r["value"] > farthest / 2) == is_far] for is_far in (True, False))
        for part, ink in ((far, "#ffffff"), (near, "#1d2328")):
            layers.append(base(part).mark_text(fontSize=11, color=ink).encode(x=x, y=y, text="told:N"))
    size = max(160, min(WIDTH - 100, 44 * len(shown)))
    return compose(
        layers,
        title="How far apart the clusterings are",
        subtitle="0: the same; darker: farther apart",
        description="A heat map of distances: " + "; ".join(_farthest_first(rows)) + ".",
        width=size,
        height=max(120, min(_SQUARE, 28 * len(shown))),
    )


def _farthest_first(rows: Sequence[Mapping[str, Any]], most: int = 10) -> list[str]:
    pairs = [row for row in rows if row["one"] < row["other"]]
    pairs.sort(key=lambda row: -row["value"])
    return [f"{row['one']} and {row['other']} {row['told']}" for row in pairs[:most]]


def distance_map(matrix: DistanceMatrix | Comparison, *, names: Sequence[str] | None = None) -> LayeredChart:
    """Draw clusterings as points on a plane whose distances resemble those between the clusterings.

    A true distance allows such a map (classical multidimensional scaling); the subtitle says how much the plane shows.

    Args:
        matrix: What `distance_matrix` gives; or a comparison, for the Jaccard distances of its variants.
        names: The clusterings to draw; by default all.

    Examples:
        >>> import pointwise as pw
        >>> releases = {"old": [["i1", "i3"], ["i2"]], "new": [["i1", "i2"], ["i3"]]}
        >>> comparison = pw.compare(ideal=[["i1", "i2"], ["i3"]], variants=releases)
        >>> pw.charts.distance_map(comparison).title.text
        'A map of the clusterings'
    """
    values, shown = _square(matrix, names)
    points, kept = scale_down(values)
    width, height = _MAP
    reach = max(float(np.abs(points / [width, height]).max()), 1e-12) * 1.3  # per pixel, the same both ways
    rows = [{"name": name, "x": x, "y": y} for name, (x, y) in zip(shown, points.tolist(), strict=True)]
    x, y = (
        channel(f"{name}:Q", title=None, scale=alt.Scale(domain=[-reach * size, reach * size], nice=False), axis=axis)
        for channel, name, size, axis in (
            (alt.X, "x", width, number_axis(4, format="~g")),
            (alt.Y, "y", height, number_axis(4, format="~g")),
        )
    )
    dots = base(rows, {"name": "clustering"}).mark_circle(size=80, color=IDEAL_COLOR, opacity=0.9).encode(x=x, y=y)
    labels = [
        base([row])
        .mark_text(dx=row["dx"], dy=row["dy"], align=row["align"], fontSize=11, color=INK)
        .encode(x=x, y=y, text="name:N")
        for row in _names_apart(rows, reach)
    ]
    return compose(
        [dots, *labels],
        title="A map of the clusterings",
        subtitle=f"near means alike; the plane shows {format_share(kept)} of the spread",
        description=f"Points for {len(shown)} clusterings, placed so that near ones are alike.",
        width=width,
        height=height,
    )


def _names_apart(rows: Sequence[dict[str, Any]], reach: float) -> list[dict[str, Any]]:
    """Put names beside their points where they overlap no other name or point; in a crowd some stay unnamed."""
    width, height = _MAP
    spots = [((r["x"] / reach + width) / 2, (height - r["y"] / reach) / 2) for r in rows]
    taken: list[dict[str, Any]] = [{"left": x - 5, "right": x + 5, "top": y} for x, y in spots]
    placed = []
    for row, (x, y) in zip(rows, spots, strict=True):
        size = 6.2 * len(row["name"])
        for dx, dy, align in ((9, 0, "left"), (-9, 0, "right"), (0, -17, "center"), (0, 17, "center")):
            left = x + dx - {"left": 0, "right": size, "center": size / 2}[align]
            spot = row | {"dx": dx, "dy": dy, "align": align, "left": left, "right": left + size, "top": y + dy}
            if left > 0 and left + size < width and not any(touch(spot, other) for other in taken):
                placed.append(spot)
                taken.append(spot)
                break
    return placed


def _square(given: DistanceMatrix | Comparison, names: Sequence[str] | None) -> tuple[Any, list[str]]:
    matrix = given.distances() if hasattr(given, "distances") else given
    known = list(matrix.names)
    chosen = list(names) if names is not None else known[:_MOST_VARIANTS]
    unknown = [name for name in chosen if name not in known]
    if unknown:
        raise UsageError(f"There is no clustering {short(unknown[0])} in this matrix. It has {listed(known)}.")
    places = [known.index(name) for name in chosen]
    return np.asarray(matrix.values, dtype=float)[np.ix_(places, places)], [short_label(name, 24) for name in chosen]
