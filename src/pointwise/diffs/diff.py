"""The diff of two clusterings: what changed, what to ask about it, and what the answers say."""

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
    SHARE,
    TN,
    WEIGHT,
    Column,
    Kind,
    keys,
)
from pointwise.core.evidence import Evidence
from pointwise.core.metrics import Metric
from pointwise.diffs.changes import ChangeKind, Changes, rank_changes
from pointwise.diffs.estimates import count_answers, suggest_shares
from pointwise.diffs.estimation import Estimates, estimate
from pointwise.diffs.explanations import ChangeExplanation, explain_change
from pointwise.diffs.impact import Extent, Impact
from pointwise.diffs.judgements import Judgements
from pointwise.diffs.lineage import CLUSTERS, FATE, FATES, HEIR, KEPT, PIECES, summarise_fates, trace_clusters
from pointwise.diffs.metrics import IMPACT, find_impact
from pointwise.diffs.names import BASELINE_CLUSTER, EXPERIMENT_CLUSTER, in_words_of_diff
from pointwise.diffs.questions import Questions, draw_questions
from pointwise.diffs.strata import SUMS, Masses, read_masses, weigh_pairs
from pointwise.engines import Engine, Source, choose_engine
from pointwise.engines.queries import only_row
from pointwise.engines.turns import in_turn
from pointwise.errors import UsageError
from pointwise.inputs.options import (
    CONFIDENCE,
    Options,
)
from pointwise.inputs.reading import read_attributes
from pointwise.progress import phase
from pointwise.store.contents import open_folder
from pointwise.store.manifest import DIFF, DiffManifest, write_manifest
from pointwise.store.places import find_place, stored_folder
from pointwise.store.runs import read_evidence, read_later, read_options, read_sources, write_evidence
from pointwise.text.terminal import wrap
from pointwise.text.values import SHOWN_ROWS


