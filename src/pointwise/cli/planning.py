"""Commands about labelling: plan, which says how many clusters to label."""

from __future__ import annotations

from typing import Annotated

import typer

from pointwise.cli import options, output
from pointwise.cli.app import app
from pointwise.cli.live import progress
from pointwise.cli.looking import is_comparison, opened
from pointwise.cli.options import Format
from pointwise.errors import UsageError

_VALUES, _DIFFERENCES = "For a run", "For a comparison"


@app.command()
def plan(
    run: Annotated[str, typer.Argument(metavar="RUN", help="A stored run or comparison: the folder that --save made.")],
    *,
    half_width: Annotated[
        float | None,
        typer.Option(metavar="NUMBER", help="How wide intervals may be, to either side.", rich_help_panel=_VALUES),
    ] = None,
    bound: Annotated[
        float | None,
        typer.Option(metavar="NUMBER", help="A value that intervals shall leave out.", rich_help_panel=_VALUES),
    ] = None,
    difference: Annotated[
        float | None,
        typer.Option(metavar="NUMBER", help="The least difference that matters.", rich_help_panel=_DIFFERENCES),
    ] = None,
    power: Annotated[
        float, typer.Option(metavar="SHARE", help="How often it shall be found.", rich_help_panel=_DIFFERENCES)
    ] = 0.8,
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
    confidence: options.Confidence = 0.95,
    kind: options.FormatOption = Format.table,
) -> None:
    """Say how many ideal clusters to label, judged by those of a stored run or comparison.

    \b
    Example:
      pointwise plan runs/pilot --half-width 0.01
      pointwise plan runs/pilot --metric precision --bound 0.95
      pointwise plan runs/both --metric recall --difference 0.005 --power 0.9
    """
    chosen = metrics or None
    if is_comparison(run):
        if difference is None or half_width is not None or bound is not None:
            raise UsageError(f"{run!r} is a stored comparison: say which difference shall be found, difference=....")
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
        if difference is not None or experiment is not None or baseline is not None:
            raise UsageError(f"{run!r} is a stored run: --difference, --experiment and --baseline are for comparisons.")
        with opened(run) as evaluation:
            found = evaluation.plan(chosen, half_width=half_width, bound=bound, confidence=confidence)
    output.put_result(found, kind)
