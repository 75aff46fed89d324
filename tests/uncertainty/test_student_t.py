"""Student's t: what engines evaluate is what SciPy says."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from pointwise.uncertainty.student_t import critical_polynomial, critical_value, normal_value, two_sided_p


@given(st.floats(1, 1e9), st.floats(0.001, 0.9999))
def test_the_polynomial_holds_from_one_degree_of_freedom_on(df, confidence):
    x = 2 / df - 1
    value = math.exp(sum(c * x**n for n, c in enumerate(critical_polynomial(confidence))))
    assert value == pytest.approx(stats.t.ppf((1 + confidence) / 2, df), rel=1e-7)


@pytest.mark.parametrize("df", [1, 1.5, 3.7, 57.3, 9_999, 2e6])
def test_values_and_probabilities(df):
    assert critical_value(0.95, df) == pytest.approx(stats.t.ppf(0.975, df), rel=1e-12)
    assert critical_value(0.95, 1e12) == pytest.approx(normal_value(0.95), rel=1e-9)
    for t in (0.0, -0.5, 2.0, 40.0):
        assert two_sided_p(t, df) == pytest.approx(2 * stats.t.sf(abs(t), df), rel=1e-12)
