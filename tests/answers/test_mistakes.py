"""Mistakes: exact at the top of the list, and together the two rates."""

from __future__ import annotations

import time
from collections import Counter
from fractions import Fraction
from itertools import combinations

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import pointwise as pw

import oracle

LABELS = st.lists(st.tuples(st.integers(0, 3), st.integers(0, 4), st.integers(1, 5)), min_size=1, max_size=25)


def weighted(rows, **options):
    """Evaluate items 0, 1, ... given as (ideal cluster, actual cluster, weight)."""
    items = list(range(len(rows)))
    ideal = pa.table({"item": items, "cluster": [r[0] for r in rows]})
    actual = pa.table({"item": items, "cluster": [r[1] for r in rows], "weight": [r[2] for r in rows]})
    return pw.evaluate(ideal=ideal, actual=actual, weight="weight", **options)


def all_mistakes(rows):
    """List what every pair of cells in a cluster costs, from the definition and in fractions."""
    cells = Counter()
    for ideal, actual, weight in rows:
        cells[ideal, actual] += weight
    total = sum(cells.values())
    found = []
    for side, kind in ((1, "over-merge"), (0, "under-merge")):
        for cluster in {cell[side] for cell in cells}:
            inside = {cell[1 - side]: w for cell, w in cells.items() if cell[side] == cluster}
            margin = sum(inside.values())
            for (a, wa), (b, wb) in combinations(inside.items(), 2):
                found.append((Fraction(2 * wa * wb, margin * total), kind, cluster, frozenset((a, b))))
    return found


@settings(max_examples=20)
@given(rows=LABELS, n=st.integers(1, 60), kind=st.sampled_from(["both", "over-merge", "under-merge"]))
def test_the_list_is_the_top_of_all_pairs_and_with_the_rest_adds_up(rows, n, kind):
    expected = sorted((cost for cost, k, _, _ in all_mistakes(rows) if kind in ("both", k)), reverse=True)
    evaluation = weighted(rows, metrics=["over_merge_rate", "under_merge_rate"])
    found = evaluation.mistakes(n, kind=kind, by="pair")
    assert [m.cost for m in found] == pytest.approx([float(c) for c in expected[:n]], rel=1e-12)
    assert sum(rest.count for rest in found.rest) == len(expected) - len(found)
    for rest in found.rest:
        name = rest.rate.removesuffix("_rate").replace("_", "-")
        listed = sum(m.cost for m in found if m.kind == name)
        assert found.rates[rest.rate] == evaluation.overall[rest.rate]
        assert listed + rest.cost == pytest.approx(evaluation.overall[rest.rate], abs=1e-14)


def test_every_mistake_is_listed_once_and_names_its_clusters():
    rows = [(0, 0, 1), (0, 1, 2), (1, 0, 4), (1, 1, 1), (2, 1, 3), (0, 2, 1)]
    expected = {(kind, cluster, pair): float(cost) for cost, kind, cluster, pair in all_mistakes(rows)}
    found = {
        (m.kind, m.cluster, frozenset((m.first.cluster, m.second.cluster))): m.cost
        for m in weighted(rows).mistakes(by="pair")
    }
    assert found == pytest.approx(expected)


@settings(max_examples=15)
@given(rows=LABELS, known=st.integers(1, 20))
def test_outside_members_are_mistakes_where_they_count_as_wrong(rows, known):
    items = list(range(len(rows)))
    ideal = pa.table({"item": items, "cluster": [r[0] for r in rows]}).slice(0, known)
    actual = pa.table({"item": items, "cluster": [r[1] for r in rows], "weight": [r[2] for r in rows]})
    evaluation = pw.evaluate(
        ideal=ideal, actual=actual, weight="weight", outside="wrong", metrics=["over_merge_rate", "under_merge_rate"]
    )
    found = evaluation.mistakes(10_000, by="pair")
    over = sum(m.cost for m in found if m.kind in ("over-merge", "outside"))
    assert over == pytest.approx(evaluation.overall["over_merge_rate"], abs=1e-13)
    touched = {r[1] for r in rows[:known]}
    holding = {m.cluster for m in found if m.kind == "outside"}
    assert holding == {r[1] for r in rows[known:]} & touched
    assert all(m.second.cluster is None for m in found if m.kind == "outside")


