"""Commands that ask questions of stored runs: show, explain, mistakes, coverage, slice, runs."""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, replace
from enum import StrEnum
from typing import TYPE_CHECKING, Annotated, Any

import typer

from pointwise.cli import options, output, stdin
from pointwise.cli.app import app
from pointwise.cli.diffing import draw_diff, is_diff, opened_diff
from pointwise.cli.evaluating import draw_overall, evaluation_facts
from pointwise.cli.live import progress
from pointwise.cli.options import Format
from pointwise.cli.wording import translate
from pointwise.errors import UsageError
from pointwise.inputs.options import MistakeKind, MistakesBy, Pairs
from pointwise.text.values import SHOWN_ROWS

if TYPE_CHECKING:
    from pointwise.answers.mistakes import Mistakes
    from pointwise.answers.tables import MetricTable
    from pointwise.comparison.comparison import Comparison
    from pointwise.diffs.diff import Diff
    from pointwise.evaluation import Evaluation


class Level(StrEnum):
    """What a row of a table stands for."""

    overall = "overall"
    ideal_cluster = "ideal-cluster"
    actual_cluster = "actual-cluster"
    baseline_cluster = "baseline-cluster"
    experiment_cluster = "experiment-cluster"
    slice = "slice"
    item = "item"
    change = "change"
    fate = "fate"


_OF_RUNS = (Level.overall, Level.ideal_cluster, Level.actual_cluster, Level.slice, Level.item)
_OF_DIFFS = (*(level for level in Level if level not in _OF_RUNS), Level.overall, Level.slice, Level.item)


@contextmanager
def opened_run(run: str, *, memory_limit: str | None = None, threads: int | None = None) -> Iterator[Evaluation]:
    """Load a run and close it at the end; Python's warnings go to standard error."""
    from pointwise.evaluation import load

    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        with progress("reading"), load(run, memory_limit=memory_limit, threads=threads) as evaluation:
            for warning in caught:
                output.say(f"Warning: {translate(str(warning.message))}")
            yield evaluation


@contextmanager
def opened_with(
    run: str, attributes: str | None, item: list[str] | None, show: str | None, **limits: Any
) -> Iterator[Evaluation]:
    """Load a run with attributes added later, to slice by and to show beside items."""
    with stdin.files(attributes) as (known,), opened_run(run, **limits) as evaluation:
        if known is not None:
            evaluation = evaluation.with_attributes(known, item=options.read_plain(item, "--item"))  # noqa: PLW2901
        yield evaluation if show is None else evaluation.with_shown(*options.read_names(show))


@app.command()
def show(
    run: options.Stored,
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
    columns: options.Show = None,
    attributes: options.Attributes = None,
    item: options.AttributeItem = None,
    related: options.Related = False,
    pairs: options.PairsOption = "counts",
    limit: options.Limit = None,
    memory_limit: options.MemoryLimit = None,
    threads: options.Threads = None,
    kind: options.FormatOption = Format.table,
) -> None:
    """Show the metrics of a stored run or diff: overall, or by cluster, slice or item. Show a stored comparison again.

    For a diff, there are also its splits and merges (--by change) and what became of each baseline cluster (--by fate).
    A table for people shows 20 rows unless --limit says otherwise; JSON and CSV hold all rows.

    \b
    Example:
      pointwise show runs/monday
      pointwise show diffs/tuesday --by change --limit 50
      pointwise show runs/monday --by ideal-cluster --worst recall --limit 10
      pointwise show runs/monday --by item --where "precision < 0.5" --format csv
    """
    if by in (Level.overall, Level.slice) and is_comparison(run):
        _put_comparison(
            run, kind, limit=limit, slices=slices or (), others=(worst, where, metrics), related=related, pairs=pairs
        )
        return
    if is_diff(run):
        if columns is not None or attributes is not None or related:
            raise UsageError("--show, --attributes and --related are for runs and comparisons.")
        _check_level(by, _OF_DIFFS, "diff")
        with opened_diff(run, memory_limit=memory_limit, threads=threads) as found:
            _put_diff(found, by, kind, asked=(slices, worst, where, metrics, limit))
        return
    _check_level(by, _OF_RUNS, "run")
    with opened_with(run, attributes, item, columns, memory_limit=memory_limit, threads=threads) as evaluation:
        chosen = evaluation.with_metrics(*metrics) if metrics else evaluation
        if related:
            if by is not Level.overall or any((worst, where, limit, slices)):
                raise UsageError("--related shows metrics of everything together, and goes without --by and filters.")
            output.put_result(chosen.related(pairs=pairs), kind)
            return
        if by is Level.overall:
            _put_overall(chosen, kind, filters=(worst, where, limit, slices))
            return
        _put_level(_level(chosen, by, slices), kind, where=where, worst=worst, limit=limit)


