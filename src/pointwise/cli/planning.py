"""Commands about labelling: sample, which draws the items, and plan, which estimates how many clusters to label."""

from __future__ import annotations

from typing import Annotated

import typer

from pointwise.cli import options, output, stdin
from pointwise.cli.app import app
from pointwise.cli.live import progress
from pointwise.cli.looking import is_comparison, opened_run
from pointwise.cli.options import Format
from pointwise.errors import UsageError
from pointwise.inputs.options import POWER

_VALUES, _DIFFERENCES = "For a run", "For a comparison"


@app.command()
def plan(
    run: Annotated[str, typer.Argument(metavar="RUN", help="A stored run or comparison: the folder that --save made.")],
    *,
    half_width: Annotated[
        float | None,
        typer.Option(metavar="NUMBER", help="How far intervals may extend to either side.", rich_help_panel=_VALUES),
    ] = None,
    bound: Annotated[
        float | None,
        typer.Option(metavar="NUMBER", help="A value that the intervals should exclude.", rich_help_panel=_VALUES),
    ] = None,
    difference: Annotated[
        float | None,
        typer.Option(metavar="NUMBER", help="The least difference that matters.", rich_help_panel=_DIFFERENCES),
    ] = None,
    power: Annotated[
        float, typer.Option(metavar="SHARE", help="The probability of detecting it.", rich_help_panel=_DIFFERENCES)
    ] = POWER,
    experiment: Annotated[
        str | None, typer.Option(metavar="NAME", help="The variant to look at.", rich_help_panel=_DIFFERENCES)
    ] = None,
    baseline: Annotated[
        str | None, typer.Option(metavar="NAME", help="What to measure it against.", rich_help_panel=_DIFFERENCES)
    ] = None,
    tests: Annotated[
        int, typer.Option(min=1, metavar="N", help="How many such tests are made.", rich_help_panel=_DIFFERENCES)
    ] = 1,
    metrics: options.Metrics = None,
    confidence: Annotated[
        float | None,
        typer.Option(
            metavar="SHARE",
            help="How often intervals should contain the true value; by default as in the run.",
            rich_help_panel="Output",
        ),
    ] = None,
    kind: options.FormatOption = Format.table,
) -> None:
    """Estimate how many ideal clusters to label, from those of a stored run or comparison.

    \b
    Example:
      pointwise plan runs/pilot --half-width 0.01
      pointwise plan runs/pilot --metric precision --bound 0.95
      pointwise plan runs/both --metric recall --difference 0.005 --power 0.9
    """
    chosen = metrics or None
    if is_comparison(run):
        if difference is None or half_width is not None or bound is not None:
            raise UsageError(f"{run!r} is a stored comparison: say which difference to detect with difference=....")
        from pointwise.comparison.comparison import load_comparison

        with progress("reading"), load_comparison(run) as comparison:
            found = comparison.plan(
                chosen,
                difference=difference,
                power=power,
                experiment=experiment,
                baseline=baseline,
                tests=tests,
                confidence=confidence,
            )
    else:
        with opened_run(run) as evaluation:
            if difference is not None or experiment is not None or baseline is not None:
                raise UsageError(
                    f"{run!r} is a stored run: --difference, --experiment and --baseline are for comparisons."
                )
            found = evaluation.plan(chosen, half_width=half_width, bound=bound, confidence=confidence)
    output.put_result(found, kind)


@app.command()
def sample(
    actual: Annotated[
        str, typer.Argument(metavar="ACTUAL", help="The clustering to be evaluated: a file, a folder or a glob.")
    ],
    *,
    number: Annotated[int, typer.Option("--number", "-n", min=1, metavar="N", help="How many items to draw.")],
    path: Annotated[
        str, typer.Option("--output", "-o", metavar="FILE", help="The worksheet to write: .csv, .parquet or .jsonl.")
    ],
    seed: Annotated[int, typer.Option(metavar="N", help="The same seed draws the same items.")] = 0,
    item: options.Item = None,
    cluster: options.Cluster = None,
    weight: Annotated[
        str | None, typer.Option(metavar="COLUMN", help="Draw in proportion to this column, of any table.")
    ] = None,
    weights: options.Weights = None,
    attributes: Annotated[
        str | None,
        typer.Option(
            "--attributes", metavar="FILE", help="A table of items with columns that the worksheet should show."
        ),
    ] = None,
    header: options.Header = True,
    memory_limit: options.MemoryLimit = None,
    threads: options.Threads = None,
    engine: options.EngineOption = "duckdb",
    master: options.Master = None,
    conf: options.Conf = None,
) -> None:
    """Draw items whose clusters to label, and write a worksheet of them.

    Fill in the cluster of every item, and add a row for every other item of the same cluster. The worksheet is then a
    truth that records how it was drawn.

    \b
    Example:
      pointwise sample clusters.parquet --number 200 --attributes about.parquet -o worksheet.csv
      pointwise evaluate worksheet.csv clusters.parquet --outside wrong
    """
    from pointwise.text.values import format_count
    from pointwise.uncertainty.worksheets import sample_items

    with progress("reading", "writing"), stdin.files(actual, weights, attributes) as (clusters, weighed, known):
        sheet = sample_items(
            clusters,
            number,
            item=options.read_plain(item, "--item"),
            cluster=options.read_plain(cluster, "--cluster"),
            weight=weight,
            weights=weighed,
            attributes=known,
            seed=seed,
            header=header,
            memory_limit=memory_limit,
            threads=threads,
            engine=options.engine_from_options(engine, master, conf),
        )
        sheet.write(path)
    output.say(f"Wrote {format_count(len(sheet), 'item')} of {sheet.sampling.population:,} to {path}.")
