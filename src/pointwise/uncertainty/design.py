"""The design of a sample: the probability with which each ideal cluster was drawn.

A cluster that was drawn with probability π stands for 1 / π clusters of the population. It adds to the variance with a
factor of 1 - π, because clusters that were certain to be drawn add no uncertainty. So estimates and intervals are for
the population, and include the finite-population correction.
"""

from __future__ import annotations

import math
import os
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import narwhals.stable.v2 as nw
import numpy as np

from pointwise.columns import CLUSTER, IDEAL, ITEM, ITEMS, WEIGHT, inside
from pointwise.core.confusion import Totals
from pointwise.core.coverage import Coverage, Scope
from pointwise.core.sample import EXPANSION, REST, STRATUM, Sample
from pointwise.engines.base import Engine
from pointwise.engines.queries import count, examples, from_rows, total
from pointwise.errors import InputError, MissingColumnError, UsageError
from pointwise.inputs.options import Sampling
from pointwise.inputs.reading import Inputs, read_table, with_columns
from pointwise.inputs.tables import open_source
from pointwise.text.values import format_count, listed, short

PROBABILITY = "probability"
_LEAST, _MOST = "_least", "_most"
_WORDS = ("clusters", "items", "complete")


def read_sampling(
    sampling: Any,
    *,
    drawn: int | None = None,
    population: int | Mapping[str, int] | None = None,
    strata: str | None = None,
) -> Sampling | None:
    """Read what a user says about how the truth was drawn.

    Raises:
        UsageError: The parameters do not fit together.
    """
    if sampling is None:
        given = {"drawn": drawn, "population": population, "strata": strata}
        for name in (name for name, value in given.items() if value is not None):
            raise UsageError(f"{name}=... needs sampling=..., which says how the truth was drawn.")
        return None
    if isinstance(sampling, str) and sampling in _WORDS:
        return Sampling(sampling, drawn=drawn, population=population, strata=strata)
    column = os.fspath(sampling) if isinstance(sampling, (str, os.PathLike)) else None
    return Sampling("probabilities", column, drawn=drawn, population=population, strata=strata)


def draw_up(sampling: Sampling, given: Any, scope: Scope, *, sees_outside: bool) -> Sample:
    """Find out what every ideal cluster of the truth stands for.

    Args:
        sampling: How the truth was drawn.
        given: The table of probabilities, where it was given as one.
        scope: The tables that were read, and how large the actual clustering is.
        sees_outside: Whether members outside the truth count as wrong.

    Raises:
        PointwiseError: The parameters cannot be true of this truth.
    """
    if sampling.how == "complete":
        return Sample(sees_outside=sees_outside, is_complete=True)
    inputs, engine = scope.inputs, scope.engine
    clusters = engine.checkpoint(inputs.ideal.frame.group_by(CLUSTER).agg(nw.len().cast(nw.Int64).alias(ITEMS)))
    number, items = count(clusters, engine), _count_population(sampling, scope.coverage)
    _check_sizes(sampling, number, total(clusters, ITEMS, engine), items)
    if sampling.how == "probabilities":
        drawn = _given_probabilities(sampling, given, inputs, engine)
    elif sampling.strata is not None:
        drawn = _within_strata(sampling, sampling.strata, inputs, engine)
    elif sampling.weight is not None and sampling.rate is not None:
        drawn = _drawn_by_weight(sampling.weight, sampling.rate, inputs, engine)
    elif sampling.how == "items":
        drawn = _drawn_by_items(clusters, number, items, sampling.drawn, engine)
    else:
        drawn = _drawn_uniformly(clusters, number, items, sampling, engine)
    stratum = nw.col(STRATUM) if STRATUM in drawn.collect_schema().names() else nw.lit("").alias(STRATUM)
    frame = engine.checkpoint(drawn.select(nw.col(CLUSTER).alias(IDEAL), EXPANSION, REST, stratum))
    behind = f"{format_count(number, 'ideal cluster')} {_say(sampling)}"
    sample = Sample(sees_outside, frame, is_complete=total(frame, REST, engine) == 0, behind=behind)
    return replace(sample, population=Totals(items, _weigh_population(items, sample, scope)))


def _say(sampling: Sampling) -> str:
    if sampling.how == "items":
        weight = f" by {sampling.weight}" if sampling.weight else ""
        return "drawn by items" + (f" ({sampling.drawn:,} items drawn{weight})" if sampling.drawn else "")
    if sampling.how == "probabilities":
        return "drawn with given probabilities"
    if isinstance(sampling.population, Mapping):
        return f"drawn within {format_count(len(sampling.population), 'stratum').replace('stratums', 'strata')}"
    return f"drawn uniformly of {sampling.population:,}" if sampling.population else "drawn uniformly"


def _count_population(sampling: Sampling, coverage: Coverage) -> int:
    """Count the items of the population: those given, or those of the actual clustering."""
    given = sampling.population
    return given if sampling.how == "items" and isinstance(given, int) else coverage.actual_items


