"""The command that looks at two clusterings without a truth: diff."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Annotated, Any

import typer

from pointwise.cli import options, output, stdin
from pointwise.cli.app import app
from pointwise.cli.live import progress
from pointwise.cli.options import Format
from pointwise.cli.wording import translate

if TYPE_CHECKING:
    from pointwise.diffs.diff import Diff

_STORING = "Storing the diff"
_CHANGES = 5  # that are listed unless a limit is given


@contextmanager
def opened_diff(path: str, *, memory_limit: str | None = None, threads: int | None = None) -> Iterator[Diff]:
    """Load a stored diff and close it at the end; Python's warnings go to standard error."""
    from pointwise.diffs.diff import load_diff

    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        with progress("reading"), load_diff(path, memory_limit=memory_limit, threads=threads) as found:
            for warning in caught:
                output.say(f"Warning: {translate(str(warning.message))}")
            yield found


def is_diff(path: str) -> bool:
    """Tell whether a folder is a stored diff."""
    from pointwise.store.manifest import DIFF
    from pointwise.store.places import kind_at

    return kind_at(path) is DIFF


@app.command()
def diff(
    baseline: Annotated[
        str,
        typer.Argument(
            metavar="BASE", help="A clustering, such as yesterday's: a file, a folder or a glob. - is standard input."
        ),
    ],
    experiment: Annotated[
        str,
        typer.Argument(metavar="EXP", help="Another one, such as today's; or the word singletons: every item alone."),
    ],
    *,
    item: options.DiffItem = None,
    cluster: options.Cluster = None,
    weight: options.Weight = None,
    weights: options.Weights = None,
    attributes: Annotated[
        str | None,
        typer.Option(
            "--attributes",
            metavar="FILE",
            help="Items and what is known about them, to slice by and to show to judges. - is standard input.",
        ),
    ] = None,
    slices: options.Slices = None,
    on: options.DiffItems = "common",
    unassigned: options.DiffUnassigned = None,
    unassigned_labels: options.UnassignedLabels = None,
    header: options.Header = True,
    headerless: options.Headerless = None,
    save: Annotated[
        str | None,
        typer.Option(
            metavar="DIFF", help="Store the diff in this folder, for all other commands.", rich_help_panel=_STORING
        ),
    ] = None,
    overwrite: Annotated[
        bool, typer.Option("--overwrite", help="Replace a diff that already exists.", rich_help_panel=_STORING)
    ] = False,
    html: options.Html = None,
    memory_limit: options.MemoryLimit = None,
    threads: options.Threads = None,
    engine: options.EngineOption = "duckdb",
    master: options.Master = None,
    conf: options.Conf = None,
    limit: options.Limit = None,
    kind: options.FormatOption = Format.table,
) -> None:
    """Find what changed between two clusterings of the same items. No truth is needed.

    To find out whether the change is good, store the diff, then draw questions and answer them with pointwise judge.

    \b
    Example:
      pointwise diff monday.parquet tuesday.parquet --save diffs/tuesday
      pointwise diff monday.parquet tuesday.parquet --attributes about.parquet --slice country
      pointwise diff clusters.parquet singletons --save diffs/precision
    """
    settings = options.read_settings(locals(), options.DIFF_TABLES)
    from pointwise.diffs.diffing import diff as find_diff
    from pointwise.store.manifest import DIFF
    from pointwise.store.places import check_place

    if save is not None:
        check_place(save, overwrite=overwrite, kind=DIFF)
    with (
        progress("reading", "aligning", "cross-tabulating", "writing"),
        stdin.files(baseline, experiment, weights, attributes) as (base, exp, weighed, known),
    ):
        settings |= {
            "weights": weighed,
            "attributes": known,
            "engine": options.engine_from_options(engine, master, conf),
        }
        with find_diff(baseline=base, experiment=exp, on=on, **settings) as found:
            if save is not None:
                found.save(save, overwrite=overwrite)
            if html is not None:
                found.report(html)
            text = draw_diff(found, kind, limit=limit)
    output.put_text(text)
    if save is not None:
        output.say(f"Stored the diff in {save}.")
    if html is not None:
        output.say(f"Wrote the report to {html}.")


def draw_diff(diff: Diff, kind: Format, *, limit: int | None) -> str:
    """Write how much changed, what became of the clusters, the costliest changes, and the requested slices."""
    lineage, changes = diff.lineage(), diff.changes(limit or _CHANGES)
    slices = diff.by_slice() if diff.options.slices else None
    if kind is Format.json:
        whole: dict[str, Any] = {"extent": diff.extent.to_dict(), "overall": diff.overall.to_dict()}
        whole |= {"bounds": {name: list(ends) for name, ends in diff.overall.bounds.items()}}
        whole |= {"lineage": lineage.to_dicts(), "changes": changes.to_dicts()}
        return output.draw_json(whole | {"slices": slices.to_dicts() if slices else []})
    if kind.is_csv:
        rows = slices or diff.overall
        return output.draw_csv(rows.to_dicts(), rows.columns, kind)
    from pointwise.text.terminal import wrap

    extent = str(diff.extent) if kind is Format.markdown else wrap(str(diff.extent))
    parts = [extent, *(output.draw(result.drawing(), kind) for result in (diff.overall, lineage, changes))]
    return "\n\n".join([*parts, *([output.draw_cut(slices, kind)] if slices else [])])
