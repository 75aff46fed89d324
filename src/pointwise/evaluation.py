"""Evaluation: all steps together, and the object that a user holds."""

from __future__ import annotations

import os
import warnings
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self, overload

import narwhals.stable.v2 as nw

from pointwise.answers.explanations import (
    ClusterExplanation,
    Explanation,
    ItemExplanation,
    explain_cluster,
    explain_item,
)
from pointwise.answers.levels import attach_records, lift_overall, tabulate_clusters, tabulate_items, tabulate_slices
from pointwise.answers.mistakes import Mistakes, find_mistakes
from pointwise.answers.records import Records, Shown, choose_shown, find_records
from pointwise.answers.slices import say_what_to_slice_by
from pointwise.answers.tables import MetricTable, Overall
from pointwise.columns import ACTUAL, IDEAL, ITEM
from pointwise.core.common import find_common_items
from pointwise.core.coverage import Coverage, KnownScope, Scope, says_more
from pointwise.core.evidence import Evidence, establish
from pointwise.core.metrics import Metric, MetricChoice, find_metric, find_metrics
from pointwise.core.sample import Sample
from pointwise.engines import Engine, Source, choose_engine
from pointwise.engines.turns import in_turn
from pointwise.errors import UnknownMetricError, UsageError
from pointwise.inputs.links import table_of
from pointwise.inputs.options import (
    CONFIDENCE,
    ColumnNames,
    LayoutName,
    Missing,
    MistakeKind,
    MistakesBy,
    Options,
    Outside,
    Pairs,
    Unassigned,
    as_labels,
)
from pointwise.inputs.reading import Inputs, read_attributes, read_inputs, say_layouts
from pointwise.progress import phase
from pointwise.related.table import Related, tabulate_related
from pointwise.store.manifest import RunManifest
from pointwise.store.runs import (
    open_run,
    read_evidence,
    read_options,
    read_scope,
    read_sources,
    save,
)
from pointwise.text.notebook import draw_notes
from pointwise.text.terminal import wrap
from pointwise.text.values import SHOWN_ROWS, format_count, format_metric, format_share, format_weight, listed
from pointwise.uncertainty.bootstrap import RESAMPLES, bootstrap_values
from pointwise.uncertainty.design import draw_up, read_sampling
from pointwise.uncertainty.ends import check_confidence
from pointwise.uncertainty.intervals import Interval
from pointwise.uncertainty.planning import Goal, Plan, plan_values
from pointwise.uncertainty.worksheets import find_design

if TYPE_CHECKING:
    from pointwise.charts import EvaluationPlots

_HIGH_OUTSIDE_SHARE = 0.05
_HIGH_MISSING_SHARE = 0.05


