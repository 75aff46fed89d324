"""Common ground: several evaluations on one engine, against one truth, on the same items."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import reduce
from typing import Any

import narwhals.stable.v2 as nw

from pointwise.answers.levels import needed_columns
from pointwise.answers.slices import read_slicing
from pointwise.columns import ACTUAL, ACTUAL_ITEMS, ACTUAL_WEIGHT, IDEAL, ITEM, ITEMS, WEIGHT
from pointwise.core.alignment import present_items, touching
from pointwise.core.crosstab import cross_tabulate
from pointwise.core.evidence import Evidence, establish
from pointwise.core.sample import Sample
from pointwise.engines import Engine, Source
from pointwise.engines.queries import count, from_rows, holding
from pointwise.errors import InputError, NoCommonItemsError
from pointwise.evaluation import Evaluation

_OTHER = "_other"


def remember(source: Source, engine: Engine) -> Source:
    """Return a source that reads its columns only once."""
    held: dict[Any, nw.LazyFrame] = {}

    def load(columns: Sequence[str], *, text: Sequence[str] = ()) -> nw.LazyFrame:
        if not text:  # only the columns are needed, not the rows
            return source.load(columns)
        key = tuple(columns), tuple(text)
        if key not in held:
            held[key] = engine.checkpoint(source.load(columns, text=text))
        return held[key]

    return replace(source, load=load)


def rehome(evaluation: Evaluation, engine: Engine) -> Evaluation:
    """Bring what an evaluation has established to another engine, with the columns that its slices need."""
    evidence = evaluation.evidence
    if evidence.engine is engine:
        return evaluation
    cuts = [read_slicing(spec, evidence.slice_schema) for spec in evaluation.options.slices]
    items = evidence.items_with([c for cut in cuts for c in needed_columns(evidence, cut.keys)])
    moved = [_moved(frame, evidence.engine, engine) for frame in (items, evidence.cells)]
    sample, has_empty = _moved_sample(evidence, engine), evidence.has_empty
    moved_evidence = Evidence(
        engine, moved[0], moved[1], evidence.totals, sample=sample, has_empty=has_empty, ids=evidence.ids
    )
    return replace(evaluation, evidence=moved_evidence)


def _moved_sample(evidence: Evidence, engine: Engine) -> Sample:
    clusters = evidence.sample.clusters
    return replace(evidence.sample, clusters=None if clusters is None else _moved(clusters, evidence.engine, engine))


def _moved(frame: nw.LazyFrame, engine: Engine, target: Engine) -> nw.LazyFrame:
    return target.checkpoint(from_rows(engine.collect(frame), target))


def check_same_truth(evaluations: Mapping[str, Evaluation]) -> None:
    """Refuse evaluations that do not share their truth, weights and policies.

    Raises:
        InputError: Two of them differ; the message says in what.
    """
    (first, reference), *others = evaluations.items()
    for name, evaluation in others:
        for problem in _differences(reference, rehome(evaluation, reference.evidence.engine)):
            raise InputError(
                f"{first!r} and {name!r} cannot be compared: {problem}. Evaluate both against the same "
                "truth, with the same weights and policies."
            )


def _differences(one: Evaluation, other: Evaluation) -> list[str]:
    if one.options.sampling != other.options.sampling:
        return ["they differ in how the truth was drawn (sampling=...)"]
    for policy in ("outside", "missing", "unassigned", "unassigned_labels"):
        values = [_plain(getattr(e.options, policy)) for e in (one, other)]
        if values[0] != values[1]:
            return [f"one was evaluated with {policy}={values[0]!r}, the other with {policy}={values[1]!r}"]
    for number in ("ideal_items", "ideal_clusters"):
        counts = getattr(one.coverage, number), getattr(other.coverage, number)
        if counts[0] != counts[1]:
            return [f"one truth has {counts[0]:,} {number.replace('_', ' ')}, the other {counts[1]:,}"]
    return _item_differences(one.evidence, other.evidence)


def _plain(policy: Any) -> Any:
    """Write a policy in a form that does not depend on whether it was given or stored."""
    if isinstance(policy, Mapping):
        return dict(policy)
    return policy if isinstance(policy, str) else [str(label) for label in policy]


def _item_differences(one: Evidence, other: Evidence) -> list[str]:
    left, right = one.weighed_items(), other.weighed_items()
    for column, what in ((ITEM, "items"), (IDEAL, "ideal clusters")):
        types = [frame.collect_schema()[column] for frame in (left, right)]
        if types[0] != types[1]:
            return [f"the {what} are {types[0]} in one and {types[1]} in the other"]
    renamed = right.select(ITEM, *(nw.col(c).alias(c + _OTHER) for c in (IDEAL, WEIGHT)))
    both = left.select(ITEM, IDEAL, WEIGHT).join(renamed, on=ITEM, how="inner")
    for column, what in ((IDEAL, "ideal cluster"), (WEIGHT, "weight")):
        differing = both.filter(nw.col(column) != nw.col(column + _OTHER))
        found = one.engine.collect(differing.head(1)).to_pylist()
        if found:
            row = found[0]
            return [
                f"item {row[ITEM]!r} has the {what} {row[column]!r} in one and {row[column + _OTHER]!r} in the other"
            ]
    return []


def shared_items(evaluations: Mapping[str, Evaluation]) -> nw.LazyFrame:
    """List the items that the truth and every variant have."""
    frames = [present_items(e.evidence.items).select(ITEM) for e in evaluations.values()]
    shared = reduce(lambda a, b: a.join(b, on=ITEM, how="inner"), frames)
    return next(iter(evaluations.values())).evidence.engine.checkpoint(shared)


def restrict(evaluation: Evaluation, shared: nw.LazyFrame) -> Evaluation:
    """Evaluate again on some of the common items only; nothing is read again.

    Coverage stays as it is: a variant is not to blame for items that another one lacks. Where members outside the truth
    count as wrong, so do items that are set aside, in the clusters of items that they do not belong with.
    """
    evidence = evaluation.evidence
    engine = evidence.engine
    items = engine.checkpoint(evidence.items.join(shared, on=ITEM, how="inner"))
    if not count(items.select(ITEM).head(1), engine):
        raise NoCommonItemsError("There is no item that the truth and every variant have. Compare with on='own'.")
    pairs = cross_tabulate(items, hold=holding(engine))
    outside, set_aside = None, None
    if evaluation.options.outside != "ignore":
        outside = _outside_members(evidence, pairs)
        others = present_items(evidence.items).join(shared, on=ITEM, how="anti")
        set_aside = engine.checkpoint(touching(cross_tabulate(others), pairs))
    restricted = establish(
        items,
        engine,
        pairs=pairs,
        outside=outside,
        set_aside=set_aside,
        attributes=evidence.attributes,
        ids=evidence.ids,
    )
    return replace(evaluation, evidence=restricted.drawn(evidence.sample))


def _outside_members(evidence: Evidence, cells: nw.LazyFrame) -> nw.LazyFrame:
    """Recover, from the margins of cells, the members outside the truth that counted as wrong."""
    margins = (
        present_items(evidence.cells)
        .group_by(ACTUAL)
        .agg(
            nw.col(ITEMS).sum(),
            nw.col("tp").sum().alias(WEIGHT),
            nw.col(ACTUAL_ITEMS).max(),
            nw.col(ACTUAL_WEIGHT).max(),
        )
    )
    items = (nw.col(ACTUAL_ITEMS) - nw.col(ITEMS)).cast(nw.Int64)
    members = margins.select(nw.col(ACTUAL), items.alias(ITEMS), (nw.col(ACTUAL_WEIGHT) - nw.col(WEIGHT)).alias(WEIGHT))
    touched = cells.group_by(ACTUAL).agg(nw.len().alias("_cells")).select(ACTUAL)
    return members.filter(nw.col(ITEMS) > 0).join(touched, on=ACTUAL, how="inner")
