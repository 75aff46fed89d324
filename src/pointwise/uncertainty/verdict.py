"""Verdicts: whether a change is clear, and for the better. Tables, charts and reports all get them from here."""

from __future__ import annotations

BETTER = "better"
WORSE = "worse"
NOT_CLEAR = "not clear"
TOO_FEW = "too few changed"
SAME = "no change"

ENOUGH = 25
"""How many clusters must have changed: with fewer, the interval of a difference is too often wrong."""

_NOTHING = 1e-12  # below this, a difference is only rounding


def judge(
    better: str | None,
    delta: float | None,
    p_adjusted: float | None,
    *,
    changed: int,
    confidence: float,
    is_complete: bool = False,
) -> str:
    """Say whether a change is clear, and for the better.

    Args:
        better: Whether higher or lower values are better; None if neither.
        delta: The change.
        p_adjusted: Its p-value, adjusted for the number of tests.
        changed: Number of ideal clusters whose own value changed.
        confidence: How certain a clear change must be.
        is_complete: Whether the truth is everything, so that every change is real.
    """
    if delta is None:
        return NOT_CLEAR
    if changed == 0 and abs(delta) < _NOTHING:
        return SAME
    if changed < ENOUGH and not is_complete:
        return TOO_FEW
    is_clear = is_complete or (p_adjusted is not None and p_adjusted <= 1 - confidence)
    if not is_clear or better is None:
        return NOT_CLEAR
    return BETTER if (delta > 0) == (better == "higher") else WORSE