def evaluate(
    *,
    ideal: Any,
    actual: Any,
    item: ColumnNames | Mapping[str, ColumnNames] | None = None,
    cluster: ColumnNames | Mapping[str, ColumnNames] | None = None,
    weight: str | None = None,
    weights: Any = None,
    attributes: Any = None,
    slices: Any = (),
    show: ColumnNames | None = None,
    metrics: MetricChoice | None = None,
    outside: Outside = "ignore",
    missing: Missing = "drop",
    unassigned: Unassigned | Mapping[str, Unassigned] = "error",
    unassigned_labels: Any = (),
    header: bool | Mapping[str, bool] = True,
    sampling: Any = None,
    drawn: int | None = None,
    population: int | Mapping[str, int] | None = None,
    strata: str | None = None,
    intervals: bool = True,
    confidence: float = CONFIDENCE,
    keep_items: bool = False,
    layout: LayoutName | Mapping[str, LayoutName] | None = None,
    memory_limit: str | None = None,
    threads: int | None = None,
    engine: Engine | str | None = None,
) -> Evaluation:
    """Evaluate an actual clustering against an ideal one.

    A clustering, weights or attributes may be a path, a glob or a list of paths (Parquet, CSV, TSV, JSON lines,
    Arrow); a pandas, Polars or PyArrow table, a DuckDB relation or anything else that speaks Arrow. A clustering
    may also be a mapping from item to cluster, a pandas Series of memberships, an iterable of clusters (of a mapping
    from cluster to items, its values), an array of labels in the order of the items, or `Links` between items.

    Args:
        ideal: The ground truth clustering.
        actual: The clustering to evaluate.
        item: Column that identifies an item, or several that do so together. Where the tables name it
            differently, a mapping with the keys "ideal", "actual", "weights", "attributes".
        cluster: The same for clusters.
        weight: Column with the weight of an item, in any of the tables. Without it, every item weighs 1.
        weights: A table of items and their weights.
        attributes: A table of items and what is known about them, to slice by.
        slices: Columns or conditions to slice by; `by_slice()` shows them.
        show: Columns of the attributes to show beside the ids of items wherever some are listed; by default the first
            few that hold text. An empty list shows none.
        metrics: The metrics to show, by name or as `Metric` objects; by default precision, recall, f1 and
            jaccard_distance.
        outside: How to treat members of actual clusters that the truth does not list: ignore them ("ignore", as in the
            paper); count them as wrong where they are ("wrong"; the truth clusters are complete); or count them as
            items that should not exist ("spurious"; the truth lists every item): each then has an empty ideal cluster,
            so that its precision is 0 and its recall undefined.
        missing: What happens to ideal items that the actual clustering lacks: left out ("drop", as in the
            paper), each alone in an actual cluster ("singleton"), each in an empty one, so that its recall is 0 and
            its precision undefined ("wrong"), or an error ("error").
        unassigned: What happens to items without a cluster: "error", "singleton" (each alone), "one-cluster" or
            "drop"; a mapping with the keys "ideal" and "actual" where the two differ.
        unassigned_labels: Cluster labels that mean "no cluster": one, such as -1, or several.
        header: Whether CSV files begin with the names of their columns; a mapping as for `item` where the tables
            differ. Without names, columns are called `column1`, `column2` and so on.
        sampling: How the ideal clusters of the truth were drawn, to estimate values for all items of the actual
            clustering: "clusters" (all were equally likely), "items" (items were drawn, and their whole
            clusters labelled), a column of the truth or a table (of ideal clusters or items) with the `probability`
            that each ideal cluster is in the truth; or "complete" (the truth is everything: no intervals). A labelled
            worksheet from `sample_items` carries this information itself. By default, values describe the truth itself,
            and the intervals assume clusters drawn uniformly.
        drawn: Number of items drawn, for exact probabilities with sampling="items".
        population: With sampling="items" the number of items that were drawn from, by default those of the actual
            clustering; with "clusters" the number of ideal clusters, which makes intervals narrower if the truth has
            many of them; with strata a mapping from stratum to number of ideal clusters.
        strata: Column of the truth; ideal clusters were drawn separately for each of its values.
        intervals: Whether the overall metrics and the slices show intervals. They are computed only when shown.
        confidence: How often the intervals should contain the true value.
        keep_items: Whether you will need single items (`save`, `by_item`), so that they are held from the start.
            Otherwise the clusterings are joined again when items are first needed, and must not change until then.
        layout: The tool that wrote the actual clustering: "splink", "dedupe", "zingg", "scikit-learn" (-1 stands for no
            cluster), "cami" or "conll"; a mapping with the keys "ideal" and "actual" also says it of the truth. Without
            it, a layout is recognised by its columns. Columns that `item` and `cluster` name always win.
        memory_limit: How much memory the engine may use before it spills to disk, such as "4GB".
        threads: How many cores the engine may use.
        engine: Where to run: "duckdb", "spark" (on the active session) or an engine. By default Spark if one of
            the tables is a Spark data frame, else DuckDB.

    Returns:
        The evaluation. Everything is computed from it on demand.

    Raises:
        PointwiseError: The inputs do not allow an evaluation; the message says what to do.

    Examples:
        >>> import pointwise as pw
        >>> evaluation = pw.evaluate(ideal=[["i1", "i2"], ["i3"]], actual=[["i1", "i3"], ["i2"]],
        ...                          weights={"i1": 1, "i2": 2, "i3": 3})
        >>> evaluation.overall["precision"]
        0.75
    """
    chosen, confidence = find_metrics(metrics), check_confidence(confidence)
    plan = read_sampling(sampling, drawn=drawn, population=population, strata=strata)
    labels = as_labels(unassigned_labels)
    reading = (
        item,
        cluster,
        weight,
        as_specs(slices),
        outside,
        missing,
        unassigned,
        labels,
        plan,
        header,
        as_shown(show),
    )
    options = Options(*reading, layout=layout)
    sources = (table_of(ideal), table_of(actual), weights, attributes)
    chosen_engine = choose_engine(engine, sources, memory_limit=memory_limit, threads=threads)
    phase("reading")
    with _closed_on_failure(chosen_engine, engine):
        inputs = read_inputs(
            chosen_engine, ideal=ideal, actual=actual, weights=weights, attributes=attributes, options=options
        )
        evaluation = evaluate_inputs(
            inputs, chosen_engine, options=options, metrics=chosen, probabilities=sampling, keeps_items=keep_items
        )
        if options.show is not None:
            choose_shown(evaluation.evidence, options.show)
    shows_intervals = intervals and not evaluation.evidence.sample.is_complete
    return replace(evaluation, shows_intervals=shows_intervals, confidence=confidence)


