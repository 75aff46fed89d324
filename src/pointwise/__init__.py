"""Judge a clustering against a ground truth."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from pointwise.version import __version__

if TYPE_CHECKING:
    from narwhals.stable.v2 import col

    from pointwise import datasets
    from pointwise.answers.mistakes import Mistake, Mistakes
    from pointwise.answers.tables import MetricTable, Overall
    from pointwise.comparison.comparing import compare
    from pointwise.comparison.comparison import Comparison, load_comparison
    from pointwise.comparison.distances import DistanceMatrix, distance, distance_matrix, nearest
    from pointwise.core.coverage import Coverage
    from pointwise.core.metrics import METRICS, Metric, metric
    from pointwise.diffs.estimation import Estimates
    from pointwise.diffs.impact import Diff, diff, load_diff
    from pointwise.diffs.judgements import Judgements, read_judgements
    from pointwise.diffs.questions import Questions, read_questions
    from pointwise.errors import PointwiseError, RunError
    from pointwise.evaluation import Evaluation, evaluate, load
    from pointwise.gates import Gate, gate
    from pointwise.inputs.links import Links, cluster_links
    from pointwise.store.history import history
    from pointwise.thresholds.sweeping import Sweep, sweep

__all__ = [
    "METRICS",
    "Comparison",
    "Coverage",
    "Diff",
    "DistanceMatrix",
    "Estimates",
    "Evaluation",
    "Gate",
    "Judgements",
    "Links",
    "Metric",
    "MetricTable",
    "Mistake",
    "Mistakes",
    "Overall",
    "PointwiseError",
    "Questions",
    "RunError",
    "Sweep",
    "__version__",
    "cluster_links",
    "col",
    "compare",
    "datasets",
    "diff",
    "distance",
    "distance_matrix",
    "evaluate",
    "gate",
    "history",
    "load",
    "load_comparison",
    "load_diff",
    "metric",
    "nearest",
    "read_judgements",
    "read_questions",
    "sweep",
]

_HOMES = {
    "Comparison": "pointwise.comparison.comparison",
    "Coverage": "pointwise.core.coverage",
    "Diff": "pointwise.diffs.impact",
    "DistanceMatrix": "pointwise.comparison.distances",
    "Estimates": "pointwise.diffs.estimation",
    "Evaluation": "pointwise.evaluation",
    "Gate": "pointwise.gates",
    "Judgements": "pointwise.diffs.judgements",
    "Links": "pointwise.inputs.links",
    "METRICS": "pointwise.core.metrics",
    "Metric": "pointwise.core.metrics",
    "MetricTable": "pointwise.answers.tables",
    "Mistake": "pointwise.answers.mistakes",
    "Mistakes": "pointwise.answers.mistakes",
    "Overall": "pointwise.answers.tables",
    "PointwiseError": "pointwise.errors",
    "Questions": "pointwise.diffs.questions",
    "RunError": "pointwise.errors",
    "Sweep": "pointwise.thresholds.sweeping",
    "cluster_links": "pointwise.inputs.links",
    "col": "narwhals.stable.v2",
    "compare": "pointwise.comparison.comparing",
    "datasets": "pointwise",
    "diff": "pointwise.diffs.impact",
    "distance": "pointwise.comparison.distances",
    "distance_matrix": "pointwise.comparison.distances",
    "evaluate": "pointwise.evaluation",
    "gate": "pointwise.gates",
    "history": "pointwise.store.history",
    "load": "pointwise.evaluation",
    "load_comparison": "pointwise.comparison.comparison",
    "load_diff": "pointwise.diffs.impact",
    "metric": "pointwise.core.metrics",
    "nearest": "pointwise.comparison.distances",
    "read_judgements": "pointwise.diffs.judgements",
    "read_questions": "pointwise.diffs.questions",
    "sweep": "pointwise.thresholds.sweeping",
}
"""Where each public name lives. It is imported when it is first used, so that the command line starts quickly."""

if not TYPE_CHECKING:

    def __getattr__(name: str) -> Any:
        """Import a public name."""
        if name not in _HOMES:
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        if _HOMES[name] == __name__:
            return import_module(f"{__name__}.{name}")
        value = getattr(import_module(_HOMES[name]), name)
        globals()[name] = value
        return value

    def __dir__() -> list[str]:
        """List the public names."""
        return sorted(__all__)
