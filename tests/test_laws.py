"""The laws that the metrics obey, on every engine, over the whole metric table."""

from __future__ import annotations

import math
from collections import defaultdict
from fractions import Fraction

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import pointwise as pw
from pointwise.core.confusion import Confusion
from pointwise.core.metrics import METRICS, find_metric

import oracle
from strategies import DYADIC, REAL, WHOLE, Case, cases

BUILT_IN = list(METRICS)
FEW = max(1, settings.default.max_examples // 2)
PER_ITEM = [name for name in BUILT_IN if not METRICS[name].means]


def evaluate(engine, case: Case, **options) -> pw.Evaluation:
    options = {"weights": case.weights, "metrics": BUILT_IN} | options
    return pw.evaluate(ideal=case.ideal, actual=case.actual, engine=engine, **options)


def close(expected, rel=1e-12):
    return pytest.approx(None if expected is None else float(expected), rel=rel, abs=1e-12)


def same(value, expected):
    """Compare values of which undefined ones are None on either side."""
    if expected is None or value is None:
        assert value is None, (value, expected)
        assert expected is None, (value, expected)
    else:
        assert value == close(expected)


@given(case=cases(REAL), power=st.integers(-8, 8))
def test_laws_1_2_3_6_7_and_9_of_items_and_their_mean(engine, case, power):
    """Hold one evaluation to several laws: on Spark each of them takes seconds."""
    evaluation = evaluate(engine, case)
    rows, overall = evaluation.by_item().to_dicts(), evaluation.overall
    law_1_items_agree_with_the_oracle(case, rows, overall)
    law_2_values_lie_in_their_range([*rows, overall.to_dict()])
    law_6_items_of_a_cell_share_all_values(rows)
    law_3_only_relative_weights_matter(engine, case, power, overall)
    law_7_swapping_turns_each_metric_into_its_twin(engine, case, overall)
    law_9_names_and_order_do_not_matter(engine, case, overall)


def law_1_items_agree_with_the_oracle(case, rows, overall):
    found = {row["item"]: row for row in rows}
    assert set(found) == set(case.common)
    for name in PER_ITEM:
        values = oracle.item_values(name, case.ideal, case.actual, case.fractions)
        for item, expected in values.items():
            same(found[item][name], expected)
    for name in BUILT_IN:
        same(overall.values[name], oracle.value(name, case.ideal, case.actual, case.fractions))


def law_2_values_lie_in_their_range(rows):
    for row in rows:
        for name in PER_ITEM:
            low, high = METRICS[name].range
            assert row[name] is None or low <= row[name] <= high, (name, row[name])


def law_3_only_relative_weights_matter(engine, case, power, overall):
    scaled = Case(case.ideal, case.actual, {i: w * 2.0**power for i, w in case.weights.items()})
    other = evaluate(engine, scaled, intervals=False).overall
    for name in BUILT_IN:
        same(other.values[name], overall.values[name])  # threads add in any order


def law_6_items_of_a_cell_share_all_values(rows):
    cells = defaultdict(set)
    for row in rows:
        cells[row["ideal_cluster"], row["actual_cluster"]].add(tuple(row[n] for n in ("tp", "tn", *PER_ITEM)))
    assert all(len(values) == 1 for values in cells.values())


def law_7_swapping_turns_each_metric_into_its_twin(engine, case, overall):
    swapped = evaluate(engine, Case(case.actual, case.ideal, case.weights), intervals=False).overall
    for name in BUILT_IN:
        same(swapped.values[METRICS[name].swapped], overall.values[name])


def law_9_names_and_order_do_not_matter(engine, case, overall):
    ideal = {f"new {i}": f"h{c}" for i, c in reversed(case.ideal.items())}
    actual = {f"new {i}": 100 - c for i, c in reversed(case.actual.items())}
    weights = {f"new {i}": w for i, w in case.weights.items()}
    renamed = evaluate(engine, Case(ideal, actual, weights), intervals=False).overall
    for name in BUILT_IN:
        same(renamed.values[name], overall.values[name])


@settings(max_examples=FEW)  # six tables of all metrics each
@given(case=cases(DYADIC))
def test_laws_1_5_and_11_levels_agree_with_the_oracle_and_recombine(engine, case):
    third = {item: int(item[1:]) % 3 for item in case.weights}
    attributes = pa.table({"item": list(third), "third": list(third.values())})
    evaluation = evaluate(engine, case, attributes=attributes, intervals=False)
    agreeing = {
        "ideal_cluster": (evaluation.by_ideal_cluster().to_dicts(), case.ideal),
        "actual_cluster": (evaluation.by_actual_cluster().to_dicts(), case.actual),
        "third": (evaluation.by_slice("third").to_dicts(), third),
    }
    for key, (rows, group) in agreeing.items():
        law_1_a_level_agrees_with_the_oracle(case, key, rows, group)
    others = ["third >= 1", ("third", "actual_cluster_size"), "ideal_cluster_size"]
    for rows in [*(rows for rows, _ in agreeing.values()), *(evaluation.by_slice(by).to_dicts() for by in others)]:
        law_5_parts_recombine_to_the_whole(rows, evaluation.overall)


def law_1_a_level_agrees_with_the_oracle(case, key, rows, group):
    for row in rows:
        members = [item for item in case.common if group[item] == row[key]]
        assert row["items"] == len(members)
        assert row["weight"] == sum(case.weights[i] for i in members)
        for name in BUILT_IN:
            same(row[name], oracle.value(name, case.ideal, case.actual, case.fractions, members))


def law_5_parts_recombine_to_the_whole(rows, overall):
    assert sum(row["items"] for row in rows) == overall.items
    assert sum(row["weight"] for row in rows) == overall.weight
    assert sum(row["share"] for row in rows) == pytest.approx(1)
    for name in PER_ITEM:
        defined = [r for r in rows if r[name] is not None]
        weights = [r["weight"] * (1 - r.get(f"{name}_undefined", 0.0)) for r in defined]
        if overall.values[name] is not None:
            together = sum(w * r[name] for w, r in zip(weights, defined, strict=True)) / sum(weights)
            same(together, overall.values[name])


@settings(max_examples=100)
@given(case=cases(WHOLE, same_items=True))
@pytest.mark.parametrize("name", PER_ITEM)
def test_law_1_formulas_are_exact_in_fractions(name, case):
    values = oracle.item_values(name, case.ideal, case.actual, case.fractions)
    for item, matrix in oracle.matrices(case.ideal, case.actual, case.fractions).items():
        total = oracle.everything(matrix)
        confusion = Confusion(matrix.tp, matrix.tp + matrix.fn, matrix.tp + matrix.fp, total, matrix.tn)
        value, expected = METRICS[name].formula(confusion), values[item]
        if expected is None:
            assert math.isnan(value)
        elif isinstance(value, Fraction):
            assert value == expected
        else:
            assert value == close(expected)


@given(case=cases(REAL, same_items=True))
def test_law_2_identical_clusterings_are_perfect(engine, case):
    overall = evaluate(engine, Case(case.ideal, case.ideal, case.weights), intervals=False).overall
    for name in ("precision", "recall", "f1", "jaccard_index", "element_similarity", "accuracy"):
        assert overall[name] == 1.0
    for name in ("jaccard_distance", "over_merge_rate", "under_merge_rate"):
        assert overall[name] == 0.0


@given(case=cases(WHOLE))
def test_law_4_whole_weights_equal_replicated_items(engine, case):
    def replicate(clustering):
        return {f"{i}.{k}": c for i, c in clustering.items() for k in range(int(case.weights[i]))}

    copies = evaluate(engine, Case(replicate(case.ideal), replicate(case.actual), {}), weights=None, intervals=False)
    original = evaluate(engine, case, intervals=False).overall
    for name in BUILT_IN:
        same(copies.overall.values[name], original.values[name])


@pytest.mark.parametrize("name", [*BUILT_IN, "f2", "f0.5"])
def test_law_7_twins_are_mutual(name):
    assert find_metric(find_metric(name).swapped).swapped == name


@given(case=cases(WHOLE, same_items=True))
def test_law_12_matrices_of_items_sum_to_the_pair_matrix(engine, case):
    rows = pw.evaluate(ideal=case.ideal, actual=case.actual, engine=engine).by_item().to_dicts()
    pairs = oracle.pair_matrix(case.ideal, case.actual)
    assert sum(row["tp"] - 1 for row in rows) == 2 * pairs.tp
    assert sum(row["fp"] for row in rows) == 2 * pairs.fp
    assert sum(row["fn"] for row in rows) == 2 * pairs.fn
    assert sum(row["tn"] for row in rows) == 2 * pairs.tn


def test_identical_clusterings_of_many_items_are_exactly_perfect(engine):
    import numpy as np

    random = np.random.default_rng(0)
    n = 1_000_000 if engine.name == "duckdb" else 20_000  # the tests' Spark is a small one
    table = pa.table({"item": np.arange(n), "cluster": random.integers(0, n // 7, n), "w": random.random(n) + 1e-9})
    metrics = ["precision", "recall", "jaccard_index", "jaccard_distance"]
    overall = pw.evaluate(ideal=table, actual=table, weight="w", metrics=metrics, engine=engine).overall
    assert list(overall.values.values()) == [1.0, 1.0, 1.0, 0.0]
