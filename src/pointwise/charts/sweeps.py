"""Charts of a sweep: what is gained and lost with the threshold."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import altair as alt

from pointwise.charts.style import INK, SERIES, WIDTH, ChartRow, base, compose_row, number_axis, require_rows
from pointwise.columns import HIGH, LOW, Kind
from pointwise.text.values import format_interval, format_metric, name_interval

if TYPE_CHECKING:
    from pointwise.thresholds.sweeping import Choice, Sweep

_SHOWN = ("precision", "recall")
_HEIGHT = 260
_MOST = 400  # thresholds that are drawn


def thresholds(sweep: Sweep, choice: Choice | None = None) -> ChartRow:
    """Draw precision and recall over the threshold, and against each other, with the threshold that was chosen.

    Args:
        sweep: What to draw.
        choice: The threshold to mark, as `Sweep.best` gives it; by default the one with the best first metric that has
            a direction, F1 if there is one.

    Examples:
        >>> import pointwise as pw
        >>> swept = pw.sweep(ideal=[["a", "b"], ["c"]], links=[("a", "b", 0.9), ("b", "c", 0.4)])
        >>> pw.charts.thresholds(swept, swept.best("f1")).title.text
        'Precision and recall at every threshold'
    """
    names = [m.name for m in sweep.metrics]
    shown = [name for name in _SHOWN if name in names] or names[:1]
    choice = choice or sweep.best("f1" if "f1" in names else shown[0])
    rows = _thinned([row for row in sweep.rows if all(row[name] is not None for name in shown)], choice.threshold)
    require_rows(rows, f"{' and '.join(shown)} are undefined at every threshold")
    charts = [_over_threshold(sweep, rows, shown, choice)]
    if len(shown) == len(_SHOWN):
        charts.append(_against_each_other(rows, choice))
    told = ", ".join(f"{name} {format_metric(choice[name])}" for name in shown)
    return compose_row(
        charts,
        title=f"{' and '.join(shown).capitalize()} at every threshold",
        subtitle=f"chosen: {choice.threshold:g}, with {told}",
        description=f"Lines over {len(rows)} thresholds from {rows[0]['threshold']:g} to {rows[-1]['threshold']:g}. At "
        f"the chosen threshold {choice.threshold:g}: {told}.",
    )


def _thinned(rows: list[dict[str, Any]], chosen: float) -> list[dict[str, Any]]:
    """Keep as many thresholds as fit a picture, and the chosen one."""
    step = -(-len(rows) // _MOST)
    return [row for n, row in enumerate(rows) if n % step == 0 or row["threshold"] == chosen] if step > 1 else rows


def _over_threshold(sweep: Sweep, rows: list[dict[str, Any]], names: list[str], choice: Choice) -> Any:
    points = [_point(row, name) for row in rows for name in names]
    x = alt.X("threshold:Q", title="threshold", axis=number_axis(6), scale=alt.Scale(zero=False, nice=False))
    y = alt.Y("value:Q", title=None, axis=number_axis(5), scale=alt.Scale(zero=False, padding=8))
    scale = alt.Scale(domain=names, range=list(SERIES[: len(names)]))
    color = alt.Color("metric:N", scale=scale, legend=alt.Legend(title=None, orient="bottom", columnPadding=30))
    tips = {"at": "threshold", "metric": "metric", "told": "value", "between": name_interval(sweep.table.confidence)}
    layers = [
        base(points).mark_area(opacity=0.15).encode(x=x, y=alt.Y("low:Q"), y2="high:Q", color=color),
        base(points).mark_line(strokeWidth=2).encode(x=x, y=y, color=color),
        base(points, tips).mark_circle(size=30, opacity=1).encode(x=x, y=y, color=color),
        base([{"threshold": choice.threshold}]).mark_rule(color=INK, strokeDash=[4, 3]).encode(x=x),
    ]
    return alt.layer(*layers).properties(width=WIDTH // 2, height=_HEIGHT)


def _point(row: dict[str, Any], name: str) -> dict[str, Any]:
    low, high = row.get(name + LOW), row.get(name + HIGH)
    between = format_interval(Kind.METRIC, low, high)
    told = {"at": f"{row['threshold']:g}", "told": format_metric(row[name]), "between": between}
    return {"threshold": row["threshold"], "metric": name, "value": row[name], "low": low, "high": high, **told}


def _against_each_other(rows: list[dict[str, Any]], choice: Choice) -> Any:
    points = [
        {name: row[name] for name in ("threshold", *_SHOWN)}
        | {"at": f"{row['threshold']:g}", "p": format_metric(row["precision"]), "r": format_metric(row["recall"])}
        for row in rows
    ]
    tips = {"at": "threshold", "p": "precision", "r": "recall"}
    scale = alt.Scale(zero=False, padding=8)
    x, y = (alt.X("recall:Q", scale=scale, axis=number_axis(5)), alt.Y("precision:Q", scale=scale, axis=number_axis(5)))
    chosen = [point for point in points if point["threshold"] == choice.threshold]
    layers = [
        base(points).mark_line(strokeWidth=2, color=SERIES[2]).encode(x=x, y=y, order="threshold:Q"),
        base(points, tips).mark_circle(size=30, opacity=1, color=SERIES[2]).encode(x=x, y=y),
        base(chosen, tips).mark_point(size=180, strokeWidth=2.5, color=INK).encode(x=x, y=y),
        base(chosen).mark_text(dy=-16, fontSize=12, color=INK).encode(x=x, y=y, text="at:N"),
    ]
    return alt.layer(*layers).properties(width=WIDTH // 2, height=_HEIGHT)
