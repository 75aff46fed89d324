"""Commands that ask questions of stored runs: show, explain, mistakes, coverage, slice, runs."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict
from enum import StrEnum
from typing import TYPE_CHECKING, Annotated, Any

import typer

from pointwise.cli import options, output, stdin
from pointwise.cli.app import app
from pointwise.cli.evaluating import describe_evaluation, draw_overall
from pointwise.cli.live import progress
from pointwise.cli.options import Format
from pointwise.cli.wording import translate
from pointwise.errors import UsageError

if TYPE_CHECKING:
    from pointwise.answers.explanations import ClusterExplanation, ItemExplanation
    from pointwise.answers.mistakes import Mistakes
    from pointwise.answers.tables import MetricTable
    from pointwise.evaluation import Evaluation

_OUTPUT = "Output"


class Level(StrEnum):
    """What a row of a table stands for."""

    overall = "overall"
    ideal_cluster = "ideal-cluster"
    actual_cluster = "actual-cluster"
    slice = "slice"
    item = "item"


class Kind(StrEnum):
    """Which mistakes to list."""

    both = "both"
    over_merge = "over-merge"
    under_merge = "under-merge"


@contextmanager
def opened(run: str, *, memory_limit: str | None = None, threads: int | None = None) -> Iterator[Evaluation]:
    """Load a run and close it at the end; what Python warns of is said on standard error."""
    from pointwise.evaluation import load

    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        with progress("reading"), load(run, memory_limit=memory_limit, threads=threads) as evaluation:
            for warning in caught:
                output.say(f"Warning: {translate(str(warning.message))}")
            yield evaluation


@app.command()
def show(
    run: options.Run,
    *,
    by: Annotated[Level, typer.Option("--by", "-b", help="What a row stands for.")] = Level.overall,
    slices: options.Slices = None,
    worst: Annotated[
        str | None, typer.Option(metavar="METRIC", help="Show the rows where this metric is worst.")
    ] = None,
    where: Annotated[
        str | None, typer.Option(metavar="CONDITION", help='Show only some rows: "items >= 5 and recall < 0.5".')
    ] = None,
    metrics: options.Metrics = None,
    limit: options.Limit = None,
    memory_limit: options.MemoryLimit = None,
    threads: options.Threads = None,
    kind: options.FormatOption = Format.table,
) -> None:
    """Show the metrics of a stored run: overall, or by cluster, slice or item. Show a stored comparison anew.

    A table for people shows 20 rows unless --limit says otherwise; JSON and CSV hold all rows.

    \b
    Example:
      pointwise show runs/monday
      pointwise show runs/monday --by ideal-cluster --worst recall --limit 10
      pointwise show runs/monday --by item --where "precision < 0.5" --format csv
    """
    if by is Level.overall and is_comparison(run):
        _put_comparison(run, kind, limit=limit, others=(worst, where, slices, metrics))
        return
    with opened(run, memory_limit=memory_limit, threads=threads) as evaluation:
        chosen = evaluation.with_metrics(*metrics) if metrics else evaluation
        if by is Level.overall:
            _put_overall(chosen, kind, filters=(worst, where, limit, slices))
            return
        table = _level(chosen, by, slices)
        if where is not None:
            table = table.where(where)
        if worst is not None:
            table = table.worst(worst, limit or output.SHOWN_ROWS)
        output.put_table(table, kind, limit=limit)


def is_comparison(path: str) -> bool:
    """Tell whether a folder is a stored comparison."""
    from pointwise.store.manifest import COMPARISON
    from pointwise.store.places import kind_at

    return kind_at(path) is COMPARISON


def _put_comparison(path: str, kind: Format, *, limit: int | None, others: tuple[Any, ...]) -> None:
    from pointwise.cli.comparing import draw_comparison
    from pointwise.comparison.comparison import load_comparison

    if any(others):
        raise UsageError(f"{path!r} is a stored comparison: --worst, --where, --slice and --metric are for runs.")
    with progress("reading"), load_comparison(path) as comparison:
        output.put_text(draw_comparison(comparison, (), kind, limit=limit))


def _put_overall(evaluation: Evaluation, kind: Format, *, filters: tuple[Any, ...]) -> None:
    if any(filters):
        raise UsageError(
            "There is one overall row: --worst, --where, --limit and --slice need --by with another level."
        )
    row = evaluation.overall.to_dict()
    if kind is Format.table:
        output.put_text(draw_overall(evaluation))
    else:
        output.put_rows("Overall", [row], kind, whole=describe_evaluation(evaluation, counted=True))


def _level(evaluation: Evaluation, by: Level, slices: list[str] | None) -> MetricTable:
    if slices and by is not Level.slice:
        raise UsageError("--slice needs --by slice.")
    if by is Level.slice:
        return evaluation.by_slice(*(slices or ()))
    if by is Level.item:
        return evaluation.by_item()
    return evaluation.by_ideal_cluster() if by is Level.ideal_cluster else evaluation.by_actual_cluster()


@app.command()
def explain(
    run: options.Run,
    *,
    item: Annotated[
        list[str] | None, typer.Option(metavar="ID", help="An item: which items it is with, and should be.")
    ] = None,
    ideal_cluster: Annotated[
        list[str] | None, typer.Option(metavar="ID", help="An ideal cluster: where its items went.")
    ] = None,
    actual_cluster: Annotated[
        list[str] | None, typer.Option(metavar="ID", help="An actual cluster: where its items come from.")
    ] = None,
    limit: Annotated[
        int,
        typer.Option(
            "--limit", "-n", min=1, max=options.MOST_ROWS, metavar="ITEMS", help="How many items of a set to list."
        ),
    ] = 20,
    threads: options.Threads = None,
    kind: options.FormatOption = Format.table,
) -> None:
    """Explain one item, ideal cluster or actual cluster of a stored run.

    \b
    Example:
      pointwise explain runs/monday --item US10000128-1
      pointwise explain runs/monday --ideal-cluster inventor-065
    """
    from pointwise.answers.explanations import ItemExplanation

    asked = {
        name: _only(given, name)
        for name, given in (("item", item), ("ideal_cluster", ideal_cluster), ("actual_cluster", actual_cluster))
    }
    with opened(run, threads=threads) as evaluation:
        found = evaluation.explain(**asked, limit=limit)
        if isinstance(found, ItemExplanation):
            _put_item(found, kind)
        else:
            _put_cluster(found, kind)


def _only(given: list[str] | None, name: str) -> str | None:
    """Return the one thing that was asked for; of an option that is given twice, the first would be lost silently."""
    if given and len(given) > 1:
        raise UsageError(f"Explain one thing at a time: {name}=... was given {len(given)} times.")
    return given[0] if given else None


def _put_item(found: ItemExplanation, kind: Format) -> None:
    if kind is Format.table:
        output.put_text(str(found))
        return
    facts = asdict(found)
    del facts["shown"]
    names = ("true_positives", "false_positives", "false_negatives", "true_negatives")
    rows = [{"set": name, **facts[name]} for name in names]
    title = f"Item {found.item}: ideal cluster {found.ideal_cluster}, actual cluster {found.actual_cluster}"
    output.put_rows(title, rows, kind, columns=["set", "count", "weight", "items"], whole=facts)


def _put_cluster(found: ClusterExplanation, kind: Format) -> None:
    if kind is Format.table:
        output.put_text(str(found))
        return
    rows = found.cells.to_dicts()
    facts = {"side": found.side, "cluster": found.cluster, "items": found.items, "weight": found.weight}
    title = f"The {found.side} cluster {found.cluster}"
    output.put_rows(title, rows, kind, columns=found.cells.columns, whole=facts | {"cells": rows})


@app.command()
def mistakes(
    run: options.Run,
    *,
    limit: Annotated[
        int, typer.Option("--limit", "-n", min=1, max=options.MOST_ROWS, metavar="N", help="How many to list.")
    ] = 20,
    which: Annotated[Kind, typer.Option("--kind", help="Which mistakes to list.")] = Kind.both,
    threads: options.Threads = None,
    kind: options.FormatOption = Format.table,
) -> None:
    """List what was merged or split wrongly, by what it costs.

    The costs of all mistakes add up to the over-merge rate (1 - precision) and the under-merge rate (1 - recall).

    \b
    Example:
      pointwise mistakes runs/monday
      pointwise mistakes runs/monday --kind under-merge --limit 100 --format csv
    """
    with opened(run, threads=threads) as evaluation:
        found = evaluation.mistakes(limit, kind=which.value)
        if kind is Format.table:
            output.put_text(repr(found))
        else:
            _put_mistakes(found, kind)


def _put_mistakes(found: Mistakes, kind: Format) -> None:
    rest = [asdict(rest) for rest in found.rest]
    rows = found.to_dicts()
    whole = {"rates": dict(found.rates), "mistakes": rows, "rest": rest}
    names = {"over_merge_rate": "other over-merges", "under_merge_rate": "other under-merges"}
    others = [
        {"kind": names[r.rate], "cost": r.cost, "share_of_rate": r.share, "cluster": f"{r.count:,} more"}
        for r in found.rest
        if r.count
    ]
    output.put_rows("Mistakes", [*rows, *others], kind, columns=found.columns, whole=whole)


@app.command()
def coverage(run: options.Run, *, kind: options.FormatOption = Format.table) -> None:
    """Show how far the ground truth and the actual clustering of a stored run speak of the same items.

    \b
    Example:
      pointwise coverage runs/monday
    """
    from pointwise.text.values import format_value

    with opened(run) as evaluation:
        numbers = evaluation.coverage.to_dict()
        rows: list[dict[str, Any]] = [{"name": name, "value": value} for name, value in numbers.items()]
        if kind in (Format.table, Format.markdown):
            texts = {name: format_value(name, value) for name, value in numbers.items()}
            width = max(map(len, texts.values()))
            rows = [{"name": name, "value": text.rjust(width)} for name, text in texts.items()]
        output.put_rows("Coverage", rows, kind, whole=numbers)


@app.command("slice")
def slice_run(
    run: options.Run,
    *,
    slices: options.Slices = None,
    attributes: options.Attributes = None,
    worst: Annotated[
        str | None, typer.Option(metavar="METRIC", help="Show the rows where this metric is worst.")
    ] = None,
    metrics: options.Metrics = None,
    limit: options.Limit = None,
    memory_limit: options.MemoryLimit = None,
    threads: options.Threads = None,
    kind: options.FormatOption = Format.table,
) -> None:
    """Slice a stored run anew, also by attributes that came later. The original inputs are not needed.

    \b
    Example:
      pointwise slice runs/monday --attributes about.parquet --slice country
      pointwise slice runs/monday --slice ideal_cluster_size
    """
    from pointwise.answers.slices import say_what_to_slice_by

    with stdin.files(attributes) as (known,), opened(run, memory_limit=memory_limit, threads=threads) as evaluation:
        chosen = evaluation.with_metrics(*metrics) if metrics else evaluation
        if known is not None:
            chosen = chosen.with_attributes(known)
        if not slices:
            raise UsageError(say_what_to_slice_by(chosen.evidence.slice_schema))
        table = chosen.by_slice(*slices)
        output.put_table(table.worst(worst, limit or output.SHOWN_ROWS) if worst else table, kind, limit=limit)


@app.command()
def runs(
    folder: Annotated[str, typer.Argument(metavar="DIR", help="A folder with stored runs, at any depth.")],
    *,
    sort: Annotated[
        str, typer.Option(metavar="COLUMN", help="Column to sort by: created, run or a metric.")
    ] = "created",
    limit: options.Limit = None,
    kind: options.FormatOption = Format.table,
) -> None:
    """List all stored runs below a folder with their overall metrics and coverage, oldest first.

    A run that is damaged is listed with its problem.

    \b
    Example:
      pointwise runs runs
      pointwise runs runs --sort run --format csv
    """
    from pointwise.store.history import history

    table = history(folder).sort(sort)
    if kind in (Format.table, Format.markdown):
        _put_history(table, kind, limit)
    else:
        output.put_table(table, kind, limit=limit)


def _put_history(table: MetricTable, kind: Format, limit: int | None) -> None:
    rows = (table if limit is None else table.head(limit)).to_dicts()
    columns = [c for c in table.columns if c != "problem"]
    for row in rows:
        if row["problem"]:
            output.say(f"Warning: {row['problem']}")
        row["created"] = _to_the_minute(row["created"])
    output.put_rows(table.title, rows, kind, columns=columns, note="" if rows else "There are none.")


def _to_the_minute(time: str | None) -> str | None:
    return None if time is None else time[:16].replace("T", " ")
