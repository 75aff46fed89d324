"""Distances between clusterings are distances, also those that a user brings."""

from __future__ import annotations

from itertools import permutations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import pointwise as pw
from pointwise.errors import NoCommonItemsError, NotFoundError, RepeatedItemError, UsageError, WeightError

ITEMS = [f"i{n}" for n in range(6)]
CLUSTERINGS = st.lists(st.integers(0, 3), min_size=6, max_size=6).map(
    lambda labels: dict(zip(ITEMS, labels, strict=True))
)
WEIGHTS = st.lists(st.integers(1, 5), min_size=6, max_size=6).map(lambda w: dict(zip(ITEMS, w, strict=True)))


def larger_leftover(c):
    """A user's own distance of sets: the weight of the larger of the two differences, which is a metric."""
    return (c.fp + c.fn + ((c.fp - c.fn) * (c.fp - c.fn)).sqrt()) / 2


DISTANCES = ["jaccard", "symmetric_difference", larger_leftover]


def blocks(clustering):
    groups: dict[object, set[str]] = {}
    for item, cluster in clustering.items():
        groups.setdefault(cluster, set()).add(item)
    return {frozenset(group) for group in groups.values()}


@pytest.mark.parametrize("by", DISTANCES, ids=["jaccard", "symmetric_difference", "a user's"])
@settings(max_examples=25)
@given(clusterings=st.tuples(CLUSTERINGS, CLUSTERINGS, CLUSTERINGS), weights=WEIGHTS)
def test_laws_of_a_distance(by, clusterings, weights):
    named = dict(zip("abc", clusterings, strict=True))
    matrix = pw.distance_matrix(named, by=by, weights=weights)
    for x, y, z in permutations("abc"):
        assert matrix[x, x] == 0
        assert (matrix[x, y] == 0) == (blocks(named[x]) == blocks(named[y]))
        assert matrix[x, y] == matrix[y, x]
        assert matrix[x, z] <= matrix[x, y] + matrix[y, z] + 1e-12


@settings(max_examples=20)
@given(one=CLUSTERINGS, other=CLUSTERINGS, weights=WEIGHTS)
def test_distance_agrees_with_the_definition(one, other, weights):
    def members(clustering, item):
        return {i for i in ITEMS if clustering[i] == clustering[item]}

    def weigh(items):
        return sum(weights[i] for i in items)

    jaccard = symmetric = 0.0
    for item in ITEMS:
        a, b = members(one, item), members(other, item)
        jaccard += weights[item] * (1 - weigh(a & b) / weigh(a | b))
        symmetric += weights[item] * weigh(a ^ b)
    found = pw.distance(one, other, weights=weights)
    assert found == pytest.approx(jaccard / weigh(ITEMS), abs=1e-12)
    assert found == pytest.approx(pw.distance(other, one, weights=weights), rel=1e-12)
    found = pw.distance(one, other, weights=weights, by="symmetric_difference")
    assert found == pytest.approx(symmetric / weigh(ITEMS), abs=1e-12)


def test_distance_is_that_of_an_evaluation():
    one, other = [["i1", "i2"], ["i3"]], [["i1", "i3"], ["i2"]]
    weights = {"i1": 1, "i2": 2, "i3": 3}
    evaluation = pw.evaluate(ideal=one, actual=other, weights=weights, metrics="jaccard_distance")
    assert pw.distance(one, other, weights=weights) == pytest.approx(evaluation.overall["jaccard_distance"], rel=1e-15)


def test_a_common_set_of_items_keeps_the_triangle_inequality():
    a = {"x": 1, "y": 1}
    b = {"x": 1, "z": 1}
    c = {"x": 1, "y": 2, "z": 2}
    pairwise = {(p, q): pw.distance(*pair) for (p, q), pair in {
        ("a", "b"): (a, b), ("b", "c"): (b, c), ("a", "c"): (a, c)}.items()}  # fmt: skip
    # Each pair on its own items: a and b agree on x, so they are at distance 0, and yet far from c by different ways.
    assert pairwise["a", "b"] == 0
    d = {"x": 1, "y": 1, "z": 2}
    assert pw.distance(a, d) == 0
    assert pw.distance(b, d) > 0  # so 0 = d(a, b) and 0 = d(a, d), but d(b, d) > 0: the triangle breaks
    matrix = pw.distance_matrix({"a": a, "b": b, "d": d})
    assert matrix["b", "d"] <= matrix["b", "a"] + matrix["a", "d"]
    padded = pw.distance_matrix({"a": a, "b": b, "d": d}, missing="singleton")
    assert padded["a", "b"] > 0
    assert padded["b", "d"] <= padded["b", "a"] + padded["a", "d"] + 1e-12


def test_missing_items_are_dropped_or_alone():
    one, other = {"x": 1, "y": 1}, {"x": 1}
    assert pw.distance(one, other) == 0
    assert pw.distance(one, other, missing="singleton") == 0.5
    assert pw.distance_matrix({"a": one, "b": other}, missing="singleton").items == 2


def test_matrix_reads_and_prints_well():
    matrix = pw.distance_matrix({"a": [["x", "y"]], "b": [["x"], ["y"]], "c": [["y", "x"]]})
    assert matrix.values.tolist() == [[0, 0.5, 0], [0.5, 0, 0.5], [0, 0.5, 0]]
    assert matrix.to_dicts()[0] == {"clustering": "a", "a": 0.0, "b": 0.5, "c": 0.0}
    assert matrix.to_arrow().column_names == ["clustering", "a", "b", "c"]
    assert "0.5000" in repr(matrix)
    assert "<table>" in matrix._repr_html_()
    with pytest.raises(NotFoundError, match="There are 'a', 'b', 'c'"):
        matrix["a", "z"]


def test_nearest_comes_first():
    found = pw.nearest({"x": 1, "y": 1}, {"far": {"x": 1, "y": 2}, "this one": {"x": 5, "y": 5}})
    assert list(found.items()) == [("this one", 0.0), ("far", 0.5)]


def test_weights_from_a_column_of_the_first_clustering(tmp_path):
    path = tmp_path / "a.csv"
    path.write_text("item,cluster,size\nx,1,3\ny,1,1\n", encoding="utf-8")
    other = {"x": 1, "y": 2}
    expected = pw.distance({"x": 1, "y": 1}, other, weights={"x": 3, "y": 1})
    assert pw.distance(path, other, weight="size", item="item", cluster="cluster") == expected


def test_mistakes_are_explained():
    one = {"x": 1, "y": 1}
    with pytest.raises(UsageError, match="'jaccard', 'symmetric_difference'"):
        pw.distance(one, one, by="cosine")
    with pytest.raises(UsageError, match="two clusterings"):
        pw.distance_matrix({"a": one})
    with pytest.raises(UsageError, match="missing='keep'"):
        pw.distance(one, one, missing="keep")
    with pytest.raises(NoCommonItemsError, match="singleton"):
        pw.distance(one, {"z": 1})
    with pytest.raises(RepeatedItemError, match="the other clustering"):
        pw.distance(one, [["x"], ["x"]])
    with pytest.raises(WeightError, match="'y'"):
        pw.distance(one, one, weights={"x": 1, "y": 0})