@contextmanager
def _closed_on_failure(engine: Engine, given: Engine | str | None) -> Iterator[None]:
    """Close an engine that was started here if an error keeps its results from the user."""
    try:
        yield
    except BaseException:
        if engine is not given:
            engine.close()
        raise


def as_specs(slices: Any) -> tuple[Any, ...]:
    """Return slices as a list; a user may give a single one."""
    if isinstance(slices, (str, nw.Expr)):
        return (slices,)
    return tuple(slices or ())


def as_shown(columns: ColumnNames | None) -> tuple[str, ...] | None:
    """Return the columns to show as a list; a user may give a single one."""
    if columns is None:
        return None
    return (columns,) if isinstance(columns, str) else tuple(columns)


def evaluate_inputs(
    inputs: Inputs,
    engine: Engine,
    *,
    options: Options,
    metrics: tuple[Metric, ...],
    probabilities: Any = None,
    keeps_items: bool = False,
) -> Evaluation:
    """Evaluate inputs that were read: find the common items, and establish what each of them sees."""
    common = find_common_items(inputs, engine, options=options, keeps_items=keeps_items)
    evidence = establish(
        common.items,
        engine,
        pairs=common.pairs,
        common=common.totals,
        outside=common.outside,
        attributes=inputs.attributes,
        has_empty=options.has_empty,
        ids=inputs.ids,
    )
    scope = Scope(inputs, common, evidence.cells, engine)
    sees_outside = options.outside != "ignore"
    if options.sampling is None:
        options = replace(options, sampling=find_design(inputs, engine))
    if options.sampling is None:
        sample = Sample(sees_outside=sees_outside)
    else:
        sample = draw_up(options.sampling, probabilities, scope, sees_outside=sees_outside)
    sample = replace(sample, has_spurious=options.outside == "spurious")
    sample.check(metrics)
    return Evaluation(evidence.drawn(sample), evidence.fit(metrics), options, inputs.sources, scope)


