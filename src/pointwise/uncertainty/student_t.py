"""Student's t distribution, for any positive number of degrees of freedom."""

from __future__ import annotations

import math
from functools import lru_cache

from numpy.polynomial import chebyshev

_MANY = 1e6
"""From here on a transformed normal distribution is exact to the last digits, and faster."""

_TINY = 1e-300


def two_sided_p(t: float, df: float) -> float:
    """Return the probability that a t-distributed number is at least this far from zero.

    Example:
        >>> round(two_sided_p(2.0, 10), 6)
        0.073388
    """
    if df > _MANY:
        return math.erfc(abs(t) * (1 - 1 / (4 * df)) / math.sqrt(1 + t * t / (2 * df)) / math.sqrt(2))
    square = t * t
    # Of x and 1 - x, the smaller one is computed directly: the other one would lose its digits.
    return _incomplete_beta(df / 2, 0.5, df / (df + square), square / (df + square))


def quantile(p: float, df: float) -> float:
    """Return the value that a t-distributed number stays below with probability p.

    Example:
        >>> round(quantile(0.975, 10), 6)
        2.228139
    """
    if p < 0.5:  # noqa: PLR2004  # the distribution is symmetric
        return -quantile(1 - p, df)
    tail, low, high = 2 * (1 - p), 0.0, 1.0
    while two_sided_p(high, df) > tail:
        low, high = high, high * 2
    while low < (middle := (low + high) / 2) < high:
        low, high = (middle, high) if two_sided_p(middle, df) > tail else (low, middle)
    return high


@lru_cache(maxsize=32)
def critical_polynomial(confidence: float) -> tuple[float, ...]:
    """Return the critical value as a polynomial in `2 / df - 1`, lowest power first.

    The critical value is a smooth function of 1 / df between 0 and 1, so a polynomial through Chebyshev points
    has it to seven digits and more. An engine can compute a polynomial for every row of a table of any size.
    """
    points = chebyshev.chebpts1(11)
    exact = [quantile((1 + confidence) / 2, 2 / (1 + x)) for x in points]
    return tuple(float(c) for c in chebyshev.cheb2poly(chebyshev.chebfit(points, exact, 10)))


def critical_value(confidence: float, df: float) -> float:
    """Return how many standard errors an interval reaches to either side."""
    x = 2 / df - 1
    return sum(c * x**n for n, c in enumerate(critical_polynomial(confidence)))


def _incomplete_beta(a: float, b: float, x: float, y: float) -> float:
    """Return the regularised incomplete beta function at x = 1 - y."""
    if x <= 0 or y <= 0:
        return float(x > 0)
    front = math.exp(math.lgamma(a + b) - math.lgamma(a) - math.lgamma(b) + a * math.log(x) + b * math.log(y))
    if x < (a + 1) / (a + b + 2):
        return front * _beta_fraction(a, b, x) / a
    return 1 - front * _beta_fraction(b, a, y) / b


def _beta_fraction(a: float, b: float, x: float) -> float:
    """Evaluate the continued fraction of the incomplete beta function (Lentz's method)."""
    c, d = 1.0, 1 / _not_zero(1 - (a + b) * x / (a + 1))
    value, m = d, 0
    while True:
        m += 1
        even = m * (b - m) * x / ((a + 2 * m - 1) * (a + 2 * m))
        odd = -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1))
        for term in (even, odd):
            d = 1 / _not_zero(1 + term * d)
            c = _not_zero(1 + term / c)
            value *= c * d
        if abs(c * d - 1) < 1e-15 or m > 10_000:  # noqa: PLR2004
            return value


def _not_zero(value: float) -> float:
    return value if abs(value) > _TINY else _TINY