def test_a_cluster_with_very_many_cells_lists_no_pairs():
    cells = 200_000
    rng = np.random.default_rng(5)
    items = np.arange(cells)
    actual = pa.table({"item": items, "cluster": np.zeros(cells, dtype=np.int64), "weight": rng.uniform(1, 2, cells)})
    evaluation = pw.evaluate(ideal=pa.table({"item": items, "cluster": items}), actual=actual, weight="weight")
    start = time.perf_counter()
    found = evaluation.mistakes(20, kind="over-merge", by="pair")
    assert time.perf_counter() - start < 10  # 20 billion pairs would take hours
    heaviest = np.sort(actual["weight"].to_numpy())[::-1][:25]
    best = sorted((a * b for a, b in combinations(heaviest, 2)), reverse=True)[:20]
    assert [m.first.weight * m.second.weight for m in found] == pytest.approx(best, rel=1e-15)
    assert found.rest[0].count == cells * (cells - 1) // 2 - 20
    assert sum(m.cost for m in found) + found.rest[0].cost == pytest.approx(found.rates["over_merge_rate"], rel=1e-12)


def test_equal_cells_make_all_their_pairs():
    evaluation = pw.evaluate(ideal=list(range(6)), actual=[0] * 6)
    assert len(evaluation.mistakes(15, by="pair")) == 15
    assert {m.cost for m in evaluation.mistakes(15, by="pair")} == {2 / 36}


def cluster_costs(ideal, actual, weights=None):
    """Sum what the items of every cluster cost, item by item and from the set definitions, in fractions."""
    found = Counter()
    total = sum(oracle.weight_of(item, weights) for item in ideal)
    for item, m in oracle.matrices(ideal, actual, weights).items():
        weight = oracle.weight_of(item, weights) / total
        found["over-merge", actual[item]] += weight * (1 - oracle.precision(m))
        found["under-merge", ideal[item]] += weight * (1 - oracle.recall(m))
    return {cluster: cost for cluster, cost in found.items() if cost}


@settings(max_examples=20)
@given(rows=LABELS, n=st.integers(1, 6), kind=st.sampled_from(["both", "over-merge", "under-merge"]))
def test_clusters_cost_what_their_items_do_and_with_the_rest_add_up(rows, n, kind, engine):
    ideal, actual, weights = ({i: row[k] for i, row in enumerate(rows)} for k in range(3))
    costs = {key: cost for key, cost in cluster_costs(ideal, actual, weights).items() if kind in ("both", key[0])}
    evaluation = weighted(rows, engine=engine, metrics=["over_merge_rate", "under_merge_rate"])
    found = evaluation.mistakes(n, kind=kind)
    assert {(m.kind, m.cluster): m.cost for m in found} == pytest.approx(
        {(m.kind, m.cluster): float(costs[m.kind, m.cluster]) for m in found}
    )
    best = sorted(map(float, costs.values()), reverse=True)
    assert [m.cost for m in found] == pytest.approx(best[:n])
    assert sum(rest.count for rest in found.rest) == len(costs) - len(found)
    for rest in found.rest:
        listed = sum(m.cost for m in found if m.kind == rest.rate.removesuffix("_rate").replace("_", "-"))
        assert listed + rest.cost == pytest.approx(evaluation.overall[rest.rate], abs=1e-14)
    for m in found:
        pairs = [(i, a) for i, a, _ in rows if (a if m.kind == "over-merge" else i) == m.cluster]
        assert m.parts == len(set(pairs))
        assert m.items == len(pairs)
        assert sorted((p.items for p in m.largest), reverse=True) == sorted(Counter(pairs).values(), reverse=True)[
            :3
        ] or (len({w for _, _, w in rows}) > 1)


@settings(max_examples=10)
@given(rows=LABELS, known=st.integers(1, 20))
def test_clusters_with_outside_members_add_up_where_they_count_as_wrong(rows, known):
    items = list(range(len(rows)))
    ideal = pa.table({"item": items, "cluster": [r[0] for r in rows]}).slice(0, known)
    actual = pa.table({"item": items, "cluster": [r[1] for r in rows], "weight": [r[2] for r in rows]})
    rates = ["over_merge_rate", "under_merge_rate"]
    evaluation = pw.evaluate(ideal=ideal, actual=actual, weight="weight", outside="wrong", metrics=rates)
    found = evaluation.mistakes(100)
    over = [m for m in found if m.kind == "over-merge"]
    assert sum(m.cost for m in over) == pytest.approx(evaluation.overall["over_merge_rate"], abs=1e-13)
    outside = {r[1] for r in rows[known:]} & {r[1] for r in rows[:known]}
    assert {m.cluster for m in over if m.largest[-1].cluster is None} == outside
    assert all(m.items == sum(r[1] == m.cluster for r in rows) for m in over)
    only = evaluation.mistakes(100, kind="outside")
    pairs = evaluation.mistakes(10_000, kind="outside", by="pair")
    assert {m.cluster for m in only} == outside
    assert sum(m.cost for m in only) == pytest.approx(sum(m.cost for m in pairs), abs=1e-13)


