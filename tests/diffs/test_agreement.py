"""Agreement, against the examples of those who invented the measures."""

from __future__ import annotations

import pytest

from pointwise.diffs.agreement import agree, cohen_kappa, krippendorff_alpha

# Krippendorff, Computing Krippendorff's Alpha-Reliability (2011), section C: four observers, twelve units, and holes.
RELIABILITY = {
    "A": [1, 2, 3, 3, 2, 1, 4, 1, 2, None, None, None],
    "B": [1, 2, 3, 3, 2, 2, 4, 1, 2, 5, None, 3],
    "C": [None, 3, 3, 3, 2, 3, 4, 2, 2, 5, 1, None],
    "D": [1, 2, 3, 3, 2, 4, 4, 1, 2, 5, 1, None],
}


def test_krippendorffs_own_example():
    units = [[v for v in values if v is not None] for values in zip(*RELIABILITY.values(), strict=True)]
    assert krippendorff_alpha(units) == pytest.approx(0.743, abs=5e-4)


def test_krippendorffs_example_of_two_observers_and_two_values():
    # The same text, section A: ten units.
    one, other = [0, 1, 0, 0, 0, 0, 0, 0, 1, 0], [1, 1, 1, 0, 0, 1, 0, 0, 0, 0]
    assert krippendorff_alpha(list(zip(one, other, strict=True))) == pytest.approx(0.095, abs=5e-4)


def test_cohens_own_example():
    # Cohen, A Coefficient of Agreement for Nominal Scales (1960), table 1: proportions of 200 diagnoses.
    proportions = {("a", "a"): 88, ("a", "b"): 14, ("a", "c"): 18, ("b", "a"): 10, ("b", "b"): 40, ("b", "c"): 10}
    proportions |= {("c", "a"): 2, ("c", "b"): 6, ("c", "c"): 12}
    pairs = [pair for pair, number in proportions.items() for _ in range(number)]
    assert len(pairs) == 200
    assert cohen_kappa(pairs) == pytest.approx(0.492, abs=5e-4)


def test_nothing_to_agree_on_has_no_measure():
    assert krippendorff_alpha([]) is None
    assert krippendorff_alpha([["yes"], ["no"]]) is None
    assert krippendorff_alpha([["yes", "yes"], ["yes", "yes"]]) is None
    assert cohen_kappa([]) is None
    assert cohen_kappa([("yes", "yes")]) is None


def test_perfect_and_no_agreement():
    assert krippendorff_alpha([["yes", "yes"], ["no", "no"]]) == 1
    assert krippendorff_alpha([["yes", "no"], ["no", "yes"]]) < 0
    assert cohen_kappa([("yes", "yes"), ("no", "no")]) == 1
    assert cohen_kappa([("yes", "no"), ("no", "yes")]) == -1


def test_judges_are_described_and_unsure_contradicts_nobody():
    answers = [
        ("ada", 1, "yes", 1000),
        ("ada", 2, "no", 3000),
        ("ada", 3, "unsure", None),
        ("ada", 2, "no", 2000),
        ("bob", 1, "yes", None),
        ("bob", 2, "no", None),
        ("bob", 3, "yes", None),
    ]
    found = agree(answers)
    assert (found.alpha, found.shared) == (1, 2)
    assert found.kappas == ({"one": "ada", "other": "bob", "pairs": 2, "kappa": 1.0},)
    assert found.judges[0] == {
        "judge": "ada",
        "answers": 4,
        "yes_share": 1 / 3,
        "unsure_share": 1 / 4,
        "median_seconds": 2.0,
        "repeats": 1,
        "same_share": 1.0,
    }
    assert "alpha 1.000 on 2 pairs" in repr(found)
    assert "ada and bob: kappa 1.000 on 2" in repr(found)