@in_turn("engine")
@dataclass(frozen=True, repr=False)
class Evaluation:
    """The evaluation of an actual clustering against an ideal one.

    Made by `evaluate`. Tables are computed when they are looked at.

    Args:
        evidence: The common items and their cells.
        metrics: What the tables show.
        options: How the inputs were read.
        sources: The tables that were read, by role.
        scope: What coverage is computed from, or coverage itself where it is known, and the items that are left out.
        shows_intervals: Whether the overall metrics and the slices show intervals.
        confidence: How often the intervals should contain the true value.
        name: What the stored run is called that it was loaded from.

    Examples:
        >>> import pointwise as pw
        >>> evaluation = pw.evaluate(ideal=[["i1", "i2"], ["i3"]], actual=[["i1", "i3"], ["i2"]])
        >>> round(evaluation.overall["recall"], 4), evaluation.coverage.common_items
        (0.6667, 3)
        >>> print(evaluation.summary()[0])
        Common items: 3 of 3 ideal (100.0%) and 3 actual items, weight 3
        >>> evaluation.warnings, evaluation.engine.name
        ([], 'duckdb')
        >>> evaluation.related()["pair_recall"]
        0.0
        >>> import pyarrow as pa
        >>> people = pa.table({"item": ["i1", "i2", "i3"], "name": ["A", "B", "C"], "city": ["Bonn", "Rome", "Rome"]})
        >>> evaluation.with_attributes(people).with_shown("city").records(["i1"]).to_dicts()[0]["city"]
        'Bonn'
    """

    evidence: Evidence
    metrics: tuple[Metric, ...]
    options: Options
    sources: Mapping[str, Source]
    scope: Scope | KnownScope
    shows_intervals: bool = True
    confidence: float = CONFIDENCE
    name: str = ""

    @property
    def engine(self) -> Engine:
        """Where the evaluation lives."""
        return self.evidence.engine

    @cached_property
    def coverage(self) -> Coverage:
        """How far the truth covers the actual clustering."""
        return self.scope.coverage

    @cached_property
    def overall(self) -> Overall:
        """The metrics of all common items together."""
        overall = lift_overall(self.evidence, self.metrics, confidence=self.confidence)
        overall = replace(overall, _find_least=self._find_least, _sees_all=self._sees_all)
        return overall if self.shows_intervals else replace(overall, _find_intervals=None)

    def _sees_all(self) -> bool:
        """Tell whether no member of the touched actual clusters is left out."""
        return self.options.outside != "ignore" or not self.coverage.outside_items

    def _find_least(self) -> dict[str, float]:
        """Say how low precision would be if all members outside the truth were wrong, if many of them are ignored."""
        if self.options.outside != "ignore" or not _hides_much(self.coverage, self.options):
            return {}
        least = self.coverage.least_precision
        return {} if least is None else {"precision": least}

    def with_metrics(self, *names: str | Metric) -> Evaluation:
        """Return the same evaluation showing other metrics; nothing is read again."""
        return replace(self, metrics=self._chosen(names))

    def with_shown(self, *columns: str) -> Evaluation:
        """Return the same evaluation showing other columns beside the ids of items."""
        shown = choose_shown(self.evidence, columns)
        return replace(self, options=replace(self.options, show=shown.columns))

    @property
    def shown(self) -> Shown:
        """The columns shown beside the ids of items: those requested, as far as they exist."""
        asked = self.options.show
        if asked is None:
            return choose_shown(self.evidence, None)
        return Shown(tuple(column for column in asked if column in self.evidence.slice_schema), is_asked=True)

    def records(self, items: Iterable[Any], *, show: ColumnNames | None = None) -> Records:
        """Look up what is known about a few items.

        Args:
            items: Their ids. Those that are not among the common items are left out.
            show: What to look up, as in `evaluate`.

        Returns:
            One row per item: its id, its clusters, its weight and the columns to show.
        """
        return find_records(self.evidence, items, self.show_columns(show))

    def show_columns(self, show: ColumnNames | None) -> Shown:
        """Choose which columns of items to show: those requested now, or else those of the evaluation."""
        return self.shown if show is None else choose_shown(self.evidence, as_shown(show))

    def by_ideal_cluster(self, *, metrics: MetricChoice | None = None) -> MetricTable:
        """Average the metrics over the items of each ideal cluster."""
        return tabulate_clusters(self.evidence, IDEAL, self._chosen(metrics))

    def by_actual_cluster(self, *, metrics: MetricChoice | None = None) -> MetricTable:
        """Average the metrics over the common items of each actual cluster."""
        return tabulate_clusters(self.evidence, ACTUAL, self._chosen(metrics))

    def by_item(self, *, metrics: MetricChoice | None = None) -> MetricTable:
        """List every common item with its confusion matrix and metrics.

        Rows contain the columns in `show`; without it, only drawings show some.
        """
        return attach_records(tabulate_items(self.evidence, self._chosen(metrics)), self.evidence, self.shown)

    def by_slice(self, *slices: Any, metrics: MetricChoice | None = None, intervals: bool | None = None) -> MetricTable:
        """Average the metrics over slices of items. Clusters are not cut at the borders of slices.

        Args:
            slices: A column; several columns crossed, as a tuple or as "country,year"; a condition as text, such
                as "year >= 2015", or as a narwhals expression; a (name, expression) pair; or a built-in slice:
                "ideal_cluster_size", "actual_cluster_size". Several slicings are stacked. Without any, the slices given
                to `evaluate`. A row says which slicing it belongs to (`slice`) and which slice of it it is (`value`, as
                text); the values themselves are in columns of their own.
            metrics: Names of metrics; by default those of the evaluation.
            intervals: Whether to add the ends of every metric's interval (`<metric>_low`, `<metric>_high`) and the
                number of ideal clusters behind it; by default as in `evaluate`.
        """
        intervals = self.shows_intervals if intervals is None else intervals
        specs = slices or self.options.slices
        if not specs:
            raise UsageError(say_what_to_slice_by(self.evidence.slice_schema))
        confidence = self.confidence if intervals else None
        return tabulate_slices(self.evidence, specs, self._chosen(metrics), confidence=confidence)

    @overload
    def explain(self, *, item: Any, limit: int = ..., show: ColumnNames | None = ...) -> ItemExplanation: ...

    @overload
    def explain(
        self, *, ideal_cluster: Any, limit: int = ..., show: ColumnNames | None = ...
    ) -> ClusterExplanation: ...

    @overload
    def explain(
        self, *, actual_cluster: Any, limit: int = ..., show: ColumnNames | None = ...
    ) -> ClusterExplanation: ...

    @overload
    def explain(
        self, *, item: Any, ideal_cluster: Any, actual_cluster: Any, limit: int = ..., show: ColumnNames | None = ...
    ) -> Explanation: ...

    def explain(
        self,
        *,
        item: Any = None,
        ideal_cluster: Any = None,
        actual_cluster: Any = None,
        limit: int = SHOWN_ROWS,
        show: ColumnNames | None = None,
    ) -> Explanation:
        """Show what one item sees, or which cells a cluster breaks into.

        Args:
            item: An item, to see its TruePositives, FalsePositives and FalseNegatives.
            ideal_cluster: An ideal cluster, to see in which actual clusters its items are.
            actual_cluster: An actual cluster, to see from which ideal clusters its items come.
            limit: How many items of a set to list, or how many cells of a cluster to print.
            show: What to show of items, as in `evaluate`.

        Returns:
            An explanation: of an item, the four sets with its confusion matrix and metrics; of a cluster, its cells.
        """
        given = {k: v for k, v in ((ITEM, item), (IDEAL, ideal_cluster), (ACTUAL, actual_cluster)) if v is not None}
        if len(given) != 1:
            begin = "Explain one thing at a time" if given else "Say what to explain"
            raise UsageError(f"{begin}: one of item=..., ideal_cluster=... and actual_cluster=....")
        kind, key = given.popitem()
        if kind == ITEM:
            return explain_item(self.evidence, key, self.metrics, limit=limit, shown=self.show_columns(show))
        return explain_cluster(self.evidence, kind, key, self.metrics, limit=limit, shown=self.show_columns(show))

    def mistakes(
        self,
        limit: int = SHOWN_ROWS,
        *,
        kind: MistakeKind = "both",
        by: MistakesBy = "cluster",
        show: ColumnNames | None = None,
    ) -> Mistakes:
        """Rank what was merged or split wrongly by what it costs.

        The costs of all mistakes add up to the over-merge rate (1 - precision) and the under-merge rate (1 - recall).

        Args:
            limit: How many to list.
            kind: "over-merge", "under-merge", "both"; "outside": the over-merges with members that the truth does
                not list; or "missing": the items that the actual clustering lacks, where they count as wrong.
            by: What a mistake is: an actual cluster that merges or an ideal cluster that was split ("cluster"), or two
                parts of such a cluster ("pair").
            show: What to show of the examples, as in `evaluate`.
        """
        return find_mistakes(self.evidence, limit, kind, by=by, shown=self.show_columns(show))

    def related(self, *, beta: float = 1.0, pairs: Pairs = "counts") -> Related:
        """List the metrics of other families, from the same cells: pairs, B-cubed, F-measure, V-measure, purity.

        Averages over items (B-cubed, element similarity) follow the policies; the others are of the common items, and
        members outside the truth do not count in them. If it is known how the truth was drawn, pair and B-cubed metrics
        are estimated for all items, with standard errors and intervals. The others are left out, because a sample of
        clusters does not determine them.

        Args:
            beta: Above 1, completeness counts more in the V-measure; below 1, homogeneity.
            pairs: What a pair of items counts: one ("counts"), the product of its weights ("product"), or as many as if
                each item were repeated as often as its weight says ("replication").
        """
        return tabulate_related(self.evidence, beta=beta, pairs=pairs, confidence=self.confidence)

    def with_attributes(self, attributes: Any, *, item: ColumnNames | None = None, verify: bool = True) -> Evaluation:
        """Return the same evaluation with another table of attributes, to slice by its columns.

        Args:
            attributes: A table of items and what is known about them, of any kind that `evaluate` reads.
            item: Its column or columns that identify an item; by default as in the other tables.
            verify: Whether to check that it contains some of the items, which takes a pass over all of them.
        """
        options = self.options if item is None else replace(self.options, item={"attributes": item})
        table = read_attributes(self.evidence.engine, attributes, options=options, sources=self.sources)
        evidence = self.evidence.with_attributes(table, verify=verify)
        sources = {**self.sources, table.role: table.source}
        return replace(self, evidence=evidence, sources=sources)

    def save(self, path: str | os.PathLike[str], *, overwrite: bool = False, keep: bool = False) -> Path:
        """Store the evaluation as a folder that `load` reads, with the metrics of every item.

        The folder appears when it is complete.

        Args:
            path: The folder to make.
            overwrite: Whether to replace a run that already exists.
            keep: Whether to also store the columns shown beside items (`show=`). They may be personal data, so by
                default only the columns that slices need are stored; `with_attributes` brings the others back.

        Returns:
            The path.

        Raises:
            RunError: There is something at the path already, or it cannot be written.
            UsageError: Nothing is shown of the items that could be kept.
        """
        if keep and not self.shown.columns:
            raise UsageError(
                "keep=True stores what is shown of items, which is nothing here: give attributes=..., a table of items "
                "and their attributes."
            )
        return save(self, path, overwrite=overwrite, keep=self.shown.columns if keep else ())

    def bootstrap(
        self, *, metrics: MetricChoice | None = None, resamples: int = RESAMPLES, seed: int = 0
    ) -> dict[str, Interval]:
        """Bootstrap intervals of the overall metrics by resampling the ideal clusters, of which at most a million.

        Args:
            metrics: Names of metrics; by default those of the evaluation.
            resamples: How many resamples to draw.
            seed: Seed of the random numbers; the same seed gives the same intervals.
        """
        chosen = self._chosen(metrics)
        return bootstrap_values(self.evidence, chosen, resamples=resamples, seed=seed, confidence=self.confidence)

    def plan(
        self,
        metrics: MetricChoice | None = None,
        *,
        half_width: float | None = None,
        bound: float | None = None,
        confidence: float | None = None,
    ) -> Plan:
        """Estimate how many ideal clusters to label for intervals of a given width.

        The clusters labelled so far show how much clusters vary. The fewer there are, the wider the range beside each
        number; a pilot of fifty gives little more than an order of magnitude.

        Args:
            metrics: Names of metrics; by default those of the evaluation.
            half_width: How far the intervals may extend to either side, on average.
            bound: Instead of a half-width, a value that the intervals should exclude, such as a precision of 0.95.
            confidence: How often the intervals should contain the true value; by default as in the evaluation.
        """
        sampling = self.options.sampling
        return plan_values(
            self.evidence,
            self._chosen(metrics),
            Goal(half_width, bound),
            confidence=self.confidence if confidence is None else confidence,
            drawn=sampling.drawn if sampling else None,
        )

    @property
    def plot(self) -> EvaluationPlots:
        """Charts of the evaluation, such as `evaluation.plot.clusters()`; needs the extra `report`."""
        from pointwise.charts import EvaluationPlots

        return EvaluationPlots(self)

    def report(self, path: str | os.PathLike[str], *, title: str | None = None) -> Path:
        """Write one HTML file that shows how good the clustering is, where it is wrong and for whom.

        The file loads nothing from a network, and its size is bounded. Needs the extra `report`.

        Args:
            path: The file to write.
            title: What to call it; by default it names the stored run, or the file of the actual clustering.

        Returns:
            The path.
        """
        from pointwise.report import report_evaluation

        return report_evaluation(self, path, title=title)

    @cached_property
    def warnings(self) -> list[str]:
        """What to know before trusting the numbers."""
        return [*_coverage_warnings(self.coverage, self.overall, self.options), *_undefined_warnings(self.overall)]

    def close(self) -> None:
        """Release what the engine holds for this evaluation, which cannot be used afterwards."""
        self.engine.close()

    def __enter__(self) -> Self:
        """Use the evaluation in a `with` block, which closes it at its end."""
        return self

    def __exit__(self, *_: object) -> None:
        """Close."""
        self.close()

    def __repr__(self) -> str:
        """Draw coverage, warnings and the overall metrics."""
        lines = [*self.summary(), *(f"Warning: {warning}" for warning in self.warnings)]
        return "\n".join([*map(wrap, lines), "", repr(self.overall)])

    def _repr_html_(self) -> str:
        lines = [*self.summary(), *(f"Warning: {warning}" for warning in self.warnings)]
        return draw_notes(lines) + self.overall._repr_html_()

    def summary(self) -> list[str]:
        """Say in a few lines what was compared and under which policies."""
        c, o = self.coverage, self.options
        common_weight = _weight_in_words(c.common_share, c.common_weight_share)
        outside_weight = _weight_in_words(c.outside_share, c.outside_weight_share)
        common = (
            f"Common items: {c.common_items:,} of {c.ideal_items:,} ideal ({format_share(c.common_share)}"
            f"{common_weight and f', {common_weight}'}) and "
            f"{format_count(c.actual_items, 'actual item')}, weight {format_weight(c.common_weight)}"
        )
        clusters = (
            f"Clusters touched: {c.ideal_clusters_touched:,} of {c.ideal_clusters:,} ideal; "
            f"{c.actual_clusters_touched:,} actual, {format_share(c.outside_share)} of their members"
            f"{outside_weight and f' ({outside_weight})'} outside the truth"
        )
        policies = f"Policies: outside={o.outside}, missing={o.missing}, unassigned={o.unassigned}"
        return [*say_layouts(self.sources, o), common, clusters, policies]

    def _chosen(self, metrics: MetricChoice | None) -> tuple[Metric, ...]:
        if metrics is None:
            return self.metrics
        chosen = find_metrics(metrics)
        self.evidence.sample.check(chosen)
        return self.evidence.fit(chosen)