def test_costs_of_a_sampled_truth_add_up_to_the_estimated_rates():
    rng = np.random.default_rng(7)
    actual = {i: int(c) for i, c in enumerate(rng.integers(0, 60, 400))}
    ideal = {i: i // 5 for i in range(100)}
    rates = ["over_merge_rate", "under_merge_rate"]
    evaluation = pw.evaluate(ideal=ideal, actual=actual, outside="wrong", sampling="items", drawn=20, metrics=rates)
    found = evaluation.mistakes(1_000)
    for rate, kind in zip(rates, ("over-merge", "under-merge"), strict=True):
        assert sum(m.cost for m in found if m.kind == kind) == pytest.approx(evaluation.overall[rate])
    for table, rate in ((evaluation.by_actual_cluster(), rates[0]), (evaluation.by_ideal_cluster(), rates[1])):
        assert sum(row["cost"] for row in table) == pytest.approx(evaluation.overall[rate])
    blind = pw.evaluate(ideal=ideal, actual=actual, sampling="items", drawn=20, metrics="recall")
    assert "cost" in blind.by_ideal_cluster().columns
    assert "cost" not in blind.by_actual_cluster().columns


def test_the_costs_of_clusters_stand_in_their_tables():
    rows = [(0, 0, 1), (0, 1, 2), (1, 0, 4), (1, 1, 1), (2, 1, 3), (0, 2, 1)]
    evaluation = weighted(rows, metrics="f1")
    expected = {(m.kind, m.cluster): m.cost for m in evaluation.mistakes()}
    for table, key, kind in (
        (evaluation.by_ideal_cluster(), "ideal_cluster", "under-merge"),
        (evaluation.by_actual_cluster(), "actual_cluster", "over-merge"),
    ):
        costs = {row[key]: row["cost"] for row in table}
        assert costs == pytest.approx({c: expected.get((kind, c), 0.0) for c in costs})


def test_one_huge_wrong_cluster_comes_first():
    ideal = {i: i // 4 for i in range(10_000)}
    actual = ideal | {i * 4: "huge" for i in range(256)} | {i * 4 + 1: f"lost {i}" for i in range(300, 1_300)}
    first, second = pw.evaluate(ideal=ideal, actual={i: str(c) for i, c in actual.items()}).mistakes(2)
    assert (first.kind, first.cluster, first.items, first.parts) == ("over-merge", "huge", 256, 256)
    assert first.cost > 10 * second.cost
    assert len(first.largest) == 3


def test_sentences_name_items_and_costs():
    evaluation = pw.evaluate(ideal=[["a", "b", "c"], ["d"]], actual={"a": "x", "b": "x", "c": "y", "d": "x"})
    found = evaluation.mistakes()
    told = {str(m) for m in found}
    assert "actual x merges 2 parts: ideal 0 (2 items, e.g. a, b) and ideal 1 (1 item, e.g. d)" in told
    assert "ideal 0 is split into 2 parts: actual x (2 items, e.g. a, b) and actual y (1 item, e.g. c)" in told
    assert "over_merge_rate 0.3333" in repr(found)


def test_no_mistakes_say_so():
    found = pw.evaluate(ideal=[["a"], ["b"]], actual=[["a"], ["b"]]).mistakes()
    assert not len(found)
    assert "There are none." in repr(found)
    assert found.to_dicts() == []


def test_conversions_hold_what_the_list_holds():
    found = weighted([(0, 0, 1), (1, 0, 4), (1, 1, 1)]).mistakes()
    assert found.to_arrow().to_pylist() == found.to_dicts()
    assert found.to_polars().height == found.to_pandas().shape[0] == len(found)
    assert "<table>" in found._repr_html_()


@pytest.mark.parametrize(("n", "kind"), [(0, "both"), (5, "merge")])
def test_wrong_parameters_are_refused(n, kind):
    with pytest.raises(pw.PointwiseError):
        pw.evaluate(ideal=[0, 1], actual=[0, 0]).mistakes(n, kind=kind)
