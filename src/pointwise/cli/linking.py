"""Commands for links: cluster and sweep."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from pointwise.cli import options, output, stdin
from pointwise.cli.app import app
from pointwise.cli.live import progress
from pointwise.cli.options import Format
from pointwise.columns import CLUSTER, ITEM
from pointwise.errors import UsageError
from pointwise.inputs.options import CONFIDENCE
from pointwise.text.values import format_count

_CHOOSING = "Choosing a threshold"

LinksFile = Annotated[
    str, typer.Argument(metavar="LINKS", help="Pairs of items: a file, a folder or a glob. - is standard input.")
]


@app.command()
def cluster(
    links: LinksFile,
    *,
    path: Annotated[
        str, typer.Option("--output", "-o", metavar="FILE", help="The file to write: .parquet, .csv, .json or .jsonl.")
    ],
    left: options.Left = None,
    right: options.Right = None,
    score: options.Score = None,
    threshold: options.Threshold = None,
    items: options.LinkItems = None,
    answer: options.Answer = None,
    contradictions: options.ContradictionsPolicy = "error",
    layout: options.LinksLayout = None,
    guard_formulas: options.GuardFormulas = False,
) -> None:
    """Cluster items by the links between them: a cluster is a connected component.

    A link counts if its score is at least the threshold, or if its answer is yes. The id of a cluster is the least id
    of its items.

    \b
    Example:
      pointwise cluster pairs.parquet --left a --right b --score probability --threshold 0.9 -o clusters.parquet
      pointwise cluster judged.csv --answer same -o truth.csv
    """
    from pointwise.engines import start_engine
    from pointwise.engines.base import load_own
    from pointwise.inputs.links import Links
    from pointwise.results import check_guard, write_frame

    if guard_formulas:
        check_guard(path)

    ends: dict[str, Any] = {"left": options.read_plain(left, "--left"), "right": options.read_plain(right, "--right")}
    with progress("reading", "writing"), stdin.files(links, items) as (pairs, alone):
        engine = start_engine()
        given = Links(
            pairs,
            **ends,
            score=score,
            threshold=threshold,
            items=alone,
            answer=answer,
            contradictions=contradictions,
            layout=layout,
        )
        opened = given.open(engine, role="links")
        frame = load_own(opened, (ITEM, CLUSTER))
        write_frame(frame, path, engine, guard_formulas=guard_formulas)
        table = engine.collect(frame)
    if opened.note is not None:
        output.say(f"{opened.note}.")
    clusters = len(table[CLUSTER].unique())
    found = f"{format_count(len(table), 'item')} in {format_count(clusters, 'cluster')}"
    output.say(f"Wrote {found} to {path}.")


@app.command()
def sweep(
    ideal: Annotated[
        str, typer.Argument(metavar="IDEAL", help="The ground truth: a file, a folder or a glob. - is standard input.")
    ],
    links: LinksFile,
    *,
    left: options.Left = None,
    right: options.Right = None,
    score: options.Score = None,
    items: options.LinkItems = None,
    thresholds: Annotated[
        str,
        typer.Option(
            metavar="NUMBER|LIST",
            help="How many thresholds to try, or which: 0.5,0.8,0.9.",
            rich_help_panel=_CHOOSING,
        ),
    ] = "100",
    best: Annotated[
        str, typer.Option(metavar="METRIC", help="Choose the threshold with the best value.", rich_help_panel=_CHOOSING)
    ] = "f1",
    least: Annotated[
        list[str] | None,
        typer.Option(
            "--min",
            metavar="METRIC=VALUE",
            help="What the chosen threshold must reach, such as precision=0.95.",
            rich_help_panel=_CHOOSING,
        ),
    ] = None,
    chart: Annotated[
        str | None,
        typer.Option(metavar="FILE", help="Draw precision and recall: .html, .svg or .png.", rich_help_panel=_CHOOSING),
    ] = None,
    item: options.Item = None,
    cluster: options.Cluster = None,
    weight: options.Weight = None,
    weights: options.Weights = None,
    metrics: options.Metrics = None,
    outside: options.OutsidePolicy = None,
    missing: options.MissingPolicy = None,
    unassigned: options.Unassigned = None,
    unassigned_labels: options.UnassignedLabels = None,
    sampling: options.Sampling = None,
    drawn: options.Drawn = None,
    population: options.Population = None,
    strata: options.Strata = None,
    intervals: options.Intervals = True,
    confidence: options.Confidence = CONFIDENCE,
    layout: options.Layout = None,
    memory_limit: options.MemoryLimit = None,
    threads: options.Threads = None,
    kind: options.FormatOption = Format.table,
) -> None:
    """Evaluate the clusters that scored links make at many thresholds, and choose one.

    \b
    Example:
      pointwise sweep truth.parquet pairs.parquet --left a --right b --score probability
      pointwise sweep truth.parquet pairs.parquet --best recall --min precision=0.95 --chart thresholds.html
    """
    settings = options.read_settings(locals())
    from pointwise.thresholds.sweeping import sweep as sweep_links

    ends: dict[str, Any] = {"left": options.read_plain(left, "--left"), "right": options.read_plain(right, "--right")}
    with (
        progress("reading", "aligning", "cross-tabulating", "sweeping"),
        stdin.files(ideal, links, weights, items) as (truth, pairs, weighed, alone),
    ):
        settings |= {"weights": weighed, "items": alone, "thresholds": read_thresholds(thresholds)}
        settings |= {"layout": options.read_choice(layout, ("ideal", "links"))}
        with sweep_links(ideal=truth, links=pairs, **ends, score=score, **settings) as found:
            choice = found.best(best, **options.read_limits(least, "--min"))
            rows, text = found.to_dicts(), repr(found)
            if chart is not None:
                found.plot(choice).save(chart)
    if kind is Format.table:
        output.put_text(text)
    else:
        output.put_result(found, kind, whole={"thresholds": rows, "best": dict(choice.values)})
    output.say(f"Best {best}: {choice[best]:.4f} at threshold {choice.threshold:.10g}.")


def read_thresholds(given: str) -> int | list[float]:
    """Read a number of thresholds, or the thresholds themselves."""
    try:
        return int(given) if given.strip().isdigit() else [float(text) for text in given.split(",")]
    except ValueError:
        raise UsageError(f"--thresholds {given!r} is neither a whole number nor a list such as 0.5,0.8.") from None