def load(
    path: str | os.PathLike[str],
    *,
    verify: bool = True,
    memory_limit: str | None = None,
    threads: int | None = None,
    engine: Engine | str | None = None,
) -> Evaluation:
    """Load a stored run. It answers everything that the saved evaluation did.

    Args:
        path: The folder that `Evaluation.save` made.
        verify: Whether to compare the checksums of all files, which reads them once. Without it, only their sizes
            are compared.
        memory_limit: How much memory the engine may use before it spills to disk, such as "4GB".
        threads: How many cores the engine may use.
        engine: Where to run: "duckdb" (the default), "spark" or an engine.

    Raises:
        NotFoundError: There is no such folder.
        RunError: The run is incomplete, or only a newer pointwise can read it.

    Examples:
        >>> import pointwise as pw
        >>> evaluation = pw.evaluate(ideal=[["i1", "i2"], ["i3"]], actual=[["i1", "i3"], ["i2"]])
        >>> import tempfile, pathlib
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     stored = evaluation.save(pathlib.Path(folder) / "toy")
        ...     pw.load(stored).overall == evaluation.overall
        True
    """
    phase("reading")
    chosen = choose_engine(engine, memory_limit=memory_limit, threads=threads)
    with _closed_on_failure(chosen, engine), open_run(path, verify=verify) as run:
        evidence = read_evidence(run, chosen)
        return Evaluation(
            evidence=evidence,
            metrics=evidence.fit(_known_metrics(run.manifest, run.path)),
            options=read_options(run.manifest),
            sources=read_sources(run.manifest),
            scope=read_scope(run, chosen),
            shows_intervals=run.manifest.shows_intervals,
            confidence=run.manifest.confidence,
            name=Path(path).resolve().name,
        )


