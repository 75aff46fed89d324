"""Draw the figures of the page about the paper: `python docs/make_figures.py docs/figures`.

Every number in them is computed here by pointwise. A figure brings its own background, and both follow the reader's
light or dark scheme together, so that it reads on any page.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any
from xml.etree import ElementTree as ET

import pointwise as pw
from pointwise.charts.style import ACTUAL_COLOR, IDEAL_COLOR, SHARED_COLOR

WIDTH = 600
STYLE = (
    """
svg { font: 15px Arial, "Liberation Sans", Helvetica, sans-serif; --paper: #ffffff; --ink: #1d2328; --line: #8a949e; }
@media (prefers-color-scheme: dark) { svg { --paper: #15181c; --ink: #e6e9ec; --line: #75808b; } }
.paper { fill: var(--paper); }
.frame { fill: none; stroke: var(--line); }
.name { font-weight: bold; }
text { fill: var(--ink); }
.dot { fill: var(--ink); }
.own { fill: none; stroke: var(--ink); stroke-width: 2; }
.mean { stroke: var(--ink); stroke-width: 2; stroke-dasharray: 6 4; }
.ideal { fill: IDEAL; fill-opacity: 0.25; stroke: IDEAL; }
.actual { fill: ACTUAL; fill-opacity: 0.25; stroke: ACTUAL; }
.shared { fill: SHARED; fill-opacity: 0.35; stroke: SHARED; }
""".replace("IDEAL", IDEAL_COLOR)
    .replace("ACTUAL", ACTUAL_COLOR)
    .replace("SHARED", SHARED_COLOR)
)

IDEAL = [["i1", "i2"], ["i3"]]
ACTUAL = [["i1", "i3"], ["i2"]]
WEIGHTS = {"i1": 1, "i2": 2, "i3": 3}


class Figure:
    """A drawing of shapes, one after the other."""

    def __init__(self, height: int, title: str) -> None:
        size = {"viewBox": f"0 0 {WIDTH} {height}", "width": str(WIDTH), "height": str(height), "role": "img"}
        self.root = ET.Element("svg", size, xmlns="http://www.w3.org/2000/svg")
        ET.SubElement(self.root, "title").text = title
        ET.SubElement(self.root, "style").text = STYLE
        self.box("paper", 0, 0, WIDTH, height)

    def add(self, kind: str, **attributes: Any) -> ET.Element:
        """Add a shape."""
        named = {name.rstrip("_").replace("_", "-"): _short(value) for name, value in attributes.items()}
        return ET.SubElement(self.root, kind, named)

    def box(self, class_: str, x: float, y: float, width: float, height: float) -> None:
        """Add a rectangle."""
        self.add("rect", class_=class_, x=x, y=y, width=width, height=height, rx=4)

    def write(self, x: float, y: float, *lines: str, anchor: str = "middle", bold: bool = False) -> None:
        """Add lines of text, the first of them bold if wanted."""
        for number, line in enumerate(lines):
            style = {"class_": "name"} if bold and number == 0 else {}
            self.add("text", x=x, y=y + 19 * number, text_anchor=anchor, **style).text = line

    def to_svg(self) -> str:
        """Return the file."""
        ET.indent(self.root)
        return ET.tostring(self.root, encoding="unicode") + "\n"


def _short(value: Any) -> str:
    return f"{value:.6g}" if isinstance(value, int | float) else value


def draw_sets() -> str:
    """Draw the four sets that one item sees."""
    ideal = [["i", "t1", "t2", "n1", "n2"], ["p1", "p2", "p3"], ["o1", "o2", "o3", "o4"]]
    actual = [["i", "t1", "t2", "p1", "p2", "p3"], ["n1", "n2"], ["o1", "o2", "o3", "o4"]]
    evaluation = pw.evaluate(ideal=ideal, actual=actual)
    item = next(row for row in evaluation.by_item(metrics=["precision", "recall"]) if row["item"] == "i")
    tp, fp, fn, tn = (int(item[name]) for name in ("tp", "fp", "fn", "tn"))
    figure = Figure(370, "The four sets that an item sees: a Venn diagram of its ideal and its actual cluster")
    figure.box("frame", 10, 10, WIDTH - 20, 285)
    figure.add("circle", class_="ideal", cx=235, cy=150, r=115)
    figure.add("circle", class_="actual", cx=365, cy=150, r=115)
    lens = "M300,55 A115,115 0 0 1 300,245 A115,115 0 0 1 300,55"
    for shade in ("paper", "shared"):
        figure.add("path", class_=shade, d=lens)
    figure.write(105, 40, "ideal cluster")
    figure.write(495, 40, "actual cluster")
    figure.write(180, 110, f"FN = {fn}", "should be", "with it", bold=True)
    figure.write(300, 110, f"TP = {tp}", "rightly", "with it", bold=True)
    figure.write(420, 110, f"FP = {fp}", "wrongly", "with it", bold=True)
    figure.write(540, 230, f"TN = {tn}", "rightly", "apart", bold=True)
    figure.add("circle", class_="own", cx=300, cy=180, r=9)
    figure.write(316, 185, "i", anchor="start", bold=True)
    dots = {
        "t": [(285, 205), (315, 210)],
        "n": [(165, 185), (195, 200)],
        "p": [(405, 180), (430, 195), (400, 208)],
        "o": [(40, 262), (65, 237), (95, 267), (62, 275)],
    }
    for x, y in [(300, 180), *(spot for spots in dots.values() for spot in spots)]:
        figure.add("circle", class_="dot", cx=x, cy=y, r=4)
    figure.write(20, 325, f"precision of i = TP / (TP + FP) = {tp}/{tp + fp} = {item['precision']:.2f}", anchor="start")
    figure.write(20, 350, f"recall of i = TP / (TP + FN) = {tp}/{tp + fn} = {item['recall']:.2f}", anchor="start")
    return figure.to_svg()


def draw_cells() -> str:
    """Draw the table of cells of the paper's three items, and how the matrix of one is read from it."""
    rows = {row["item"]: row for row in _evaluate().by_item()}
    figure = Figure(350, "The cells of the paper's three items, and the confusion matrix of i1 read from them")
    left, top, width, height = 150, 90, 150, 70
    for column, cluster in enumerate(ACTUAL):
        figure.write(left + width * (column + 0.5), top - 32, "actual", "{" + ", ".join(cluster) + "}")
    figure.write(left + width * 2.5, top - 32, "weight of the", "ideal cluster")
    shades = {(0, 0): "shared", (0, 1): "ideal", (1, 0): "actual", (1, 1): "frame"}
    names = {(0, 0): "TP", (0, 1): "FN", (1, 0): "FP", (1, 1): "TN"}
    for place, shade in shades.items():
        row, column = place
        x, y = left + width * column, top + height * row
        shared = [item for item in IDEAL[row] if item in ACTUAL[column]]
        weight = sum(rows[item]["weight"] for item in shared)
        figure.box(shade, x + 3, y + 3, width - 6, height - 6)
        figure.write(x + width / 2, y + 30, f"{names[place]} = {weight:g}", ", ".join(shared) or "no cell", bold=True)
    for row, cluster in enumerate(IDEAL):
        middle = top + height * (row + 0.5)
        figure.write(20, middle - 4, "ideal", "{" + ", ".join(cluster) + "}", anchor="start")
        figure.write(left + width * 2.5, middle + 5, f"{sum(rows[item]['weight'] for item in cluster):g}")
    bottom = top + height * 2
    figure.write(20, bottom + 22, "weight of the", "actual cluster", anchor="start")
    for column, cluster in enumerate(ACTUAL):
        figure.write(left + width * (column + 0.5), bottom + 31, f"{sum(rows[item]['weight'] for item in cluster):g}")
    figure.write(left + width * 2.5, bottom + 31, f"{sum(rows[item]['weight'] for item in rows):g}")
    matrix = ", ".join(f"{name.upper()} {rows['i1'][name]:g}" for name in ("tp", "fp", "fn", "tn"))
    figure.write(20, bottom + 75, f"Seen by i1: {matrix}.", anchor="start", bold=True)
    rest = "TP is its own cell, FN the rest of its row, FP the rest of its column."
    figure.write(20, bottom + 98, rest, anchor="start")
    return figure.to_svg()


def draw_lifting() -> str:
    """Draw how the values of items become those of clusters and of everything."""
    evaluation = _evaluate()
    values = {row["item"]: row["recall"] for row in evaluation.by_item(metrics="recall")}
    means = {row["ideal_cluster"]: row["recall"] for row in evaluation.by_ideal_cluster(metrics="recall")}
    overall = evaluation.overall["recall"]
    left, base, unit, full = 60, 230, 70, 180
    figure = Figure(350, "Recall of items, lifted to ideal clusters and to everything by weighted averages")
    figure.write(20, 24, "Recall: every bar is an item, as wide as its weight", anchor="start", bold=True)
    for value in (0, 0.5, 1):
        y = base - full * value
        figure.add("line", class_="frame", x1=left, y1=y, x2=left + unit * 6, y2=y)
        figure.write(left - 8, y + 5, f"{value:g}", anchor="end")
    x = left
    for number, cluster in enumerate(IDEAL):
        start = x
        for item in cluster:
            width, height = unit * WEIGHTS[item], full * values[item]
            figure.box("ideal", x + 2, base - height, width - 4, height)
            figure.write(x + width / 2, base + 20, item, f"weight {WEIGHTS[item]}")
            figure.write(x + width / 2, base - 8, f"{values[item]:.3f}")
            x += width
        y = base - full * means[number]
        figure.add("line", class_="mean", x1=start, y1=y, x2=x, y2=y)
        figure.write((start + x) / 2, base + 64, "{" + ", ".join(cluster) + f"}} {means[number]:.3f}", bold=True)
    y = base - full * overall
    figure.add("line", class_="mean", x1=x + 15, y1=y, x2=x + 100, y2=y)
    figure.write(x + 58, y + 22, "everything", f"{overall:.3f}", bold=True)
    sums = " + ".join(f"{WEIGHTS[item]} × {values[item]:.3f}" for item in sorted(values))
    figure.write(20, 330, f"({sums}) / {sum(WEIGHTS.values())} = {overall:.3f}", anchor="start")
    return figure.to_svg()


def _evaluate() -> pw.Evaluation:
    return pw.evaluate(ideal=IDEAL, actual=ACTUAL, weights=WEIGHTS)


FIGURES = {"sets.svg": draw_sets, "cells.svg": draw_cells, "lifting.svg": draw_lifting}

if __name__ == "__main__":
    folder = Path(sys.argv[1])
    folder.mkdir(exist_ok=True)
    for name, draw in FIGURES.items():
        (folder / name).write_text(draw(), encoding="utf-8")
