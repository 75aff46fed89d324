"""Judge a clustering against a ground truth."""

from narwhals.stable.v2 import col

from pointwise import datasets
from pointwise.comparison import Comparison, compare, load_comparison
from pointwise.coverage import Coverage
from pointwise.distance import DistanceMatrix, distance, distance_matrix, nearest
from pointwise.errors import PointwiseError, RunError
from pointwise.evaluation import Evaluation, evaluate
from pointwise.gates import Gate, gate
from pointwise.metrics import METRICS, Metric, metric
from pointwise.mistakes import Mistake, Mistakes
from pointwise.runs import history, load
from pointwise.tables import MetricTable, Overall
from pointwise.version import __version__

__all__ = [
    "METRICS",
    "Comparison",
    "Coverage",
    "DistanceMatrix",
    "Evaluation",
    "Gate",
    "Metric",
    "MetricTable",
    "Mistake",
    "Mistakes",
    "Overall",
    "PointwiseError",
    "RunError",
    "__version__",
    "col",
    "compare",
    "datasets",
    "distance",
    "distance_matrix",
    "evaluate",
    "gate",
    "history",
    "load",
    "load_comparison",
    "metric",
    "nearest",
]
