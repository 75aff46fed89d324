"""Charts: what they show, and that they stay small, readable and offline."""

from __future__ import annotations

import itertools
import json
import math
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import pointwise as pw
from pointwise import charts
from pointwise.charts import style
from pointwise.charts.circles import Sets, draw_venn, fit_circles, overlap
from pointwise.charts.flows import Band, draw_flow
from pointwise.charts.scaling import scale_down
from pointwise.errors import UsageError

weights = st.floats(1e-3, 1e6)


@pytest.fixture(scope="module")
def toy() -> pw.Evaluation:
    """Return the paper's three items."""
    return pw.evaluate(
        ideal=[["i1", "i2"], ["i3"]],
        actual=[["i1", "i3"], ["i2"]],
        weights={"i1": 1, "i2": 2, "i3": 3},
    )


@pytest.fixture(scope="module")
def release() -> pw.Evaluation:
    data = pw.datasets.patentsview()
    return pw.evaluate(
        ideal=data.truth,
        actual=data.releases["2018-05-28"],
        weight="num_claims",
        weights=data.attributes,
        attributes=data.attributes,
        slices=["country"],
        outside="wrong",
    )


def rows(chart: object) -> list[dict]:
    """Return all rows of data in a chart."""
    datasets = chart.to_dict()["datasets"].values() if "datasets" in chart.to_dict() else []
    return [row for values in [*datasets, *_inline(chart.to_dict())] for row in values]


def _inline(part: object):
    if isinstance(part, dict):
        if "values" in part and isinstance(part["values"], list) and "name" not in part:
            yield [row for row in part["values"] if isinstance(row, dict)]
        for value in part.values():
            yield from _inline(value)
    elif isinstance(part, list):
        for value in part:
            yield from _inline(value)


@given(weights, weights, st.floats(0.001, 1))
def test_circles_are_true_to_the_weights(ideal: float, actual: float, part: float):
    tp = part * min(ideal, actual)
    circles = fit_circles(ideal, actual, tp)
    assert math.pi * circles.ideal_radius**2 == pytest.approx(ideal)
    assert math.pi * circles.actual_radius**2 == pytest.approx(actual)
    shared = overlap(circles.ideal_radius, circles.actual_radius, circles.distance)
    assert shared == pytest.approx(tp, rel=1e-4, abs=1e-7 * max(ideal, actual))


def test_overlap_agrees_with_counting_points():
    r, s, distance = 2.0, 1.5, 1.8
    step = 0.01
    points = itertools.product((n * step for n in range(-200, 400)), (n * step for n in range(-200, 200)))
    inside = sum(x * x + y * y < r * r and (x - distance) ** 2 + y * y < s * s for x, y in points)
    assert overlap(r, s, distance) == pytest.approx(inside * step * step, rel=1e-2)


def test_venn_of_the_papers_item(toy: pw.Evaluation):
    drawn = rows(toy.plot.venn(item="i1"))
    texts = [row["text"] for row in drawn if "text" in row]
    assert "1 · 16.7%" in texts
    assert "2 · 33.3%" in texts
    assert "3 · 50.0%" in texts
    ideal, actual = (row for row in drawn if "size" in row)
    assert ideal["size"] / actual["size"] == pytest.approx(3 / 4)


def test_venn_of_a_cluster_takes_its_largest_cell(toy: pw.Evaluation):
    described = toy.plot.venn(ideal_cluster=0).to_dict()["description"]
    assert described == "Two circles: the ideal cluster 0 weighs 3, the actual cluster 1 2; they share 2."


def test_venn_needs_something_shared():
    with pytest.raises(UsageError, match="needs an item"):
        draw_venn(Sets("", "", "", 0.0, 1.0, 1.0, 1.0))


def test_distribution_holds_all_weight(release: pw.Evaluation):
    drawn = rows(release.plot.distribution())
    assert sum(row["share"] for row in drawn if "share" in row) == pytest.approx(2)
    total = release.coverage.common_weight
    perfect = release.by_item().where("recall == 1").to_pandas()["weight"].sum()
    bars = [row for row in drawn if row["range"] == "exactly 1"]
    assert perfect / total in [pytest.approx(row["share"]) for row in bars]


def test_distribution_of_a_metric_with_negative_values(release: pw.Evaluation):
    drawn = rows(release.plot.distribution(metrics=["matthews"]))
    assert min(row["low"] for row in drawn) >= -1
    assert len(drawn) <= 21


@pytest.mark.parametrize("side", ["ideal", "actual"])
def test_clusters_are_bounded_and_name_the_costliest(release: pw.Evaluation, side: str):
    chart = release.plot.clusters(side=side, limit=3)
    drawn = rows(chart)
    bubbles, names = [r for r in drawn if "spoken" in r], [r for r in drawn if "align" in r]
    assert len(bubbles) == 300
    assert len(names) == 3
    table = release.by_ideal_cluster if side == "ideal" else release.by_actual_cluster
    rate = "under_merge_rate" if side == "ideal" else "over_merge_rate"
    costs = [row["share"] * row[rate] for row in table(metrics=[rate]).to_dicts()]
    assert sum(r["cost"] for r in bubbles) == pytest.approx(sum(sorted(costs)[-300:]))


