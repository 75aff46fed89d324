"""Commands that look at several clusterings: compare and distance."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from pointwise.cli import options, output
from pointwise.cli.app import app
from pointwise.cli.live import progress
from pointwise.cli.options import Format
from pointwise.cli.wording import translate
from pointwise.errors import UsageError
from pointwise.inputs.options import CONFIDENCE, Pairs

if TYPE_CHECKING:
    from pointwise.answers.tables import MetricTable
    from pointwise.comparison.comparison import Comparison

_STORING = "Storing the comparison"


@app.command()
def compare(
    ideal: Annotated[
        str, typer.Argument(metavar="IDEAL", help="The ground truth; with stored runs only, the first of them.")
    ],
    variants: Annotated[
        list[str],
        typer.Argument(
            metavar="[NAME=]VARIANT...",
            help="Clusterings or stored runs; called by their file names unless NAME= is given.",
        ),
    ],
    *,
    baseline: Annotated[
        str | None, typer.Option(metavar="NAME", help="The variant to measure the others against.")
    ] = None,
    on: options.OnItems = "own",
    item: options.Item = None,
    cluster: options.Cluster = None,
    weight: options.Weight = None,
    weights: options.Weights = None,
    attributes: options.Attributes = None,
    slices: options.Slices = None,
    show: options.Show = None,
    metrics: options.Metrics = None,
    related: options.Related = False,
    pairs: options.PairsOption = "counts",
    outside: options.OutsidePolicy = None,
    missing: options.MissingPolicy = None,
    unassigned: options.Unassigned = None,
    unassigned_labels: options.UnassignedLabels = None,
    ideal_links: options.IdealLinks = False,
    actual_links: options.ActualLinks = False,
    left: options.Left = None,
    right: options.Right = None,
    score: options.Score = None,
    threshold: options.Threshold = None,
    answer: options.Answer = None,
    contradictions: options.ContradictionsPolicy = "error",
    layout: options.Layout = None,
    header: options.Header = True,
    headerless: options.Headerless = None,
    sampling: options.Sampling = None,
    drawn: options.Drawn = None,
    population: options.Population = None,
    strata: options.Strata = None,
    intervals: options.Intervals = True,
    confidence: options.Confidence = CONFIDENCE,
    save: Annotated[
        str | None, typer.Option(metavar="DIR", help="Store the comparison in this folder.", rich_help_panel=_STORING)
    ] = None,
    overwrite: Annotated[
        bool, typer.Option("--overwrite", help="Replace a comparison that already exists.", rich_help_panel=_STORING)
    ] = False,
    keep: options.Keep = False,
    html: options.Html = None,
    memory_limit: options.MemoryLimit = None,
    threads: options.Threads = None,
    limit: options.Limit = None,
    kind: options.FormatOption = Format.table,
) -> None:
    """Compare clusterings against one ground truth: which is better, where, and with what confidence.

    \b
    Example:
      pointwise compare truth.parquet old=monday.parquet new=tuesday.parquet
      pointwise compare truth.parquet releases/*.parquet --baseline 2021-12-30 --slice country \\
        --attributes about.parquet
      pointwise compare runs/monday runs/tuesday
    """
    given = locals()
    settings = options.read_settings(given)
    from pointwise.comparison.comparing import compare as compare_clusterings
    from pointwise.store.manifest import COMPARISON
    from pointwise.store.places import check_place

    if keep and save is None:
        raise UsageError("--keep stores the columns shown beside items with the comparison: add --save.")
    if save is not None:
        check_place(save, overwrite=overwrite, kind=COMPARISON)
    truth, paths = _read_variants(ideal, variants)
    truth = options.links_from_options(truth, "ideal", given)
    named = {name: options.links_from_options(path, "actual", given) for name, path in paths.items()}
    with progress("reading", "aligning", "cross-tabulating", "writing"):
        comparison = compare_clusterings(ideal=truth, variants=named, baseline=baseline, on=on, **settings)
        if save is not None:
            comparison.save(save, overwrite=overwrite, keep=keep)
        if html is not None:
            comparison.report(html)
        text = draw_comparison(comparison, slices or (), kind, limit=limit, has_related=related, pairs=pairs)
    output.put_text(text)
    if save is not None:
        output.say(f"Stored the comparison in {save}.")
    if html is not None:
        output.say(f"Wrote the report to {html}.")


def _read_variants(ideal: str, variants: Sequence[str]) -> tuple[str | None, dict[str, str]]:
    """Name the variants; a stored run in place of the truth is one of them."""
    from pointwise.store.places import kind_at

    is_run = kind_at(ideal.partition("=")[2] or ideal) is not None
    return (None, name_sources([ideal, *variants])) if is_run else (ideal, name_sources(variants))


def name_sources(given: Sequence[str]) -> dict[str, str]:
    """Name files after themselves, unless a name comes before them: `new=tuesday.parquet`."""
    named: dict[str, str] = {}
    for text in given:
        name, separator, path = text.partition("=")
        if not separator or Path(text).exists():
            name, path = Path(text).name.split(".")[0] if Path(text).suffix else Path(text).name, text
        if name in named:
            raise UsageError(f"Two clusterings are called {name!r}. Name them: {name}-1={named[name]} {name}-2={path}.")
        named[name] = path
    return named


def draw_comparison(
    comparison: Comparison,
    slices: Sequence[str],
    kind: Format,
    *,
    limit: int | None,
    has_related: bool = False,
    pairs: Pairs = "counts",
) -> str:
    """Write the overall table, the differences, those of the requested slices, and related metrics."""
    tables: dict[str, MetricTable] = {"overall": comparison.by_variant()}
    if len(comparison.variants) > 1:
        tables["deltas"] = comparison.deltas()
        if slices:
            tables["slices"] = comparison.by_slice(*slices)
    if has_related:
        tables["related"] = comparison.related(pairs=pairs)
    if kind is Format.json:
        rows: dict[str, Any] = {name: table.to_dicts() for name, table in tables.items()}
        return output.draw_json({"notes": list(comparison.notes), "baseline": comparison.baseline, **rows})
    if kind.is_csv:
        name = list(tables)[-1] if slices or has_related else "overall"
        asked, others = tables[name], [other for other in tables if other != name]
        if others:
            output.say(f"CSV has one table, which is {name} here. --format json also has {', '.join(others)}.")
        return output.draw_csv(asked.to_dicts(), asked.columns, kind)
    from pointwise.text.terminal import wrap

    parts = [wrap(f"Note: {translate(note)}") for note in comparison.notes]
    parts += [output.draw_cut(table, kind, limit=limit) for table in tables.values()]
    return "\n\n".join(parts)


@app.command()
def distance(
    clusterings: Annotated[
        list[str],
        typer.Argument(metavar="[NAME=]CLUSTERING...", help="Two clusterings or more: files, folders or globs."),
    ],
    *,
    by: Annotated[
        str, typer.Option("--by", metavar="DISTANCE", help="The distance of sets: jaccard or symmetric_difference.")
    ] = "jaccard",
    missing: options.DistanceMissingPolicy = "drop",
    item: options.Item = None,
    cluster: options.Cluster = None,
    weight: options.Weight = None,
    weights: options.Weights = None,
    header: options.Header = True,
    kind: options.FormatOption = Format.table,
) -> None:
    """Measure how far apart clusterings are, on the items that all of them have.

    \b
    Example:
      pointwise distance monday.parquet tuesday.parquet
      pointwise distance releases/*.parquet --weights sizes.csv
    """
    from pointwise.comparison.distances import distance_matrix

    with progress("reading"):
        matrix = distance_matrix(
            name_sources(clusterings),
            by=by,
            missing=missing,
            item=options.read_plain(item, "--item"),
            cluster=options.read_plain(cluster, "--cluster"),
            weight=weight,
            weights=weights,
            header=header,
        )
    output.put_result(matrix, kind)
