"""Judge a clustering against a ground truth."""

from pointwise.metrics import METRICS, Metric, metric

__all__ = ["METRICS", "Metric", "metric"]
__version__ = "0.1.0"
