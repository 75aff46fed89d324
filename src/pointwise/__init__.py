"""Judge a clustering against a ground truth."""

from narwhals.stable.v2 import col

from pointwise import datasets
from pointwise.coverage import Coverage
from pointwise.errors import PointwiseError
from pointwise.evaluation import Evaluation, evaluate
from pointwise.metrics import METRICS, Metric, metric
from pointwise.tables import MetricTable, Overall

__all__ = [
    "METRICS",
    "Coverage",
    "Evaluation",
    "Metric",
    "MetricTable",
    "Overall",
    "PointwiseError",
    "col",
    "datasets",
    "evaluate",
    "metric",
]
__version__ = "0.1.0"
