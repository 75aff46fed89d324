"""Policies: what happens to items outside the truth, missing items and items without a cluster."""

from __future__ import annotations

import pyarrow as pa
import pytest
from hypothesis import given

import pointwise as pw
from pointwise import errors

import oracle
from strategies import WHOLE, Case, cases

METRICS = ["precision", "recall", "jaccard_distance", "accuracy", "specificity"]


def evaluate(engine, case: Case, **options):
    return pw.evaluate(
        ideal=case.ideal, actual=case.actual, weights=case.weights, metrics=METRICS, engine=engine, **options
    )


def same(value, expected):
    assert value == (None if expected is None else pytest.approx(float(expected), rel=1e-12))


@given(case=cases(WHOLE))
def test_outside_members_count_as_wrong(engine, case):
    touched = {case.actual[item] for item in case.common}
    outside = [i for i, c in case.actual.items() if i not in case.ideal and c in touched]
    truth = case.ideal | {item: f"alone {item}" for item in outside}
    actual = {item: c for item, c in case.actual.items() if c in touched}
    evaluation = evaluate(engine, case, outside="wrong")
    for name in METRICS:
        expected = oracle.value(name, truth, actual, case.fractions, case.common)
        same(evaluation.overall.values[name], expected)
    assert evaluation.coverage.outside_items == len(outside)
    assert evaluation.overall.weight == sum(case.weights[i] for i in case.common)


@given(case=cases(WHOLE))
def test_missing_items_alone(engine, case):
    missing = [item for item in case.ideal if item not in case.actual]
    actual = case.actual | {item: f"alone {item}" for item in missing}
    evaluation = evaluate(engine, case, missing="singleton")
    for name in METRICS:
        same(evaluation.overall.values[name], oracle.value(name, case.ideal, actual, case.fractions))
    assert evaluation.coverage.missing_items == len(missing)


def test_both_policies_with_clusters_of_numbers(engine):
    evaluation = pw.evaluate(
        ideal={"a": 1, "b": 1, "c": 2},
        actual={"a": 1, "x": 1, "c": 7, "y": 9},
        outside="wrong",
        missing="singleton",
        engine=engine,
    )
    rows = {row["item"]: row for row in evaluation.by_item().to_dicts()}
    assert {i: rows[i]["precision"] for i in "abc"} == {"a": 0.5, "b": 1.0, "c": 1.0}
    assert {i: rows[i]["recall"] for i in "abc"} == {"a": 0.5, "b": 0.5, "c": 1.0}
    assert evaluation.coverage.outside_items == 1


def test_small_truth_counts_the_same_outside_members(engine):
    ideal = {f"i{n}": n // 2 for n in range(10)}
    near = {f"i{n}": n // 5 for n in range(10)} | {f"o{n}": n // 5 for n in range(7)}
    far = near | {f"z{n}": 100 + n for n in range(100)}
    weights = {item: 1.0 + (n % 3) for n, item in enumerate(far)}
    cases = [(None, "ignore"), (None, "wrong"), (weights, "ignore"), (weights, "wrong")]
    # Spark, which takes as long to plan two evaluations as to run most other tests, gets the case that has everything.
    for chosen, outside in cases if engine.name == "duckdb" else cases[-1:]:
        kept, joined = (
            pw.evaluate(ideal=ideal, actual=actual, weights=chosen, outside=outside, engine=engine)
            for actual in (near, far)
        )
        assert kept.overall.values == pytest.approx(joined.overall.values)
        assert kept.coverage.outside_items == joined.coverage.outside_items == 7
        assert kept.coverage.actual_clusters_touched == joined.coverage.actual_clusters_touched
        assert joined.coverage.actual_clusters == 102


NOISY = pa.table({"item": ["a", "b", "c", "d"], "cluster": pa.array([1, None, None, -1])})
TRUTH = {"a": 1, "b": 2, "c": 2, "d": 1}


@pytest.mark.parametrize(
    ("policy", "labels", "items", "precision"),
    [
        ("singleton", (None,), 4, 1.0),
        ("one-cluster", (None,), 4, 1.0),
        ("drop", (None,), 2, 1.0),
        ("singleton", (-1,), 4, 1.0),
        ("one-cluster", (-1,), 4, (1 + 2 / 3 + 2 / 3 + 1 / 3) / 4),
        ("drop", (-1,), 1, 1.0),
    ],
)
def test_items_without_a_cluster(engine, policy, labels, items, precision):
    evaluation = pw.evaluate(ideal=TRUTH, actual=NOISY, unassigned=policy, unassigned_labels=labels, engine=engine)
    assert evaluation.overall.items == items
    assert evaluation.overall["precision"] == pytest.approx(precision)


def test_policies_of_the_two_sides_differ(engine):
    evaluation = pw.evaluate(
        ideal=NOISY,
        actual=NOISY,
        unassigned={"ideal": "drop", "actual": "singleton"},
        unassigned_labels=[None],  # -1 is a cluster here
        engine=engine,
    )
    assert evaluation.overall.items == 2


def test_label_that_cannot_be_a_cluster(engine):
    with pytest.raises(errors.UsageError, match="'noise'"):
        pw.evaluate(ideal=TRUTH, actual=NOISY, unassigned="drop", unassigned_labels=["noise"], engine=engine)


def test_everything_dropped(engine):
    nothing = pa.table({"item": ["a"], "cluster": pa.array([None], pa.int64())})
    with pytest.raises(errors.SourceError, match="no rows"):
        pw.evaluate(ideal=TRUTH, actual=nothing, unassigned="drop", engine=engine)


def test_made_up_cluster_ids_are_reserved(engine):
    clash = {"a": "<alone> b", "b": "x"}
    with pytest.raises(errors.InputError, match="Rename"):
        pw.evaluate(ideal=TRUTH, actual=clash, missing="singleton", engine=engine)
    with pytest.raises(errors.InputError, match="Rename"):
        pw.evaluate(ideal=TRUTH, actual=clash, unassigned="singleton", engine=engine)


def test_policies_are_shown(engine):
    text = repr(pw.evaluate(ideal=TRUTH, actual=TRUTH, missing="singleton", engine=engine))
    assert "missing=singleton" in text
    assert "outside=ignore" in text


def test_warnings_say_what_is_left_out(engine):
    evaluation = pw.evaluate(ideal=TRUTH, actual={"a": 1, "b": 2}, metrics="specificity", engine=engine)
    assert any("50.0% of the ideal items are missing" in w for w in evaluation.warnings)
    alone = pw.evaluate(ideal={"a": 1, "b": 1}, actual={"a": 1, "b": 1}, metrics="specificity", engine=engine)
    assert any("undefined for 100.0%" in w for w in alone.warnings)
    assert alone.overall.values["specificity"] is None
