"""Comparing: every variant evaluated against one truth, on items and terms that they share."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

import narwhals.stable.v2 as nw

from pointwise.columns import ITEM, ITEMS, WEIGHT
from pointwise.comparison.common_ground import check_same_truth, rehome, remember, restrict, shared_items
from pointwise.comparison.comparison import Comparison
from pointwise.core.alignment import present_items
from pointwise.core.metrics import MetricChoice, find_metrics
from pointwise.engines import Engine, choose_engine
from pointwise.engines.queries import count, total
from pointwise.errors import NotFoundError, UsageError
from pointwise.evaluation import Evaluation, as_shown, as_specs, evaluate, load
from pointwise.inputs.links import table_of
from pointwise.inputs.options import (
    CONFIDENCE,
    ColumnNames,
    CompareOn,
    LayoutName,
    Missing,
    Outside,
    Unassigned,
    check_choice,
    has_header,
)
from pointwise.inputs.reading import say_layouts
from pointwise.inputs.tables import open_source
from pointwise.store.places import kind_at
from pointwise.text.values import format_count, format_share, listed, short
from pointwise.uncertainty.ends import check_confidence


def compare(
    *,
    variants: Mapping[str, Any],
    ideal: Any = None,
    baseline: str | None = None,
    on: CompareOn = "own",
    item: ColumnNames | Mapping[str, ColumnNames] | None = None,
    cluster: ColumnNames | Mapping[str, ColumnNames] | None = None,
    weight: str | None = None,
    weights: Any = None,
    attributes: Any = None,
    slices: Any = (),
    show: ColumnNames | None = None,
    metrics: MetricChoice | None = None,
    outside: Outside | None = None,
    missing: Missing | None = None,
    unassigned: Unassigned | Mapping[str, Unassigned] | None = None,
    unassigned_labels: Any = None,
    header: bool | Mapping[str, bool] | None = None,
    layout: LayoutName | Mapping[str, LayoutName] | None = None,
    sampling: Any = None,
    drawn: int | None = None,
    population: int | Mapping[str, int] | None = None,
    strata: str | None = None,
    intervals: bool = True,
    confidence: float = CONFIDENCE,
    memory_limit: str | None = None,
    threads: int | None = None,
    engine: Engine | str | None = None,
) -> Comparison:
    """Compare several clusterings against one ground truth.

    The truth is read once and every variant once, and all pairs of variants follow from these evaluations.

    Args:
        variants: The clusterings by name: anything that `evaluate` takes for `actual`, the folder of a stored run,
            or an evaluation. Stored runs and evaluations need the same truth, weights and policies.
        ideal: The ground truth clustering; does not apply if all variants are stored runs or evaluations.
        baseline: The variant that the others are measured against. Without it `deltas` shows all pairs, and other
            tables measure against the first variant.
        on: Which items each variant is evaluated on: those that it has in common with the truth ("own"), or those
            that the truth and all variants have ("shared").
        item: As in `evaluate`; like all parameters that say how to read a clustering, it does not apply to stored runs.
        cluster: As in `evaluate`.
        weight: As in `evaluate`.
        weights: As in `evaluate`.
        attributes: As in `evaluate`; also for stored runs and evaluations.
        slices: As in `evaluate`; also for stored runs and evaluations.
        show: As in `evaluate`; also for stored runs and evaluations.
        metrics: As in `evaluate`; also for stored runs and evaluations.
        outside: As in `evaluate`.
        missing: As in `evaluate`.
        unassigned: As in `evaluate`.
        unassigned_labels: As in `evaluate`.
        header: As in `evaluate`.
        layout: As in `evaluate`: the tool that wrote the variants.
        sampling: As in `evaluate`: how the truth was drawn. Differences are then estimated for all items.
        drawn: As in `evaluate`.
        population: As in `evaluate`.
        strata: As in `evaluate`.
        intervals: Whether tables show intervals.
        confidence: How often the intervals should contain the true value.
        memory_limit: As in `evaluate`.
        threads: As in `evaluate`.
        engine: As in `evaluate`.

    Returns:
        The comparison. Its tables are computed when they are looked at.

    Raises:
        PointwiseError: The inputs do not allow a comparison; the message says what to do.

    Examples:
        >>> import pointwise as pw
        >>> comparison = pw.compare(ideal=[["i1", "i2"], ["i3"]],
        ...                         variants={"old": [["i1"], ["i2"], ["i3"]], "new": [["i1", "i2"], ["i3"]]})
        >>> round(comparison.delta("recall"), 4)
        0.3333
    """
    _check_variants(variants, baseline)
    check_choice("on", on, CompareOn)
    sources = (table_of(ideal), *map(table_of, variants.values()), weights, attributes)
    engine = choose_engine(engine, sources, memory_limit=memory_limit, threads=threads)
    reading = {
        "ideal": ideal,
        "item": item,
        "cluster": cluster,
        "weight": weight,
        "weights": weights,
        "outside": outside,
        "missing": missing,
        "unassigned": unassigned,
        "unassigned_labels": unassigned_labels,
        "header": header,
        "sampling": sampling,
        "drawn": drawn,
        "population": population,
        "strata": strata,
        "layout": layout,
    }
    looking = {
        "attributes": attributes,
        "slices": as_specs(slices),
        "show": as_shown(show),
        "metrics": metrics,
        "intervals": intervals,
        "confidence": check_confidence(confidence),
    }
    given = {name: value for name, value in reading.items() if value is not None}
    evaluations = _evaluate_all(engine, variants, given, looking)
    own = {name: int(total(present_items(e.evidence.cells), ITEMS, engine)) for name, e in evaluations.items()}
    shared = None if _is_all_shared(evaluations, own) else shared_items(evaluations)
    if shared is not None and on == "shared":
        evaluations = {name: restrict(e, shared) for name, e in evaluations.items()}
    layouts = dict.fromkeys(line for e in evaluations.values() for line in say_layouts(e.sources, e.options))
    notes = (*layouts, *(_notes(own, evaluations, shared, on) if shared is not None else ()))
    chosen = next(iter(evaluations.values())).metrics
    return Comparison(evaluations, engine, chosen, baseline=baseline, on=on, notes=notes, confidence=confidence)


def _is_all_shared(evaluations: Mapping[str, Evaluation], own: Mapping[str, int]) -> bool:
    """Tell whether every variant has all items of the truth, or there is only one, so that nothing need be joined.

    Spurious items are those of one variant, whatever the others have.
    """
    first = next(iter(evaluations.values()))
    if first.options.outside == "spurious":
        return False
    return len(own) == 1 or all(number == first.coverage.ideal_items for number in own.values())


def _check_variants(variants: Any, baseline: str | None) -> None:
    if not isinstance(variants, Mapping):
        raise UsageError("variants must name each clustering: variants={'baseline': ..., 'experiment': ...}.")
    if not variants:
        raise UsageError("There is nothing to compare: variants=... names no clustering.")
    if baseline is not None and baseline not in variants:
        raise NotFoundError(f"The baseline {short(baseline)} is not among the variants {listed(variants)}.")


def _evaluate_all(
    engine: Engine, variants: Mapping[str, Any], reading: Mapping[str, Any], looking: Mapping[str, Any]
) -> dict[str, Evaluation]:
    """Evaluate the variants that are clusterings, and take the others as they are.

    Args:
        engine: What computes.
        variants: The variants by name.
        reading: What was said about how to read clusterings. It cannot apply to what was evaluated before.
        looking: What applies to every variant: attributes, slices, metrics, intervals and their confidence.
    """
    if looking["attributes"] is not None:
        header = reading.get("header", True)
        attributes = remember(
            open_source(looking["attributes"], engine, role="attributes", header=has_header(header, "attributes")),
            engine,
        )
        looking = {**looking, "attributes": attributes}
    found = {name: _as_evaluation(variant, engine) for name, variant in variants.items()}
    new = [name for name, evaluation in found.items() if evaluation is None]
    _check_reading(reading, new)
    settings = _open_once(reading, engine) if new else {}
    evaluations = {
        name: evaluate(actual=variants[name], engine=engine, **settings, **looking)
        if evaluation is None
        else _adapted(evaluation, looking)
        for name, evaluation in found.items()
    }
    if len(new) < len(found):
        check_same_truth(evaluations)
    return evaluations


def _check_reading(reading: Mapping[str, Any], new: Sequence[str]) -> None:
    """Refuse a truth, weights or policies that would not be used, and variants that lack a truth."""
    if new and "ideal" not in reading:
        raise UsageError(f"ideal=... is missing: the variant {new[0]!r} has to be evaluated against a truth.")
    if not new and reading:
        given = ", ".join(f"{name}=..." for name in reading)
        raise UsageError(
            f"{given} cannot apply: all variants have been evaluated already, and keep their truth, weights and "
            "policies. Leave it out, or give the clusterings instead of their evaluations."
        )


def _open_once(reading: Mapping[str, Any], engine: Engine) -> dict[str, Any]:
    """Open the tables that every variant is evaluated with, so that each is read once."""
    roles, header = {"ideal": "ideal clustering", "weights": "weights"}, reading.get("header", True)
    opened = {
        name: remember(open_source(reading[name], engine, role=role, header=has_header(header, name)), engine)
        for name, role in roles.items()
        if name in reading
    }
    return {**reading, **opened}


def _as_evaluation(variant: Any, engine: Engine) -> Evaluation | None:
    if isinstance(variant, Evaluation):
        return rehome(variant, engine)
    if isinstance(variant, (str, os.PathLike)) and kind_at(variant) is not None:
        return load(variant, engine=engine)
    return None


def _adapted(evaluation: Evaluation, looking: Mapping[str, Any]) -> Evaluation:
    """Apply what can be chosen after the fact: metrics, attributes, slices and intervals."""
    if looking["metrics"] is not None:
        evaluation = evaluation.with_metrics(*(m.name for m in find_metrics(looking["metrics"])))
    if looking["attributes"] is not None:
        evaluation = evaluation.with_attributes(looking["attributes"])
    if looking["show"] is not None:
        evaluation = evaluation.with_shown(*looking["show"])
    if looking["slices"]:
        evaluation = replace(evaluation, options=replace(evaluation.options, slices=looking["slices"]))
    evaluation = replace(evaluation, confidence=looking["confidence"])
    return evaluation if looking["intervals"] else replace(evaluation, shows_intervals=False)


def _notes(
    own: Mapping[str, int], evaluations: Mapping[str, Evaluation], items: nw.LazyFrame, on: CompareOn
) -> Iterator[str]:
    shared = count(items, next(iter(evaluations.values())).engine)
    if all(number == shared for number in own.values()):
        return
    weight = _say_weight(evaluations, items)
    if on == "shared":
        which = f"{format_count(shared, 'item')} that the truth and every variant have"
        yield f"All variants are evaluated on the {which}{weight}."
        return
    least, most = min(own, key=own.__getitem__), max(own, key=own.__getitem__)
    yield (
        f"The variants are evaluated on different items, from {own[least]:,} ({least}) to {own[most]:,} ({most}); "
        f"{shared:,} are common to all{weight}. A difference may come from the items: on='shared' compares on the "
        "common ones."
    )


def _say_weight(evaluations: Mapping[str, Evaluation], items: nw.LazyFrame) -> str:
    """State the share of the truth's weight that some of its items have, unless all items weigh the same."""
    first = next(iter(evaluations.values()))
    whole = first.coverage.ideal_weight
    if not whole or not any(evaluation.coverage.is_weighted for evaluation in evaluations.values()):
        return ""
    chosen = first.evidence.weighed_items().join(items, on=ITEM, how="inner")
    return f", with {format_share(total(chosen, WEIGHT, first.evidence.engine) / whole)} of the weight of the truth"