@in_turn("engine")
@dataclass(frozen=True, repr=False)
class Diff:
    """What changed between two clusterings.

    Made by `diff`. Tables are computed when they are looked at.

    Args:
        evidence: The items and their cells, the baseline in the ideal and the experiment in the actual role.
        metrics: What the tables show.
        options: How the inputs were read.
        sources: The tables that were read, by role.
        extent: Which items it is about.
        is_singletons: Whether the experiment has every item alone.

    Examples:
        >>> import pointwise as pw
        >>> diff = pw.diff(baseline=[["i1", "i3"], ["i2"]], experiment=[["i1", "i2"], ["i3"]])
        >>> round(diff.overall["split_rate"], 4)
        0.3333
        >>> [(row["baseline_cluster"], row["split_rate"]) for row in diff.by_baseline_cluster(metrics="split_rate")]
        [(0, 0.5), (1, 0.0)]
        >>> [(row["experiment_cluster"], row["merge_rate"]) for row in diff.by_experiment_cluster(metrics="merge_rate")]
        [(0, 0.5), (1, 0.0)]
        >>> [(row["baseline_cluster"], row["fate"]) for row in diff.fates()]
        [(0, 'reshaped'), (1, 'merged')]
        >>> diff.engine.name
        'duckdb'
    """

    evidence: Evidence
    metrics: tuple[Metric, ...]
    options: Options
    sources: Mapping[str, Source]
    extent: Extent
    is_singletons: bool = False

    @property
    def engine(self) -> Engine:
        """Where the diff lives."""
        return self.evidence.engine

    @cached_property
    def overall(self) -> Impact:
        """How much changed, for all items together."""
        names = list(IMPACT)
        measured = self.evidence.measured(tuple(IMPACT.values()))
        row = only_row(self.evidence.lift(measured, (), tuple(IMPACT.values())), self.engine)
        changed = self.evidence.cells.filter((nw.col(FN) > 0) | (nw.col(FP) > 0))
        affected = only_row(changed.select(nw.col(ITEMS).sum(), nw.col(WEIGHT).sum()), self.engine)
        values = {name: float(row[name]) for name in names}
        return Impact(
            int(row[ITEMS]), float(row[WEIGHT]), values, int(affected[ITEMS] or 0), float(affected[WEIGHT] or 0.0)
        )

    @cached_property
    def masses(self) -> Masses:
        """What is known about all items before anybody judges."""
        sums = weigh_pairs(self.evidence.cells).select(*(nw.col(name).sum() for name in (ITEMS, WEIGHT, *SUMS)))
        return read_masses(only_row(sums, self.engine))

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
        """Average the metrics over slices of items. Clusters are not cut at the borders of slices.

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
        return rank_changes(self.evidence, limit, kind)

    def lineage(self) -> MetricTable:
        """Count what became of the clusters: unchanged, grown, shrunk, reshaped, merged, split, gone or new."""
        frame = summarise_fates(self.evidence, is_padded=self._is_padded)
        order: nw.Expr = nw.lit(len(FATES))
        for number, fate in enumerate(FATES):
            order = nw.when(nw.col(FATE) == fate).then(nw.lit(number)).otherwise(order)
        frame = frame.with_columns((nw.col(WEIGHT) / self.evidence.common_weight).alias(SHARE), order.alias("_order"))
        described = (*keys(FATE), Column(CLUSTERS, Kind.COUNT), *ITEM_SIZES)
        return MetricTable("Lineage", frame, self.engine, described, order=(("_order", False),))

    def fates(self) -> MetricTable:
        """List every baseline cluster with what became of it."""
        frame = trace_clusters(self.evidence, is_padded=self._is_padded).rename({IDEAL: BASELINE_CLUSTER})
        order = ((WEIGHT, True), (BASELINE_CLUSTER, False))
        parts = (Column(PIECES, Kind.COUNT), Column(KEPT, Kind.WEIGHT))
        described = (*keys(BASELINE_CLUSTER), Column(FATE), Column(HEIR), *ITEM_SIZES[:2], *parts)
        return MetricTable("Fates of baseline clusters", frame, self.engine, described, order=order)

    @property
    def _is_padded(self) -> bool:
        return self.extent.on == "union" and bool(self.extent.baseline_only or self.extent.experiment_only)

    def explain(
        self, *, item: Any = None, baseline_cluster: Any = None, experiment_cluster: Any = None, limit: int = SHOWN_ROWS
    ) -> ChangeExplanation:
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
            seed: Seed of the random numbers.
            after: Questions drawn earlier for the same diff, which these continue as a further round.
            judgements: Answers to earlier questions: then each kind of pair gets as many questions as its answers show
                to be needed.
            confidence: How often the true value should lie within `half_width`.
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
            is_singletons=self.is_singletons,
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
            confidence: How often intervals should contain the true value.
        """
        specs = (slices,) if isinstance(slices, (str, nw.Expr)) else tuple(slices)
        return estimate(
            self.evidence,
            self.masses,
            questions,
            judgements,
            slices=specs,
            confidence=confidence,
        )

    def with_attributes(self, attributes: Any, *, verify: bool = True) -> Diff:
        """Return the same diff with another table of attributes, to slice by its columns and to show to judges.

        Args:
            attributes: A table of items and what is known about them, of any kind that `diff` reads.
            verify: Whether to check that it contains some of the items, which takes a pass over all of them.
        """
        table = read_attributes(self.engine, attributes, options=self.options, sources=self.sources)
        sources = {**self.sources, table.role: table.source}
        evidence = self.evidence.with_attributes(table, verify=verify)
        return replace(self, evidence=evidence, sources=sources)

    def save(self, path: str | os.PathLike[str], *, overwrite: bool = False) -> Path:
        """Store the diff as a folder that `load_diff` reads, with the metrics and attributes of every item.

        The folder appears when it is complete. A diff with questions beside it is never replaced.

        Args:
            path: The folder to make.
            overwrite: Whether to replace a diff that already exists.

        Returns:
            The path.

        Raises:
            RunError: There is something at the path already, or it cannot be written.
        """
        phase("writing")
        with stored_folder(path, DIFF, overwrite=overwrite) as folder:
            facts = write_evidence(self, folder, keep=list(self.evidence.slice_schema)) | asdict(self.extent)
            overall = self.overall.to_dict()
            write_manifest(folder, DiffManifest(**facts, overall=overall, is_singletons=self.is_singletons))
        return Path(path)

    def report(
        self, path: str | os.PathLike[str], *, estimates: Estimates | None = None, title: str | None = None
    ) -> Path:
        """Write one HTML file that shows how much changed, whether that is better, what changed and for whom.

        The file loads nothing from a network, and its size is bounded. Needs the extra `report`.

        Args:
            path: The file to write.
            estimates: What people's answers say, from `estimate`.
            title: What to call it.

        Returns:
            The path.
        """
        from pointwise.report import report_diff

        return report_diff(self, path, estimates=estimates, title=title)

    def close(self) -> None:
        """Release what the engine holds for this diff."""
        self.engine.close()

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
    """Load a stored diff. It answers everything that the saved diff did.

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

    Examples:
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
        if chosen is not engine:  # nobody else could release what it holds
            chosen.close()
        raise
