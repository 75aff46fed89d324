"""Comparison: several clusterings against one truth, and how far apart clusterings are.

Evaluations come in, one per variant. Deltas with intervals, what changed and what moved, and distances go out: the
paper's A/B comparison, and its theorem that lifts a distance of sets to clusterings.
"""