def test_bubbles_have_areas_by_weight(release: pw.Evaluation):
    bubbles = [r for r in rows(release.plot.clusters()) if "spoken" in r]
    heavy = [r for r in bubbles if r["size"] > 12]
    ratios = {r["size"] / float(r["weighs"].replace(",", "")) for r in heavy}
    assert max(ratios) == pytest.approx(min(ratios), rel=1e-3)


def test_slices_show_exact_numbers_and_intervals(release: pw.Evaluation):
    drawn = [r for r in rows(release.plot.slices("country", metric="recall")) if "spoken" in r]
    table = {row["country"]: row for row in release.by_slice("country").to_dicts()}
    assert len(drawn) == 20
    for row in drawn:
        assert row["value"] == pytest.approx(table[row["name"]]["recall"], rel=1e-12)
        if table[row["name"]]["recall_low"] is not None:
            assert row["low"] == pytest.approx(table[row["name"]]["recall_low"], rel=1e-9)


def test_coverage_bars_add_up(release: pw.Evaluation):
    drawn = rows(release.plot.coverage())
    ideal = [r for r in drawn if r["bar"] == "ideal clusters"]
    assert max(r["end"] for r in ideal) == pytest.approx(release.coverage.ideal_weight)
    assert sum(r["amount"] for r in ideal) == pytest.approx(release.coverage.ideal_weight)


def test_mistakes_are_ranked(release: pw.Evaluation):
    drawn = rows(release.plot.mistakes(7))
    costs = [m.cost for m in release.mistakes(7)]
    assert [r["cost"] for r in drawn] == costs


def test_no_mistakes_cannot_be_drawn():
    same = {"a": 1, "b": 1}
    with pytest.raises(UsageError, match="no mistakes"):
        pw.evaluate(ideal=same, actual=same).plot.mistakes()


def test_flow_goes_to_all_cells_of_a_cluster(toy: pw.Evaluation):
    described = toy.plot.flow(ideal_cluster=0).to_dict()["description"]
    assert "0 to 1: weight 2, 1 item," in described
    assert "0 to 0: weight 1, 1 item," in described
    assert "1 to 0: weight 3, 1 item," in described


def test_flow_of_a_broken_cluster_is_bounded():
    ideal = dict.fromkeys(range(500), "whole")
    actual = {item: item for item in range(500)}
    chart = pw.evaluate(ideal=ideal, actual=actual).plot.flow(ideal_cluster="whole")
    assert "whole to other clusters: weight 492, 492 items" in chart.to_dict()["description"]
    assert len(json.dumps(chart.to_dict())) < 60_000


def test_flow_of_two_clusters_is_refused(toy: pw.Evaluation):
    with pytest.raises(UsageError, match="one of"):
        toy.plot.flow(ideal_cluster=0, actual_cluster=0)


def test_ribbons_fill_their_clusters():
    chart = draw_flow([Band("a", "x", 1.0, 1), Band("a", "y", 3.0, 2)], title="")
    nodes = [r for r in rows(chart) if r.get("side") == "ideal"]
    assert nodes[0]["y2"] - nodes[0]["y"] == pytest.approx(1)
    ribbons = [r for r in rows(chart) if "y2" in r and "x2" not in r]
    starts = [r["y2"] - r["y"] for r in ribbons if r["x"] == min(q["x"] for q in ribbons)]
    assert sorted(starts) == pytest.approx([0.25, 0.75])


ALL = {
    "venn": lambda e: e.plot.venn(ideal_cluster="inventor-042"),
    "distribution": lambda e: e.plot.distribution(),
    "clusters": lambda e: e.plot.clusters(),
    "slices": lambda e: e.plot.slices("country"),
    "coverage": lambda e: e.plot.coverage(),
    "mistakes": lambda e: e.plot.mistakes(),
    "flow": lambda e: e.plot.flow(),
}


@pytest.mark.parametrize("name", ALL)
def test_every_chart_can_be_saved(release: pw.Evaluation, name: str, tmp_path: Path):
    chart = ALL[name](release)
    assert len(chart.to_dict()["description"]) > 20
    chart.save(tmp_path / "chart.svg")
    assert (tmp_path / "chart.svg").read_text().startswith("<svg")


def test_html_and_png_are_saved_whole(toy: pw.Evaluation, tmp_path: Path):
    chart = toy.plot.venn(item="i1")
    chart.save(tmp_path / "chart.html")
    page = (tmp_path / "chart.html").read_text()
    assert "<script src=" not in page
    assert len(page) > 500_000
    chart.save(tmp_path / "chart.png")
    assert (tmp_path / "chart.png").read_bytes().startswith(b"\x89PNG")


def test_every_chart_function_is_a_method_of_its_subject():
    methods = {n for n in dir(charts.EvaluationPlots) if not n.startswith("_") and n != "evaluation"}
    assert set(ALL) == methods


