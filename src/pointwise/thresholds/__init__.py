"""Thresholds: scored links and a truth come in, and the metrics of the clusters at every threshold come out.

A spanning forest of the strongest links keeps the connected components at every threshold. So links are looked at once,
and every threshold costs only what its components and cells do. Metrics and intervals are those of an evaluation of the
clusters at that threshold, by the same formulas.
"""
