"""The page of a run: how good it is, what that is based on, and where to look further."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from pointwise.answers.mistake import Mistake
from pointwise.answers.slices import SIZES
from pointwise.core.metrics import Metric, find_metric
from pointwise.evaluation import Evaluation
from pointwise.explorer.site import Page, Visit
from pointwise.explorer.urls import link
from pointwise.pages.facts import Headline, describe_coverage, describe_inputs, headlines, say_intervals
from pointwise.pages.sentences import say_balance
from pointwise.text.values import format_count, format_metric, format_share

MOST_MISTAKES = 5  # on the page of a run
MOST_SLICINGS = 4  # there


@dataclass(frozen=True)
class Number:
    """A metric at the top of the page, and what it is made of."""

    headline: Headline
    href: str
    leads_to: str


@dataclass(frozen=True)
class MistakeLine:
    """A mistake in short."""

    heading: str
    href: str
    parts: str
    percent: str
    cost: str
    about: str


def run_trail(name: str, *more: tuple[str, str]) -> list[tuple[str, str]]:
    """List the pages above one that belongs to a run."""
    return [("Overview", "/"), (name, link("run", name)), *more]


def show_run(visit: Visit) -> Page:
    """Show a run at a glance: every number leads to what it is made of."""
    name, evaluation = visit.parts[0], visit.evaluation()
    overall = evaluation.overall
    content = {
        "warnings": evaluation.warnings,
        "numbers": [_number(name, headline) for headline in headlines(evaluation)],
        "balance": say_balance(overall.values),
        "interval_note": say_intervals(overall),
        "inputs": list(describe_inputs(evaluation)),
        "coverage": list(describe_coverage(evaluation)),
        "mistakes": _mistakes(name, evaluation),
        "slices": list(_slices(name, evaluation)),
        "by": [(say_column(c), link("run", name, "slices", by=c), False) for c in sliceable_columns(evaluation)],
        "metrics": list(evaluation.metrics),
        "all_mistakes": link("run", name, "mistakes"),
        "report": link("run", name, "report"),
    }
    rows = overall.to_dicts()
    facts = {"run": name, "coverage": evaluation.coverage.to_dict(), "warnings": evaluation.warnings}
    return Page(name, "run.html", content, run_trail(name)[:1], overall.columns, rows, facts, run=name)


def _number(name: str, headline: Headline) -> Number:
    """Say where a metric comes from: merges lie in actual clusters, splits in ideal ones."""
    metric = find_metric(headline.metric)
    if metric.sees_false_positives and not _sees_splits(metric):
        return Number(headline, link("run", name, "clusters", "actual"), "actual clusters that cost it most")
    if _sees_splits(metric) and not metric.sees_false_positives:
        return Number(headline, link("run", name, "clusters", "ideal"), "ideal clusters that cost it most")
    return Number(headline, link("run", name, "mistakes"), "mistakes behind it")


def _sees_splits(metric: Metric) -> bool:
    swapped = find_metric(metric.swapped) if metric.swapped else metric
    return swapped.sees_false_positives


def sliceable_columns(evaluation: Evaluation) -> list[str]:
    """List what items can be sliced by with one click."""
    return [*evaluation.evidence.slice_schema, *SIZES]


def say_column(column: str) -> str:
    """Write a column to slice by; ours without underscores."""
    return column.replace("_", " ") if column in SIZES else column


def _mistakes(name: str, evaluation: Evaluation) -> list[MistakeLine]:
    """Describe the costliest mistakes in words, with the cluster that each is about."""
    return [
        MistakeLine(
            say_cluster(mistake.heading, mistake.side),
            cluster_link(name, mistake),
            "; ".join(f"{part.name(mistake.other)}: {format_count(part.items, 'item')}" for part in mistake.largest),
            f"{100 * mistake.share:.1f}",
            format_metric(mistake.cost),
            say_share(mistake),
        )
        for mistake in evaluation.mistakes(MOST_MISTAKES)
    ]


def say_share(mistake: Mistake) -> str:
    """Say how much of its rate a mistake makes up."""
    rate = "under-merge rate" if mistake.is_split else "over-merge rate"
    return f"{format_share(mistake.share)} of the {rate}"


def say_cluster(sentence: str, side: str) -> str:
    """Begin a sentence about a cluster with what it is about."""
    return f"{side.capitalize()} cluster{sentence.removeprefix(side)}"


def cluster_link(name: str, mistake: Mistake) -> str:
    """Write the address of the cluster that a mistake is about: an ideal one that was split, or an actual one."""
    return link("run", name, "cluster", mistake.side, mistake.cluster)


def _slices(name: str, evaluation: Evaluation) -> Iterator[tuple[str, str]]:
    """Name the slices that the run was evaluated with, which the page loads after it has opened."""
    for spec in evaluation.options.slices[:MOST_SLICINGS]:
        said = spec if isinstance(spec, str) else ",".join(spec)
        yield said, link("run", name, "slices", by=said)