def _put_level(table: MetricTable, kind: Format, *, where: str | None, worst: str | None, limit: int | None) -> None:
    if where is not None:
        table = table.where(where)
    if worst is not None:
        table = table.worst(worst, limit or SHOWN_ROWS)
    output.put_table(table, kind, limit=limit)


def _check_level(by: Level, known: tuple[Level, ...], noun: str) -> None:
    if by not in known:
        raise UsageError(f"--by {by.value} is not for a {noun}, which has {', '.join(level.value for level in known)}.")


def _put_diff(found: Diff, by: Level, kind: Format, *, asked: tuple[Any, ...]) -> None:
    """Write a stored diff: overall, or with the requested rows."""
    slices, worst, where, metrics, limit = asked
    if slices and by is not Level.slice:
        raise UsageError("--slice needs --by slice.")
    if by in (Level.overall, Level.change):
        if any((worst, where, metrics)):
            raise UsageError("--worst, --where and --metric need --by with a cluster, slice, item or fate.")
        if by is Level.overall:
            output.put_text(draw_diff(found, kind, limit=limit))
        else:
            output.put_result(found.changes(limit or SHOWN_ROWS), kind)
        return
    if by is Level.fate:
        table = found.fates()
    elif by is Level.slice:
        table = found.by_slice(*(slices or ()), metrics=metrics)
    else:
        tables = {Level.item: found.by_item, Level.baseline_cluster: found.by_baseline_cluster}
        table = tables.get(by, found.by_experiment_cluster)(metrics=metrics)
    _put_level(table, kind, where=where, worst=worst, limit=limit)


def is_comparison(path: str) -> bool:
    """Tell whether a folder is a stored comparison."""
    from pointwise.store.manifest import COMPARISON
    from pointwise.store.places import kind_at

    return kind_at(path) is COMPARISON


def _put_comparison(
    path: str,
    kind: Format,
    *,
    limit: int | None,
    slices: Sequence[str],
    others: tuple[Any, ...],
    related: bool,
    pairs: Pairs,
) -> None:
    from pointwise.cli.comparing import draw_comparison
    from pointwise.comparison.comparison import load_comparison

    if any(others):
        raise UsageError(f"{path!r} is a stored comparison: --worst, --where and --metric are for runs.")
    with progress("reading"), load_comparison(path) as comparison:
        text = draw_comparison(comparison, slices, kind, limit=limit, has_related=related, pairs=pairs)
        output.put_text(text)


@contextmanager
def opened_comparison(
    path: str, attributes: str | None, item: list[str] | None, show: str | None
) -> Iterator[Comparison]:
    """Load a comparison with attributes added later, to show beside items, and close it at the end."""
    from pointwise.comparison.comparison import load_comparison

    with progress("reading"), stdin.files(attributes) as (known,), load_comparison(path) as comparison:
        if known is not None:
            comparison = comparison.with_attributes(known, item=options.read_plain(item, "--item"))  # noqa: PLW2901
        yield comparison if show is None else comparison.with_shown(*options.read_names(show))


