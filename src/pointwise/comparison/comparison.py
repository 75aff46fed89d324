"""Comparison: several clusterings against one truth, and what changed between them."""

from __future__ import annotations

import operator
import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, reduce
from itertools import combinations
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self, overload

import narwhals.stable.v2 as nw
import pyarrow as pa

from pointwise.answers.levels import attach_records, band_keys, check_slices, slice_cells, slice_columns
from pointwise.answers.records import Shown
from pointwise.answers.slices import Slicing, band_name, read_slicing, say_what_to_slice_by
from pointwise.answers.tables import MetricTable, metric_columns
from pointwise.columns import (
    ACTUAL,
    BASELINE,
    BASELINE_VALUE,
    CHANGE,
    CLUSTER,
    CONTRIBUTION,
    COVERAGE_SHARES,
    DELTA,
    EXPERIMENT,
    EXPERIMENT_VALUE,
    IDEAL,
    IDEAL_CLUSTERS,
    ITEM,
    ITEM_SIZES,
    ITEMS,
    METRIC,
    MOVED,
    P_ADJUSTED,
    P_VALUE,
    SHARE,
    SLICE,
    VALUE,
    VARIANT,
    VERDICT,
    WEIGHT,
    WEIGHT_SHARES,
    Column,
    Kind,
    keys,
    name_part,
    undrawn,
)
from pointwise.comparison.changes import MOVED_COLUMNS, change_columns, find_changes, find_moved_items, pair_members
from pointwise.comparison.deltas import (
    CLUSTER_COLUMNS,
    DELTA_COLUMNS,
    ITEM_COLUMNS,
    Row,
    VariantPair,
    bootstrap_deltas,
    find_deltas,
    find_moves,
    pair_clusters,
    pair_items,
    paired_columns,
    stack_sums,
)
from pointwise.comparison.distances import DistanceMatrix, distance_matrix
from pointwise.comparison.explanations import ClusterComparison, ItemComparison, compare_cluster, compare_item
from pointwise.core.evidence import Evidence
from pointwise.core.metrics import Metric, MetricChoice, find_metric, find_metrics
from pointwise.core.sample import Sample, sample_of_all
from pointwise.engines import Engine, choose_engine
from pointwise.engines.base import as_source
from pointwise.engines.queries import from_rows
from pointwise.engines.turns import in_turn
from pointwise.errors import MissingColumnError, NotFoundError, UsageError
from pointwise.evaluation import Evaluation, load
from pointwise.inputs.composite import ONE_COLUMN, ItemColumns
from pointwise.inputs.options import CONFIDENCE, POWER, ColumnNames, CompareOn, Pairs
from pointwise.related.table import tabulate_related_variants
from pointwise.results import rows_as_table
from pointwise.store.contents import describe_file, open_folder, steadily
from pointwise.store.manifest import COMPARISON, RUN, ComparisonManifest, now, write_manifest
from pointwise.store.places import find_place, stored_folder
from pointwise.text.notebook import draw_notes
from pointwise.text.terminal import wrap
from pointwise.text.values import MISSING, SHOWN_ROWS, listed, short
from pointwise.uncertainty.bootstrap import RESAMPLES
from pointwise.uncertainty.intervals import Interval, lift_collected, vary_sums
from pointwise.uncertainty.planning import Difference, Plan, plan_differences
from pointwise.version import __version__

if TYPE_CHECKING:
    from pointwise.charts import ComparisonPlots

_ORDER, _SIZE = "_order", "_size"  # what tables are ordered and joined by
_TWO = 2
_ROUNDING = 1e-12  # of a difference of zero


