"""Commands that make results: evaluate, demo; and metrics, which lists what can be computed."""

from __future__ import annotations

from dataclasses import asdict, replace
from itertools import islice
from typing import TYPE_CHECKING, Annotated, Any

import typer

from pointwise.cli import options, output, stdin
from pointwise.cli.app import app
from pointwise.cli.live import progress
from pointwise.cli.options import Format
from pointwise.cli.wording import translate
from pointwise.columns import HIGH, IDEAL_CLUSTERS, LOW, METRIC, SLICE, VALUE, Column
from pointwise.errors import UsageError
from pointwise.inputs.options import CONFIDENCE, Pairs
from pointwise.progress import phase

if TYPE_CHECKING:
    from pointwise.evaluation import Evaluation

_STORING = "Storing the run"
_COVERING = "counting members outside the truth"


@app.command()
def evaluate(
    ideal: Annotated[
        str, typer.Argument(metavar="IDEAL", help="The ground truth: a file, a folder or a glob. - is standard input.")
    ],
    actual: Annotated[str, typer.Argument(metavar="ACTUAL", help="The clustering to evaluate, likewise.")],
    *,
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
    save: Annotated[
        str | None,
        typer.Option(
            metavar="RUN", help="Store the run in this folder, for all other commands.", rich_help_panel=_STORING
        ),
    ] = None,
    overwrite: Annotated[
        bool, typer.Option("--overwrite", help="Replace a run that already exists.", rich_help_panel=_STORING)
    ] = False,
    keep: options.Keep = False,
    html: options.Html = None,
    sampling: options.Sampling = None,
    drawn: options.Drawn = None,
    population: options.Population = None,
    strata: options.Strata = None,
    intervals: options.Intervals = True,
    confidence: options.Confidence = CONFIDENCE,
    memory_limit: options.MemoryLimit = None,
    threads: options.Threads = None,
    engine: options.EngineOption = "duckdb",
    master: options.Master = None,
    conf: options.Conf = None,
    limit: options.Limit = None,
    kind: options.FormatOption = Format.table,
) -> None:
    """Evaluate a clustering against a ground truth.

    Tables are Parquet, CSV, TSV, JSON lines or Arrow files with the columns item and cluster, or two columns.

    \b
    Example:
      pointwise evaluate truth.parquet clusters.parquet --save runs/monday
      pointwise evaluate truth.csv clusters.csv --item id --weight size \\
        --attributes about.csv --slice country --slice "year >= 2015"
      pointwise evaluate truth.csv pairs.parquet --actual-links --left a --right b --score p --threshold 0.9
    """
    given = locals()
    settings = options.read_settings(given)
    from pointwise.evaluation import evaluate as evaluate_clustering
    from pointwise.store.places import check_place

    if keep and save is None:
        raise UsageError("--keep stores the columns shown beside items with the run: add --save.")
    if save is not None:
        check_place(save, overwrite=overwrite)
    with (
        progress("reading", "aligning", "cross-tabulating", "averaging", _COVERING, "writing") as show_found,
        stdin.files(ideal, actual, weights, attributes) as (truth, clusters, weighed, known),
    ):
        settings |= {
            "weights": weighed,
            "attributes": known,
            "engine": options.engine_from_options(engine, master, conf),
        }
        settings |= {"ideal": options.links_from_options(truth, "ideal", given)}
        settings |= {"actual": options.links_from_options(clusters, "actual", given)}
        evaluation = evaluate_clustering(keep_items=bool(save or html), **settings)
        phase("averaging")
        show_found(_draw_values(evaluation))
        phase(_COVERING)
        if save is not None:
            stored = evaluation.save(save, overwrite=overwrite, keep=keep)
            evaluation = replace(evaluation, name=stored.resolve().name)
        if html is not None:
            evaluation.report(html)
        text = draw_evaluation(evaluation, kind, has_related=related, pairs=pairs, limit=limit)
    output.put_text(text)
    if save is not None:
        output.say(f"Stored the run in {save}.")
    if html is not None:
        output.say(f"Wrote the report to {html}.")


def _draw_values(evaluation: Evaluation) -> str:
    """Write the first metrics in few words, for who waits for the rest."""
    from pointwise.text.values import format_metric

    overall = evaluation.overall
    return ", ".join(f"{name} {format_metric(overall[name])}" for name in islice(overall.values, 4))


