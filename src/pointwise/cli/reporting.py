"""The command that writes reports: report."""

from __future__ import annotations

from typing import Annotated

import typer

from pointwise.cli import options, output
from pointwise.cli.app import app
from pointwise.cli.diffing import is_diff, opened_diff
from pointwise.cli.judging import estimate_stored
from pointwise.cli.live import progress
from pointwise.cli.looking import is_comparison, opened_run
from pointwise.errors import UsageError


@app.command()
def report(
    run: options.Stored,
    *,
    path: Annotated[str, typer.Option("--output", "-o", metavar="FILE", help="The file to write.")] = "report.html",
    title: Annotated[str | None, typer.Option(metavar="TEXT", help="What to call the report.")] = None,
    attributes: options.Attributes = None,
    threads: options.Threads = None,
) -> None:
    """Write one HTML file about a stored run, comparison or diff: how good, where it is wrong, and for whom.

    The file holds everything it shows and loads nothing from a network. It needs the extra report.

    \b
    Example:
      pointwise report runs/monday -o monday.html
      pointwise report diffs/tuesday -o diff.html
    """
    from pointwise.comparison.comparison import load_comparison

    if is_comparison(run):
        if attributes is not None:
            raise UsageError("--attributes is for runs: a stored comparison keeps the slices that it was made with.")
        with progress("reading"), load_comparison(run) as comparison:
            comparison.report(path, title=title)
    elif is_diff(run):
        with opened_diff(run, threads=threads) as diff:
            described = diff.with_attributes(attributes) if attributes else diff
            described.report(path, title=title, estimates=estimate_stored(diff, run))
    else:
        with opened_run(run, threads=threads) as evaluation:
            known = evaluation.with_attributes(attributes) if attributes else evaluation
            known.report(path, title=title)
    output.say(f"Wrote the report to {path}.")