@in_turn("engine")
@dataclass(frozen=True, repr=False)
class Comparison:
    """Several clusterings against one truth.

    Made by `compare`. A delta is always the experiment's value minus the baseline's.

    Args:
        evaluations: The evaluation of each variant, by name.
        engine: Where they live.
        metrics: What the tables show.
        baseline: The variant that others are measured against, if one was named.
        on: Which items each variant was evaluated on.
        notes: What to know before comparing the numbers.
        confidence: How often the intervals should contain the true value.

    Examples:
        >>> import pointwise as pw
        >>> comparison = pw.compare(
        ...     ideal=[["i1", "i2"], ["i3"]], variants={"old": [["i1", "i3"], ["i2"]], "new": [["i1", "i2"], ["i3"]]}
        ... )
        >>> round(comparison.delta("recall"), 4)
        0.3333
        >>> comparison.variants
        ['old', 'new']
        >>> [(row["ideal_cluster"], row["recall_delta"]) for row in comparison.gains("recall")]
        [(0, 0.5)]
        >>> len(comparison.losses("recall"))
        0
        >>> [(row["variant"], row["pair_recall"]) for row in comparison.related()]
        [('old', 0.0), ('new', 1.0)]
        >>> round(comparison.distances()["old", "new"], 4)
        0.5556
        >>> import pyarrow as pa
        >>> people = pa.table({"item": ["i1", "i2", "i3"], "name": ["Ann", "Ann", "Bob"]})
        >>> moved = comparison.with_attributes(people).with_shown("name").moved_items()
        >>> [(row["item"], row["name"]) for row in moved]
        [('i2', 'Ann'), ('i3', 'Bob')]
    """

    evaluations: Mapping[str, Evaluation]
    engine: Engine
    metrics: tuple[Metric, ...]
    baseline: str | None = None
    on: CompareOn = "own"
    notes: tuple[str, ...] = ()
    confidence: float = field(default=CONFIDENCE)

    def __getitem__(self, name: str) -> Evaluation:
        """Return the evaluation of a variant."""
        try:
            return self.evaluations[name]
        except KeyError:
            known = listed(self.evaluations)
            raise NotFoundError(f"There is no variant {short(name)}. There are {known}.") from None

    @property
    def variants(self) -> list[str]:
        """Names of the variants, in the order given."""
        return list(self.evaluations)

    @cached_property
    def _evidence(self) -> dict[str, Evidence]:
        return {name: evaluation.evidence for name, evaluation in self.evaluations.items()}

    @property
    def sample(self) -> Sample:
        """How the ideal clusters of the truth were drawn."""
        return sample_of_all([evidence.sample for evidence in self._evidence.values()])

    @property
    def _shows_intervals(self) -> bool:
        return all(evaluation.shows_intervals for evaluation in self.evaluations.values())

    @cached_property
    def _sums(self) -> nw.LazyFrame:
        return self._stack((), self.metrics)

    def _stack(self, by: Sequence[str], metrics: Sequence[Metric], cut: Slicing | None = None) -> nw.LazyFrame:
        def rows_of(evidence: Evidence) -> nw.LazyFrame:
            return slice_cells(evidence, cut, ()) if cut else evidence.cells

        return stack_sums(self._evidence, by, metrics, rows_of=rows_of)

    def by_variant(self) -> MetricTable:
        """List the overall metrics of every variant with their intervals, and how much of the truth it covers."""
        return self._by_variant

    @cached_property
    def _by_variant(self) -> MetricTable:
        has_intervals = self._shows_intervals
        lifted = lift_collected(
            self.engine.collect(
                vary_sums(self._sums, (VARIANT,), self.metrics, sample=self.sample, plan=self.engine.plan)
            ),
            (VARIANT,),
            metrics=self.metrics,
            total_weight=1.0,
            sample=self.sample,
            confidence=self.confidence,
        )
        names = lifted[VARIANT].to_pylist()
        lifted = lifted.append_column(_ORDER, pa.array(map(self.variants.index, names)))
        for name in COVERAGE_SHARES:
            shares = pa.array([getattr(self[n].coverage, name) for n in names], pa.float64())
            lifted = lifted.append_column(name, shares)
        values = [column for m in self.metrics for column in metric_columns(m, intervals=has_intervals)]
        covered = [Column(name, Kind.SHARE) for name in COVERAGE_SHARES]
        described = (*keys(VARIANT), *ITEM_SIZES[:2], Column(IDEAL_CLUSTERS, Kind.COUNT), *values, *covered)
        return MetricTable(
            self.sample.title("Overall"),
            from_rows(lifted, self.engine),
            self.engine,
            undrawn(described, (WEIGHT, IDEAL_CLUSTERS, "missing_share", "missing_weight_share", *self._same_shares)),
            order=((_ORDER, False),),
            confidence=self.confidence,
        )

    @property
    def _same_shares(self) -> tuple[str, ...]:
        """Shares of the weight, if they equal those of the items."""
        return () if any(e.coverage.is_weighted for e in self.evaluations.values()) else WEIGHT_SHARES

    def delta(self, metric: str | Metric, *, experiment: str | None = None, baseline: str | None = None) -> float:
        """Return how much one variant's overall value of a metric exceeds another's."""
        pair = self._one_pair(experiment, baseline)
        return self[pair.experiment].overall[metric] - self[pair.baseline].overall[metric]

    def deltas(
        self, *, experiment: str | None = None, baseline: str | None = None, metrics: MetricChoice | None = None
    ) -> MetricTable:
        """Show how much the overall values of variants differ, with intervals and tests.

        Args:
            experiment: The one to look at; all by default.
            baseline: What to measure against; by default that of the comparison, or every other variant if it
                has none.
            metrics: Names of metrics; by default those of the comparison.
        """
        chosen = self._chosen(metrics)
        pairs = self._pairs(experiment, baseline, all_pairs=True)
        sums = self._sums if chosen == self.metrics else self._stack((), chosen)
        rows = self._find_deltas(sums, (), pairs, chosen)
        return self._delta_table("Differences", rows, pairs, quiet=(ITEMS, SHARE, IDEAL_CLUSTERS, CONTRIBUTION))

    def by_slice(
        self,
        *slices: Any,
        experiment: str | None = None,
        baseline: str | None = None,
        metrics: MetricChoice | None = None,
    ) -> MetricTable:
        """Show what changed in every slice, with intervals, tests, and p-values adjusted for their number.

        The contributions of the slices of a metric add up to the overall delta. The rows that contribute most
        come first.

        Args:
            slices: What to slice by, as in `Evaluation.by_slice`.
            experiment: The one to look at; by default all but the baseline.
            baseline: What to measure against; by default that of the comparison, or its first variant.
            metrics: Names of metrics; by default those of the comparison.
        """
        first = next(iter(self.evaluations.values()))
        specs = slices or first.options.slices
        if not specs:
            raise UsageError(say_what_to_slice_by(first.evidence.slice_schema))
        chosen, pairs = self._chosen(metrics), self._pairs(experiment, baseline)
        cuts = [self._read_slicing(spec) for spec in specs]
        check_slices(cuts, chosen, taken=(EXPERIMENT, BASELINE, VARIANT, *(column.name for column in DELTA_COLUMNS)))
        rows = [row for cut in cuts for row in self._compare_slicing(cut, pairs, chosen)]
        quiet = (ITEMS, IDEAL_CLUSTERS, BASELINE_VALUE, EXPERIMENT_VALUE)
        if len(cuts) == 1:
            return self._delta_table(f"Differences by {cuts[0].name}", rows, pairs, quiet=quiet, cuts=cuts)
        return self._delta_table("Differences by slice", rows, pairs, quiet=quiet, cuts=cuts)

    def _read_slicing(self, spec: Any) -> Slicing:
        """Read a slice, which must mean the same for every variant."""
        found: dict[str, Slicing] = {}
        for name, evidence in self._evidence.items():
            try:
                found[name] = read_slicing(spec, evidence.slice_schema)
            except MissingColumnError as error:
                raise MissingColumnError(f"The variant {name!r} cannot be sliced by {spec!r}: {error}") from error
        cut = next(iter(found.values()))
        for column in dict.fromkeys(column for key in cut.keys for column in key.columns or ()):
            types = {name: evidence.slice_schema[column] for name, evidence in self._evidence.items()}
            if len(set(types.values())) > 1:
                kinds = ", ".join(f"{kind} in {name!r}" for name, kind in types.items())
                raise UsageError(f"The column {column!r} has different types: {kinds}. Give all variants the same.")
        return cut

    def _find_deltas(
        self, sums: nw.LazyFrame, by: Sequence[str], pairs: Sequence[VariantPair], metrics: Sequence[Metric]
    ) -> list[Row]:
        return find_deltas(
            sums,
            by,
            pairs,
            metrics=metrics,
            engine=self.engine,
            confidence=self.confidence,
            sample=self.sample,
        )

    def _compare_slicing(self, cut: Slicing, pairs: Sequence[VariantPair], metrics: Sequence[Metric]) -> list[Row]:
        names, bands = [key.column for key in cut.keys], band_keys(cut)
        sums = self._stack(names, metrics, cut)
        rows = self._find_deltas(sums, names, pairs, metrics)
        rows.sort(key=lambda row: [row[band] for band in bands] or -abs(row[CONTRIBUTION] or 0.0))
        named = (row | {band: band_name(row[band]) for band in bands} for row in rows)
        return [{SLICE: cut.name, VALUE: _as_text([row[name] for name in names])} | row for row in named]

    def by_ideal_cluster(
        self, *, experiment: str | None = None, baseline: str | None = None, metrics: MetricChoice | None = None
    ) -> MetricTable:
        """Show what changed in every ideal cluster. Contributions add up to the overall delta."""
        pairs = self._pairs(experiment, baseline)
        return self._paired_table("Ideal clusters", pair_clusters, CLUSTER_COLUMNS, pairs, self._chosen(metrics))

    def by_item(
        self, *, experiment: str | None = None, baseline: str | None = None, metrics: MetricChoice | None = None
    ) -> MetricTable:
        """Show what changed for every item. Contributions add up to the overall delta."""
        chosen = [metric for metric in self._chosen(metrics) if not metric.means]
        table = self._paired_table("Items", pair_items, ITEM_COLUMNS, self._pairs(experiment, baseline), chosen)
        return table.by_parts(self.ids)

    @property
    def ids(self) -> ItemColumns:
        """The columns that identify an item, which runs of older versions do not tell."""
        return next((evidence.ids for evidence in self._evidence.values() if evidence.ids.kinds), ONE_COLUMN)

    def losses(
        self,
        metric: str | Metric,
        limit: int = SHOWN_ROWS,
        *,
        experiment: str | None = None,
        baseline: str | None = None,
    ) -> MetricTable:
        """Show the ideal clusters that cost the experiment the most, compared with the baseline."""
        return self._movers(metric, limit, self._one_pair(experiment, baseline), losses=True)

    def gains(
        self,
        metric: str | Metric,
        limit: int = SHOWN_ROWS,
        *,
        experiment: str | None = None,
        baseline: str | None = None,
    ) -> MetricTable:
        """Show the ideal clusters that the experiment gains the most from, compared with the baseline."""
        return self._movers(metric, limit, self._one_pair(experiment, baseline), losses=False)

    def _movers(self, metric: str | Metric, limit: int, pair: VariantPair, *, losses: bool) -> MetricTable:
        found = find_metric(metric)
        if found.better is None or found.means:
            raise UsageError(f"A cluster has no gain or loss of {found.name!r}. Use by_ideal_cluster().")
        column = name_part(found.name, CONTRIBUTION)
        downwards = losses == (found.better == "lower")
        # Without a change, rounding leaves a difference in proportion to the share of the weight.
        least = nw.col(SHARE) * _ROUNDING
        table = self._paired_table("Ideal clusters", pair_clusters, CLUSTER_COLUMNS, [pair], [found])
        moved = table.where(nw.col(column) > least if downwards else nw.col(column) < 0.0 - least)
        drawn = tuple(replace(c, is_drawn=c.name not in (EXPERIMENT, BASELINE)) for c in moved.describe())
        return replace(moved.sort(column, descending=downwards).head(limit), described=drawn)

    def bootstrap(
        self,
        *,
        experiment: str | None = None,
        baseline: str | None = None,
        metrics: MetricChoice | None = None,
        resamples: int = RESAMPLES,
        seed: int = 0,
    ) -> dict[str, Interval]:
        """Bootstrap intervals of the overall deltas by resampling the ideal clusters."""
        pair = self._one_pair(experiment, baseline)
        chosen = self._chosen(metrics)
        return bootstrap_deltas(
            self._evidence, pair, chosen, resamples=resamples, seed=seed, confidence=self.confidence
        )

    def plan(
        self,
        metrics: MetricChoice | None = None,
        *,
        difference: float,
        power: float = POWER,
        experiment: str | None = None,
        baseline: str | None = None,
        tests: int = 1,
        confidence: float | None = None,
    ) -> Plan:
        """Estimate how many ideal clusters to label to detect a difference between two variants.

        The clusters labelled so far show how much changes vary. The fewer there are, the wider the range beside each
        number. The number is at least large enough for a verdict, which takes enough changed clusters.

        Args:
            metrics: Names of metrics; by default those of the comparison.
            difference: The least difference that matters, up or down.
            power: The probability of detecting it if it exists.
            experiment: The one to look at.
            baseline: What to measure it against; by default that of the comparison, or its first variant.
            tests: How many such tests are made, such as variants against one baseline: the more, the more certain each
                must be.
            confidence: How certain a clear change must be; by default as in the comparison.
        """
        pair, chosen = self._one_pair(experiment, baseline), self._chosen(metrics)
        goal = Difference(difference, power, tests)
        sums = self._sums if chosen == self.metrics else self._stack((), chosen)
        moves, changes = find_moves(
            sums, pair, chosen, engine=self.engine, confidence=self.confidence, sample=self.sample
        )
        sampling = self[pair.baseline].options.sampling
        return plan_differences(
            moves,
            changes,
            goal,
            sample=self.sample,
            engine=self.engine,
            confidence=self.confidence if confidence is None else confidence,
            drawn=sampling.drawn if sampling else None,
        )

    @overload
    def explain(self, *, ideal_cluster: Any, limit: int = ..., show: ColumnNames | None = ...) -> ClusterComparison: ...

    @overload
    def explain(self, *, item: Any, limit: int = ..., show: ColumnNames | None = ...) -> ItemComparison: ...

    @overload
    def explain(
        self, *, ideal_cluster: Any, item: Any, limit: int = ..., show: ColumnNames | None = ...
    ) -> ClusterComparison | ItemComparison: ...

    def explain(
        self, *, ideal_cluster: Any = None, item: Any = None, limit: int = SHOWN_ROWS, show: ColumnNames | None = None
    ) -> ClusterComparison | ItemComparison:
        """Show how every variant treated one ideal cluster, or one item.

        Args:
            ideal_cluster: An ideal cluster, to see which of its items are together in which variant.
            item: An item, to see what is with it in every variant.
            limit: How many parts of the cluster, or items of a set, to list.
            show: What to show of items, as in `evaluate`.
        """
        if (ideal_cluster is None) == (item is None):
            raise UsageError("Say what to explain: one of ideal_cluster=... and item=....")
        shown = self._shown(show)
        if item is not None:
            return compare_item(self._evidence, item, self.metrics, limit=limit, shown=shown)
        return compare_cluster(self._evidence, ideal_cluster, self.metrics, limit=limit, shown=shown)

    def _shown(self, show: ColumnNames | None = None) -> Shown:
        """Choose which columns of items to show: those that all variants have."""
        first, *others = (evaluation.show_columns(show) for evaluation in self.evaluations.values())
        common = (c for c in first.columns if all(c in other.columns for other in others))
        return replace(first, columns=tuple(common))

    def with_attributes(self, attributes: Any, *, item: ColumnNames | None = None) -> Comparison:
        """Return the same comparison with another table of attributes; `Evaluation.with_attributes` explains it."""
        found = {name: e.with_attributes(attributes, item=item) for name, e in self.evaluations.items()}
        return replace(self, evaluations=found)

    def with_shown(self, *columns: str) -> Comparison:
        """Return the same comparison showing other columns beside the ids of items."""
        return replace(self, evaluations={name: e.with_shown(*columns) for name, e in self.evaluations.items()})

    def changes(self, *, experiment: str | None = None, baseline: str | None = None) -> MetricTable:
        """Classify every ideal cluster: unchanged, better, worse, split further or merged together.

        A cluster with items in only one of the two variants is "only in the baseline" or "only in the experiment".
        """
        pair = self._one_pair(experiment, baseline)
        frame = self.engine.checkpoint(find_changes(self._evidence, pair, self.metrics))
        order = ((MOVED, True), (WEIGHT, True), (IDEAL, False))
        title = _titled("What happened to the ideal clusters", [pair])
        return MetricTable(title, frame, self.engine, tuple(change_columns(self.metrics)), order=order)

    def count_changes(self, *, experiment: str | None = None, baseline: str | None = None) -> MetricTable:
        """Count the ideal clusters by what happened to them."""
        changes = self.changes(experiment=experiment, baseline=baseline)
        counts = [Column(name, Kind.COUNT) for name in (IDEAL_CLUSTERS, ITEMS, MOVED)]
        described = (*keys(CHANGE), *counts, *ITEM_SIZES[1:])
        counted = changes.frame.with_columns(nw.lit(1).alias(IDEAL_CLUSTERS)).group_by(CHANGE)
        sums = counted.agg(*(nw.col(column.name).sum() for column in described[1:]))
        frame = sums.with_columns(*(nw.col(column.name).cast(nw.Int64) for column in counts))
        order = ((IDEAL_CLUSTERS, True), (CHANGE, False))
        return MetricTable(changes.title, frame, self.engine, described, order=order)

    def moved_items(self, *, experiment: str | None = None, baseline: str | None = None) -> MetricTable:
        """List the items that left their actual cluster, with the cluster before and after."""
        pair = self._one_pair(experiment, baseline)
        frame = find_moved_items(pair_members(self._evidence, pair))
        order = ((IDEAL, False), (ITEM, False))
        table = MetricTable(_titled("Items that moved", [pair]), frame, self.engine, MOVED_COLUMNS, order=order)
        return attach_records(table.by_parts(self.ids), self._evidence[pair.baseline], self._shown())

    def related(self, *, beta: float = 1.0, pairs: Pairs = "counts") -> MetricTable:
        """List the metrics of other families for every variant; `Evaluation.related` explains the parameters."""
        return tabulate_related_variants(self._evidence, beta=beta, pairs=pairs, confidence=self.confidence)

    def distances(self) -> DistanceMatrix:
        """Measure how far apart the variants are (Jaccard), on the items of the truth that all of them have."""
        clusterings = {
            name: as_source(name, evidence.items.select(ITEM, nw.col(ACTUAL).alias(CLUSTER)))
            for name, evidence in self._evidence.items()
        }
        weights = as_source("weights", next(iter(self._evidence.values())).weighed_items().select(ITEM, WEIGHT))
        return distance_matrix(clusterings, weights=weights, weight=WEIGHT, engine=self.engine)

    def save(self, path: str | os.PathLike[str], *, overwrite: bool = False, keep: bool = False) -> Path:
        """Store the comparison as a folder that `load_comparison` reads: one run per variant, and a manifest.

        Args:
            path: The folder to make.
            overwrite: Whether to replace a comparison that already exists.
            keep: Whether to also store the columns shown beside items, as in `Evaluation.save`.
        """
        folders = {name: f"{n:03d}" for n, name in enumerate(self.variants, start=1)}
        with stored_folder(path, COMPARISON, overwrite=overwrite) as folder:
            for name, inside in folders.items():
                self.evaluations[name].save(folder / inside, keep=keep)
            manifest = ComparisonManifest(
                pointwise_version=__version__,
                created=now(),
                variants=folders,
                baseline=self.baseline,
                on=self.on,
                notes=self.notes,
                confidence=self.confidence,
                manifests={f"{f}/{RUN.file}": describe_file(folder / f / RUN.file) for f in folders.values()},
            )
            write_manifest(folder, manifest)
        return Path(path)

    @property
    def plot(self) -> ComparisonPlots:
        """Charts of the comparison, such as `comparison.plot.movers()`; needs the extra `report`."""
        from pointwise.charts import ComparisonPlots

        return ComparisonPlots(self)

    def report(self, path: str | os.PathLike[str], *, title: str | None = None) -> Path:
        """Write one HTML file that shows which variant is better, what moved and for whom.

        It compares the last variant with the baseline in detail, and all others briefly. The file loads nothing
        from a network, and its size is bounded. Needs the extra `report`.

        Args:
            path: The file to write.
            title: What to call it.

        Returns:
            The path.
        """
        from pointwise.report import report_comparison

        return report_comparison(self, path, title=title)

    def close(self) -> None:
        """Release what the engine holds for this comparison, which cannot be used afterwards."""
        self.engine.close()

    def __enter__(self) -> Self:
        """Use the comparison in a `with` block, which closes it at its end."""
        return self

    def __exit__(self, *_: object) -> None:
        """Close."""
        self.close()

    def __repr__(self) -> str:
        """Draw the notes, the overall table, and the differences from the baseline."""
        return "\n\n".join(
            [*(wrap(f"Note: {note}") for note in self.notes), *(repr(table) for table in self._tables())]
        )

    def _repr_html_(self) -> str:
        return draw_notes(self.notes) + "".join(table._repr_html_() for table in self._tables())

    def _tables(self) -> list[MetricTable]:
        has_baseline = self.baseline is not None or len(self.evaluations) == _TWO
        return [self.by_variant(), self.deltas()] if has_baseline else [self.by_variant()]

    def _chosen(self, metrics: MetricChoice | None) -> tuple[Metric, ...]:
        if metrics is None:
            return self.metrics
        chosen = find_metrics(metrics)
        self.sample.check(chosen)
        return next(iter(self.evaluations.values())).evidence.fit(chosen)

    def _pairs(self, experiment: str | None, baseline: str | None, *, all_pairs: bool = False) -> list[VariantPair]:
        names = self.variants
        for name in (experiment, baseline):
            if name is not None:
                self[name]
        if len(names) < _TWO:
            raise UsageError("There is only one variant, and nothing to compare it with.")
        baseline = baseline or self.baseline
        if baseline is None and all_pairs:
            pairs = [VariantPair(a, b) for a, b in combinations(names, 2)]
            return [p for p in pairs if experiment in (None, p.experiment)] or [
                VariantPair(n, experiment or "") for n in names[1:]
            ]
        baseline = baseline or next(n for n in names if n != experiment)
        return [VariantPair(baseline, n) for n in ([experiment] if experiment else names) if n != baseline]

    def _one_pair(self, experiment: str | None, baseline: str | None) -> VariantPair:
        pairs = self._pairs(experiment, baseline)
        if len(pairs) != 1:
            known = listed(self.evaluations)
            raise UsageError(f"Say which two to compare: experiment=..., baseline=... of {known}.")
        return pairs[0]

    def _delta_table(
        self,
        title: str,
        rows: Sequence[Row],
        pairs: Sequence[VariantPair],
        *,
        quiet: Sequence[str],
        cuts: Sequence[Slicing] = (),
    ) -> MetricTable:
        """Make a table of rows in the order of the pairs, drawing only what differs between the rows."""
        about = slice_columns(cuts) if cuts else ()
        described = [Column(EXPERIMENT), Column(BASELINE), *about, *self._delta_columns()]
        number = {pair: n for n, pair in enumerate(pairs)}
        ordered = sorted(rows, key=lambda row: number[VariantPair(row[BASELINE], row[EXPERIMENT])])
        same = [c for c in (EXPERIMENT, BASELINE, METRIC) if len({row[c] for row in rows}) == 1]
        title = f"{title} in {rows[0][METRIC]}" if METRIC in same else title
        stored = [Column(column.own, column.kind) for column in (*described, Column(_ORDER))]
        table = rows_as_table([row | {_ORDER: n} for n, row in enumerate(ordered)], stored)
        return MetricTable(
            self.sample.title(_titled(title, pairs)),
            from_rows(table, self.engine),
            self.engine,
            undrawn(described, (*same, *quiet, P_VALUE)),
            order=((_ORDER, False),),
            confidence=self.confidence,
        )

    def _delta_columns(self) -> list[Column]:
        """Describe the columns of a difference; without intervals, only those that need no sample."""
        if self._shows_intervals:
            return list(DELTA_COLUMNS)
        dropped = (P_VALUE, P_ADJUSTED, *(() if self.sample.is_complete else (VERDICT,)))
        kept = [c for c in DELTA_COLUMNS if c.kind is not Kind.END and c.name not in dropped]
        return [replace(column, low="", high="") for column in kept]

    def _paired_table(
        self,
        title: str,
        pair_rows: Callable[[Mapping[str, Evidence], VariantPair, Sequence[Metric]], nw.LazyFrame],
        about: tuple[Column, ...],
        pairs: Sequence[VariantPair],
        metrics: Sequence[Metric],
    ) -> MetricTable:
        parts = []
        for pair in pairs:
            names = [nw.lit(pair.experiment).alias(EXPERIMENT), nw.lit(pair.baseline).alias(BASELINE)]
            parts.append(pair_rows(self._evidence, pair, metrics).with_columns(*names))
        values = [column for m in metrics for column in paired_columns(m)]
        contributions = [column.name for column in values if column.name.endswith(name_part("", CONTRIBUTION))]
        size = reduce(operator.add, (nw.col(c).abs() for c in contributions), nw.lit(0.0))
        quiet = [column.name for column in values if not column.name.endswith(name_part("", DELTA))]
        described = (Column(EXPERIMENT), Column(BASELINE), *about, *values)
        return MetricTable(
            _titled(title, pairs),
            nw.concat(parts).with_columns(size.alias(_SIZE)),
            self.engine,
            undrawn(described, (*quiet, *((EXPERIMENT, BASELINE) if len(pairs) == 1 else ()))),
            order=((_SIZE, True), (WEIGHT, True), (about[0].name, False)),
        )


