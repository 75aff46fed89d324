"""Members outside the truth that are not looked at: how much they may hide is said in numbers."""

from __future__ import annotations

import pytest

import pointwise as pw

IDEAL = {"a": 1, "b": 1, "c": 2, "d": 2}
ACTUAL = {"a": 1, "b": 1, "c": 2, "d": 3, "x": 1, "y": 2, "z": 2}
WEIGHTS = {"a": 1, "b": 2, "c": 3, "d": 1, "x": 5, "y": 1, "z": 1}
MANY = {f"other{n}": 100 + n for n in range(40)}  # so that the truth is small, and what lies outside is not kept


@pytest.mark.parametrize("actual", [ACTUAL, ACTUAL | MANY])
@pytest.mark.parametrize("weights", [None, WEIGHTS | dict.fromkeys(MANY, 1.0)])
@pytest.mark.parametrize("missing", ["drop", "singleton"])
def test_the_range_goes_down_to_what_the_other_policy_gives(actual, weights, missing):
    ideal = IDEAL | {"lost": 2}
    known = weights and weights | {"lost": 2.0}
    given = {"ideal": ideal, "actual": actual, "weights": known, "missing": missing}
    ignored, wrong = (pw.evaluate(outside=policy, **given) for policy in ("ignore", "wrong"))
    assert ignored.coverage.least_precision == pytest.approx(wrong.overall["precision"], rel=1e-12)
    low, high = (f"{e.overall['precision']:.4f}" for e in (wrong, ignored))
    assert f"Precision lies between {low} (all of them are wrong) and {high} (none is)" in " ".join(ignored.warnings)
    assert f"{low} to {high}" in repr(ignored.overall)
    assert not wrong.warnings or "outside the truth" not in " ".join(wrong.warnings)
    assert "range" not in repr(wrong.overall)


def test_few_members_outside_are_not_worth_a_word():
    ideal = {f"{n}{half}": n for n in range(40) for half in "ab"}
    evaluation = pw.evaluate(ideal=ideal, actual=ideal | {"x": 1})
    assert evaluation.coverage.outside_share < 0.05
    assert not evaluation.warnings
    assert "Range" not in repr(evaluation.overall)


def test_metrics_without_false_positives_need_no_warning():
    assert not pw.evaluate(ideal=IDEAL, actual=ACTUAL, metrics="recall").warnings
    assert "may be as low as" in pw.evaluate(ideal=IDEAL, actual=ACTUAL, metrics="f1").warnings[0]


def test_a_stored_run_warns_as_well(tmp_path):
    evaluation = pw.evaluate(ideal=IDEAL, actual=ACTUAL)
    evaluation.save(tmp_path / "run")
    assert pw.load(tmp_path / "run").warnings == evaluation.warnings


def test_tables_say_under_which_assumption_intervals_hold():
    assert "drawn uniformly" in repr(pw.evaluate(ideal=IDEAL, actual=ACTUAL).overall)
    assert "drawn uniformly" not in repr(pw.evaluate(ideal=IDEAL, actual=ACTUAL, intervals=False).overall)


def test_nothing_is_said_of_intervals_where_there_are_none(tmp_path):
    evaluation = pw.evaluate(ideal={"a": 1, "b": 1}, actual={"a": 1, "b": 2}, metrics="recall")
    assert all(interval.low is None for interval in evaluation.overall.intervals.values())
    evaluation.report(tmp_path / "report.html")
    for said in (repr(evaluation.overall), (tmp_path / "report.html").read_text(encoding="utf-8")):
        assert "No interval for" in said
        assert "drawn uniformly" not in said


def test_intervals_of_metrics_that_cannot_see_merges_are_named():
    said = " ".join(repr(pw.evaluate(ideal=IDEAL, actual=ACTUAL).overall).split())
    assert "not those of f1, jaccard_distance, because merges with clusters outside the truth" in said
    for other in ({"outside": "wrong"}, {"metrics": "recall"}):
        assert "not those of" not in repr(pw.evaluate(ideal=IDEAL, actual=ACTUAL, **other).overall)
    seen = {item: cluster for item, cluster in ACTUAL.items() if item in IDEAL}
    assert "not those of" not in repr(pw.evaluate(ideal=IDEAL, actual=seen).overall)
