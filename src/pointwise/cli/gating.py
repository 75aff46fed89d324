"""The command for pipelines: gate."""

from __future__ import annotations

from contextlib import ExitStack
from typing import TYPE_CHECKING, Annotated, Any

import typer

from pointwise.cli import options, output, stdin
from pointwise.cli.app import app
from pointwise.cli.diffing import is_diff, opened_diff
from pointwise.cli.judging import estimate_stored
from pointwise.cli.looking import opened_run
from pointwise.cli.options import Format, read_limits
from pointwise.errors import UsageError

if TYPE_CHECKING:
    from pointwise.gates import Gate

FAILED = 1

_RULE = "METRIC=NUMBER"


@app.command()
def gate(
    run: options.Stored,
    *,
    minimum: Annotated[
        list[str] | None, typer.Option("--min", metavar=_RULE, help="The least value allowed; repeat for several.")
    ] = None,
    maximum: Annotated[
        list[str] | None, typer.Option("--max", metavar=_RULE, help="The greatest value allowed; repeat for several.")
    ] = None,
    slices: options.Slices = None,
    attributes: options.Attributes = None,
    min_items: Annotated[
        int, typer.Option(min=1, max=options.MOST_ROWS, metavar="N", help="Slices with fewer items are not checked.")
    ] = 1,
    baseline: Annotated[
        str | None, typer.Option(metavar="RUN", help="A stored run to compare with, for drops.")
    ] = None,
    max_drop: Annotated[
        list[str] | None,
        typer.Option(metavar=_RULE, help="By how much a metric may be worse than in the baseline; repeat for several."),
    ] = None,
    min_coverage: Annotated[
        float | None,
        typer.Option(min=0, max=1, metavar="SHARE", help="Least share of ideal items that the actual clustering has."),
    ] = None,
    min_weight_coverage: Annotated[
        float | None, typer.Option(min=0, max=1, metavar="SHARE", help="Least share of the weight of ideal items.")
    ] = None,
    max_coverage_drop: Annotated[
        float | None,
        typer.Option(min=0, max=1, metavar="SHARE", help="How far the share of items may fall below the baseline's."),
    ] = None,
    max_weight_coverage_drop: Annotated[
        float | None,
        typer.Option(min=0, max=1, metavar="SHARE", help="How far the share of weight may fall below the baseline's."),
    ] = None,
    threads: options.Threads = None,
    kind: options.FormatOption = Format.table,
) -> None:
    """Check that a stored run is good enough, overall and in every slice. Exit code 0 means yes, 1 means no.

    For a diff, the size of the change can be checked, and what people's answers say: the whole interval of an estimate
    must be within the limit.

    \b
    Example:
      pointwise gate runs/monday --min precision=0.95 --max under_merge_rate=0.1
      pointwise gate diffs/tuesday --max split_rate=0.05 --min delta_precision=-0.005
      pointwise gate runs/monday --min recall=0.9 --slice country --min-items 100
      pointwise gate runs/monday --baseline runs/sunday --max-drop recall=0.005 --max-coverage-drop 0.01
    """
    on_coverage = {
        "min_coverage": min_coverage,
        "min_weight_coverage": min_weight_coverage,
        "max_coverage_drop": max_coverage_drop,
        "max_weight_coverage_drop": max_weight_coverage_drop,
    }
    if is_diff(run):
        _refuse(run, slice=slices, attributes=attributes, baseline=baseline, max_drop=max_drop, **on_coverage)
        found = _gate_diff(run, read_limits(minimum, "--min"), read_limits(maximum, "--max"), threads)
        _put_gate(found, kind)
        return
    from pointwise.gates import gate as check

    with ExitStack() as stack:
        (known,) = stack.enter_context(stdin.files(attributes))
        evaluation = stack.enter_context(opened_run(run, threads=threads))
        before = stack.enter_context(opened_run(baseline, threads=threads)) if baseline is not None else None
        if known is not None:
            evaluation = evaluation.with_attributes(known)
            before = before.with_attributes(known) if before is not None else None
        found = check(
            evaluation,
            minimum=read_limits(minimum, "--min"),
            maximum=read_limits(maximum, "--max"),
            slices=slices or (),
            min_items=min_items,
            baseline=before,
            max_drop=read_limits(max_drop, "--max-drop"),
            **on_coverage,
        )
    _put_gate(found, kind)


def _refuse(diff: str, **others: Any) -> None:
    """Refuse options that are only for runs."""
    for name in (name for name, given in others.items() if given is not None):
        raise UsageError(f"{diff!r} is a stored diff: --{name.replace('_', '-')} is for runs.")


def _gate_diff(path: str, minimum: dict[str, float], maximum: dict[str, float], threads: int | None) -> Gate:
    """Check a stored diff, with what the answers beside it say."""
    from pointwise.gates import gate_diff

    with opened_diff(path, threads=threads) as diff:
        return gate_diff(diff, minimum=minimum, maximum=maximum, estimates=estimate_stored(diff, path))


def _put_gate(found: Gate, kind: Format) -> None:
    output.put_result(found, kind, whole={"held": found.held, "checks": found.to_dicts()})
    if not found.held:
        raise typer.Exit(FAILED)