def evaluation_facts(evaluation: Evaluation, *, counted: bool) -> dict[str, Any]:
    """Return what is known about all items together, as one object for machines.

    Args:
        evaluation: What to describe.
        counted: Whether to count the actual clusters, which a stored run has done already.
    """
    chosen = evaluation.options
    return {
        "overall": evaluation.overall.to_dict(),
        "intervals": {name: asdict(interval) for name, interval in evaluation.overall.intervals.items()},
        "coverage": evaluation.coverage.to_dict(counted=counted),
        "policies": {name: getattr(chosen, name) for name in ("outside", "missing", "unassigned")},
        "warnings": evaluation.warnings,
    }


def draw_evaluation(
    evaluation: Evaluation,
    kind: Format,
    *,
    has_related: bool = False,
    pairs: Pairs = "counts",
    limit: int | None = None,
) -> str:
    """Write the overall metrics, those of the requested slices, and the related ones if requested."""
    is_sliced = bool(evaluation.options.slices)
    related = evaluation.related(pairs=pairs) if has_related else None
    if kind is Format.table:
        tables = [output.draw_cut(evaluation.by_slice(), kind, limit=limit)] if is_sliced else []
        return "\n\n".join([draw_overall(evaluation), *tables, *([repr(related)] if related else [])])
    slices = evaluation.by_slice() if is_sliced else None
    if slices is not None and limit is not None:
        slices = slices.head(limit)
    if kind is Format.markdown:
        results = [result for result in (evaluation.overall, slices, related) if result is not None]
        return "\n\n".join([_bullets(evaluation), *(result.to_markdown() for result in results)])
    rows = slices.to_dicts() if slices else []
    values = {row[METRIC]: row[VALUE] for row in related.to_dicts()} if related else {}
    if kind.is_csv:
        overall = _overall_row(evaluation) | values
        keys = [c for c in slices.columns if c not in overall] if slices else [SLICE, VALUE]
        return output.draw_csv([{SLICE: "overall"} | overall, *rows], [*keys, *overall], kind)
    whole = evaluation_facts(evaluation, counted=False) | {"slices": rows}
    return output.draw_json(whole | {"related": values} if related else whole)


def draw_overall(evaluation: Evaluation) -> str:
    """Draw coverage, warnings and the overall metrics for a terminal."""
    from pointwise.text.terminal import wrap

    warnings = (f"Warning: {translate(warning)}" for warning in evaluation.warnings)
    return "\n".join([*map(wrap, (*evaluation.summary(), *warnings)), "", repr(evaluation.overall)])


def _overall_row(evaluation: Evaluation) -> dict[str, Any]:
    """Write the overall metrics as a row of a table of slices, with the ends of their intervals."""
    row: dict[str, Any] = evaluation.overall.to_dict()
    if not evaluation.shows_intervals:
        return row
    intervals = evaluation.overall.intervals
    row[IDEAL_CLUSTERS] = max((i.ideal_clusters for i in intervals.values()), default=None)
    for name, interval in intervals.items():
        row |= {name + LOW: interval.low, name + HIGH: interval.high}
    return row


def _bullets(evaluation: Evaluation) -> str:
    return "\n".join(f"- {line}" for line in [*evaluation.summary(), *map(translate, evaluation.warnings)])


@app.command()
def metrics(kind: options.FormatOption = Format.table) -> None:
    """List all metrics: formula, range, direction and meaning.

    \b
    Example:
      pointwise metrics
      pointwise metrics --format markdown
    """
    from pointwise.core.metrics import METRICS
    from pointwise.text.drawing import Drawing

    rows = [
        {
            "name": metric.name,
            "formula": metric.text,
            "range": f"{metric.range[0]:g} to {metric.range[1]:g}",
            "better": metric.better,
            "meaning": metric.summary,
        }
        for metric in METRICS.values()
    ]
    output.put_rows(Drawing("Metrics", [Column(name) for name in rows[0]], rows), kind)


@app.command()
def demo() -> None:
    """Show what pointwise does, on real data that comes with it.

    \b
    Example:
      pointwise demo
    """
    from pointwise.cli.demo import run_demo

    for part in run_demo():
        output.put_text(_draw_part(part) + "\n")


def _draw_part(part: Any) -> str:
    from pointwise.evaluation import Evaluation
    from pointwise.text.terminal import wrap

    if isinstance(part, Evaluation):
        return draw_overall(part)
    return wrap(translate(part)) if isinstance(part, str) else repr(part)
