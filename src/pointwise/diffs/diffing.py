"""Diffing: from two clusterings to what changed between them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import narwhals.stable.v2 as nw

from pointwise.core.common import find_all_items, find_common_items
from pointwise.core.evidence import establish
from pointwise.diffs.diff import Diff
from pointwise.diffs.impact import Extent
from pointwise.diffs.metrics import IMPACT
from pointwise.engines import Engine, Source, choose_engine
from pointwise.inputs.options import (
    BASELINE_AND_EXPERIMENT,
    ColumnNames,
    DiffOn,
    Options,
    Unassigned,
    as_labels,
    check_choice,
)
from pointwise.inputs.reading import Inputs, read_inputs
from pointwise.inputs.tables import item_columns, open_source
from pointwise.inputs.unassigned import check_unassigned, reserved_ids
from pointwise.progress import phase

SINGLETONS = "singletons"


def diff(
    *,
    baseline: Any,
    experiment: Any,
    item: ColumnNames | Mapping[str, ColumnNames] | None = None,
    cluster: ColumnNames | Mapping[str, ColumnNames] | None = None,
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
        experiment: Another one, such as today's; or "singletons", with every item alone: then the baseline itself is
            split off, and judgements give its precision.
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

    Examples:
        >>> import pointwise as pw
        >>> diff = pw.diff(baseline=[["a", "b", "c"], ["d"]], experiment=[["a", "b"], ["c", "d"]])
        >>> round(diff.overall["jaccard_distance"], 4)
        0.4792
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
        if chosen is not engine:  # nobody else could release what it holds
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
        evidence = establish(engine.checkpoint(items), engine, attributes=inputs.attributes, ids=inputs.ids)
    else:
        common = find_common_items(inputs, engine, options=options)
        counts = common.counts
        evidence = establish(
            common.items,
            engine,
            pairs=common.pairs,
            common=common.totals,
            attributes=inputs.attributes,
            ids=inputs.ids,
        )
    extent = Extent(inputs.rows[0], inputs.rows[1], counts.common, on)
    return Diff(evidence, tuple(IMPACT.values()), options, inputs.sources, extent, is_singletons)
