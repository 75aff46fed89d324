"""Uncertainty: how far a value may lie from what a larger truth would give.

Sums per ideal cluster come in, because a truth is a sample of ideal clusters. Intervals, p-values and verdicts go out.
The paper stops before this question; `benchmarks/intervals.py` shows how often the answers hold.
"""