def _known_metrics(manifest: RunManifest, folder: Path) -> tuple[Metric, ...]:
    known: list[Metric] = []
    unknown: list[str] = []
    for name in manifest.metrics:
        try:
            known.append(find_metric(name))
        except UnknownMetricError:
            unknown.append(name)
    if unknown:
        warnings.warn(
            f"The run {str(folder)!r} has metrics that are not registered now and are left out: {listed(unknown)}. "
            "Import the module that registers them before loading.",
            stacklevel=3,
        )
    return tuple(known) or find_metrics(None)


def _coverage_warnings(coverage: Coverage, overall: Overall, options: Options) -> Iterator[str]:
    missing, weight = coverage.missing_share, coverage.missing_weight_share
    if _decisive(missing, weight) > _HIGH_MISSING_SHARE and options.missing == "drop":
        yield (
            f"{_both_in_words('ideal items', missing, weight, ('are', 'is'))} missing from the actual "
            "clustering and left out. missing='singleton' counts each as alone, missing='wrong' as in no cluster."
        )
    if _hides_much(coverage, options) and any(find_metric(name).sees_false_positives for name in overall.values):
        members = "members of the touched actual clusters"
        verbs = ("lie outside the truth and are", "lies outside the truth and is")
        share = _both_in_words(members, coverage.outside_share, coverage.outside_weight_share, verbs)
        yield (
            f"{share} not looked at. {_say_range(coverage, overall)}If the ideal clusters are complete, "
            "outside='wrong' counts such members as wrong."
        )