def _weigh_population(items: int, sample: Sample, scope: Scope) -> float:
    """Weigh the population by the actual clustering's weights; if only the truth has weights, estimate from these."""
    weight = scope.coverage.actual_weight
    if weight is None:
        return total(sample.expand(scope.cells.select(IDEAL, WEIGHT)), WEIGHT, scope.engine)
    return weight * items / scope.coverage.actual_items


def _check_sizes(sampling: Sampling, clusters: int, items: float, population: int) -> None:
    """Refuse numbers that cannot be true."""
    if sampling.drawn is not None and not clusters <= sampling.drawn <= population:
        raise UsageError(
            f"drawn={sampling.drawn!r} items cannot have given {format_count(clusters, 'ideal cluster')} of a "
            f"population of {format_count(population, 'item')}: every drawn item brings at most one cluster."
        )
    if sampling.how == "items" and items > population:
        raise UsageError(
            f"The truth has {items:,.0f} items, more than the population of {population:,}. Give its size with "
            "population=... (items)."
        )
    if isinstance(sampling.population, int) and sampling.how == "clusters" and sampling.population < clusters:
        raise UsageError(
            f"population={short(sampling.population)} ideal clusters is impossible: the truth has {clusters:,}."
        )


def _drawn_uniformly(
    clusters: nw.LazyFrame, number: int, items: int, sampling: Sampling, engine: Engine
) -> nw.LazyFrame:
    if isinstance(sampling.population, int):
        share = number / sampling.population
        return clusters.with_columns(nw.lit(1 / share).alias(EXPANSION), nw.lit(1 - share).alias(REST))
    expansion = items / total(clusters, ITEMS, engine)  # the number of clusters is not known, only that of items
    return clusters.with_columns(nw.lit(float(expansion)).alias(EXPANSION), nw.lit(1.0).alias(REST))


def _drawn_by_items(clusters: nw.LazyFrame, number: int, items: int, drawn: int | None, engine: Engine) -> nw.LazyFrame:
    """Find the probability that one of a cluster's items was drawn.

    Without the number drawn it is known only up to a factor, and so is whether a cluster was nearly certain to be
    drawn.
    """
    if drawn is None:
        expansion = nw.lit(items / number) / nw.col(ITEMS)
        return clusters.with_columns(expansion.alias(EXPANSION), nw.lit(1.0).alias(REST))
    sizes = engine.collect(clusters.group_by(ITEMS).agg(nw.len().alias("_clusters")))[ITEMS].to_pylist()
    missed = {size: log_miss(size, items, drawn) for size in sizes}
    rows = [{ITEMS: n, EXPANSION: -1 / math.expm1(log), REST: math.exp(log)} for n, log in missed.items()]
    return clusters.join(from_rows(rows, engine), on=ITEMS, how="inner")


def _drawn_by_weight(column: str, rate: float, inputs: Inputs, engine: Engine) -> nw.LazyFrame:
    """Find the probability that one of a cluster's items was drawn, from the weight of the cluster."""
    tables = (inputs.attributes, inputs.actual, inputs.ideal, inputs.weights)
    table = next((t for t in tables if t is not None and column in t.source.columns), None)
    if table is None:
        raise MissingColumnError(
            f"The items of the truth were drawn by their {column!r}, and no table has a column {column!r}. Give the "
            "one that they were drawn with, such as attributes=...."
        )
    truth = inputs.ideal.frame.select(ITEM, CLUSTER)
    weighed = with_columns(table, [column], engine, like=truth).frame
    rows = truth.join(weighed, on=ITEM, how="left").with_columns(nw.col(inside(column)).cast(nw.Float64).alias(WEIGHT))
    lacking = rows.filter(nw.col(WEIGHT).is_null())
    if count(lacking.head(1), engine):
        raise InputError(
            f"Items of the truth without {column!r}, which they were drawn by: {examples(lacking, engine)}."
        )
    reach = rows.group_by(CLUSTER).agg(nw.col(WEIGHT).sum()).with_columns((nw.col(WEIGHT) * rate).alias(_REACH))
    small = nw.col(_REACH) * (1 - nw.col(_REACH) * 0.5)  # where the exponential function would lose digits
    chance = nw.when(nw.col(_REACH) < _TINY).then(small).otherwise(1 - (0.0 - nw.col(_REACH)).exp())
    reach = reach.with_columns(chance.alias(PROBABILITY))
    return reach.with_columns((1 / nw.col(PROBABILITY)).alias(EXPANSION), (1 - nw.col(PROBABILITY)).alias(REST))


_REACH, _TINY = "_reach", 1e-6


def log_miss(size: int, items: int, drawn: int) -> float:
    """Return the logarithm of the probability that no item of a cluster is drawn, without replacement.

    It is a product of as many quotients as the cluster has items, or of as many as are drawn. Quotients of gamma
    functions would lose the digits of a small probability in a large population.

    Examples:
        >>> round(math.exp(log_miss(1, items=10, drawn=3)), 4)
        0.7
    """
    if size > items - drawn:
        return -math.inf
    few, many = sorted((size, drawn))
    return float(np.log1p(-many / (items - np.arange(few, dtype=float))).sum())


