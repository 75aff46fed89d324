"""Sweeping: which threshold makes the best clusters of scored links."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial
from numbers import Integral
from typing import TYPE_CHECKING, Any, Self, cast

import narwhals.stable.v2 as nw
import numpy as np
import pyarrow as pa

from pointwise.answers.tables import MetricTable, metric_columns
from pointwise.columns import IDEAL, IDEAL_CLUSTERS, ITEM, NO_CLUSTER, WEIGHT, Column, Kind, undrawn
from pointwise.core.arithmetic import Program
from pointwise.core.lifting import find_averages
from pointwise.core.metrics import Metric, find_metric, find_metrics, name_of
from pointwise.core.sample import EXPANSION, REST, STRATUM
from pointwise.engines import Engine, choose_engine
from pointwise.engines.queries import from_rows
from pointwise.errors import NotFoundError, UsageError
from pointwise.evaluation import Evaluation, evaluate
from pointwise.inputs.graphs import Graph, least_members
from pointwise.inputs.links import Links, check_threshold, read_links, table_of
from pointwise.inputs.options import CONFIDENCE, ColumnNames, LayoutName, Missing, Outside, Unassigned, check_keys
from pointwise.inputs.tables import open_source
from pointwise.labels.codes import Codes
from pointwise.progress import phase
from pointwise.results import Result
from pointwise.text.drawing import Drawing
from pointwise.text.values import format_count, format_metric, listed, short
from pointwise.thresholds.forest import Forest, count_reaching, grow_forest
from pointwise.thresholds.scores import SampleArrays, Truth, score_clusters
from pointwise.uncertainty.ends import lifting, run

if TYPE_CHECKING:
    from pointwise.charts.style import ChartRow

THRESHOLD = "threshold"
LINKS = "links"  # number of links with at least that score
ACTUAL_CLUSTERS = "actual_clusters"
TOUCHED = "actual_clusters_touched"
OUTSIDE_SHARE = "outside_share"
COMMON_SHARE = "common_share"
_OUTSIDE = "outside_items"


def sweep(
    *,
    ideal: Any,
    links: Any,
    left: ColumnNames | None = None,
    right: ColumnNames | None = None,
    score: str | None = None,
    items: Any = None,
    thresholds: int | Sequence[float] = 100,
    item: ColumnNames | Mapping[str, ColumnNames] | None = None,
    cluster: ColumnNames | Mapping[str, ColumnNames] | None = None,
    weight: str | None = None,
    weights: Any = None,
    attributes: Any = None,
    slices: Any = (),
    metrics: Sequence[str] | str | None = None,
    outside: Outside = "ignore",
    missing: Missing = "drop",
    unassigned: Unassigned | Mapping[str, Unassigned] = "error",
    unassigned_labels: Sequence[Any] = (),
    sampling: Any = None,
    drawn: int | None = None,
    population: int | Mapping[str, int] | None = None,
    strata: str | None = None,
    intervals: bool = True,
    confidence: float = CONFIDENCE,
    layout: LayoutName | Mapping[str, LayoutName] | None = None,
    memory_limit: str | None = None,
    threads: int | None = None,
    engine: Engine | str | None = None,
) -> Sweep:
    """Evaluate the clusters that scored links make at many thresholds, against one ground truth.

    Every row is what `evaluate` gives for the clusters that `cluster_links` makes at that threshold.

    Args:
        ideal: The ground truth clustering, of any kind that `evaluate` takes.
        links: Pairs of items with a score, as `cluster_links` takes them.
        left: Column, or columns together, with one item of a link.
        right: The same for the other item.
        score: Column with the score; by default `score`, or what the tool calls it that wrote the links.
        items: Items without any link, each a cluster of its own.
        thresholds: How many, spread evenly over the links that make a difference (quantiles of their scores; fewer if
            scores are equal); or a list of thresholds.
        item: As in `evaluate`.
        cluster: As in `evaluate`.
        weight: As in `evaluate`.
        weights: As in `evaluate`.
        attributes: As in `evaluate`, for `Sweep.evaluation`.
        slices: As in `evaluate`, for `Sweep.evaluation`.
        metrics: As in `evaluate`.
        outside: As in `evaluate`.
        missing: As in `evaluate`.
        unassigned: As in `evaluate`.
        unassigned_labels: As in `evaluate`.
        sampling: As in `evaluate`.
        drawn: As in `evaluate`.
        population: As in `evaluate`.
        strata: As in `evaluate`.
        intervals: Whether to show intervals.
        confidence: How often the intervals should contain the true value.
        layout: The tool that wrote the links, as in `cluster_links`; a mapping with the keys "ideal" and "links" also
            says it of the truth.
        memory_limit: As in `evaluate`.
        threads: As in `evaluate`.
        engine: As in `evaluate`. Links and items are swept in this process's memory.

    Returns:
        The sweep: a table with a row per threshold, from which `best` chooses one.

    Raises:
        PointwiseError: The inputs do not allow it; the message says what to do.

    Examples:
        >>> import pointwise as pw
        >>> sweep = pw.sweep(ideal=[["a", "b"], ["c"]], links=[("a", "b", 0.9), ("b", "c", 0.4)])
        >>> sweep.best("f1").threshold
        0.9
    """
    find_metrics(metrics)
    named = layout if isinstance(layout, Mapping) else {"links": layout}
    check_keys("layout", named, ("ideal", "links"))
    given = Links(links, left, right, score, items=items, layout=named.get("links"))
    sources = (table_of(ideal), links, items, weights, attributes)
    chosen = choose_engine(engine, sources, memory_limit=memory_limit, threads=threads)
    try:
        phase("reading")
        graph = read_links(given, chosen, is_scored=True)
        forest = grow_forest(graph)
        settings = {
            "ideal": open_source(ideal, chosen, role="ideal clustering"),
            "weights": None if weights is None else open_source(weights, chosen, role="weights"),
            "attributes": None if attributes is None else open_source(attributes, chosen, role="attributes"),
            "item": item,
            "cluster": cluster,
            "weight": weight,
            "slices": slices,
            "metrics": metrics,
            "outside": outside,
            "missing": missing,
            "unassigned": unassigned,
            "unassigned_labels": unassigned_labels,
            "sampling": sampling,
            "drawn": drawn,
            "population": population,
            "strata": strata,
            "intervals": intervals,
            "confidence": confidence,
            "layout": {"ideal": named["ideal"]} if "ideal" in named else None,
        }
        linked = Linked(graph, forest, settings, chosen)
        return _sweep(linked, choose_thresholds(thresholds, forest))
    except BaseException:
        if chosen is not engine:
            chosen.close()
        raise


def choose_thresholds(given: int | Sequence[float], forest: Forest) -> list[float]:
    """Return thresholds, greatest first: those given, or so many quantiles of the scores in the forest."""
    wanted = int(given) if isinstance(given, Integral) and not isinstance(given, bool) else 0
    if wanted < 1 and (isinstance(given, str) or not isinstance(given, Iterable)):
        raise UsageError(f"thresholds={short(given)} is neither a number of thresholds nor a list of them.")
    if wanted:
        number = min(wanted, len(forest.score) + 2)  # if more are wanted than there are scores, all of them
        shares = np.linspace(0, 1, number) if number > 1 else [0.5]
        found = np.quantile(forest.score, shares, method="inverted_cdf") if len(forest.score) else [0.0]
        return np.unique(found)[::-1].tolist()  # type: ignore[no-any-return]
    chosen = sorted({check_threshold(threshold) for threshold in cast("Iterable[float]", given)}, reverse=True)
    if not chosen:
        raise UsageError("thresholds=[] names none. Give at least one, or say how many.")
    return chosen


@dataclass(frozen=True)
class Linked:
    """Links with a truth to judge them by: an evaluation for every threshold.

    Args:
        graph: The items and their links.
        forest: The links that make a difference.
        settings: What `evaluate` is told, apart from the actual clustering.
        engine: What computes.
    """

    graph: Graph
    forest: Forest
    settings: Mapping[str, Any]
    engine: Engine

    def evaluate(self, threshold: float) -> Evaluation:
        """Evaluate the clusters at one threshold."""
        least = least_members(self.forest.components_at(threshold))
        name = f"links from {self.graph.name} at {threshold:g}"
        actual = self.graph.as_source(name, self.graph.tabulate(least), self.engine)
        return evaluate(actual=actual, engine=self.engine, **self.settings)


def _sweep(linked: Linked, thresholds: Sequence[float]) -> Sweep:
    """Evaluate at the least threshold, where clusters are largest and all checks apply, and sum up at the others."""
    widest = linked.evaluate(thresholds[-1])
    truth = _read_truth(linked, widest)
    phase("sweeping")
    rows = []
    for threshold, labels, clusters in linked.forest.sweep(thresholds):
        counts = {
            THRESHOLD: threshold,
            LINKS: count_reaching(linked.forest.scores, threshold),
            ACTUAL_CLUSTERS: clusters,
        }
        rows.append(counts | score_clusters(truth, labels, widest.metrics))
    return Sweep(_tabulate(rows, widest), widest.metrics, linked)


def _read_truth(linked: Linked, widest: Evaluation) -> Truth:
    """Fetch what does not depend on the threshold from an evaluation at one of them."""
    import pyarrow.compute as pc

    evidence = widest.evidence
    columns = [c for c in (ITEM, IDEAL, WEIGHT) if c in evidence.items.collect_schema().names()]
    common = linked.engine.collect(evidence.items.select(*columns))
    ideal = common[IDEAL].combine_chunks().dictionary_encode()
    found = pc.index_in(common[ITEM], value_set=linked.graph.items.cast(common[ITEM].type))
    present = np.asarray(pc.is_valid(found))
    node = np.asarray(found.fill_null(-1)).astype(np.int32)
    is_outside = np.ones(linked.graph.size, dtype=np.bool_)
    is_spurious = None
    is_listed = present
    if evidence.sample.has_spurious:
        is_spurious = np.asarray(pc.starts_with(ideal.dictionary, NO_CLUSTER))
        is_listed = present & ~is_spurious[np.asarray(ideal.indices)]
    is_outside[node[is_listed]] = False
    outside = np.flatnonzero(is_outside).astype(np.int32)
    codes = Codes(np.asarray(ideal.indices).astype(np.int64), len(ideal.dictionary))
    weight = np.asarray(common[WEIGHT]) if WEIGHT in columns else None
    weighed = _outside_weights(linked, widest, outside) if widest.options.outside == "wrong" else None
    sample = evidence.sample
    design = None if sample.clusters is None else _read_design(linked, sample.clusters, ideal.dictionary)
    keeps_missing = widest.options.missing == "wrong"
    return Truth(codes, node, present, weight, outside, weighed, sample.population, design, is_spurious, keeps_missing)


def _outside_weights(linked: Linked, widest: Evaluation, outside: Any) -> Any:
    """Weigh the items that the truth does not list; one without a weight touches it at no threshold."""
    import pyarrow.compute as pc

    inputs = widest.scope.inputs  # type: ignore[union-attr]  # of an evaluation that was just made
    if inputs.weights is None:
        return np.ones(len(outside))
    frame = inputs.weights.frame.select(ITEM, WEIGHT)
    rows = linked.engine.collect(frame.join(inputs.actual.frame.select(ITEM), on=ITEM, how="inner"))
    nodes = np.asarray(pc.index_in(rows[ITEM], value_set=linked.graph.items.cast(rows[ITEM].type)))
    weights = np.zeros(linked.graph.size)
    weights[nodes] = np.nan_to_num(np.asarray(rows[WEIGHT], dtype=np.float64), posinf=0.0)
    return weights[outside]


def _read_design(linked: Linked, clusters: nw.LazyFrame, names: pa.Array) -> SampleArrays:
    import pyarrow.compute as pc

    rows = linked.engine.collect(clusters)
    order = pc.index_in(names, value_set=rows[IDEAL].combine_chunks().cast(names.type))
    rows = rows.take(order)
    stratum = rows[STRATUM].combine_chunks().dictionary_encode().indices
    return SampleArrays(np.asarray(rows[EXPANSION]), np.asarray(rows[REST]), np.asarray(stratum).astype(np.int64))


_COLUMNS = (
    Column(THRESHOLD, Kind.METRIC),
    Column(LINKS, Kind.COUNT),
    Column(ACTUAL_CLUSTERS, Kind.COUNT),
    Column(TOUCHED, Kind.COUNT),
    Column(COMMON_SHARE, Kind.SHARE),
    Column(OUTSIDE_SHARE, Kind.SHARE),
)


def _tabulate(rows: list[dict[str, Any]], widest: Evaluation) -> MetricTable:
    """Turn the sums of every threshold into values and intervals, by the formulas of an evaluation."""
    engine, metrics, sample = widest.evidence.engine, widest.metrics, widest.evidence.sample
    common = widest.coverage.common_items
    for row in rows:
        row[COMMON_SHARE] = widest.coverage.common_share
        row[OUTSIDE_SHARE] = row[_OUTSIDE] / (row[_OUTSIDE] + common)
    total = float(rows[0][WEIGHT])
    if widest.shows_intervals:
        program: Program = lifting(metrics, total_weight=total, sample=sample, confidence=widest.confidence)
    else:
        program = partial(find_averages, metrics=metrics, total_weight=total)
    lifted = run(program, pa.Table.from_pylist(rows))
    values = [c for m in metrics for c in metric_columns(m, intervals=widest.shows_intervals)]
    described = undrawn((*_COLUMNS, *values), (TOUCHED, COMMON_SHARE, OUTSIDE_SHARE))
    title = sample.title(
        f"Thresholds: {format_count(common, 'common item')}, {rows[0][IDEAL_CLUSTERS]:,} ideal clusters"
    )
    return MetricTable(
        title,
        from_rows(lifted.select([column.name for column in described]), engine),
        engine,
        described,
        order=((THRESHOLD, False),),
        confidence=widest.confidence,
    )


@dataclass(frozen=True, repr=False)
class Choice:
    """The threshold that was chosen, with its row.

    Args:
        threshold: Links with at least this score count.
        values: The row of the sweep.
        metrics: Names of the metrics in it.

    Examples:
        >>> import pointwise as pw
        >>> links = [("i1", "i2", 0.9), ("i2", "i3", 0.4)]
        >>> choice = pw.sweep(ideal=[["i1", "i2"], ["i3"]], links=links).best("recall")
        >>> choice.threshold, choice.values["recall"]
        (0.9, 1.0)
    """

    threshold: float
    values: Mapping[str, Any]
    metrics: tuple[str, ...] = ()

    def __repr__(self) -> str:
        """Write the threshold and its metrics."""
        told = (f"{name} {format_metric(self.values[name])}" for name in self.metrics if self.values[name] is not None)
        return f"Threshold {self.threshold:.10g}: {', '.join(told)}"

    def __getitem__(self, column: str) -> Any:
        """Return a value of the row, such as that of a metric."""
        if column not in self.values:
            raise NotFoundError(f"There is no {short(column)} here. There are {listed(self.values)}.")
        return self.values[column]


@dataclass(frozen=True, repr=False)
class Sweep(Result):
    """The metrics of the clusters that links make at every threshold. Made by `sweep`.

    Args:
        table: One row per threshold.
        metrics: What it shows.
        linked: Where the evaluation of any threshold comes from.

    Examples:
        >>> import pointwise as pw
        >>> links = [("i1", "i2", 0.9), ("i2", "i3", 0.4)]
        >>> found = pw.sweep(ideal=[["i1", "i2"], ["i3"]], links=links)
        >>> [(row["threshold"], round(row["precision"], 4)) for row in found.rows]
        [(0.4, 0.5556), (0.9, 1.0)]
        >>> found.best("f1").threshold
        0.9
    """

    table: MetricTable
    metrics: tuple[Metric, ...]
    linked: Linked

    def best(self, metric: str | Metric = "f1", **least: float) -> Choice:
        """Choose the threshold with the best value of a metric; among ties, the greatest.

        Args:
            metric: One of the metrics of the sweep.
            least: What other metrics must reach, such as `precision=0.95`: at least that, or at most where lower is
                better.

        Raises:
            NotFoundError: No threshold reaches it; the message says how far the best one gets.
        """
        chosen = self._known(name_of(metric))
        rows = [row for row in self.rows if row[chosen] is not None]
        for name, bound in least.items():
            rows = self._reaching(rows, name, bound)
        if not rows:
            raise NotFoundError(f"{chosen} is undefined at every threshold.")
        best = max(rows, key=lambda row: (self._gain(chosen, row[chosen]), row[THRESHOLD]))
        return Choice(best[THRESHOLD], best, tuple(m.name for m in self.metrics))

    def _reaching(self, rows: list[dict[str, Any]], name: str, bound: float) -> list[dict[str, Any]]:
        defined = [row for row in rows if row[self._known(name)] is not None]
        found = [row for row in defined if self._gain(name, row[name]) >= self._gain(name, bound)]
        if defined and not found:
            nearest = max(defined, key=lambda row: self._gain(name, row[name]))
            raise NotFoundError(
                f"No threshold has {name} {bound:g}: the nearest is {format_metric(nearest[name])}, at "
                f"{nearest[THRESHOLD]:g}."
            )
        return found

    def _known(self, metric: str) -> str:
        names = [m.name for m in self.metrics]
        if metric not in names:
            find_metric(metric)
            raise NotFoundError(f"{metric!r} was not computed; there are {listed(names)}. Add it with metrics=[...].")
        if find_metric(metric).better is None:
            raise UsageError(f"{metric!r} has no direction, so no threshold is the best by it.")
        return metric

    def _gain(self, metric: str, value: float) -> float:
        return -value if find_metric(metric).better == "lower" else value

    def evaluation(self, threshold: float) -> Evaluation:
        """Evaluate the clusters at one threshold, even one that is not in the table, to look at it in detail."""
        return self.linked.evaluate(check_threshold(threshold))

    def clusters(self, threshold: float) -> pa.Table:
        """Return the clusters at one threshold, as a table like that of `cluster_links`."""
        least = least_members(self.linked.forest.components_at(check_threshold(threshold)))
        return self.linked.graph.tabulate(least)

    def plot(self, choice: Choice | None = None) -> ChartRow:
        """Draw precision and recall over the threshold, and against each other; needs the extra `report`.

        Args:
            choice: The threshold to mark, as `best` gives it; by default that with the best F1.
        """
        from pointwise.charts import thresholds

        return thresholds(self, choice)

    @cached_property
    def rows(self) -> list[dict[str, Any]]:
        """The rows, by rising threshold."""
        return self.table.to_dicts()

    def describe(self) -> tuple[Column, ...]:
        """Say what the columns are, and what each holds."""
        return self.table.describe()

    def to_dicts(self) -> list[dict[str, Any]]:
        """Return the rows as dictionaries."""
        return [dict(row) for row in self.rows]

    def to_arrow(self) -> pa.Table:
        """Return the rows as a PyArrow table."""
        return self.table.to_arrow()

    def close(self) -> None:
        """Release what the engine holds."""
        self.linked.engine.close()

    def __enter__(self) -> Self:
        """Use the sweep in a `with` block, which closes it at its end."""
        return self

    def __exit__(self, *_: object) -> None:
        """Close."""
        self.close()

    def __len__(self) -> int:
        """Count the thresholds."""
        return len(self.rows)

    def drawing(self) -> Drawing:
        """Say what to show: thresholds over the whole range, and how the links were read."""
        drawing = self._excerpt().drawing()
        notes = (note for note in (self.linked.graph.note, drawing.note) if note)
        return replace(drawing, note="\n".join(notes))

    def _excerpt(self, most: int = 10) -> MetricTable:
        """Keep thresholds spread over the whole range, with both ends."""
        if len(self) <= most:
            return self.table
        kept = [self.rows[n][THRESHOLD] for n in np.linspace(0, len(self) - 1, most).round().astype(int)]
        title = f"{self.table.title}; {most} of {len(self)} thresholds"
        return replace(self.table, title=title, frame=self.table.frame.filter(nw.col(THRESHOLD).is_in(kept)))
