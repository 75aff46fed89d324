"""The Venn diagram of the paper's figure 1, with areas in proportion to the weights."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import altair as alt

from pointwise.answers.explanations import Explanation
from pointwise.charts.style import (
    ACTUAL_COLOR,
    IDEAL_COLOR,
    INK,
    LayeredChart,
    base,
    compose,
    short_label,
)
from pointwise.columns import FN, FP, ITEM, TN, TP
from pointwise.errors import UsageError
from pointwise.text.values import format_share, format_weight

if TYPE_CHECKING:
    from pointwise.evaluation import Evaluation

_RADIUS = 80  # of the larger circle, in pixels
_WIDTH, _HEIGHT = 420, 250
_STEPS = 60  # halvings, enough for the precision of a float


@dataclass(frozen=True)
class Circles:
    """Two circles whose areas and overlap are in proportion to three weights."""

    ideal_radius: float
    actual_radius: float
    distance: float  # between the centres


def fit_circles(ideal: float, actual: float, tp: float) -> Circles:
    """Find two circles of given areas that overlap in a given area.

    Args:
        ideal: Area of the first circle.
        actual: Area of the second circle.
        tp: Area of their overlap, at most that of the smaller circle.
    """
    r, s = math.sqrt(ideal / math.pi), math.sqrt(actual / math.pi)
    near, far = abs(r - s), r + s
    if tp >= min(ideal, actual):
        return Circles(r, s, near)
    for _ in range(_STEPS):
        middle = (near + far) / 2
        near, far = (middle, far) if overlap(r, s, middle) > tp else (near, middle)
    return Circles(r, s, (near + far) / 2)


def overlap(r: float, s: float, distance: float) -> float:
    """Return the area that two circles share."""
    if distance >= r + s:
        return 0.0
    if distance <= abs(r - s):
        return math.pi * min(r, s) ** 2
    return _segment(r, s, distance) + _segment(s, r, distance)


def _segment(r: float, s: float, distance: float) -> float:
    """Return the area of the part of circle r that the common chord with circle s cuts off."""
    chord = (distance**2 + r**2 - s**2) / (2 * distance)
    ratio = max(-1.0, min(1.0, chord / r))
    return r**2 * math.acos(ratio) - chord * r * math.sqrt(1 - ratio**2)


@dataclass(frozen=True)
class Sets:
    """What a Venn diagram shows."""

    title: str
    ideal: str
    actual: str
    tp: float
    fp: float
    fn: float
    tn: float


def venn(
    evaluation: Evaluation, *, item: Any = None, ideal_cluster: Any = None, actual_cluster: Any = None
) -> LayeredChart:
    """Draw an item's ideal and actual cluster as circles; their areas and overlap are the weights.

    Args:
        evaluation: Where the item or cluster is.
        item: An item. Its clusters overlap in its true positives.
        ideal_cluster: An ideal cluster, drawn with the actual cluster that holds most of it.
        actual_cluster: An actual cluster, drawn with the ideal cluster that most of it comes from.

    Examples:
        >>> import pointwise as pw
        >>> evaluation = pw.evaluate(ideal=[["i1", "i2"], ["i3"]], actual=[["i1", "i3"], ["i2"]])
        >>> pw.charts.venn(evaluation, item="i1").title.text
        'Item i1'
    """
    found = evaluation.explain(item=item, ideal_cluster=ideal_cluster, actual_cluster=actual_cluster, limit=1)
    return draw_venn(_sets_of(found))


def _sets_of(found: Explanation) -> Sets:
    name = f"{found.subject.replace('_', ' ')} {short_label(found.key)}"
    title = f"Item {short_label(found.key)}" if found.subject == ITEM else f"The {name} and its largest cell"
    weights = (found.matrix[part] for part in (TP, FP, FN, TN))
    return Sets(title, short_label(found.ideal_cluster), short_label(found.actual_cluster), *weights)


def draw_venn(sets: Sets) -> LayeredChart:
    """Draw two circles, and what the parts weigh below them."""
    if not sets.tp > 0:
        raise UsageError("A Venn diagram needs an item in both circles.")
    ideal, actual = sets.tp + sets.fn, sets.tp + sets.fp
    circles = fit_circles(ideal, actual, sets.tp)
    pixels = _RADIUS / max(circles.ideal_radius, circles.actual_radius)
    r, s, distance = (pixels * x for x in (circles.ideal_radius, circles.actual_radius, circles.distance))
    left = (_WIDTH - (r + distance + s)) / 2 + r if distance + s > r else _WIDTH / 2
    centre = _HEIGHT / 2 - 22
    rows = [
        _circle("ideal", sets.ideal, ideal, x=left, y=centre, radius=r),
        _circle("actual", sets.actual, actual, x=left + distance, y=centre, radius=s),
    ]
    layers = [_circles(rows), _names(rows), *_legend(sets)]
    told = (
        f"Two circles: the ideal cluster {sets.ideal} weighs {format_weight(ideal)}, the actual cluster {sets.actual} "
        f"{format_weight(actual)}; they share {format_weight(sets.tp)}."
    )
    subtitle = f"Everything else weighs {format_weight(sets.tn)}"
    return compose(layers, title=sets.title, subtitle=subtitle, description=told, width=_WIDTH, height=_HEIGHT)


def _circle(side: str, name: str, weight: float, *, x: float, y: float, radius: float) -> dict[str, Any]:
    # The size of a mark is the area of the square around it.
    return {"x": x, "y": y, "size": 4 * radius**2, "side": side, "name": name, "told": format_weight(weight)}


def _across() -> Any:
    return alt.X("x:Q", scale=alt.Scale(domain=[0, _WIDTH], nice=False), axis=None)


def _down() -> Any:
    return alt.Y("y:Q", scale=alt.Scale(domain=[_HEIGHT, 0], nice=False), axis=None)


_SIDES = alt.Color(
    "side:N", scale=alt.Scale(domain=["ideal", "actual"], range=[IDEAL_COLOR, ACTUAL_COLOR]), legend=None
)


def _circles(rows: list[dict[str, Any]]) -> Any:
    tips = {"side": "clustering", "name": "cluster", "told": "weight"}
    marks = base(rows, tips).mark_circle(opacity=1, fillOpacity=0.35, strokeWidth=2, strokeOpacity=1)
    return marks.encode(
        x=_across(), y=_down(), color=_SIDES, stroke=_SIDES, size=alt.Size("size:Q", scale=None, legend=None)
    )


def _names(rows: list[dict[str, Any]]) -> Any:
    edges = [
        {"x": 4, "y": 8, "side": "ideal", "text": f"ideal {rows[0]['name']}", "align": "left"},
        {"x": _WIDTH - 4, "y": 8, "side": "actual", "text": f"actual {rows[1]['name']}", "align": "right"},
    ]
    return alt.layer(
        *(
            base([edge])
            .mark_text(align=edge["align"], fontSize=12, fontWeight=600, limit=_WIDTH // 2 - 8)
            .encode(x=_across(), y=_down(), text="text:N", color=_SIDES)
            for edge in edges
        )
    )


def _legend(sets: Sets) -> list[Any]:
    union = sets.tp + sets.fp + sets.fn
    parts = {"only ideal (FN)": sets.fn, "both (TP)": sets.tp, "only actual (FP)": sets.fp}
    rows = [
        {"x": _WIDTH * (2 * n + 1) / 6, "y": y, "text": text}
        for n, (name, weight) in enumerate(parts.items())
        for y, text in (
            (_HEIGHT - 32, name),
            (_HEIGHT - 14, f"{format_weight(weight)} · {format_share(weight / union)}"),
        )
    ]
    return [base(rows).mark_text(fontSize=12, color=INK).encode(x=_across(), y=_down(), text="text:N")]
