"""Gates: what holds, what does not, and what no one should rely on."""

from __future__ import annotations

import pyarrow as pa
import pytest

import pointwise as pw
from pointwise.errors import InputError, UnknownMetricError, UsageError

IDEAL = {"a": 1, "b": 1, "c": 2, "d": 2}
ABOUT = pa.table({"item": ["a", "b", "c", "d"], "team": ["red", "red", "blue", "blue"], "year": [1, 2, 3, None]})


@pytest.fixture(scope="module")
def split():
    """Split the cluster of a and b: their recall is 1/2, that of c and d is 1."""
    return pw.evaluate(ideal=IDEAL, actual={"a": 1, "b": 3, "c": 2, "d": 2}, attributes=ABOUT)


@pytest.fixture(scope="module")
def perfect():
    return pw.evaluate(ideal=IDEAL, actual=IDEAL, attributes=ABOUT)


@pytest.mark.parametrize(
    ("rules", "held"),
    [
        ({"minimum": {"recall": 0.75}}, True),
        ({"minimum": {"recall": 0.7500001}}, False),
        ({"maximum": {"under_merge_rate": 0.25}}, True),
        ({"maximum": {"under_merge_rate": 0.2499999}}, False),
        ({"minimum": {"recall": 0.5}, "maximum": {"precision": 0.5}}, False),
        ({"min_coverage": 1.0}, True),
    ],
)
def test_limits_are_kept_or_not(split, rules, held):
    assert pw.gate(split, **rules).held is held


def test_every_slice_must_hold(split):
    result = pw.gate(split, minimum={"recall": 0.75}, slices=["team"])
    assert {check.where: check.held for check in result.checks} == {
        "overall": True,
        "team=red": False,
        "team=blue": True,
    }
    assert "NO     team=red" in repr(result)
    assert "1 of 3 checks failed" in repr(result)


def test_of_a_condition_only_what_is_meant_is_checked(split):
    result = pw.gate(split, minimum={"recall": 0.9}, slices="year >= 3")
    assert [check.where for check in result.checks] == ["overall", "year >= 3"]
    assert result.checks[1].value == 1.0


def test_crossed_slices_and_sizes_have_names(split):
    result = pw.gate(split, minimum={"recall": 0}, slices=["team,year", "ideal_cluster_size"])
    assert {"team=red, year=1", "ideal_cluster_size=2"} <= {check.where for check in result.checks}


def test_small_slices_are_left_out():
    sizes = {"a": 1, "b": 1, "c": 1, "d": 2}
    evaluation = pw.evaluate(ideal=sizes, actual=sizes)
    result = pw.gate(evaluation, minimum={"recall": 0}, slices=["ideal_cluster_size"], min_items=2)
    assert [check.where for check in result.checks] == ["overall", "ideal_cluster_size=3-5"]


@pytest.mark.parametrize("metric", ["recall", "under_merge_rate"])
def test_a_drop_is_measured_in_the_direction_of_the_metric(split, perfect, metric):
    assert not pw.gate(split, baseline=perfect, max_drop={metric: 0.2}).held
    assert pw.gate(split, baseline=perfect, max_drop={metric: 0.25}).held
    assert pw.gate(perfect, baseline=split, max_drop={metric: 0.0}).held


def test_a_slice_without_a_baseline_has_nothing_to_drop_from(split):
    other = pw.evaluate(ideal=IDEAL, actual={"a": 1, "b": 1}, attributes=ABOUT)
    result = pw.gate(split, baseline=other, max_drop={"recall": 0.5}, slices=["team"])
    assert {check.where: check.baseline for check in result.checks} == {"overall": 1, "team=red": 1, "team=blue": None}
    assert result.held


def test_an_undefined_value_does_not_hold():
    one = pw.evaluate(ideal={"a": 1, "b": 1}, actual={"a": 1, "b": 1})
    (check,) = pw.gate(one, minimum={"specificity": 0}).checks
    assert check.value is None
    assert not check.held


def test_coverage_is_a_share_of_the_ideal_items():
    half = pw.evaluate(ideal=IDEAL, actual={"a": 1, "c": 2})
    assert not pw.gate(half, minimum={"precision": 1}, min_coverage=0.6).held
    assert pw.gate(half, minimum={"precision": 1}, min_coverage=0.5).held


@pytest.fixture(scope="module")
def weighed():
    """Lack half of the items, which weigh a tenth; and all but a fifth of the weight in the run after that."""
    weights = {"a": 8, "b": 1, "c": 10, "d": 1}
    actual = {"a": 1, "c": 2}
    return [pw.evaluate(ideal=IDEAL, actual=a, weights=weights) for a in (actual, {"b": 1, "c": 2}, {"a": 1, "b": 1})]


