"""Judge a clustering against a ground truth."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from pointwise.version import __version__

if TYPE_CHECKING:
    from narwhals.stable.v2 import col

    from pointwise import charts, datasets, engines, errors, labels
    from pointwise.answers.discovery import FoundSlices, find_slices
    from pointwise.answers.explanations import ClusterExplanation, Explanation, ItemExplanation, ItemSet
    from pointwise.answers.mistake import Mistake, Part, Rest
    from pointwise.answers.mistakes import Mistakes
    from pointwise.answers.records import Example, Record, Records
    from pointwise.answers.tables import MetricTable, Overall
    from pointwise.columns import Column, Kind
    from pointwise.comparison.comparing import compare
    from pointwise.comparison.comparison import Comparison, load_comparison
    from pointwise.comparison.distances import DistanceMatrix, distance, distance_matrix, nearest
    from pointwise.comparison.explanations import ClusterComparison, ItemComparison, SharedPart
    from pointwise.core.confusion import Confusion
    from pointwise.core.coverage import Coverage
    from pointwise.core.metrics import METRICS, Better, Formula, Metric, MetricChoice, metric
    from pointwise.diffs.agreement import Agreement
    from pointwise.diffs.cases import Case, CaseKind
    from pointwise.diffs.changes import Change, ChangeKind, Changes
    from pointwise.diffs.closure import ItemPair
    from pointwise.diffs.diff import Diff, load_diff
    from pointwise.diffs.diffing import diff
    from pointwise.diffs.estimates import Estimate
    from pointwise.diffs.estimation import Estimates
    from pointwise.diffs.explanations import ChangeExplanation
    from pointwise.diffs.impact import Impact
    from pointwise.diffs.judgements import Answer, Judgement, JudgementKind, Judgements, Oracle, read_judgements
    from pointwise.diffs.questions import Question, Questions, read_questions
    from pointwise.diffs.standing import Standing
    from pointwise.engines import Engine, start_spark
    from pointwise.errors import PointwiseError, RunError
    from pointwise.evaluation import Evaluation, evaluate, load
    from pointwise.gates import Check, Gate, gate, gate_diff
    from pointwise.inputs.composite import ItemId
    from pointwise.inputs.graphs import Contradiction
    from pointwise.inputs.links import Links, cluster_links
    from pointwise.inputs.options import (
        ColumnNames,
        CompareOn,
        Contradictions,
        DiffOn,
        DistanceMissing,
        LayoutName,
        Missing,
        MistakeKind,
        MistakesBy,
        Outside,
        Pairs,
        Sampling,
        Unassigned,
    )
    from pointwise.related.table import Related
    from pointwise.results import Result
    from pointwise.store.history import HistoryOf, history
    from pointwise.text.drawing import Drawing
    from pointwise.thresholds.sweeping import Choice, Sweep, sweep
    from pointwise.uncertainty.intervals import Interval
    from pointwise.uncertainty.planning import Need, Plan
    from pointwise.uncertainty.worksheets import Worksheet, sample_items

__all__ = [
    "METRICS",
    "Agreement",
    "Answer",
    "Better",
    "Case",
    "CaseKind",
    "Change",
    "ChangeExplanation",
    "ChangeKind",
    "Changes",
    "Check",
    "Choice",
    "ClusterComparison",
    "ClusterExplanation",
    "Column",
    "ColumnNames",
    "CompareOn",
    "Comparison",
    "Confusion",
    "Contradiction",
    "Contradictions",
    "Coverage",
    "Diff",
    "DiffOn",
    "DistanceMatrix",
    "DistanceMissing",
    "Drawing",
    "Engine",
    "Estimate",
    "Estimates",
    "Evaluation",
    "Example",
    "Explanation",
    "Formula",
    "FoundSlices",
    "Gate",
    "HistoryOf",
    "Impact",
    "Interval",
    "ItemComparison",
    "ItemExplanation",
    "ItemId",
    "ItemPair",
    "ItemSet",
    "Judgement",
    "JudgementKind",
    "Judgements",
    "Kind",
    "LayoutName",
    "Links",
    "Metric",
    "MetricChoice",
    "MetricTable",
    "Missing",
    "Mistake",
    "MistakeKind",
    "Mistakes",
    "MistakesBy",
    "Need",
    "Oracle",
    "Outside",
    "Overall",
    "Pairs",
    "Part",
    "Plan",
    "PointwiseError",
    "Question",
    "Questions",
    "Record",
    "Records",
    "Related",
    "Rest",
    "Result",
    "RunError",
    "Sampling",
    "SharedPart",
    "Standing",
    "Sweep",
    "Unassigned",
    "Worksheet",
    "__version__",
    "charts",
    "cluster_links",
    "col",
    "compare",
    "datasets",
    "diff",
    "distance",
    "distance_matrix",
    "engines",
    "errors",
    "evaluate",
    "find_slices",
    "gate",
    "gate_diff",
    "history",
    "labels",
    "load",
    "load_comparison",
    "load_diff",
    "metric",
    "nearest",
    "read_judgements",
    "read_questions",
    "sample_items",
    "start_spark",
    "sweep",
]

_HOMES = {
    "Agreement": "pointwise.diffs.agreement",
    "Answer": "pointwise.diffs.judgements",
    "Better": "pointwise.core.metrics",
    "Case": "pointwise.diffs.cases",
    "CaseKind": "pointwise.diffs.cases",
    "Change": "pointwise.diffs.changes",
    "ChangeExplanation": "pointwise.diffs.explanations",
    "ChangeKind": "pointwise.diffs.changes",
    "Changes": "pointwise.diffs.changes",
    "Check": "pointwise.gates",
    "Choice": "pointwise.thresholds.sweeping",
    "ClusterComparison": "pointwise.comparison.explanations",
    "ClusterExplanation": "pointwise.answers.explanations",
    "Column": "pointwise.columns",
    "ColumnNames": "pointwise.inputs.options",
    "LayoutName": "pointwise.inputs.options",
    "CompareOn": "pointwise.inputs.options",
    "Comparison": "pointwise.comparison.comparison",
    "Confusion": "pointwise.core.confusion",
    "Contradiction": "pointwise.inputs.graphs",
    "Contradictions": "pointwise.inputs.options",
    "Coverage": "pointwise.core.coverage",
    "Diff": "pointwise.diffs.diff",
    "DiffOn": "pointwise.inputs.options",
    "DistanceMatrix": "pointwise.comparison.distances",
    "DistanceMissing": "pointwise.inputs.options",
    "Drawing": "pointwise.text.drawing",
    "Engine": "pointwise.engines",
    "Estimate": "pointwise.diffs.estimates",
    "Estimates": "pointwise.diffs.estimation",
    "Evaluation": "pointwise.evaluation",
    "Example": "pointwise.answers.records",
    "Explanation": "pointwise.answers.explanations",
    "Formula": "pointwise.core.metrics",
    "FoundSlices": "pointwise.answers.discovery",
    "Gate": "pointwise.gates",
    "HistoryOf": "pointwise.store.history",
    "Impact": "pointwise.diffs.impact",
    "Interval": "pointwise.uncertainty.intervals",
    "ItemComparison": "pointwise.comparison.explanations",
    "ItemExplanation": "pointwise.answers.explanations",
    "ItemId": "pointwise.inputs.composite",
    "ItemPair": "pointwise.diffs.closure",
    "ItemSet": "pointwise.answers.explanations",
    "Judgement": "pointwise.diffs.judgements",
    "JudgementKind": "pointwise.diffs.judgements",
    "Judgements": "pointwise.diffs.judgements",
    "Kind": "pointwise.columns",
    "Links": "pointwise.inputs.links",
    "METRICS": "pointwise.core.metrics",
    "Metric": "pointwise.core.metrics",
    "MetricChoice": "pointwise.core.metrics",
    "MetricTable": "pointwise.answers.tables",
    "Missing": "pointwise.inputs.options",
    "Mistake": "pointwise.answers.mistake",
    "MistakeKind": "pointwise.inputs.options",
    "Mistakes": "pointwise.answers.mistakes",
    "MistakesBy": "pointwise.inputs.options",
    "Need": "pointwise.uncertainty.planning",
    "Oracle": "pointwise.diffs.judgements",
    "Outside": "pointwise.inputs.options",
    "Overall": "pointwise.answers.tables",
    "Pairs": "pointwise.inputs.options",
    "Part": "pointwise.answers.mistake",
    "Plan": "pointwise.uncertainty.planning",
    "PointwiseError": "pointwise.errors",
    "Question": "pointwise.diffs.questions",
    "Questions": "pointwise.diffs.questions",
    "Record": "pointwise.answers.records",
    "Records": "pointwise.answers.records",
    "Related": "pointwise.related.table",
    "Rest": "pointwise.answers.mistake",
    "Result": "pointwise.results",
    "RunError": "pointwise.errors",
    "Sampling": "pointwise.inputs.options",
    "SharedPart": "pointwise.comparison.explanations",
    "Standing": "pointwise.diffs.standing",
    "Sweep": "pointwise.thresholds.sweeping",
    "Unassigned": "pointwise.inputs.options",
    "Worksheet": "pointwise.uncertainty.worksheets",
    "charts": "pointwise",
    "cluster_links": "pointwise.inputs.links",
    "col": "narwhals.stable.v2",
    "compare": "pointwise.comparison.comparing",
    "datasets": "pointwise",
    "diff": "pointwise.diffs.diffing",
    "distance": "pointwise.comparison.distances",
    "distance_matrix": "pointwise.comparison.distances",
    "engines": "pointwise",
    "errors": "pointwise",
    "evaluate": "pointwise.evaluation",
    "find_slices": "pointwise.answers.discovery",
    "gate": "pointwise.gates",
    "gate_diff": "pointwise.gates",
    "history": "pointwise.store.history",
    "labels": "pointwise",
    "load": "pointwise.evaluation",
    "load_comparison": "pointwise.comparison.comparison",
    "load_diff": "pointwise.diffs.diff",
    "metric": "pointwise.core.metrics",
    "nearest": "pointwise.comparison.distances",
    "read_judgements": "pointwise.diffs.judgements",
    "read_questions": "pointwise.diffs.questions",
    "sample_items": "pointwise.uncertainty.worksheets",
    "start_spark": "pointwise.engines",
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