def _hides_much(coverage: Coverage, options: Options) -> bool:
    share = _decisive(coverage.outside_share, coverage.outside_weight_share)
    return options.outside == "ignore" and share > _HIGH_OUTSIDE_SHARE


def _decisive(items: float, weight: float | None) -> float:
    """Choose the share that says how much the numbers may be off: that of the weight, where it is known."""
    return items if weight is None else weight


def _weight_in_words(items: float, weight: float | None) -> str:
    """Write the share of the weight, unless it is about that of the items."""
    return f"{format_share(weight)} of the weight" if weight is not None and says_more(items, weight) else ""


def _both_in_words(what: str, items: float, weight: float | None, verbs: tuple[str, str]) -> str:
    """Begin a sentence with a share of some items, or of their weight; the verbs agree with these."""
    by_weight = _weight_in_words(items, weight)
    if by_weight:
        return f"{by_weight} of the {what} ({format_share(items)} of them) {verbs[1]}"
    return f"{format_share(items)} of the {what} {verbs[0]}"


def _say_range(coverage: Coverage, overall: Overall) -> str:
    least, most = coverage.least_precision, overall.values.get("precision")
    if least is None:
        return ""
    if most is None:
        return f"Precision may be as low as {format_metric(least)}, if all of them are wrong. "
    return (
        f"Precision lies between {format_metric(least)} (all of them are wrong) and {format_metric(most)} (none is). "
    )


def _undefined_warnings(overall: Overall) -> Iterator[str]:
    for name, share in overall.undefined.items():
        if share and not find_metric(name).is_total:  # the others are undefined by policy
            yield f"{name} is undefined for {format_share(share)} of the weight, which its average leaves out."
