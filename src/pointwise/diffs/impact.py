"""Impact: what changed between two clusterings, exactly, and the object that a user holds of it."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any, Self

import narwhals.stable.v2 as nw

from pointwise.answers.levels import tabulate_clusters, tabulate_items, tabulate_slices
from pointwise.answers.slices import say_what_to_slice_by
from pointwise.answers.tables import MetricTable
from pointwise.columns import (
    ACTUAL,
    FN,
    FP,
    IDEAL,
    ITEM,
    ITEM_SIZES,
    ITEMS,
    MEANING,
    METRIC,
    SHARE,
    TN,
    VALUE,
    WEIGHT,
    Column,
    Kind,
    keys,
)
from pointwise.core.common import find_all_items, find_common_items
from pointwise.core.evidence import Evidence, establish
from pointwise.core.metrics import Metric
from pointwise.diffs.changes import ChangeKind, Changes, find_changes
from pointwise.diffs.estimates import count_answers, suggest_shares
from pointwise.diffs.estimation import Estimates, estimate
from pointwise.diffs.explanations import explain_change
from pointwise.diffs.judgements import Judgements
from pointwise.diffs.lineage import CLUSTERS, FATE, FATES, HEIR, KEPT, PIECES, summarise_fates, trace_clusters
from pointwise.diffs.metrics import IMPACT, find_impact
from pointwise.diffs.names import BASELINE_CLUSTER, EXPERIMENT_CLUSTER, in_words_of_diff
from pointwise.diffs.questions import Questions, draw_questions
from pointwise.diffs.strata import SUMS, Masses, read_masses, weigh_pairs
from pointwise.engines import Engine, Source, choose_engine
from pointwise.engines.queries import only_row
from pointwise.errors import UsageError
from pointwise.inputs.options import (
    BASELINE_AND_EXPERIMENT,
    Columns,
    DiffOn,
    Options,
    Unassigned,
    as_labels,
    check_choice,
)
from pointwise.inputs.reading import Inputs, read_attributes, read_inputs
from pointwise.inputs.tables import item_columns, open_source
from pointwise.inputs.unassigned import check_unassigned, reserved_ids
from pointwise.progress import phase
from pointwise.results import Result
from pointwise.store.contents import open_folder
from pointwise.store.manifest import DIFF, DiffManifest, write_manifest
from pointwise.store.places import find_place, stored_folder
from pointwise.store.runs import read_evidence, read_later, read_options, read_sources, write_evidence
from pointwise.text.drawing import Drawing
from pointwise.text.terminal import wrap
from pointwise.text.values import SHOWN_ROWS, format_count, format_metric, format_share, format_weight
from pointwise.uncertainty.intervals import CONFIDENCE

SINGLETONS = "singletons"


def diff(
    *,
    baseline: Any,
    experiment: Any,
    item: Columns | Mapping[str, Columns] | None = None,
    cluster: Columns | Mapping[str, Columns] | None = None,
    weight: str | None = None,
    weights: Any = None,
    attributes: Any = None,
    slices: Any = (),
    on: DiffOn = "common",
    unassigned: Unassigned | Mapping[str, Unassigned] = "error",
    unassigned_labels: Any = (),
    header: bool | Mapping[str, bool] = True,
    memory_limit: str | None = None,
    threads: int | None = None,
    engine: Engine | str | None = None,
) -> Diff:
    """Find what changed between two clusterings of the same items. No truth is needed.

    Args:
        baseline: A clustering of any kind that `evaluate` reads, such as yesterday's.
        experiment: Another one, such as today's; or "singletons", with every item alone: what is split off then is the
            baseline itself, and judgements tell its precision.
        item: Column that identifies an item, or several that do so together. Where the tables name it differently, a
            mapping with the keys "baseline", "experiment", "weights", "attributes".
        cluster: The same for clusters.
        weight: Column with the weight of an item, in any of the tables. Without it, every item weighs 1.
        weights: A table of items and their weights.
        attributes: A table of items and what is known about them, to slice by and to show to judges.
        slices: Columns or conditions to slice by; `by_slice()` shows them.
        on: Which items to look at: those that both clusterings have ("common"), or all, where an item that a
            clustering lacks is alone in it ("union").
        unassigned: What happens to items without a cluster, as in `evaluate`.
        unassigned_labels: Cluster labels that mean "no cluster": one, such as -1, or several.
        header: Whether CSV files begin with the names of their columns, as in `evaluate`.
        memory_limit: How much memory the engine may use before it spills to disk, such as "4GB".
        threads: How many cores the engine may use.
        engine: Where to run, as in `evaluate`.

    Example:
        >>> import pointwise as pw
        >>> diff = pw.diff(baseline=[["a", "b", "c"], ["d"]], experiment=[["a", "b"], ["c", "d"]])
        >>> diff.overall["jaccard_distance"]
        0.5
    """
    check_choice("on", on, DiffOn)
    specs = (slices,) if isinstance(slices, (str, nw.Expr)) else tuple(slices or ())
    missing: Any = "singleton" if on == "union" else "drop"
    sides = BASELINE_AND_EXPERIMENT
    options = Options(
        item,
        cluster,
        weight,
        specs,
        "ignore",
        missing,
        unassigned,
        as_labels(unassigned_labels),
        header=header,
        sides=sides,
    )
    chosen = choose_engine(
        engine, (baseline, experiment, weights, attributes), memory_limit=memory_limit, threads=threads
    )
    is_singletons = isinstance(experiment, str) and experiment == SINGLETONS
    phase("reading")
    try:
        if is_singletons:
            baseline, options = _alone(baseline, chosen, options)
            experiment = baseline
        inputs = read_inputs(
            chosen, ideal=baseline, actual=experiment, weights=weights, attributes=attributes, options=options
        )
        return _diff_inputs(inputs, chosen, options, on, is_singletons=is_singletons)
    except BaseException:
        if chosen is not engine:  # nobody else could let go of what it holds
            chosen.close()
        raise


def _alone(baseline: Any, engine: Engine, options: Options) -> tuple[Source, Options]:
    """Read the clustering that has every item alone: its clusters are the items of the baseline."""
    source = open_source(baseline, engine, role="baseline clustering")
    items = item_columns(source, options.columns("item", "baseline"), "baseline clustering")
    clusters = {"baseline": options.columns("cluster", "baseline"), "experiment": items}
    known = {side: columns for side, columns in clusters.items() if columns is not None}
    return source, replace(options, item=items if options.item is None else options.item, cluster=known)


def _diff_inputs(inputs: Inputs, engine: Engine, options: Options, on: DiffOn, *, is_singletons: bool) -> Diff:
    if on == "union":
        check_unassigned(inputs.ideal, reserved_ids(inputs.ideal), engine, policy="singleton")
        items, counts = find_all_items(inputs, engine)
        evidence = establish(engine.checkpoint(items), engine, attributes=inputs.attributes)
    else:
        common = find_common_items(inputs, engine, options=options)
        counts = common.counts
        evidence = establish(common.items, engine, pairs=common.pairs, attributes=inputs.attributes)
    extent = Extent(inputs.rows[0], inputs.rows[1], counts.common, on)
    return Diff(evidence, tuple(IMPACT.values()), options, inputs.sources, extent, is_singletons)


@dataclass(frozen=True)
class Extent:
    """Which items a diff is about.

    Args:
        baseline_items: How many the baseline has.
        experiment_items: How many the experiment has.
        common_items: How many both have.
        on: Whether the diff is about the common items or about all.
    """

    baseline_items: int
    experiment_items: int
    common_items: int
    on: DiffOn = "common"

    @property
    def baseline_only(self) -> int:
        """How many items only the baseline has."""
        return self.baseline_items - self.common_items

    @property
    def experiment_only(self) -> int:
        """How many items only the experiment has."""
        return self.experiment_items - self.common_items

    def to_dict(self) -> dict[str, Any]:
        """Return all numbers by name."""
        return asdict(self) | {"baseline_only": self.baseline_only, "experiment_only": self.experiment_only}

    def __str__(self) -> str:
        """Say in a sentence which items take part."""
        both = (
            f"Common items: {self.common_items:,} of {format_count(self.baseline_items, 'baseline item')} and "
            f"{format_count(self.experiment_items, 'experiment item')}"
        )
        if not self.baseline_only and not self.experiment_only:
            return both
        fate = "are left out" if self.on == "common" else "are alone where they are missing"
        return f"{both}; {self.baseline_only:,} and {self.experiment_only:,} {fate}"


@dataclass(frozen=True, repr=False)
class Impact(Result):
    """How much changed, for all items together.

    Args:
        items: Number of items.
        weight: Their weight.
        values: The value of each metric.
        affected_items: Number of items whose cluster changed.
        affected_weight: Their weight.
    """

    items: int
    weight: float
    values: Mapping[str, float]
    affected_items: int
    affected_weight: float

    def __getitem__(self, metric: str) -> float:
        """Return the value of a metric."""
        find_impact(metric)
        return self.values[metric]

    @property
    def bounds(self) -> dict[str, tuple[float, float]]:
        """Between which values the changes of precision and recall lie, whatever judges will say."""
        distance = self.values["jaccard_distance"]
        return {
            "delta_precision": (-distance, distance),
            "delta_recall": (-self.values["split_rate"], self.values["merge_rate"]),
        }

    def to_dict(self) -> dict[str, Any]:
        """Return all numbers by name."""
        sizes = {ITEMS: self.items, WEIGHT: self.weight}
        affected = {"affected_items": self.affected_items, "affected_weight": self.affected_weight}
        return {**sizes, **affected, **self.values}

    def to_dicts(self) -> list[dict[str, Any]]:
        """Return one row per metric: its value and what it means."""
        return [{METRIC: n, VALUE: v, MEANING: IMPACT[n].summary} for n, v in self.values.items()]

    def describe(self) -> tuple[Column, ...]:
        """Say what the columns are, and what each holds."""
        return (*keys(METRIC), Column(VALUE, Kind.METRIC), Column(MEANING))

    def drawing(self) -> Drawing:
        """Say what people shall see: the metrics, with the bounds below them."""
        share = format_share(self.affected_weight / self.weight)
        title = (
            f"Impact on {format_count(self.items, 'item')}, weight {format_weight(self.weight)}; "
            f"{self.affected_items:,} affected ({share} of the weight)"
        )
        known = "; ".join(
            f"{name} lies between {format_metric(low)} and {format_metric(high)}"
            for name, (low, high) in self.bounds.items()
        )
        return Drawing(title, self.describe(), self.to_dicts(), f"Before any judgement: {known}.")


@dataclass(frozen=True, repr=False)
class Diff:
    """What changed between two clusterings.

    `diff` makes it. Tables are computed when they are looked at.

    Args:
        evidence: The items and their cells, the baseline in the ideal and the experiment in the actual role.
        metrics: What the tables show.
        options: How the inputs were read.
        sources: The tables that were read, by role.
        extent: Which items it is about.
        is_singletons: Whether the experiment has every item alone.
    """

    evidence: Evidence
    metrics: tuple[Metric, ...]
    options: Options
    sources: Mapping[str, Source]
    extent: Extent
    is_singletons: bool = False

    @cached_property
    def overall(self) -> Impact:
        """How much changed, for all items together."""
        names = list(IMPACT)
        measured = self.evidence.measured(tuple(IMPACT.values()))
        row = only_row(self.evidence.lift(measured, (), tuple(IMPACT.values())), self.evidence.engine)
        changed = self.evidence.cells.filter((nw.col(FN) > 0) | (nw.col(FP) > 0))
        affected = only_row(changed.select(nw.col(ITEMS).sum(), nw.col(WEIGHT).sum()), self.evidence.engine)
        values = {name: float(row[name]) for name in names}
        return Impact(
            int(row[ITEMS]), float(row[WEIGHT]), values, int(affected[ITEMS] or 0), float(affected[WEIGHT] or 0.0)
        )

    @cached_property
    def masses(self) -> Masses:
        """What is known of all items before anybody judges."""
        sums = weigh_pairs(self.evidence.cells).select(*(nw.col(name).sum() for name in (ITEMS, WEIGHT, *SUMS)))
        return read_masses(only_row(sums, self.evidence.engine))

    def by_baseline_cluster(self, *, metrics: Sequence[str] | str | None = None) -> MetricTable:
        """Average the metrics over the items of each baseline cluster."""
        return in_words_of_diff(tabulate_clusters(self.evidence, IDEAL, self._chosen(metrics)))

    def by_experiment_cluster(self, *, metrics: Sequence[str] | str | None = None) -> MetricTable:
        """Average the metrics over the items of each experiment cluster."""
        return in_words_of_diff(tabulate_clusters(self.evidence, ACTUAL, self._chosen(metrics)))

    def by_item(self, *, metrics: Sequence[str] | str | None = None) -> MetricTable:
        """List every item with the weights of what stayed with it, was merged in and was split off, and its metrics."""
        return in_words_of_diff(tabulate_items(self.evidence, self._chosen(metrics)), drop=(TN,))

    def by_slice(self, *slices: Any, metrics: Sequence[str] | str | None = None) -> MetricTable:
        """Average the metrics over slices of items. The clusters are not cut at a slice's border.

        Args:
            slices: As in `Evaluation.by_slice`. Without any, the slices given to `diff`.
            metrics: Names of metrics; by default all.
        """
        specs = slices or self.options.slices
        if not specs:
            raise UsageError(say_what_to_slice_by(self.evidence.slice_schema))
        return tabulate_slices(self.evidence, specs, self._chosen(metrics))

    def changes(self, limit: int = SHOWN_ROWS, *, kind: ChangeKind = "both") -> Changes:
        """Rank the splits and merges by how much of the rates they make up.

        The costs of all splits add up to the split rate, those of all merges to the merge rate.

        Args:
            limit: How many to list.
            kind: "split", "merge" or "both".
        """
        return find_changes(self.evidence, limit, kind)

    def lineage(self) -> MetricTable:
        """Count what became of the clusters: unchanged, grown, shrunk, reshaped, merged, split, gone or new."""
        frame = summarise_fates(self.evidence, is_padded=self._is_padded)
        order: nw.Expr = nw.lit(len(FATES))
        for number, fate in enumerate(FATES):
            order = nw.when(nw.col(FATE) == fate).then(nw.lit(number)).otherwise(order)
        frame = frame.with_columns((nw.col(WEIGHT) / self.evidence.common_weight).alias(SHARE), order.alias("_order"))
        described = (*keys(FATE), Column(CLUSTERS, Kind.COUNT), *ITEM_SIZES)
        return MetricTable("Lineage", frame, self.evidence.engine, described, order=(("_order", False),))

    def fates(self) -> MetricTable:
        """List every baseline cluster with what became of it."""
        frame = trace_clusters(self.evidence, is_padded=self._is_padded).rename({IDEAL: BASELINE_CLUSTER})
        order = ((WEIGHT, True), (BASELINE_CLUSTER, False))
        parts = (Column(PIECES, Kind.COUNT), Column(KEPT, Kind.WEIGHT))
        described = (*keys(BASELINE_CLUSTER), Column(FATE), Column(HEIR), *ITEM_SIZES[:2], *parts)
        return MetricTable("Fates of baseline clusters", frame, self.evidence.engine, described, order=order)

    @property
    def _is_padded(self) -> bool:
        return self.extent.on == "union" and bool(self.extent.baseline_only or self.extent.experiment_only)

    def explain(
        self, *, item: Any = None, baseline_cluster: Any = None, experiment_cluster: Any = None, limit: int = SHOWN_ROWS
    ) -> Result:
        """Show what changed for one item, or which parts a cluster has in the other clustering.

        Args:
            item: An item, to see what stayed with it, what was split off and what was merged in.
            baseline_cluster: A baseline cluster, to see in which experiment clusters its items are.
            experiment_cluster: An experiment cluster, to see from which baseline clusters its items come.
            limit: How many items of a set to list.
        """
        given = {ITEM: item, BASELINE_CLUSTER: baseline_cluster, EXPERIMENT_CLUSTER: experiment_cluster}
        named = {name: value for name, value in given.items() if value is not None}
        if len(named) != 1:
            begin = "Explain one thing at a time" if named else "Say what to explain"
            raise UsageError(f"{begin}: one of item=..., baseline_cluster=... and experiment_cluster=....")
        return explain_change(self.evidence, *named.popitem(), self.metrics, limit=limit)

    def questions(
        self,
        n: int | None = None,
        *,
        half_width: float | None = None,
        seed: int = 0,
        after: Questions | None = None,
        judgements: Judgements | None = None,
        confidence: float = CONFIDENCE,
        sheets: int = 0,
        members: int = 5,
    ) -> Questions:
        """Draw pairs of items to ask people about: do these two belong together?

        The same seed gives the same questions, on every engine and whatever the number of threads.

        Args:
            n: How many pairs to draw; some may be the same.
            half_width: Instead, how far the change of precision may be off to either side; the number of pairs follows.
            seed: Where the random numbers start.
            after: Questions drawn earlier for the same diff, which these continue as a further round.
            judgements: Answers to earlier questions: then each kind of pairs gets what its answers show that it needs.
            confidence: How often the true value shall lie within `half_width`.
            sheets: How many items to draw for sheets, from which the change of recall is estimated: a sheet asks what
                belongs with an item, of what was split off, stayed with it and was merged in.
            members: How many members of each of these three parts a sheet asks about at most.
        """
        shares = None
        if after is not None and judgements is not None:
            shares = suggest_shares(count_answers(after, judgements))
        return draw_questions(
            self.evidence,
            self.masses,
            n=n,
            half_width=half_width,
            seed=seed,
            after=after,
            shares=shares,
            confidence=confidence,
            sheets=sheets,
            members=members,
        )

    def estimate(
        self,
        questions: Questions,
        judgements: Judgements,
        *,
        slices: Any = (),
        confidence: float = CONFIDENCE,
    ) -> Estimates:
        """Estimate from answers how good the change is.

        Args:
            questions: What was asked.
            judgements: The answers.
            slices: Columns or conditions to slice by, as in `by_slice`.
            confidence: How often intervals shall hold the true value.
        """
        specs = (slices,) if isinstance(slices, (str, nw.Expr)) else tuple(slices)
        return estimate(
            self.evidence,
            self.masses,
            questions,
            judgements,
            slices=specs,
            confidence=confidence,
            is_singletons=self.is_singletons,
        )

    def with_attributes(self, attributes: Any) -> Diff:
        """Return the same diff with another table of attributes, to slice by its columns and to show to judges."""
        table = read_attributes(self.evidence.engine, attributes, options=self.options, sources=self.sources)
        sources = {**self.sources, table.role: table.source}
        return replace(self, evidence=self.evidence.with_attributes(table), sources=sources)

    def save(self, path: str | os.PathLike[str], *, overwrite: bool = False) -> Path:
        """Store the diff as a folder that `load_diff` reads, with the metrics of every item.

        The folder appears when it is complete. A diff with questions beside it is never replaced.

        Args:
            path: The folder to make.
            overwrite: Whether to replace a diff that is there already.

        Returns:
            The path.

        Raises:
            RunError: There is something at the path already, or it cannot be written.
        """
        phase("writing")
        with stored_folder(path, DIFF, overwrite=overwrite) as folder:
            facts = write_evidence(self, folder) | asdict(self.extent)
            overall = self.overall.to_dict()
            write_manifest(folder, DiffManifest(**facts, overall=overall, is_singletons=self.is_singletons))
        return Path(path)

    def close(self) -> None:
        """Let go of what the engine holds for this diff."""
        self.evidence.engine.close()

    def __enter__(self) -> Self:
        """Use the diff in a `with` block, which closes it at its end."""
        return self

    def __exit__(self, *_: object) -> None:
        """Close."""
        self.close()

    def __repr__(self) -> str:
        """Draw which items take part and how much changed."""
        return "\n".join([wrap(str(self.extent)), "", repr(self.overall)])

    def _chosen(self, metrics: Sequence[str] | str | None) -> tuple[Metric, ...]:
        return self.metrics if metrics is None else find_impact(metrics)


def load_diff(
    path: str | os.PathLike[str],
    *,
    verify: bool = True,
    memory_limit: str | None = None,
    threads: int | None = None,
    engine: Engine | str | None = None,
) -> Diff:
    """Load a stored diff. It answers everything that the diff did when it was saved.

    Args:
        path: The folder that `Diff.save` made.
        verify: Whether to compare the checksums of all files, which reads them once. Without it, only their sizes are
            compared.
        memory_limit: How much memory the engine may use before it spills to disk, such as "4GB".
        threads: How many cores the engine may use.
        engine: Where to run: "duckdb" (the default), "spark" or an engine.

    Raises:
        NotFoundError: There is no such folder.
        RunError: It is not a stored diff, or it cannot be trusted.

    Example:
        >>> import pointwise as pw
        >>> diff = pw.diff(baseline=[["a", "b", "c"], ["d"]], experiment=[["a", "b"], ["c", "d"]])
        >>> import tempfile, pathlib
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     stored = diff.save(pathlib.Path(folder) / "toy")
        ...     pw.load_diff(stored).overall == diff.overall
        True
    """
    phase("reading")
    chosen = choose_engine(engine, memory_limit=memory_limit, threads=threads)
    try:
        with open_folder(find_place(path), DIFF, DiffManifest, verify=verify, keep=read_later) as found:
            m = found.manifest
            extent = Extent(m.baseline_items, m.experiment_items, m.common_items, m.on)
            evidence, options = read_evidence(found, chosen), read_options(m)
            return Diff(evidence, tuple(IMPACT.values()), options, read_sources(m), extent, m.is_singletons)
    except BaseException:
        if chosen is not engine:  # nobody else could let go of what it holds
            chosen.close()
        raise