def _within_strata(sampling: Sampling, column: str, inputs: Inputs, engine: Engine) -> nw.LazyFrame:
    given = sampling.population if isinstance(sampling.population, Mapping) else {}
    sizes = {str(name): int(number) for name, number in given.items()}
    rows = _by_cluster(inputs, column, engine).with_columns(nw.col(_MOST).cast(nw.String).alias(STRATUM))
    rows = engine.checkpoint(rows)
    counted = engine.collect(rows.group_by(STRATUM).agg(nw.len().alias("_clusters"))).to_pylist()
    design = []
    for row in counted:
        name, drawn = row[STRATUM], int(row["_clusters"])
        if name is None or sizes.get(name, 0) < drawn:
            raise UsageError(
                f"The stratum {name!r} has {drawn:,} ideal clusters in the truth, and population=... gives "
                f"{sizes.get(name or '', 0):,} for it. Give the number of ideal clusters of every stratum."
            )
        design.append({STRATUM: name, EXPANSION: sizes[name] / drawn, REST: 1 - drawn / sizes[name]})
    return rows.join(from_rows(design, engine), on=STRATUM, how="inner")


def _given_probabilities(sampling: Sampling, given: Any, inputs: Inputs, engine: Engine) -> nw.LazyFrame:
    if sampling.column in inputs.ideal.source.columns:
        rows = _by_cluster(inputs, str(sampling.column), engine)
    else:
        rows = _from_table(sampling, given, inputs, engine)
    rows = rows.with_columns(nw.col(_MOST).cast(nw.Float64).alias(PROBABILITY))
    bad = rows.filter(nw.col(PROBABILITY).is_null() | ~((nw.col(PROBABILITY) > 0) & (nw.col(PROBABILITY) <= 1)))
    number = count(bad, engine)
    if number:
        raise InputError(
            f"{format_count(number, 'ideal cluster')} without a probability above 0 and at most 1 to be in the truth, "
            f"e.g. {examples(bad, engine, CLUSTER)}."
        )
    probability = nw.col(PROBABILITY)
    return rows.with_columns((1 / probability).alias(EXPANSION), (1 - probability).alias(REST))


def _by_cluster(inputs: Inputs, column: str, engine: Engine) -> nw.LazyFrame:
    """Read a column of the truth, which must have one value in every ideal cluster."""
    if column not in inputs.ideal.source.columns:
        known = listed(inputs.ideal.source.columns)
        raise MissingColumnError(f"The ideal clustering has no column {column!r}. It has {known}.")
    frame = inputs.ideal.frame
    if inside(column) not in frame.collect_schema().names():
        frame = frame.select(ITEM, CLUSTER).join(
            with_columns(inputs.ideal, [column], engine, like=frame).frame, on=ITEM, how="inner"
        )
    return _one_value(frame, column, engine)


def _one_value(rows: nw.LazyFrame, column: str, engine: Engine) -> nw.LazyFrame:
    values = nw.col(inside(column))
    ends = rows.group_by(CLUSTER).agg(values.min().alias(_LEAST), values.max().alias(_MOST))
    ends = engine.checkpoint(ends)
    mixed = ends.filter(nw.col(_LEAST) != nw.col(_MOST))
    if count(mixed.head(1), engine):
        raise InputError(
            f"{column!r} differs within ideal clusters, e.g. {examples(mixed, engine, CLUSTER)}. A whole cluster is "
            "drawn or not, so its items must all have the same value."
        )
    return ends


def _from_table(sampling: Sampling, given: Any, inputs: Inputs, engine: Engine) -> nw.LazyFrame:
    """Read a table of probabilities, by item if it has the truth's item column, else by ideal cluster."""
    if sampling.column is not None and not os.path.exists(sampling.column):  # noqa: PTH110  # it may be text or a path
        columns = listed(inputs.ideal.source.columns)
        raise UsageError(
            f"sampling={short(sampling.column)} must be 'clusters', 'items', 'complete', a column of the ideal "
            f"clustering ({columns}) or a file with probabilities."
        )
    source = open_source(given if sampling.column is None else sampling.column, engine, role="sampling")
    is_by_item = set(inputs.ideal.item_columns) <= set(source.columns)
    keys = inputs.ideal.item_columns if is_by_item else [c for c in source.columns if c != PROBABILITY][:1]
    if PROBABILITY not in source.columns or not keys:
        raise MissingColumnError(
            f"The table of probabilities ({source.name}) needs a column 'probability' beside that of ideal clusters or "
            f"items. It has {listed(source.columns)}."
        )
    table = read_table(source, engine, role="sampling", item=keys, has_clusters=False, carry=(PROBABILITY,))
    target = ITEM if is_by_item else CLUSTER
    truth = inputs.ideal.frame.select(ITEM, CLUSTER)
    typed = table.frame.with_columns(nw.col(ITEM).cast(truth.collect_schema()[target]))
    rows = truth.join(typed.rename({} if is_by_item else {ITEM: CLUSTER}), on=target, how="left")
    return _one_value(rows, PROBABILITY, engine)
