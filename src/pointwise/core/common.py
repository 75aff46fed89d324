"""Common items: those that both clusterings have, as the policies want them, and what lies outside of them."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from functools import partial
from typing import NoReturn

import narwhals.stable.v2 as nw

from pointwise.columns import ACTUAL, BAD_WEIGHTS, CLUSTER, ITEM, ITEMS, LEAST_WEIGHT, TP, WEIGHT
from pointwise.core import alignment
from pointwise.core.alignment import Counts
from pointwise.core.confusion import Totals
from pointwise.core.crosstab import count_rows, cross_tabulate, is_bad_weight
from pointwise.core.held import Files, Held
from pointwise.engines.base import Engine, Hold
from pointwise.engines.queries import count, examples, holding, only_row, total
from pointwise.errors import InputError, UsageError, WeightError
from pointwise.inputs.checks import check_repeats
from pointwise.inputs.options import Options
from pointwise.inputs.reading import Inputs
from pointwise.progress import phase
from pointwise.text.values import format_count

_SMALL_TRUTH = 4
"""A truth this many times smaller than the actual clustering is joined without keeping what lies outside it."""

_KEPT: dict[str, Callable[[nw.LazyFrame], nw.LazyFrame]] = {
    "singleton": alignment.pad_missing,
    "wrong": alignment.keep_missing,
}
"""Policies under which items that the actual clustering lacks count nevertheless, and what these do with them."""


@dataclass(frozen=True)
class Common:
    """What two clusterings have in common, and what they do not.

    Args:
        items: The common items, and those that a policy counts among them: `item`, `ideal_cluster`,
            `actual_cluster`, `weight` unless every item weighs 1, and the columns that slices were announced for.
        pairs: The pairs of clusters that the common items are in, as `cross_tabulate` gives them.
        outside: Members of touched actual clusters that the truth does not list, where they count as wrong.
        all_pairs: The pairs of clusters of all items, also of those that one side lacks.
        counts: How many items there are of each kind.
        totals: Number and weight of the common items.
        keeps_outside: Whether `all_pairs` has the items that only the actual clustering has.
        files: What all of this was read from.
        has_empty: Whether some of the items have an empty cluster on one side.
        counts_outside: Whether a policy counts members of actual clusters that the truth does not list as wrong there.
    """

    items: Held | nw.LazyFrame
    pairs: nw.LazyFrame
    outside: nw.LazyFrame | None
    all_pairs: nw.LazyFrame
    counts: Counts
    totals: Totals
    keeps_outside: bool
    files: Files
    has_empty: bool = False
    counts_outside: bool = False


def find_common_items(inputs: Inputs, engine: Engine, *, options: Options, keeps_items: bool = False) -> Common:
    """Join the two clusterings, check what the join shows, and apply the policies.

    Args:
        inputs: The tables.
        engine: What joins them.
        options: The policies.
        keeps_items: Whether single items will be needed, so that it pays to hold them from the start.
    """
    files = Files.found(file for source in inputs.sources.values() for file in source.files)
    keeps_outside = options.outside == "spurious" or inputs.rows[0] * _SMALL_TRUTH >= inputs.rows[1]
    if not keeps_outside:
        check_repeats(inputs.ideal, engine)
    phase("aligning")
    is_kept = options.missing in _KEPT or options.outside == "spurious"
    is_held = keeps_items or bool(options.slices) or options.outside != "ignore" or is_kept
    hold = holding(engine, most_rows=sum(inputs.rows))
    aligned = _align(inputs, hold if is_held else engine.plan, keep_outside=keeps_outside)
    items = partial(_keep_items, aligned, options)
    kept = items() if is_held else Held(items, engine, files, dict(aligned.collect_schema()))
    pairs = cross_tabulate(aligned, checks_weights=True, hold=hold)
    counts = alignment.read_counts(engine.collect(engine.plan(alignment.count_items, pairs)).to_pylist())
    rows = (inputs.rows[0], inputs.rows[1] if keeps_outside else -1)
    alignment.check_alignment(counts, inputs.ideal, inputs.actual, inputs.joined, engine, rows=rows)
    if counts.missing and keeps_outside:  # the join does not show whether these repeat
        check_repeats(inputs.ideal, engine)
    if options.outside != "ignore":
        _check_outside_weights(inputs, options)
    if options.outside == "spurious":
        check_repeats(inputs.actual, engine)
    _check_items(aligned, counts, inputs, engine, options=options)
    phase("cross-tabulating")
    totals = _averaged(counts, options)
    bare = cross_tabulate(items(), hold=hold) if is_kept else _common_pairs(pairs, counts)
    outside = None
    if options.outside == "wrong":
        outside = _outside_members(bare, aligned, inputs, engine, keeps_outside=keeps_outside)
    counts_outside = options.outside != "ignore"
    return Common(kept, bare, outside, pairs, counts, totals, keeps_outside, files, options.has_empty, counts_outside)


def _keep_items(aligned: nw.LazyFrame, options: Options) -> nw.LazyFrame:
    """Keep the common items, and those that one of the clusterings lacks where a policy wants them to count."""
    if options.missing in _KEPT:
        aligned = _KEPT[options.missing](aligned)
    if options.outside == "spurious":
        aligned = alignment.keep_outside_items(aligned)
    return alignment.common_items(aligned)


def _common_pairs(pairs: nw.LazyFrame, counts: Counts) -> nw.LazyFrame:
    """Keep the pairs of clusters that common items are in, without what was counted up to check their weights."""
    common = pairs if counts.common == counts.rows else alignment.common_items(pairs)
    checked = [c for c in common.collect_schema().names() if c in (BAD_WEIGHTS, LEAST_WEIGHT)]
    return common.drop(*checked) if checked else common


def find_all_items(inputs: Inputs, engine: Engine) -> tuple[nw.LazyFrame, Counts]:
    """Join the two clusterings and keep the items of either; one that a clustering lacks is alone there.

    Returns:
        The items with both of their clusters, and how many there were of each kind.
    """
    tables = [inputs.ideal, inputs.actual, *inputs.joined]
    for table in tables:
        check_repeats(table, engine)
    phase("aligning")
    hold = holding(engine, most_rows=sum(inputs.rows))
    aligned = _align(inputs, hold, keep_outside=True)
    pairs = cross_tabulate(aligned, checks_weights=True, hold=hold)
    counts = alignment.read_counts(engine.collect(engine.plan(alignment.count_items, pairs)).to_pylist())
    items = alignment.pad_outside(alignment.pad_missing(aligned))
    everything = replace(counts, common=counts.rows, bad_weights=_total_bad(pairs, engine))
    if everything.bad_weights:
        _refuse_weights(items, everything, inputs, engine)
    _check_spread(counts, counts.spread)
    return items, counts


def _align(inputs: Inputs, do: Hold, *, keep_outside: bool) -> nw.LazyFrame:
    """Bring the two clusterings of every item side by side, with its weight and attributes."""
    frames = [table.frame for table in (inputs.ideal, inputs.actual, *inputs.joined)]
    return do(_join_tables, *frames, keep_outside=keep_outside)


def _join_tables(ideal: nw.LazyFrame, actual: nw.LazyFrame, *joined: nw.LazyFrame, keep_outside: bool) -> nw.LazyFrame:
    aligned = alignment.align(ideal, actual, keep_outside=keep_outside)
    for table in joined:
        if len(table.collect_schema().names()) > 1:
            aligned = aligned.join(table, on=ITEM, how="left")
    return aligned


def _total_bad(pairs: nw.LazyFrame, engine: Engine) -> int:
    return int(total(pairs, BAD_WEIGHTS, engine)) if BAD_WEIGHTS in pairs.collect_schema().names() else 0


def _refuse_weights(items: nw.LazyFrame, counts: Counts, inputs: Inputs, engine: Engine) -> NoReturn:
    """Refuse items some of whose weights are not positive numbers."""
    tables = [inputs.ideal, inputs.actual, *inputs.joined]
    source = next((t for t in tables if t.role == inputs.weight_role), None)
    raise alignment.refuse_weights(counts, items, source, inputs.weight_column or WEIGHT, engine)


def _check_spread(counts: Counts, kinds: Iterable[str]) -> None:
    """Refuse weights that floating-point numbers cannot add, of items of some kinds."""
    found = [counts.spread[kind] for kind in kinds if kind in counts.spread]
    if found:
        alignment.check_spread(min(least for least, _ in found), sum(weight for _, weight in found))


def _averaged(counts: Counts, options: Options) -> Totals:
    """Count and weigh the items that are averaged over."""
    items, weight = counts.common, counts.common_weight
    if options.missing in _KEPT:
        items, weight = items + counts.missing, weight + (counts.missing_weight or 0.0)
    if options.outside == "spurious":
        items, weight = items + counts.outside, weight + (counts.outside_weight or 0.0)
    return Totals(items, weight)


def _check_items(aligned: nw.LazyFrame, counts: Counts, inputs: Inputs, engine: Engine, *, options: Options) -> None:
    """Refuse what the policies do not allow, and unusable weights."""
    if options.missing == "error" and counts.missing:
        lacking = aligned.filter(nw.col(ACTUAL).is_null())
        many = f"{counts.missing:,} of {format_count(inputs.rows[0], 'ideal item')}"
        raise InputError(
            f"{many} {'is' if counts.missing == 1 else 'are'} missing from the actual clustering, e.g. "
            f"{examples(lacking, engine)}. missing='drop' leaves them out, missing='singleton' counts each as alone, "
            "missing='wrong' as in no cluster."
        )
    averaged = ["common"]
    if options.missing in _KEPT:
        averaged.append("missing")
        counts = replace(counts, bad_weights=counts.bad_weights + counts.bad_missing_weights)
    if options.outside == "spurious":
        averaged.append("outside")
        counts = replace(counts, bad_weights=counts.bad_weights + counts.bad_outside_weights)
    if counts.bad_weights:
        _refuse_weights(_keep_items(aligned, options), counts, inputs, engine)
    _check_spread(counts, averaged)


def _check_outside_weights(inputs: Inputs, options: Options) -> None:
    if inputs.weight_role == inputs.ideal.role:
        raise UsageError(
            f"outside={options.outside!r} needs the weights of items that the truth does not list, but the weights "
            "come from the ideal clustering. Give them as a column of the actual clustering or as a table "
            "(weights=...)."
        )


def _outside_members(
    cells: nw.LazyFrame, aligned: nw.LazyFrame, inputs: Inputs, engine: Engine, *, keeps_outside: bool
) -> nw.LazyFrame:
    """Sum the members of touched actual clusters that the truth does not list."""
    outside = alignment.outside_items(aligned)
    if not keeps_outside:
        outside = inputs.actual.frame.rename({CLUSTER: ACTUAL}).join(aligned.select(ITEM), on=ITEM, how="anti")
        if inputs.weights is not None:
            outside = outside.join(inputs.weights.frame, on=ITEM, how="left")
    outside = alignment.touching(outside, cells)
    weight = nw.lit(1.0) if inputs.weight_role is None else nw.col(WEIGHT)
    outside = engine.checkpoint(outside.select(nw.col(ITEM), nw.col(ACTUAL), weight.alias(WEIGHT)))
    check_repeats(replace(inputs.actual, frame=outside), engine)
    bad = outside.filter(is_bad_weight())
    number = count(bad, engine)
    if number:
        raise WeightError(
            f"{format_count(number, 'item')} outside the truth without a positive finite weight, e.g. "
            f"{examples(bad, engine)}. outside='wrong' needs a weight for them too."
        )
    if inputs.weight_role is not None and count(outside, engine):
        row = only_row(outside.select(nw.col(WEIGHT).min().alias(LEAST_WEIGHT), nw.col(WEIGHT).sum()), engine)
        alignment.check_spread(float(row[LEAST_WEIGHT]), float(row[WEIGHT]) + total(cells, TP, engine))
    return outside.group_by(ACTUAL).agg(count_rows(ITEMS), nw.col(WEIGHT).sum())