def load_comparison(
    path: str | os.PathLike[str], *, verify: bool = True, engine: Engine | str | None = None
) -> Comparison:
    """Load a stored comparison. It answers everything that the saved comparison did.

    Args:
        path: The folder that `Comparison.save` made.
        verify: Whether to compare the checksums of all files, which reads them once. Without it, only their sizes are
            compared.
        engine: Where to run: "duckdb" (the default), "spark" or an engine.

    Raises:
        NotFoundError: There is no such folder.
        RunError: It is not a comparison, is incomplete or was changed, or only another pointwise can read it.

    Examples:
        >>> import pointwise as pw
        >>> comparison = pw.compare(
        ...     ideal=[["i1", "i2"], ["i3"]], variants={"old": [["i1", "i3"], ["i2"]], "new": [["i1", "i2"], ["i3"]]}
        ... )
        >>> import pathlib, tempfile
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     stored = comparison.save(pathlib.Path(folder) / "both")
        ...     pw.load_comparison(stored).variants
        ['old', 'new']
    """
    folder, chosen = find_place(path), choose_engine(engine)

    def read() -> tuple[ComparisonManifest, dict[str, Evaluation]]:
        with open_folder(folder, COMPARISON, ComparisonManifest, verify=verify) as found:
            runs = found.manifest.variants
            return found.manifest, {
                name: load(folder / inside, verify=verify, engine=chosen) for name, inside in runs.items()
            }

    manifest, evaluations = steadily(folder, COMPARISON, read)
    return Comparison(
        evaluations,
        chosen,
        next(iter(evaluations.values())).metrics,
        baseline=manifest.baseline,
        on=manifest.on,
        notes=manifest.notes,
        confidence=manifest.confidence,
    )


def _titled(title: str, pairs: Sequence[VariantPair]) -> str:
    experiments, baselines = {p.experiment for p in pairs}, {p.baseline for p in pairs}
    if len(baselines) > 1:
        return title
    return f"{title}: {f'{experiments.pop()} ' if len(experiments) == 1 else ''}against {baselines.pop()}"


def _as_text(values: Sequence[Any]) -> str | None:
    """Write the values that make a slice as one text, the way engines do."""
    texts = [str(value).lower() if isinstance(value, bool) else str(value) for value in values]
    if len(values) == 1:
        return None if values[0] is None else texts[0]
    return ", ".join(MISSING if value is None else text for value, text in zip(values, texts, strict=True))