@app.command()
def changes(
    comparison: Annotated[
        str, typer.Argument(metavar="COMPARISON", help="A stored comparison: the folder that compare --save made.")
    ],
    *,
    experiment: Annotated[
        str | None, typer.Option(metavar="NAME", help="The variant to look at.", show_default="the only other one")
    ] = None,
    baseline: Annotated[
        str | None,
        typer.Option(metavar="NAME", help="The variant to measure against.", show_default="that of the comparison"),
    ] = None,
    show: options.Show = None,
    attributes: options.Attributes = None,
    item: options.AttributeItem = None,
    limit: options.Limit = None,
    kind: options.FormatOption = Format.table,
) -> None:
    """Say what changed between two variants of a stored comparison: clusters gained and lost, and items that moved.

    CSV holds the ideal clusters with what happened to each.

    \b
    Example:
      pointwise changes comparisons/releases
      pointwise changes comparisons/releases --experiment 2022 --attributes about.parquet --show name,city
    """
    with opened_comparison(comparison, attributes, item, show) as found:
        pair = {"experiment": experiment, "baseline": baseline}
        tables = {
            "counts": found.count_changes(**pair),
            "clusters": found.changes(**pair).where("change != 'unchanged'"),
            "items": found.moved_items(**pair),
        }
        if kind is Format.json:
            rows = {name: (t if limit is None else t.head(limit)).to_dicts() for name, t in tables.items()}
            output.put_text(output.draw_json(rows))
        elif kind.is_csv:
            output.put_table(tables["clusters"], kind, limit=limit)
        else:
            output.put_text("\n\n".join(output.draw_cut(t, kind, limit=limit) for t in tables.values()))


def _put_overall(evaluation: Evaluation, kind: Format, *, filters: tuple[Any, ...]) -> None:
    if any(filters):
        raise UsageError(
            "There is one overall row: --worst, --where, --limit and --slice need --by with another level."
        )
    row = evaluation.overall.to_dict()
    if kind is Format.table:
        output.put_text(draw_overall(evaluation))
    elif kind.is_csv:  # the one row of a level that has one
        output.put_text(output.draw_csv([row], list(row), kind))
    else:
        output.put_result(evaluation.overall, kind, whole=evaluation_facts(evaluation, counted=True))


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
    run: options.Stored,
    *,
    item: Annotated[
        list[str] | None,
        typer.Option(
            metavar="ID",
            help="An item: which items it is with, and should be. Where several columns identify it: 'web|1', with a "
            "backslash before a | or a backslash of theirs.",
        ),
    ] = None,
    ideal_cluster: Annotated[
        list[str] | None, typer.Option(metavar="ID", help="An ideal cluster: where its items went.")
    ] = None,
    actual_cluster: Annotated[
        list[str] | None, typer.Option(metavar="ID", help="An actual cluster: where its items come from.")
    ] = None,
    baseline_cluster: Annotated[
        list[str] | None, typer.Option(metavar="ID", help="A baseline cluster of a diff: where its items went.")
    ] = None,
    experiment_cluster: Annotated[
        list[str] | None, typer.Option(metavar="ID", help="An experiment cluster: where its items come from.")
    ] = None,
    limit: Annotated[
        int,
        typer.Option(
            "--limit", "-n", min=1, metavar="N", help="How many items of a set, or cells of a cluster, to list."
        ),
    ] = SHOWN_ROWS,
    show: options.Show = None,
    attributes: options.Attributes = None,
    threads: options.Threads = None,
    kind: options.FormatOption = Format.table,
) -> None:
    """Explain one item or cluster of a stored run or diff, or how the variants of a stored comparison treated it.

    \b
    Example:
      pointwise explain runs/monday --item US10000128-1
      pointwise explain runs/monday --ideal-cluster inventor-065
      pointwise explain diffs/tuesday --baseline-cluster 76
      pointwise explain comparisons/releases --ideal-cluster inventor-065
    """
    of_runs = {"ideal_cluster": _only(ideal_cluster, "ideal_cluster")}
    of_runs |= {"actual_cluster": _only(actual_cluster, "actual_cluster")}
    of_diffs = {"baseline_cluster": _only(baseline_cluster, "baseline_cluster")}
    of_diffs |= {"experiment_cluster": _only(experiment_cluster, "experiment_cluster")}
    own, others, noun = (of_diffs, of_runs, "diff") if is_diff(run) else (of_runs, of_diffs, "run")
    for name in (name for name, given in others.items() if given is not None):
        raise UsageError(f"--{name.replace('_', '-')} is not for a {noun}: {' or '.join(f'{n}=...' for n in own)} is.")
    if is_comparison(run):
        if own.pop("actual_cluster") is not None:
            raise UsageError("--actual-cluster is not for a comparison: ideal_cluster=... or item=... is.")
        opening: Any = opened_comparison(run, attributes, None, show)
    elif is_diff(run):
        if show is not None or attributes is not None:
            raise UsageError("--show and --attributes are for runs and comparisons.")
        opening = opened_diff(run, threads=threads)
    else:
        opening = opened_with(run, attributes, None, show, threads=threads)
    with opening as holder:
        found = holder.explain(item=_only(item, "item"), **own, limit=limit)
        output.put_result(found, kind, whole=found.to_dict())


