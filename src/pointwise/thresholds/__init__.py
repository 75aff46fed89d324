"""Thresholds: scored links and a truth come in, and the metrics of the clusters at every threshold come out.

A spanning forest of the strongest links has the same connected components at every threshold. So links are read once,
and every threshold costs only its components and cells. Metrics and intervals are those of an evaluation of the
clusters at that threshold, by the same formulas.
"""
