"""Verdicts: whether a change is clear, and for the better."""

from __future__ import annotations


def judge(better: str | None, low: float | None, high: float | None) -> str:
    """Say whether a change is clear, and for the better: its interval does not hold zero."""
    if low is None or high is None or low <= 0 <= high or better is None:
        return "not clear"
    return "better" if (low > 0) == (better == "higher") else "worse"