def _only(given: list[str] | None, name: str) -> str | None:
    """Return the one value given; an option given twice would silently lose the first."""
    if given and len(given) > 1:
        raise UsageError(f"Explain one thing at a time: {name}=... was given {len(given)} times.")
    return given[0] if given else None


@app.command()
def mistakes(
    run: options.Run,
    *,
    limit: Annotated[int, typer.Option("--limit", "-n", min=1, metavar="N", help="How many to list.")] = SHOWN_ROWS,
    which: Annotated[MistakeKind, typer.Option("--kind", help="Which mistakes to list.")] = "both",
    by: Annotated[
        MistakesBy,
        typer.Option("--by", help="What a mistake is: a cluster that merges or was split, or two parts of one."),
    ] = "cluster",
    show: options.Show = None,
    attributes: options.Attributes = None,
    item: options.AttributeItem = None,
    threads: options.Threads = None,
    kind: options.FormatOption = Format.table,
) -> None:
    """List what was merged or split wrongly, by what it costs.

    The costs of all mistakes add up to the over-merge rate (1 - precision) and the under-merge rate (1 - recall).

    \b
    Example:
      pointwise mistakes runs/monday
      pointwise mistakes runs/monday --attributes about.parquet --show name,city
      pointwise mistakes runs/monday --kind under-merge --limit 100 --format csv
    """
    with opened_with(run, attributes, item, show, threads=threads) as evaluation:
        found = evaluation.mistakes(limit, kind=which, by=by)
        if kind.is_csv:
            output.put_text(output.draw_csv(_as_rows(found), [*found.columns, _NUMBER], kind))
            return
        rest = [asdict(rest) for rest in found.rest]
        whole = {"rates": dict(found.rates), "mistakes": found.to_dicts(), "rest": rest}
        output.put_result(found, kind, whole=whole)


_NUMBER = "mistakes"


def _as_rows(found: Mistakes) -> list[dict[str, Any]]:
    """Return the mistakes listed and the rest of each rate, with how many mistakes a row stands for."""
    names = {"over_merge_rate": "other over-merges", "under_merge_rate": "other under-merges"}
    others = [
        {"kind": names[rest.rate], "cost": rest.cost, "share_of_rate": rest.share, _NUMBER: rest.count}
        for rest in found.rest
        if rest.count
    ]
    return [*(row | {_NUMBER: 1} for row in found.to_dicts()), *others]


@app.command()
def coverage(run: options.Run, *, kind: options.FormatOption = Format.table) -> None:
    """Show how far the truth and the actual clustering of a stored run share items.

    \b
    Example:
      pointwise coverage runs/monday
    """
    with opened_run(run) as evaluation:
        output.put_result(evaluation.coverage, kind, whole=evaluation.coverage.to_dict())


