"""How all charts look: one palette, readable on white and on black, and one way to put a chart together."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import altair as alt

from pointwise.errors import UsageError
from pointwise.text.values import format_key

INK = "#7a7a7a"
"""Text and axes: readable on white and on black. The report replaces it by the page's own text colour."""

PAPER = ("#ffffff", "#15181c")
"""The backgrounds that colours must stand out from: a light page and a dark one."""

IDEAL_COLOR = "#3a80c2"
ACTUAL_COLOR = "#cf6a0a"
SHARED_COLOR = "#2e9277"
OTHER_COLOR = "#8a8a8a"

GOOD_COLOR, BAD_COLOR = IDEAL_COLOR, ACTUAL_COLOR
"""Blue and orange can be told apart by people with red-green colour blindness."""

SERIES = (IDEAL_COLOR, ACTUAL_COLOR, SHARED_COLOR, "#b05aa5", OTHER_COLOR)

SHADES = ("#f2f6fa", "#1f5f99")
"""From near to far, for a heat map; text on it changes colour half way."""

WIDTH = 560
ROW = 22
LABEL_WIDTH = 190

_FONT = "Arial, Liberation Sans, Helvetica, sans-serif"  # with known widths, so that labels drawn elsewhere fit


class OfflineChart:
    """Makes `save` embed everything that an HTML file needs."""

    def save(self, fp: Any, *args: Any, inline: bool = True, **options: Any) -> None:
        """Save to a file that ends in .html, .svg, .png, .pdf or .json; an HTML file needs no network."""
        if str(fp).endswith(".html") or options.get("format") == "html":
            options["inline"] = inline
        super().save(fp, *args, **options)  # type: ignore[misc]


class LayeredChart(OfflineChart, alt.LayerChart):  # type: ignore[misc]
    """Marks above one another."""


class ChartRow(OfflineChart, alt.HConcatChart):  # type: ignore[misc]
    """Charts side by side."""


def compose(
    layers: Sequence[Any], *, title: str, description: str, subtitle: str = "", width: int = WIDTH, height: int
) -> LayeredChart:
    """Lay marks over one another as one chart with its title and a description for those who cannot see it."""
    look = _look(title, subtitle, description)
    return LayeredChart(layer=list(layers), width=width, height=height, **look)


def compose_row(charts: Sequence[Any], *, title: str, description: str, subtitle: str = "") -> ChartRow:
    """Put charts side by side under one title."""
    return ChartRow(hconcat=list(charts), **_look(title, subtitle, description))


def _look(title: str, subtitle: str, description: str) -> dict[str, Any]:
    heading = alt.TitleParams(text=title, subtitle=subtitle) if subtitle else alt.TitleParams(text=title)
    return {"title": heading, "description": description, "config": _CONFIG}


_CONFIG = alt.Config(
    background="transparent",
    font=_FONT,
    padding=4,
    view=alt.ViewConfig(stroke=None),
    axis=alt.AxisConfig(
        labelColor=INK,
        titleColor=INK,
        tickColor=INK,
        domainColor=INK,
        gridColor=INK,
        gridOpacity=0.15,
        labelFontSize=12,
        titleFontSize=12,
        titleFontWeight=500,
        labelLimit=LABEL_WIDTH,
    ),
    legend=alt.LegendConfig(labelColor=INK, titleColor=INK, labelFontSize=12, titleFontSize=12),
    title=alt.TitleConfig(
        color=INK, subtitleColor=INK, anchor="start", fontSize=14, subtitleFontSize=12, fontWeight=600, offset=10
    ),
)


def base(rows: Sequence[Mapping[str, Any]], tips: Mapping[str, str] | None = None) -> Any:
    """Start a chart on rows of data, which travel inside the chart.

    Args:
        rows: The data.
        tips: What a mark shows on hover: the label of each field. The fields hold text for people, which also describes
            the mark to screen readers.
    """
    if not tips:
        return alt.Chart(alt.Data(values=[dict(row) for row in rows]))
    spoken = [dict(row) | {"spoken": _spoken(row, tips)} for row in rows]
    tooltips = [alt.Tooltip(f"{field}:N", title=label) for field, label in tips.items()]
    return alt.Chart(alt.Data(values=spoken)).encode(tooltip=tooltips, description="spoken:N")


def number_axis(count: int = 5, **options: Any) -> Any:
    """Make an axis of numbers that leaves out those that would overlap."""
    return alt.Axis(tickCount=count, labelOverlap=True, labelSeparation=6, labelFlush=False, **options)


def _spoken(row: Mapping[str, Any], tips: Mapping[str, str]) -> str:
    return "; ".join(f"{label}: {row[field]}" for field, label in tips.items() if row.get(field) not in (None, ""))


def require_rows(rows: Sequence[Any], what: str) -> None:
    """Refuse to draw nothing."""
    if not rows:
        raise UsageError(f"There is nothing to draw: {what}.")


def short_label(value: Any, most: int = 32) -> str:
    """Write a name short enough for a label."""
    text = "".join(c if c.isprintable() else "�" for c in format_key(value))
    return text if len(text) <= most else text[: most - 1] + "…"
