"""Stored runs: everything an evaluation has established, as a folder of Parquet files with a manifest."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol, TypeVar

import narwhals.stable.v2 as nw

from pointwise.answers.levels import items_for, tabulate_clusters, tabulate_slices
from pointwise.answers.slices import Key, read_slicing
from pointwise.columns import (
    ACTUAL,
    ACTUAL_ITEMS,
    ACTUAL_WEIGHT,
    FN,
    FP,
    IDEAL,
    IDEAL_ITEMS,
    IDEAL_WEIGHT,
    ITEM,
    ITEMS,
    PREFIX,
    SQUARES,
    TN,
    TP,
    WEIGHT,
    given_name,
    inside,
)
from pointwise.core.coverage import KnownScope, coverage_of
from pointwise.core.evidence import Evidence
from pointwise.core.measurement import item_metrics, measure
from pointwise.core.metrics import Metric
from pointwise.core.sample import EXPANSION, REST, STRATUM, Sample
from pointwise.engines.base import Engine, Source
from pointwise.errors import RunError, UsageError
from pointwise.inputs.composite import ItemColumns
from pointwise.inputs.options import Options
from pointwise.progress import phase
from pointwise.store.contents import OpenFolder, describe_table, open_folder
from pointwise.store.manifest import (
    RUN,
    EvidenceManifest,
    RunManifest,
    StoredInput,
    describe_input,
    now,
    write_manifest,
)
from pointwise.store.places import find_place, stored_folder
from pointwise.uncertainty.intervals import Interval
from pointwise.version import __version__

if TYPE_CHECKING:
    from pointwise.evaluation import Evaluation

E = TypeVar("E", bound=EvidenceManifest)

_CELLS = (
    IDEAL,
    ACTUAL,
    ITEMS,
    TP,
    SQUARES,
    IDEAL_WEIGHT,
    IDEAL_ITEMS,
    ACTUAL_WEIGHT,
    ACTUAL_ITEMS,
    FP,
    FN,
    TN,
    WEIGHT,
)
_CONFUSION = (IDEAL, ACTUAL, TP, IDEAL_WEIGHT, ACTUAL_WEIGHT, TN)
_ITEMS = (ITEM, IDEAL, ACTUAL, WEIGHT)
_DESIGN = (EXPANSION, REST, STRATUM)
_MISSING = "missing"  # the table of ideal items that were dropped


@dataclass(frozen=True)
class StoredSource(Source):
    """A table that a stored run was made from, which is not read again."""

    facts: StoredInput | None = None


def save(evaluation: Evaluation, path: str | os.PathLike[str], *, overwrite: bool, keep: Sequence[str] = ()) -> Path:
    """Store a run; the folder appears when it is complete.

    Args:
        evaluation: What to store.
        path: The folder to make.
        overwrite: Whether to replace a run that already exists.
        keep: Columns of the items to store beside those that the slices need.
    """
    phase("writing")
    with stored_folder(path, RUN, overwrite=overwrite) as folder:
        facts = write_evidence(evaluation, folder, keep=keep, more=_left_out(evaluation))
        metrics = tuple(m.name for m in evaluation.metrics)
        overall, coverage = evaluation.overall.to_dict(), evaluation.coverage.to_dict()
        manifest = RunManifest(
            **facts,
            metrics=metrics,
            overall=overall,
            coverage=coverage,
            intervals=_ends(evaluation.overall.intervals),
            confidence=evaluation.confidence,
            shows_intervals=evaluation.shows_intervals,
        )
        write_manifest(folder, manifest)
    return Path(path)


def _ends(intervals: Mapping[str, Interval]) -> dict[str, tuple[float, float]]:
    return {name: (i.low, i.high) for name, i in intervals.items() if i.low is not None and i.high is not None}


def _left_out(evaluation: Evaluation) -> dict[str, nw.LazyFrame]:
    """Return the ideal items that were dropped, so that a run can tell them from those that the truth does not list.

    The members of actual clusters that lie outside the truth may be many more than the items of a run, which is why
    they are counted only.
    """
    scope = evaluation.scope
    is_dropped = evaluation.options.missing == "drop" and evaluation.coverage.missing_items > 0
    if not is_dropped or scope.engine is not evaluation.engine or scope.missing is None:
        return {}
    return {_MISSING: scope.missing}


class Established(Protocol):
    """What was established about two clusterings, with how to show it and how it was read."""

    @property
    def evidence(self) -> Evidence:
        """The items and their cells."""
        ...

    @property
    def metrics(self) -> tuple[Metric, ...]:
        """What the tables show."""
        ...

    @property
    def options(self) -> Options:
        """How the inputs were read."""
        ...

    @property
    def sources(self) -> Mapping[str, Source]:
        """The tables that were read, by role."""
        ...


def write_evidence(
    found: Established, folder: Path, *, keep: Sequence[str] = (), more: Mapping[str, nw.LazyFrame] | None = None
) -> dict[str, Any]:
    """Write what was established into a folder; return what its manifest says about it.

    Args:
        found: What to write.
        folder: Where.
        keep: Columns of the items to store beside those that the slices need.
        more: Further tables by name.
    """
    items, specs = _stored_items(found, keep)
    names = _stored_names(items, found.metrics)
    tables = _tables(found, items, names) | dict(more or {})
    for name, frame in tables.items():
        found.evidence.engine.write(frame, folder / f"{name}.parquet")
    return {
        "pointwise_version": __version__,
        "created": now(),
        "inputs": {role: _describe_source(source) for role, source in found.sources.items()},
        "options": found.options,
        "slices": tuple(map(tuple, specs)),
        "totals": found.evidence.totals,
        "slice_columns": names,
        "item_columns": dict(found.evidence.ids.kinds),
        "tables": {name: describe_table(folder, name) for name in tables},
        "sampled": found.evidence.sample.behind,
    }


def _stored_items(evaluation: Established, keep: Sequence[str]) -> tuple[nw.LazyFrame, list[list[str]]]:
    """Return the items with all columns that the slices need or that are wanted, and the slices as text."""
    evidence = evaluation.evidence
    cuts = [read_slicing(spec, evidence.slice_schema) for spec in evaluation.options.slices]
    items = items_for(evidence, [key for cut in cuts for key in cut.keys], more=keep)
    taken = {c.lower() for c in evidence.slice_schema}
    computed: dict[str, nw.Expr] = {}
    specs = [[_key_text(key, taken, computed) for key in cut.keys] for cut in cuts]
    columns = [c for c in items.collect_schema().names() if c in _ITEMS or c.startswith(PREFIX)]
    return items.with_columns(**computed).select(*columns, *computed) if computed else items, specs


def _key_text(key: Key, taken: set[str], computed: dict[str, nw.Expr]) -> str:
    """Name a key of a slicing; an expression, which has no text, becomes a column of the items."""
    if key.expression is None or key.columns is not None:
        return key.name
    name = _free_name(key.name, taken)
    taken.add(name.lower())
    computed[inside(name)] = key.expression
    return name


def _free_name(name: str, taken: set[str]) -> str:
    number, free = 1, name
    while free.lower() in taken:
        number += 1
        free = f"{name}_{number}"
    return free


def _stored_names(items: nw.LazyFrame, metrics: Sequence[Metric]) -> dict[str, str]:
    """Name the slice columns so that none clashes with a metric or another column of the file."""
    columns = [given_name(c) for c in items.collect_schema().names() if c not in _ITEMS]
    taken = {*_ITEMS, *_CONFUSION, FP, FN, *(m.name.lower() for m in item_metrics(metrics))}
    names = {}
    for column in columns:
        names[column] = _free_name(column or "unnamed", taken)
        taken.add(names[column].lower())
    return names


def _tables(evaluation: Established, items: nw.LazyFrame, names: Mapping[str, str]) -> dict[str, nw.LazyFrame]:
    evidence, metrics = evaluation.evidence, evaluation.metrics
    named = {"names": tuple(names.items()), "metrics": tuple(metrics)}
    tables = {
        "cells": evidence.measured(metrics),
        "items": evidence.engine.plan(_measure_items, items, evidence.cells, **named),
        "ideal_clusters": tabulate_clusters(evidence, IDEAL, metrics).lazy(),
        "actual_clusters": tabulate_clusters(evidence, ACTUAL, metrics).lazy(),
    }
    if evidence.sample.clusters is not None:
        tables["design"] = evidence.sample.clusters.select(IDEAL, *_DESIGN)
    if evaluation.options.slices:
        tables["slices"] = tabulate_slices(evidence, evaluation.options.slices, metrics).lazy()
    return tables


def _measure_items(
    items: nw.LazyFrame, cells: nw.LazyFrame, *, names: Sequence[tuple[str, str]], metrics: Sequence[Metric]
) -> nw.LazyFrame:
    """Give items their confusion matrices and metrics, which are computed after the join: it then takes less memory."""
    joined = items.join(cells.select(*_CONFUSION), on=[IDEAL, ACTUAL], how="inner")
    matrix = (nw.col(ACTUAL_WEIGHT) - nw.col(TP)).alias(FP), (nw.col(IDEAL_WEIGHT) - nw.col(TP)).alias(FN)
    values = (TP, FP, FN, TN, *(m.name for m in item_metrics(metrics)))
    slices = (nw.col(inside(name)).alias(stored) for name, stored in names)
    return measure(joined.with_columns(*matrix), metrics).select(*_ITEMS, *slices, *values)


def _describe_source(source: Source) -> StoredInput:
    if isinstance(source, StoredSource) and source.facts is not None:
        return source.facts
    files = tuple(describe_input(file) for file in source.files if file.exists())
    return StoredInput(source.name, tuple(source.columns), source.is_typed, files, source.ids)


def open_run(path: str | os.PathLike[str], *, verify: bool) -> AbstractContextManager[OpenFolder[RunManifest]]:
    """Find a run, make sure that it is complete and as it was written, and open what answers are computed from.

    Args:
        path: The folder that `save` made.
        verify: Whether to compare the checksums of all files, or only their sizes.

    Raises:
        NotFoundError: There is no such folder.
        RunError: What it holds is not a run, or cannot be trusted.
    """
    return open_folder(find_place(path), RUN, RunManifest, verify=verify, keep=read_later)


def read_later(manifest: EvidenceManifest) -> list[str]:
    """Name the files that answers are computed from."""
    return [name for table in ("cells", "items", "design", _MISSING) for name in manifest.tables.get(table, ())]


def read_evidence(run: OpenFolder[E], engine: Engine) -> Evidence:
    """Have an engine read the items and cells of a run as they are now, even if the folder is replaced later."""
    names = run.manifest.slice_columns
    cells = _read(run, "cells", _CELLS, engine)
    stored = {c: c for c in _ITEMS} | {inside(name): column for name, column in names.items()}
    items = _read(run, "items", tuple(stored.values()), engine, named=tuple(stored))
    sample, has_empty = read_sample(run, engine), run.manifest.options.has_empty
    ids = ItemColumns(run.manifest.item_columns)
    return Evidence(engine, items, cells, run.manifest.totals, sample=sample, has_empty=has_empty, ids=ids)


def read_scope(run: OpenFolder[RunManifest], engine: Engine) -> KnownScope:
    """Have an engine read what a run knows of the items that were left out."""
    is_there = _MISSING in run.manifest.tables
    missing = _read(run, _MISSING, (ITEM, IDEAL), engine) if is_there else None
    return KnownScope(coverage_of(run.manifest.coverage), engine, missing)


def read_sample(run: OpenFolder[E], engine: Engine) -> Sample:
    """Have an engine read what a run knows about how its truth was drawn."""
    options = run.manifest.options
    has_spurious = options.outside == "spurious"
    sample = Sample(options.outside != "ignore", behind=run.manifest.sampled, has_spurious=has_spurious)
    if not run.manifest.is_sampled:
        return replace(sample, is_complete=options.sampling is not None)
    clusters = _read(run, "design", (IDEAL, *_DESIGN), engine)
    return replace(sample, clusters=clusters, population=run.manifest.totals)


def _read(
    run: OpenFolder[E], table: str, columns: Sequence[str], engine: Engine, *, named: Sequence[str] = ()
) -> nw.LazyFrame:
    """Read columns of a table, under other names where these are given."""
    source = engine.pin([run.files[name] for name in run.manifest.tables[table]])
    lacking = [c for c in columns if c not in source.columns]
    if lacking:
        kind = run.manifest.kind
        raise RunError(f"The {kind} {str(run.path)!r} is damaged: its {table} lack the column {lacking[0]!r}.")
    names = zip(columns, named or columns, strict=True)
    return source.load(columns).select(*(nw.col(inside(column)).alias(name) for column, name in names))


def read_options(manifest: EvidenceManifest) -> Options:
    """Take the options of an evaluation from a manifest."""
    return replace(manifest.options, slices=tuple(spec if len(spec) > 1 else spec[0] for spec in manifest.slices))


def read_sources(manifest: EvidenceManifest) -> dict[str, Source]:
    """Name the tables that a run was made from."""
    return {role: _stored_source(facts) for role, facts in manifest.inputs.items()}


def _stored_source(facts: StoredInput) -> StoredSource:
    def refuse(columns: Sequence[str], *, text: Sequence[str] = ()) -> nw.LazyFrame:  # noqa: ARG001
        raise UsageError(f"A stored run does not read {facts.name} again. Give attributes with with_attributes().")

    files = tuple(Path(file.path) for file in facts.files)
    return StoredSource(facts.name, facts.columns, refuse, facts.is_typed, files, ids=facts.ids, facts=facts)