@app.command("slice")
def slice_run(
    run: options.Run,
    *,
    slices: options.Slices = None,
    attributes: options.Attributes = None,
    item: options.Item = None,
    worst: Annotated[
        str | None, typer.Option(metavar="METRIC", help="Show the rows where this metric is worst.")
    ] = None,
    metrics: options.Metrics = None,
    limit: options.Limit = None,
    memory_limit: options.MemoryLimit = None,
    threads: options.Threads = None,
    kind: options.FormatOption = Format.table,
) -> None:
    """Slice a stored run again, also by attributes added later. The original inputs are not needed.

    \b
    Example:
      pointwise slice runs/monday --attributes about.parquet --slice country
      pointwise slice runs/monday --slice ideal_cluster_size
    """
    from pointwise.answers.slices import say_what_to_slice_by

    with opened_with(run, attributes, item, None, memory_limit=memory_limit, threads=threads) as evaluation:
        chosen = evaluation.with_metrics(*metrics) if metrics else evaluation
        if not slices:
            raise UsageError(say_what_to_slice_by(chosen.evidence.slice_schema))
        table = chosen.by_slice(*slices)
        output.put_table(table.worst(worst, limit or SHOWN_ROWS) if worst else table, kind, limit=limit)


@app.command("slices")
def search_slices(
    run: options.Run,
    *,
    find: Annotated[
        str, typer.Option("--find", metavar="METRIC", help="The metric that is worse in a slice.")
    ] = "recall",
    columns: Annotated[
        list[str] | None,
        typer.Option("--column", metavar="COLUMN", help="A column to look at; repeat for several.", show_default="all"),
    ] = None,
    attributes: options.Attributes = None,
    item: options.AttributeItem = None,
    limit: Annotated[int, typer.Option("--limit", "-n", min=1, metavar="N", help="How many to list.")] = SHOWN_ROWS,
    threads: options.Threads = None,
    kind: options.FormatOption = Format.table,
) -> None:
    """Find the slices of a stored run for which a metric is clearly worse than for all other items.

    Values of columns, bands of numbers and dates, and pairs of columns are tried. Results are conditions for --slice.

    \b
    Example:
      pointwise slices runs/monday --find recall
      pointwise slices runs/monday --find precision --attributes about.parquet --column country --column year
    """
    from pointwise.answers.discovery import find_slices

    with opened_with(run, attributes, item, None, threads=threads) as evaluation:
        output.put_result(find_slices(evaluation, find, columns=columns or None, limit=limit), kind)


@app.command()
def runs(
    folder: Annotated[str, typer.Argument(metavar="DIR", help="A folder with stored runs or diffs, at any depth.")],
    *,
    sort: Annotated[
        str, typer.Option(metavar="COLUMN", help="Column to sort by: created, run or a metric.")
    ] = "created",
    diffs: Annotated[bool, typer.Option("--diffs", help="List stored diffs instead.")] = False,
    limit: options.Limit = None,
    kind: options.FormatOption = Format.table,
) -> None:
    """List all stored runs below a folder with their overall metrics and coverage, oldest first.

    All runs are listed unless --limit says otherwise. A run that is damaged is listed with its problem,
    as far as its manifest and the sizes of its files show it; `pointwise show` compares checksums, too.

    \b
    Example:
      pointwise runs runs
      pointwise runs diffs --diffs
      pointwise runs runs --sort run --format csv
    """
    from pointwise.store.history import history

    table = history(folder, of="diffs" if diffs else "runs").sort("diff" if diffs and sort == "run" else sort)
    if kind in (Format.table, Format.markdown):
        _put_history(table, kind, limit)
    else:
        output.put_table(table, kind, limit=limit)


def _put_history(table: MetricTable, kind: Format, limit: int | None) -> None:
    drawing = table.drawing(len(table) if limit is None else limit)
    for row in drawing.rows:
        if row["problem"]:
            output.say(f"Warning: {row['problem']}")
    rows = [{**row, "created": _to_the_minute(row["created"])} for row in drawing.rows]
    columns = [column for column in drawing.columns if column.name != "problem"]
    note = drawing.note if rows else "There are none."
    output.put_rows(replace(drawing, columns=columns, rows=rows, note=note), kind)


def _to_the_minute(time: str | None) -> str | None:
    return None if time is None else time[:16].replace("T", " ")
