"""Comparing: which settings apply, which items are shared, and what those left out still mean."""

from __future__ import annotations

from fractions import Fraction

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

import pointwise as pw
from pointwise.errors import InputError, UsageError

IDEAL = {"a": 1, "b": 1, "c": 2}
ACTUAL = {"a": 1, "b": 2, "c": 2}


@pytest.fixture(scope="module")
def evaluation():
    return pw.evaluate(ideal=IDEAL, actual=ACTUAL)


@pytest.mark.parametrize(
    "setting",
    [
        {"ideal": IDEAL},
        {"weights": {"a": 1, "b": 2, "c": 3}},
        {"weight": "w"},
        {"outside": "wrong"},
        {"missing": "singleton"},
        {"unassigned": "drop"},
        {"unassigned_labels": [-1]},
        {"item": "id"},
        {"cluster": "id"},
    ],
    ids=lambda setting: next(iter(setting)),
)
def test_what_cannot_apply_to_evaluations_is_refused(evaluation, setting):
    with pytest.raises(UsageError, match=f"{next(iter(setting))}=... cannot apply: all variants have been evaluated"):
        pw.compare(variants={"x": evaluation, "y": evaluation}, **setting)


def test_a_misspelt_parameter_raises(evaluation):
    with pytest.raises(TypeError, match="outsides"):
        pw.compare(variants={"x": evaluation, "y": evaluation}, outsides="wrong")


def test_slices_and_metrics_apply_to_evaluations(evaluation):
    attributes = pa.table({"item": ["a", "b", "c"], "kind": ["x", "x", "y"]})
    comparison = pw.compare(
        variants={"x": evaluation, "y": evaluation},
        attributes=attributes,
        slices=["kind"],
        metrics="recall",
        intervals=False,
    )
    rows = comparison.by_slice().to_dicts()
    assert {row["metric"] for row in rows} == {"recall"}
    assert "delta_low" not in rows[0]


def test_settings_for_one_kind_of_variant_must_agree_with_the_other(evaluation):
    with pytest.raises(InputError, match="outside='ignore'"):
        pw.compare(ideal=IDEAL, variants={"run": evaluation, "file": ACTUAL}, outside="wrong")


def shared_precision(ideal, variants, name, weights):
    """Compute from the sets: outside members and items of other ideal clusters are wrong, on shared items only."""
    shared = [i for i in ideal if all(i in v for v in variants.values())]
    actual, total, summed = variants[name], Fraction(0), Fraction(0)
    for i in shared:
        mates = [j for j in actual if actual[j] == actual[i]]
        tp = sum(weights[j] for j in mates if j in shared and ideal[j] == ideal[i])
        fp = sum(weights[j] for j in mates if ideal.get(j) != ideal[i])
        summed += Fraction(weights[i] * tp, tp + fp)
        total += weights[i]
    return summed / total


items = st.integers(0, 9)
clusterings = st.dictionaries(items, st.integers(0, 3), min_size=1)


@given(ideal=clusterings, one=clusterings, other=clusterings, weights=st.lists(st.integers(1, 9), min_size=10))
def test_items_that_are_not_shared_are_wrong_where_they_do_not_belong(ideal, one, other, weights):
    variants = {"one": one, "other": other}
    if not set(ideal) & set(one) & set(other):
        return
    weighed = dict(enumerate(weights))
    comparison = pw.compare(
        ideal=ideal, variants=variants, weights=weighed, outside="wrong", on="shared", metrics=["precision", "accuracy"]
    )
    for name in variants:
        expected = float(shared_precision(ideal, variants, name, weighed))
        assert comparison[name].overall["precision"] == pytest.approx(expected, rel=1e-12)
        assert 0 <= comparison[name].overall["accuracy"] <= 1


def test_coverage_does_not_blame_a_variant_for_what_another_lacks():
    comparison = pw.compare(ideal=IDEAL, variants={"whole": ACTUAL, "part": {"a": 1}}, on="shared")
    assert comparison["whole"].coverage.missing_items == 0
    assert comparison["whole"].overall.items == 1
    assert comparison["part"].coverage.missing_items == 2


def test_padded_items_are_not_shared():
    comparison = pw.compare(
        ideal=IDEAL, variants={"whole": ACTUAL, "part": {"a": 1, "b": 1}}, on="shared", missing="singleton"
    )
    assert {e.overall.items for e in comparison.evaluations.values()} == {2}