@pytest.fixture(scope="module")
def comparison() -> pw.Comparison:
    data = pw.datasets.patentsview()
    return pw.compare(
        ideal=data.truth,
        variants={name: data.releases[name] for name in ("2020-09-29", "2020-12-29", "2022-06-30")},
        baseline="2020-09-29",
        weight="num_claims",
        attributes=data.attributes,
        slices=["country"],
        on="shared",
    )


LAST = {"experiment": "2022-06-30"}
ALL_OF_COMPARISONS = {
    "deltas": lambda c: c.plot.deltas("country", metric="recall", **LAST),
    "movers": lambda c: c.plot.movers(metric="recall", **LAST),
    "history": lambda c: c.plot.history(),
    "distances": lambda c: c.plot.distances(),
    "distance_map": lambda c: c.plot.distance_map(),
}


@pytest.mark.parametrize("name", ALL_OF_COMPARISONS)
def test_every_chart_of_a_comparison_can_be_saved(comparison: pw.Comparison, name: str, tmp_path: Path):
    chart = ALL_OF_COMPARISONS[name](comparison)
    assert len(chart.to_dict()["description"]) > 20
    chart.save(tmp_path / "chart.svg")
    assert (tmp_path / "chart.svg").read_text().startswith("<svg")


def test_every_chart_of_a_comparison_is_a_method():
    methods = {n for n in dir(charts.ComparisonPlots) if not n.startswith("_") and n != "comparison"}
    assert set(ALL_OF_COMPARISONS) == methods
    classes, elsewhere = {"ComparisonPlots", "EvaluationPlots"}, {"thresholds", "changes", "dots"}  # sweeps and diffs
    functions = set(charts.__all__) - classes - elsewhere
    assert functions == {*ALL, *ALL_OF_COMPARISONS}


def test_deltas_are_those_of_the_comparison(comparison: pw.Comparison):
    drawn = {r["name"]: r for r in rows(ALL_OF_COMPARISONS["deltas"](comparison)) if "spoken" in r}
    table = {r["country"]: r for r in comparison.by_slice("country", metrics="recall", **LAST).to_dicts()}
    assert len(drawn) == 20
    for name, row in drawn.items():
        assert row["delta"] == pytest.approx(table[name]["delta"], rel=1e-9, abs=1e-12)


def test_movers_add_up_to_what_they_say(comparison: pw.Comparison):
    drawn = rows(ALL_OF_COMPARISONS["movers"](comparison))
    assert [r["x"] for r in drawn] == sorted((r["x"] for r in drawn), reverse=True)
    assert all((r["x"] > 0) == (r["verdict"] == "better") for r in drawn)


def test_history_of_stored_runs(tmp_path: Path):
    ideal = [["a", "b"], ["c"]]
    for n, actual in enumerate(([["a", "b"], ["c"]], [["a"], ["b"], ["c"]])):
        pw.evaluate(ideal=ideal, actual=actual).save(tmp_path / f"run-{n}")
    described = charts.history(tmp_path).to_dict()["description"]
    assert "run-0: recall 1.0000" in described
    assert "run-1: recall 0.6667" in described


def test_distances_of_a_comparison_are_those_of_its_clusterings(comparison: pw.Comparison):
    data = pw.datasets.patentsview()
    matrix = pw.distance_matrix(
        {name: data.releases[name] for name in comparison.variants} | {"truth": data.truth},
        weights=data.attributes,
        weight="num_claims",
    )
    drawn = {(r["one"], r["other"]): r["value"] for r in rows(charts.distances(comparison)) if "spoken" in r}
    assert drawn["2020-09-29", "2022-06-30"] == pytest.approx(matrix["2020-09-29", "2022-06-30"], rel=1e-9)


def test_unknown_clusterings_are_refused(comparison: pw.Comparison):
    with pytest.raises(UsageError, match="no clustering 'nowhere'"):
        charts.distances(comparison, names=["nowhere"])


@given(st.lists(st.tuples(st.floats(-5, 5), st.floats(-5, 5)), min_size=2, max_size=8))
def test_a_map_of_points_on_a_plane_is_exact(points: list[tuple[float, float]]):
    places = np.array(points)
    distances = np.linalg.norm(places[:, None] - places[None], axis=2)
    found, kept = scale_down(distances)
    assert np.linalg.norm(found[:, None] - found[None], axis=2) == pytest.approx(distances, abs=1e-5)
    assert kept == pytest.approx(1, abs=1e-6)


def luminance(color: str) -> float:
    parts = [int(color[n : n + 2], 16) / 255 for n in (1, 3, 5)]
    red, green, blue = (p / 12.92 if p <= 0.04045 else ((p + 0.055) / 1.055) ** 2.4 for p in parts)
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


def contrast(a: str, b: str) -> float:
    low, high = sorted((luminance(a), luminance(b)))
    return (high + 0.05) / (low + 0.05)


@pytest.mark.parametrize("color", style.SERIES)
def test_colours_stand_out_in_light_and_dark(color: str):
    assert min(contrast(color, paper) for paper in style.PAPER) >= 3


def test_text_reads_in_light_and_dark():
    assert min(contrast(style.INK, paper) for paper in style.PAPER) >= 4
