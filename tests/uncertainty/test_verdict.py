"""Verdicts: by adjusted p-values, only where enough clusters changed, and on exact values by their sign."""

from __future__ import annotations

import numpy as np
import pytest

import pointwise as pw
from pointwise.uncertainty.intervals import adjust_jointly
from pointwise.uncertainty.verdict import judge


@pytest.mark.parametrize(
    ("better", "delta", "p", "changed", "word"),
    [
        ("higher", 0.1, 0.01, 25, "better"),
        ("lower", 0.1, 0.01, 25, "worse"),
        ("higher", 0.1, 0.06, 400, "not clear"),
        ("higher", 0.1, 0.001, 24, "too few changed"),
        (None, 0.1, 0.001, 100, "not clear"),
        ("higher", 0.0, None, 0, "no change"),
        ("higher", None, None, 0, "not clear"),
        ("higher", 0.01, None, 0, "too few changed"),
    ],
)
def test_judging(better, delta, p, changed, word):
    assert judge(better, delta, p, changed=changed, confidence=0.95) == word


def test_what_is_clear_depends_on_the_confidence_and_a_complete_truth_is_exact():
    assert judge("higher", 0.1, 0.03, changed=50, confidence=0.99) == "not clear"
    assert judge("higher", -0.1, None, changed=2, confidence=0.95, is_complete=True) == "worse"


def test_holm_is_the_definition():
    p = [0.2, 0.01, 0.04, 0.012]
    ordered = np.sort(p)
    expected = np.minimum(1, np.maximum.accumulate(ordered * np.arange(4, 0, -1)))
    assert sorted(adjust_jointly(p)) == pytest.approx(expected.tolist(), rel=1e-12)
    assert adjust_jointly([None, 0.5, 0.9]) == [None, 1.0, 1.0]


def many_pairs(split):
    """A truth of 60 pairs, some of which are torn."""
    return {f"{n}{half}": n if half == "a" or n >= split else -n - 1 for n in range(60) for half in "ab"}


@pytest.fixture(scope="module")
def comparison():
    variants = {"whole": many_pairs(0), "few": many_pairs(10), "many": many_pairs(30), "same": many_pairs(0)}
    return pw.compare(ideal=many_pairs(0), variants=variants, baseline="whole", metrics=["recall", "precision"])


def test_tables_count_the_clusters_that_changed_and_judge_only_where_there_are_enough(comparison):
    rows = {(row["experiment"], row["metric"]): row for row in comparison.deltas().to_dicts()}
    few, many, same = (rows[name, "recall"] for name in ("few", "many", "same"))
    assert [(row["up_clusters"], row["down_clusters"]) for row in (few, many, same)] == [(0, 10), (0, 30), (0, 0)]
    assert [row["verdict"] for row in (few, many, same)] == ["too few changed", "worse", "no change"]
    assert same["p_value"] is None
    assert same["p_adjusted"] is None
    assert [few["p_adjusted"], many["p_adjusted"]] == pytest.approx(
        adjust_jointly([few["p_value"], many["p_value"]]), rel=1e-12
    )
    assert "interval is rough" in repr(comparison.deltas())


def test_without_intervals_there_is_no_verdict_and_with_a_complete_truth_there_is():
    variants = {"one": many_pairs(0), "two": many_pairs(5)}
    silent = pw.compare(ideal=many_pairs(0), variants=variants, intervals=False, metrics="recall")
    assert "verdict" not in silent.deltas().columns
    exact = pw.compare(ideal=many_pairs(0), variants=variants, sampling="complete", metrics="recall")
    row = exact.deltas().to_dicts()[0]
    assert row["verdict"] == "worse"
    assert "p_value" not in row
