"""Stored runs: everything an evaluation has established, as a folder of Parquet files with a manifest."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import narwhals.stable.v2 as nw

from pointwise.answers.levels import list_slices, needed_columns, tabulate_clusters
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
    SQUARES,
    TN,
    TP,
    WEIGHT,
)
from pointwise.core.confusion import Totals
from pointwise.core.evidence import Evidence
from pointwise.core.measurement import item_metrics, measure
from pointwise.core.metrics import Metric
from pointwise.core.sample import EXPANSION, REST, STRATUM, Sample
from pointwise.engines.base import Engine, Source
from pointwise.engines.files import is_address
from pointwise.errors import RunError, UsageError
from pointwise.inputs.options import Options, Sampling
from pointwise.progress import phase
from pointwise.store.atomic import whole_folder
from pointwise.store.manifest import (
    FORMAT_VERSION,
    Manifest,
    check_files,
    describe_files,
    describe_table,
    now,
    read_manifest,
    write_manifest,
)
from pointwise.version import __version__

if TYPE_CHECKING:
    from pointwise.evaluation import Evaluation

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


@dataclass(frozen=True)
class StoredSource(Source):
    """A table that a stored run was made from, which is not read again."""

    facts: Mapping[str, Any] | None = None


def save(evaluation: Evaluation, path: str | os.PathLike[str], *, overwrite: bool) -> Path:
    """Store a run; the folder appears when it is complete.

    Args:
        evaluation: What to store.
        path: The folder to make.
        overwrite: Whether to replace a run that is there already.
    """
    target = Path(path)
    check_place(target, overwrite=overwrite)
    phase("writing")
    with _translated_errors(target), whole_folder(target, overwrite=overwrite) as folder:
        items, specs = _stored_items(evaluation)
        names = _stored_names(items, evaluation.metrics)
        engine = evaluation.evidence.engine
        tables = _tables(evaluation, items.rename({c: n for c, n in names.items() if c != n}))
        for name, frame in tables.items():
            engine.write(frame, folder / f"{name}.parquet")
        files = {name: describe_table(folder, name) for name in tables}
        manifest = _manifest(evaluation, specs, names)
        write_manifest(folder, replace(manifest, tables=files))
    return target


def check_mounted(path: Path) -> None:
    """Refuse an address of a lake: a folder there cannot appear whole or not at all.

    Raises:
        RunError: The path is an address.
    """
    if is_address(path):
        raise RunError(
            f"A run is stored in a folder of a mounted file system, and {str(path)!r} is an address. Single tables can "
            "be written there from Spark: evaluation.by_item().write('s3a://lake/items.parquet')."
        )


def check_place(path: Path, *, overwrite: bool) -> None:
    """Make sure that a run may be stored at a place, before the work is done.

    Raises:
        RunError: There is something that must not be replaced, or a run cannot be stored there at all.
    """
    check_mounted(path)
    if not path.exists() or (path.is_dir() and not any(path.iterdir())):
        return
    try:
        read_manifest(path)
    except RunError as error:
        raise RunError(f"{str(path)!r} is there already and is not a run that could be replaced.") from error
    if not overwrite:
        raise RunError(f"There is a run {str(path)!r} already. Choose another name, or replace it with overwrite=True.")


@contextmanager
def _translated_errors(path: Path) -> Iterator[None]:
    try:
        yield
    except RunError:
        raise
    except FileExistsError as error:
        raise RunError(
            f"The run {str(path)!r} was not stored: something else was written there meanwhile. It is left as it is."
        ) from error
    except OSError as error:
        raise RunError(f"The run {str(path)!r} cannot be stored: {error.strerror or error}.") from error


def _stored_items(evaluation: Evaluation) -> tuple[nw.LazyFrame, list[list[str]]]:
    """Return the items with all columns that the slices need, and the slices as text."""
    evidence = evaluation.evidence
    cuts = [read_slicing(spec, evidence.slice_schema) for spec in evaluation.options.slices]
    items = evidence.items_with([c for cut in cuts for c in needed_columns(evidence, cut.keys)])
    taken = {c.lower() for c in items.collect_schema().names()}
    computed: dict[str, nw.Expr] = {}
    specs = [[_key_text(key, taken, computed) for key in cut.keys] for cut in cuts]
    return items.with_columns(**computed) if computed else items, specs


def _key_text(key: Key, taken: set[str], computed: dict[str, nw.Expr]) -> str:
    """Name a key of a slicing; an expression, which has no text, becomes a column of the items."""
    if key.expression is None or key.columns is not None:
        return key.name
    name = _free_name(key.name, taken)
    taken.add(name.lower())
    computed[name] = key.expression
    return name


def _free_name(name: str, taken: set[str]) -> str:
    number, free = 1, name
    while free.lower() in taken:
        number += 1
        free = f"{name}_{number}"
    return free


def _stored_names(items: nw.LazyFrame, metrics: Sequence[Metric]) -> dict[str, str]:
    """Name the slice columns so that none is called like a metric or another column of the file."""
    columns = [c for c in items.collect_schema().names() if c not in _ITEMS]
    taken = {*_ITEMS, *_CONFUSION, FP, FN, *(m.name.lower() for m in item_metrics(metrics))}
    names = {}
    for column in columns:
        names[column] = _free_name(column, taken)
        taken.add(names[column].lower())
    return names


def _tables(evaluation: Evaluation, items: nw.LazyFrame) -> dict[str, nw.LazyFrame]:
    evidence, metrics = evaluation.evidence, evaluation.metrics
    # The metrics are computed after the join, which has the less to hold in memory.
    joined = items.join(evidence.cells.select(*_CONFUSION), on=[IDEAL, ACTUAL], how="inner")
    matrix = (nw.col(ACTUAL_WEIGHT) - nw.col(TP)).alias(FP), (nw.col(IDEAL_WEIGHT) - nw.col(TP)).alias(FN)
    values = (TP, FP, FN, TN, *(m.name for m in item_metrics(metrics)))
    tables = {
        "cells": evidence.measured(metrics),
        "items": measure(joined.with_columns(*matrix), metrics).select(*items.collect_schema().names(), *values),
        "ideal_clusters": tabulate_clusters(evidence, IDEAL, metrics).lazy(),
        "actual_clusters": tabulate_clusters(evidence, ACTUAL, metrics).lazy(),
    }
    if evidence.sample.clusters is not None:
        tables["design"] = evidence.sample.clusters.select(IDEAL, *_DESIGN)
    if evaluation.options.slices:
        tables["slices"] = list_slices(evidence, evaluation.options.slices, metrics).lazy()
    return tables


def _manifest(evaluation: Evaluation, specs: list[list[str]], names: dict[str, str]) -> Manifest:
    totals = evaluation.evidence.totals
    return Manifest(
        format_version=FORMAT_VERSION,
        pointwise_version=__version__,
        created=now(),
        inputs={role: _describe_source(source) for role, source in evaluation.sources.items()},
        options=asdict(replace(evaluation.options, slices=tuple(specs))),
        metrics=[m.name for m in evaluation.metrics],
        totals={ITEMS: totals.items, WEIGHT: totals.weight},
        coverage=evaluation.coverage.to_dict(),
        overall=evaluation.overall.to_dict(),
        slice_columns=names,
        sampled=evaluation.evidence.sample.words,
    )


def _describe_source(source: Source) -> Mapping[str, Any]:
    if isinstance(source, StoredSource) and source.facts is not None:
        return source.facts
    facts = {"name": source.name, "columns": list(source.columns), "is_typed": source.is_typed}
    return facts | {"files": describe_files(file for file in source.files if file.exists())}


def read_run(path: str | os.PathLike[str], *, verify: bool) -> tuple[Path, Manifest]:
    """Find a run and make sure that it is whole.

    A run that is replaced while it is read is read again.
    """
    folder = Path(os.path.realpath(path))
    manifest = read_manifest(folder)
    while True:
        try:
            check_files(folder, manifest, verify=verify)
        except RunError:
            newer = read_manifest(folder)
            if newer == manifest:
                raise
            manifest = newer
        else:
            return folder, manifest


def read_evidence(folder: Path, manifest: Manifest, engine: Engine) -> Evidence:
    """Open the items and cells of a run."""
    cells = _open(folder, "cells", manifest, engine).load(_CELLS)
    columns = (*_ITEMS, *manifest.slice_columns.values())
    items = _open(folder, "items", manifest, engine).load(columns)
    renamed = {stored: name for name, stored in manifest.slice_columns.items() if name != stored}
    totals = Totals(int(manifest.totals[ITEMS]), float(manifest.totals[WEIGHT]))
    found = items.rename(renamed) if renamed else items
    return Evidence(engine, found, cells, totals, sample=read_sample(folder, manifest, engine))


def read_sample(folder: Path, manifest: Manifest, engine: Engine) -> Sample:
    """Open what a run knows of how its truth was drawn."""
    options = read_options(manifest)
    sample = Sample(sees_outside=options.outside == "wrong", words=manifest.sampled)
    if options.sampling is None or options.sampling.how == "complete":
        return replace(sample, is_complete=options.sampling is not None)
    totals = Totals(int(manifest.totals[ITEMS]), float(manifest.totals[WEIGHT]))
    clusters = _open(folder, "design", manifest, engine).load((IDEAL, *_DESIGN))
    return replace(sample, clusters=clusters, population=totals)


def _open(folder: Path, table: str, manifest: Manifest, engine: Engine) -> Source:
    files = manifest.tables.get(table)
    if not files:
        raise RunError(f"The run {str(folder)!r} is damaged: its manifest lists no {table}.")
    source = engine.read([folder / name for name in files])
    columns = {"cells": _CELLS, "design": (IDEAL, *_DESIGN)}
    needed = columns.get(table) or (*_ITEMS, *manifest.slice_columns.values())
    lacking = [c for c in needed if c not in source.columns]
    if lacking:
        raise RunError(f"The run {str(folder)!r} is damaged: its {table} lack the column {lacking[0]!r}.")
    return source


def read_options(manifest: Manifest) -> Options:
    """Take the options of an evaluation from a manifest."""
    options = dict(manifest.options)
    options["slices"] = tuple(tuple(spec) if len(spec) > 1 else spec[0] for spec in options["slices"])
    options["unassigned_labels"] = tuple(options["unassigned_labels"])
    options["sampling"] = Sampling(**options["sampling"]) if options.get("sampling") else None
    return Options(**options)


def read_sources(manifest: Manifest) -> dict[str, Source]:
    """Name the tables that a run was made from."""
    return {role: _stored_source(facts) for role, facts in manifest.inputs.items()}


def _stored_source(facts: Mapping[str, Any]) -> StoredSource:
    def refuse(columns: Sequence[str], *, text: Sequence[str] = ()) -> nw.LazyFrame:  # noqa: ARG001
        raise UsageError(f"A stored run does not read {facts['name']} again. Give attributes with with_attributes().")

    files = tuple(Path(file["path"]) for file in facts["files"])
    return StoredSource(facts["name"], tuple(facts["columns"]), refuse, facts["is_typed"], files, facts)