def test_coverage_is_checked_by_items_and_by_weight(weighed):
    run, _, _ = weighed
    result = pw.gate(run, min_coverage=0.6, min_weight_coverage=0.9)
    assert [(check.what, check.value, check.held) for check in result.checks] == [
        ("coverage", 0.5, False),
        ("weight coverage", 0.9, True),
    ]
    assert "90.0%" in repr(result)
    assert not pw.gate(run, min_weight_coverage=0.9001).held


def test_coverage_must_not_drop_below_the_baseline(weighed):
    before, less, least = weighed
    assert pw.gate(less, baseline=before, max_coverage_drop=0).held
    assert not pw.gate(less, baseline=before, max_weight_coverage_drop=0.34).held
    assert pw.gate(less, baseline=before, max_weight_coverage_drop=0.36).held
    assert pw.gate(before, baseline=least, max_weight_coverage_drop=0).held
    (check,) = pw.gate(least, baseline=before, max_weight_coverage_drop=0.1).checks
    assert (check.what, check.rule, check.value, check.baseline) == ("weight coverage", "max-drop", 0.45, 0.9)


def test_a_weight_that_nobody_knows_is_not_checked():
    actual = pa.table({"item": ["a", "c"], "cluster": [1, 2], "kilos": [1.0, 2.0]})
    evaluation = pw.evaluate(ideal=IDEAL, actual=actual, weight="kilos")
    with pytest.raises(UsageError, match="2 ideal items that the actual clustering lacks are not known"):
        pw.gate(evaluation, min_weight_coverage=0.5)


def test_rules_that_mean_nothing_are_refused(split, perfect):
    for wrong in (
        {},
        {"max_drop": {"recall": 0.1}},
        {"max_coverage_drop": 0.1},
        {"min_coverage": 80},
        {"min_weight_coverage": float("nan")},
        {"min_coverage": 0.5, "baseline": perfect},
        {"minimum": {"recall": 0}, "baseline": perfect},
        {"max_drop": {"prevalence": 0.1}, "baseline": perfect},
    ):
        with pytest.raises(UsageError):
            pw.gate(split, **wrong)
    with pytest.raises(UnknownMetricError, match="recall"):
        pw.gate(split, minimum={"recal": 0.5})


@pytest.mark.parametrize(
    ("rules", "message"),
    [
        ({"minimum": {"precision": float("nan")}}, "makes no sense"),
        ({"minimum": {"precision": 95}}, "from 0 to 1"),
        ({"minimum": {"precision": 0.5}, "slices": "ideal_cluster_size", "min_items": 100}, "nothing would be checked"),
    ],
)
def test_a_gate_that_checks_nothing_is_refused(rules, message):
    evaluation = pw.evaluate(ideal={"a": 1, "b": 1}, actual={"a": 1, "b": 1})
    with pytest.raises(UsageError, match=message):
        pw.gate(evaluation, **rules)


def test_a_baseline_with_another_truth_is_refused():
    evaluation = pw.evaluate(ideal={"a": 1, "b": 1}, actual={"a": 1, "b": 1})
    other = pw.evaluate(ideal={"a": 1}, actual={"a": 1})
    with pytest.raises(InputError, match="one truth has"):
        pw.gate(evaluation, baseline=other, max_drop={"recall": 0.1})


@pytest.mark.parametrize(
    ("baseline", "problem"),
    [
        ({"outside": "wrong"}, "outside='wrong'"),
        ({"missing": "singleton"}, "missing='singleton'"),
        ({"weights": {"a": 2, "b": 2, "c": 2}}, "weight"),
        ({"ideal": {"a": 1, "b": 2, "c": 2}}, "ideal cluster"),
    ],
    ids=lambda value: value if isinstance(value, str) else next(iter(value)),
)
def test_a_baseline_that_was_evaluated_otherwise_is_refused(baseline, problem):
    truth, actual = {"a": 1, "b": 1, "c": 2}, {"a": 1, "b": 2, "c": 2}
    run = pw.evaluate(ideal=truth, actual=actual)
    other = pw.evaluate(**{"ideal": truth, "actual": actual} | baseline)
    with pytest.raises(InputError, match=problem):
        pw.gate(run, baseline=other, max_drop={"precision": 0.5})


@pytest.mark.parametrize(
    "rules",
    [
        {"minimum": 5},
        {"minimum": {"precision": "high"}},
        {"minimum": {"precision": None}},
        {"maximum": {"recall": True}},
        {"min_coverage": "all"},
    ],
)
def test_what_is_no_limit_is_refused(rules):
    evaluation = pw.evaluate(ideal={"a": 1, "b": 1}, actual={"a": 1, "b": 2})
    with pytest.raises(UsageError):
        pw.gate(evaluation, **rules)
