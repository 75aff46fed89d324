"""Charts as methods of what they show: `evaluation.plot.clusters()`."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from pointwise.charts import circles, flows, quality, variants
from pointwise.charts.style import ChartRow, LayeredChart
from pointwise.core.metrics import Metric
from pointwise.engines.turns import in_turn
from pointwise.text.values import SHOWN_ROWS

if TYPE_CHECKING:
    from pointwise.comparison.comparison import Comparison
    from pointwise.evaluation import Evaluation


@in_turn("evaluation.engine")
@dataclass(frozen=True)
class EvaluationPlots:
    """The charts of an evaluation. `pointwise.charts` explains their parameters.

    Examples:
        >>> import pointwise as pw
        >>> evaluation = pw.evaluate(ideal=[["i1", "i2"], ["i3"]], actual=[["i1", "i3"], ["i2"]])
        >>> evaluation.plot.mistakes().title.text
        'What costs most'
        >>> evaluation.plot.distribution().title.text
        "How the weight spreads over items' precision and recall"
        >>> evaluation.plot.slices("ideal_cluster_size").title.text
        'Recall by ideal cluster size'
    """

    evaluation: Evaluation

    def venn(self, *, item: Any = None, ideal_cluster: Any = None, actual_cluster: Any = None) -> LayeredChart:
        """Draw an item's ideal and actual cluster as circles whose areas are the weights."""
        return circles.venn(self.evaluation, item=item, ideal_cluster=ideal_cluster, actual_cluster=actual_cluster)

    def distribution(self, *, metrics: Sequence[str] = ("precision", "recall")) -> ChartRow:
        """Draw how the weight spreads over the items' values of some metrics."""
        return quality.distribution(self.evaluation, metrics=metrics)

    def clusters(self, *, side: str = "ideal", limit: int = SHOWN_ROWS) -> LayeredChart:
        """Draw clusters as bubbles, precision against recall, area by weight."""
        return quality.clusters(self.evaluation, side=side, limit=limit)

    def slices(self, spec: Any, *, metric: str | Metric | None = None, limit: int = SHOWN_ROWS) -> LayeredChart:
        """Draw slices as dots with intervals."""
        return quality.slices(self.evaluation, spec, metric=metric, limit=limit)

    def coverage(self) -> LayeredChart:
        """Draw how far the truth and the actual clustering share items."""
        return quality.coverage(self.evaluation)

    def mistakes(self, limit: int = SHOWN_ROWS) -> LayeredChart:
        """Draw the costliest mistakes as a ranked bar chart."""
        return quality.mistakes(self.evaluation, limit)

    def flow(self, *, ideal_cluster: Any = None, actual_cluster: Any = None) -> LayeredChart:
        """Draw how a cluster breaks into cells."""
        return flows.flow(self.evaluation, ideal_cluster=ideal_cluster, actual_cluster=actual_cluster)


@in_turn("comparison.engine")
@dataclass(frozen=True)
class ComparisonPlots:
    """The charts of a comparison. `pointwise.charts` explains their parameters.

    Examples:
        >>> import pointwise as pw
        >>> releases = {"old": [["i1", "i3"], ["i2"]], "new": [["i1", "i2"], ["i3"]]}
        >>> comparison = pw.compare(ideal=[["i1", "i2"], ["i3"]], variants=releases)
        >>> comparison.plot.history().title.text
        'Precision and recall over time'
        >>> comparison.plot.movers(metric="recall").title.text
        'Who moved the recall'
        >>> comparison.plot.distances().title.text, comparison.plot.distance_map().title.text
        ('How far apart the clusterings are', 'A map of the clusterings')
    """

    comparison: Comparison

    def deltas(
        self,
        spec: Any,
        *,
        metric: str | Metric | None = None,
        experiment: str | None = None,
        baseline: str | None = None,
        limit: int = SHOWN_ROWS,
    ) -> LayeredChart:
        """Draw how much a metric changed in every slice, with intervals."""
        return variants.deltas(
            self.comparison, spec, metric=metric, experiment=experiment, baseline=baseline, limit=limit
        )

    def movers(
        self,
        *,
        metric: str | Metric | None = None,
        experiment: str | None = None,
        baseline: str | None = None,
        limit: int = SHOWN_ROWS,
    ) -> LayeredChart:
        """Draw the ideal clusters that gained and lost most."""
        return variants.movers(self.comparison, metric=metric, experiment=experiment, baseline=baseline, limit=limit)

    def history(self, *, metrics: Sequence[str] | None = None) -> LayeredChart:
        """Draw metrics of the variants in their order."""
        return variants.history(self.comparison, metrics=metrics)

    def distances(self, *, names: Sequence[str] | None = None) -> LayeredChart:
        """Draw how far apart the variants are, as a heat map."""
        return variants.distances(self.comparison, names=names)

    def distance_map(self, *, names: Sequence[str] | None = None) -> LayeredChart:
        """Draw the variants on a plane: near ones are alike."""
        return variants.distance_map(self.comparison, names=names)
