"""Weights under attack: over six hundred orders of magnitude, the right numbers or a clear no."""

from __future__ import annotations

from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

import pointwise as pw
from pointwise import labels
from pointwise.errors import WeightError

IDEAL = {"a": 1, "b": 1, "c": 2, "d": 2, "e": 3}
ACTUAL = {"a": 1, "b": 2, "c": 2, "d": 2, "e": 1}
ITEMS = tuple(IDEAL)

magnitudes = st.floats(min_value=5e-324, max_value=1.7e308, allow_subnormal=True)
near = st.tuples(st.integers(-90, 90), st.lists(st.integers(1, 10**6), min_size=5, max_size=5)).map(
    lambda drawn: [factor * 10.0 ** drawn[0] for factor in drawn[1]]
)
weights = st.one_of(near, st.lists(magnitudes, min_size=5, max_size=5))


FORMULAS = {
    "precision": lambda tp, fp, _fn, _tn: tp / (tp + fp),
    "specificity": lambda _tp, fp, _fn, tn: tn / (tn + fp),
    "adjusted_rand": lambda tp, fp, fn, tn: 2 * (tp * tn - fn * fp) / ((tp + fn) * (fn + tn) + (tp + fp) * (fp + tn)),
}


def expected(name, weighed):
    """Average a metric of the sets in fractions."""
    total = sum(weighed.values())
    summed = Fraction(0)
    for item in ITEMS:
        mine = {i for i in ITEMS if IDEAL[i] == IDEAL[item]}
        found = {i for i in ITEMS if ACTUAL[i] == ACTUAL[item]}
        tp, fp, fn, tn = (
            sum((weighed[i] for i in part), Fraction(0))
            for part in (mine & found, found - mine, mine - found, set(ITEMS) - mine - found)
        )
        summed += weighed[item] * FORMULAS[name](tp, fp, fn, tn)
    return float(summed / total)


@given(drawn=weights)
@pytest.mark.parametrize("name", ["precision", "specificity", "adjusted_rand"])
def test_any_weights_give_the_right_numbers_or_are_refused(name, drawn):
    weighed = dict(zip(ITEMS, drawn, strict=True))
    exact = {item: Fraction(weight) for item, weight in weighed.items()}
    least, total = min(exact.values()), sum(exact.values())
    try:
        found = pw.evaluate(ideal=IDEAL, actual=ACTUAL, weights=weighed, metrics=name, intervals=False)
        value, mistakes = found.overall[name], found.mistakes()
    except WeightError:
        assert least < Fraction("1e-100") or total > Fraction("0.99e100") or total > least * 2**51
        return
    # What is left of the lightest item after it was added to the total bounds what a difference can show of it.
    tolerance = 1e-12 + float(total / least) * 2.0**-52 * 16
    assert value == pytest.approx(expected(name, exact), rel=tolerance, abs=tolerance)
    assert all(0 <= row["cost"] <= 1 for row in mistakes.to_dicts())
    label = labels.scores(
        [IDEAL[i] for i in ITEMS], [ACTUAL[i] for i in ITEMS], sample_weight=list(weighed.values()), metrics=name
    )
    assert label[name] == pytest.approx(value, rel=tolerance, abs=tolerance)


@pytest.mark.parametrize(
    "weighed",
    [
        dict.fromkeys(ITEMS, 1e155),
        dict.fromkeys(ITEMS, 5e-324),
        dict.fromkeys(ITEMS, 1e308),
        dict.fromkeys(ITEMS, 1.0) | {"a": 1e17},
        dict.fromkeys(ITEMS, 1e12) | {"a": 1e-12},
    ],
    ids=["large", "least", "overflowing", "far", "farther"],
)
def test_what_floating_point_numbers_cannot_hold_is_refused_at_every_door(weighed):
    listed = [IDEAL[i] for i in ITEMS], [ACTUAL[i] for i in ITEMS]
    doors = [
        lambda: pw.evaluate(ideal=IDEAL, actual=ACTUAL, weights=weighed),
        lambda: pw.compare(ideal=IDEAL, variants={"x": ACTUAL, "y": IDEAL}, weights=weighed),
        lambda: pw.distance(IDEAL, ACTUAL, weights=weighed),
        lambda: pw.diff(baseline=IDEAL, experiment=ACTUAL, weights=weighed),
        lambda: labels.scores(*listed, sample_weight=list(weighed.values())),
    ]
    for door in doors:
        with pytest.raises(WeightError, match="The lightest item weighs"):
            door()
