"""How clusters break into cells: a flow of weight between ideal and actual clusters, as in the paper's figure 2."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import cycle
from typing import TYPE_CHECKING, Any

import altair as alt
import narwhals.stable.v2 as nw

from pointwise.charts.style import INK, SERIES, WIDTH, LayeredChart, base, compose, require_rows, short_label
from pointwise.columns import ACTUAL, IDEAL, ITEMS, WEIGHT
from pointwise.errors import UsageError
from pointwise.pages.excerpts import costly_clusters
from pointwise.text.values import format_count, format_share, format_weight

if TYPE_CHECKING:
    from pointwise.evaluation import Evaluation

_MOST_CLUSTERS = 8  # on the other side
_MOST_CELLS = 24
_GAP = 0.04  # between clusters, of the whole height
_LEFT, _RIGHT, _THICK = 0.32, 0.68, 0.012
_POINTS = 16

REST = object()
"""Stands for all clusters too small to draw."""


@dataclass(frozen=True)
class Band:
    """A cell: weight that flows from an ideal to an actual cluster."""

    ideal: Any
    actual: Any
    weight: float
    items: int


def flow(evaluation: Evaluation, *, ideal_cluster: Any = None, actual_cluster: Any = None) -> LayeredChart:
    """Draw how a cluster breaks into cells, and what else is in the clusters that it shares them with.

    Args:
        evaluation: Where the cluster is.
        ideal_cluster: An ideal cluster. Without any, the costliest ideal cluster.
        actual_cluster: An actual cluster.

    Examples:
        >>> import pointwise as pw
        >>> evaluation = pw.evaluate(ideal=[["i1", "i2"], ["i3"]], actual=[["i1", "i3"], ["i2"]])
        >>> pw.charts.flow(evaluation, ideal_cluster=0).title.text
        'Where the ideal cluster 0 went'
    """
    if ideal_cluster is not None and actual_cluster is not None:
        raise UsageError("Say what to draw: one of ideal_cluster=... and actual_cluster=....")
    if ideal_cluster is None and actual_cluster is None:
        ideal_cluster = costly_clusters(evaluation, IDEAL, ("recall",)).head(1).to_dicts()[0][IDEAL]
    side, cluster = (IDEAL, ideal_cluster) if actual_cluster is None else (ACTUAL, actual_cluster)
    bands = _bands(evaluation, side, cluster)
    kind = "ideal" if side == IDEAL else "actual"
    return draw_flow(bands, title=f"Where the {kind} cluster {short_label(cluster)} went")


def _bands(evaluation: Evaluation, side: str, cluster: Any) -> list[Band]:
    """Fetch the cells of a cluster, and those of its heaviest counterparts."""
    evidence, other = evaluation.evidence, ACTUAL if side == IDEAL else IDEAL
    is_ideal = side == IDEAL
    found = evaluation.explain(ideal_cluster=cluster) if is_ideal else evaluation.explain(actual_cluster=cluster)
    own = found.cells.head(_MOST_CLUSTERS).to_dicts()
    others = [row[other] for row in own]
    is_near = nw.col(other).is_in(others) & (nw.col(side) != evidence.key(side, cluster))
    near = evidence.cells.filter(is_near).sort(WEIGHT, descending=True).head(_MOST_CELLS)
    rows = [row | {side: cluster} for row in own]
    rows += evidence.engine.collect(near.select(IDEAL, ACTUAL, WEIGHT, ITEMS)).to_pylist()
    bands = [Band(row[IDEAL], row[ACTUAL], row[WEIGHT], row[ITEMS]) for row in rows]
    shown = sum(row[WEIGHT] for row in own)
    if found.weight > shown * (1 + 1e-9) and found.items > sum(row[ITEMS] for row in own):
        rest = (found.weight - shown, found.items - sum(row[ITEMS] for row in own))
        bands.append(Band(cluster, REST, *rest) if side == IDEAL else Band(REST, cluster, *rest))
    return bands


def draw_flow(bands: Sequence[Band], *, title: str) -> LayeredChart:
    """Draw cells as ribbons between ideal clusters on the left and actual clusters on the right."""
    require_rows(bands, "no cells")
    total = sum(band.weight for band in bands)
    ideal = _stack(((b.ideal, b.weight) for b in bands), total)
    actual = _stack(((b.actual, b.weight) for b in bands), total)
    colors = dict(zip(ideal, cycle(SERIES), strict=False))
    nodes = [*_nodes(ideal, "ideal", total), *_nodes(actual, "actual", total)]
    ribbons = [_ribbon(band, ideal, actual, total) for band in _in_order(bands, ideal, actual)]
    described = "; ".join(row["spoken"] for row in ribbons[:_MOST_CELLS])
    height = max(120, 34 * max(len(ideal), len(actual)))
    return compose(
        [*(_area(row, colors[row["ideal"]]) for row in ribbons), _bars(nodes), *_names(nodes)],
        title=title,
        subtitle="ideal clusters on the left, actual clusters on the right; the thickness is the weight",
        description=f"Ribbons from ideal to actual clusters: {described}.",
        height=height,
    )


def _stack(ends: Iterable[tuple[Any, float]], total: float) -> dict[Any, list[float]]:
    """Stack clusters: where each begins and ends, and where its next ribbon starts."""
    weights: dict[Any, float] = {}
    for cluster, weight in ends:
        weights[cluster] = weights.get(cluster, 0.0) + weight
    ordered = sorted(weights, key=lambda c: (c is REST, -weights[c]))
    room = 1 - _GAP * (len(ordered) - 1)
    places, top = {}, 0.0
    for cluster in ordered:
        size = room * weights[cluster] / total
        places[cluster] = [top, top + size, top, weights[cluster]]
        top += size + _GAP
    return places


def _in_order(bands: Sequence[Band], ideal: dict[Any, list[float]], actual: dict[Any, list[float]]) -> list[Band]:
    """Order the ribbons so that they cross as little as their ends allow."""
    return sorted(bands, key=lambda b: (ideal[b.ideal][0], actual[b.actual][0]))


def _ribbon(band: Band, ideal: dict[Any, list[float]], actual: dict[Any, list[float]], total: float) -> dict[str, Any]:
    ends = []
    for places, cluster in ((ideal, band.ideal), (actual, band.actual)):
        place = places[cluster]
        size = (place[1] - place[0]) * band.weight / place[3]
        ends.append((place[2], place[2] + size))
        place[2] += size
    spoken = (
        f"{_name(band.ideal)} to {_name(band.actual)}: weight {format_weight(float(band.weight))}, "
        f"{format_count(band.items, 'item')}, {format_share(band.weight / total)} of what is shown"
    )
    return {"ends": ends, "spoken": spoken, "ideal": band.ideal}


def _name(cluster: Any) -> str:
    return "other clusters" if cluster is REST else short_label(cluster, 22)


def _area(ribbon: dict[str, Any], color: str) -> Any:
    (top, bottom), (right_top, right_bottom) = ribbon["ends"]
    left, right = _LEFT + _THICK, _RIGHT - _THICK
    rows = []
    for n in range(_POINTS + 1):
        t = n / _POINTS
        bend = t * t * (3 - 2 * t)  # level at both ends
        rows.append(
            {
                "x": left + (right - left) * t,
                "y": top + (right_top - top) * bend,
                "y2": bottom + (right_bottom - bottom) * bend,
                "spoken": ribbon["spoken"],
            }
        )
    area = base(rows).mark_area(color=color, opacity=0.45)
    return area.encode(
        x=_across(), y=_down(), y2="y2:Q", tooltip=alt.Tooltip("spoken:N", title="cell"), description="spoken:N"
    )


def _across(field: str = "x") -> Any:
    return alt.X(f"{field}:Q", scale=alt.Scale(domain=[0, 1], nice=False), axis=None)


def _down(field: str = "y") -> Any:
    return alt.Y(f"{field}:Q", scale=alt.Scale(domain=[1, 0], nice=False), axis=None)


def _nodes(places: dict[Any, list[float]], side: str, total: float) -> list[dict[str, Any]]:
    x = _LEFT if side == "ideal" else _RIGHT - _THICK
    return [
        {"name": _name(c), "side": side, "x": x, "x2": x + _THICK, "y": top, "y2": bottom, "middle": (top + bottom) / 2}
        | {"weighs": format_weight(float(weight)), "share": format_share(weight / total)}
        for c, (top, bottom, _, weight) in places.items()
    ]


def _bars(nodes: Sequence[dict[str, Any]]) -> Any:
    tips = {"side": "clustering", "name": "cluster", "weighs": "weight shown", "share": "of what is shown"}
    return base(nodes, tips).mark_rect(color=INK).encode(x=_across(), x2="x2:Q", y=_down(), y2="y2:Q")


def _names(nodes: Sequence[dict[str, Any]]) -> list[Any]:
    layers = []
    for side, x, align in (("ideal", _LEFT - 0.012, "right"), ("actual", _RIGHT + 0.012, "left")):
        rows = [
            {"x": x, "y": node["middle"], "text": f"{node['name']} · {node['weighs']}"}
            for node in nodes
            if node["side"] == side
        ]
        text = base(rows).mark_text(align=align, fontSize=12, color=INK, limit=int(WIDTH * (_LEFT - 0.02)))
        layers.append(text.encode(x=_across(), y=_down(), text="text:N"))
    return layers
