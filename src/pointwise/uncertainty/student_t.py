"""Student's t distribution: SciPy's quantiles and probabilities, and a form of them that engines can evaluate."""

from __future__ import annotations

import math
from functools import lru_cache

from numpy.polynomial import chebyshev

_DEGREE = 16


def two_sided_p(t: float, df: float) -> float:
    """Return the probability that a t-distributed number is at least this far from zero.

    Examples:
        >>> round(two_sided_p(2.0, 10), 6)
        0.073388
    """
    from scipy.special import stdtr

    return float(2 * stdtr(df, -abs(t)))


def critical_value(confidence: float, df: float) -> float:
    """Return how many standard errors an interval extends to either side.

    Examples:
        >>> round(critical_value(0.95, 10), 6)
        2.228139
    """
    from scipy.special import stdtrit

    return float(-stdtrit(df, (1 - confidence) / 2))


def normal_value(confidence: float) -> float:
    """Return the critical value of the normal distribution, for very many degrees of freedom."""
    from scipy.special import ndtri

    return float(-ndtri((1 - confidence) / 2))


@lru_cache(maxsize=32)
def critical_polynomial(confidence: float) -> tuple[float, ...]:
    """Return the logarithm of the critical value as a polynomial in `2 / df - 1`, lowest power first.

    It is a smooth function of 1 / df between 0 and 1, so a polynomial through Chebyshev points has it to nine digits
    for the confidences in use, from one degree of freedom on. An engine can compute a polynomial for every row of a
    table of any size. The logarithm is used because the value itself grows without bound if the confidence is high and
    the degrees of freedom are few.
    """
    points = chebyshev.chebpts1(_DEGREE + 1)
    exact = [math.log(critical_value(confidence, 2 / (1 + x))) for x in points]
    return tuple(float(c) for c in chebyshev.cheb2poly(chebyshev.chebfit(points, exact, _DEGREE)))
