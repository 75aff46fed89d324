"""Facts: what was evaluated, how far the truth covers it, and how good it is, in words and numbers for people."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

from pointwise.answers.tables import Overall
from pointwise.columns import Kind
from pointwise.engines.base import Source
from pointwise.inputs.options import Options
from pointwise.pages.grids import bounded_value, write
from pointwise.pages.sentences import explain_value
from pointwise.text.values import (
    format_count,
    format_interval,
    format_share,
    format_value,
    format_weight,
    name_interval,
)

if TYPE_CHECKING:
    from pointwise.evaluation import Evaluation


@dataclass(frozen=True)
class Headline:
    """A metric at the top of the page."""

    metric: str
    value: str
    interval: str
    sentence: str


def describe_inputs(evaluation: Evaluation) -> Iterator[tuple[str, str]]:
    """List what was read, and under which policies."""
    options = evaluation.options
    for role, source in evaluation.sources.items():
        yield role, bounded_value(name_source(source)).text
    yield "weight of an item", options.weight or ("from the weights table" if "weights" in evaluation.sources else "1")
    outside = {
        "ignore": "are not looked at",
        "wrong": "count as wrong there",
        "spurious": "count as items that should not exist",
    }[options.outside]
    yield "members outside the truth", outside
    missing = {
        "drop": "are left out",
        "singleton": "count as alone",
        "wrong": "count as in no cluster",
        "error": "are refused",
    }[options.missing]
    yield "ideal items that are missing", missing
    yield "items without a cluster", say_unassigned(options)


_UNASSIGNED = {
    "error": "are refused",
    "singleton": "count as alone",
    "one-cluster": "count as one cluster",
    "drop": "are left out",
}


def say_unassigned(options: Options) -> str:
    """Say what happens to items without a cluster."""
    policies = {side: _UNASSIGNED[options.unassigned_policy(side).policy] for side in options.sides}
    if len(set(policies.values())) == 1:
        return policies[options.sides[0]]
    return "; ".join(f"those of the {side} clustering {words}" for side, words in policies.items())


def name_source(source: Source) -> str:
    """Name a source without the folders of this machine, which mean nothing to readers elsewhere."""
    if not source.files:
        return source.name
    more = f" and {format_count(len(source.files) - 1, 'more file')}" if len(source.files) > 1 else ""
    return source.files[0].name + more


def name_run(evaluation: Evaluation) -> str:
    """Name an evaluation by the run that it was loaded from, or by the file of the actual clustering."""
    actual = evaluation.sources.get("actual clustering")
    file = name_source(actual) if actual is not None and actual.files else ""
    return bounded_value(evaluation.name or file or "this clustering").text


def describe_coverage(evaluation: Evaluation) -> Iterator[tuple[str, str]]:
    """List how far the truth and the actual clustering share items."""
    c = evaluation.coverage
    yield "items in both", f"{c.common_items:,}, weight {format_weight(c.common_weight)}"
    yield "of the ideal items", f"{format_share(c.common_share)} of {c.ideal_items:,}; {c.missing_items:,} are missing"
    if c.is_weighted and c.ideal_weight is not None:
        missing = f"{format_value(Kind.SHARE, c.missing_weight_share)} is missing"
        common = format_value(Kind.SHARE, c.common_weight_share)
        yield "of their weight", f"{common} of {format_weight(c.ideal_weight)}; {missing}"
    yield "of the actual items", f"{format_share(c.common_items / c.actual_items)} of {c.actual_items:,}"
    yield "ideal clusters touched", f"{c.ideal_clusters_touched:,} of {c.ideal_clusters:,}"
    yield "actual clusters touched", f"{c.actual_clusters_touched:,} of {c.actual_clusters:,}"
    share = format_share(c.outside_share)
    yield "their members outside the truth", f"{c.outside_items:,}, which is {share} of their members"
    if c.is_weighted and c.outside_weight is not None:
        share = format_value(Kind.SHARE, c.outside_weight_share)
        yield "weight of these", f"{format_weight(c.outside_weight)}, which is {share} of the weight of their members"


def headlines(evaluation: Evaluation) -> list[Headline]:
    """Say what the metrics of an evaluation are."""
    overall = evaluation.overall
    found = []
    for metric in evaluation.metrics:
        value, interval = overall.values[metric.name], overall.interval(metric.name)
        ends = format_interval(Kind.METRIC, interval.low, interval.high)
        label = f"{name_interval(interval.confidence)} {ends}" if ends else ""
        found.append(Headline(metric.name, write(Kind.METRIC, value).text, label, explain_value(metric.name, value)))
    return found


def say_intervals(overall: Overall) -> str:
    """Say what the intervals mean, and why some values have none."""
    if not overall.intervals:
        return ""
    said = [_say_meaning(overall)] if overall.has_intervals or overall.sample.words else []
    lacking: dict[str, list[str]] = {}
    for name, interval in overall.intervals.items():
        if interval.reason:
            lacking.setdefault(interval.reason, []).append(name.replace("_", " "))
    said += [f"No interval for {', '.join(names)}: {reason}." for reason, names in lacking.items()]
    return " ".join(said)


def _say_meaning(overall: Overall) -> str:
    """Say what the values are of, and how often the intervals hold."""
    of_all = f"The values are {overall.sample.words}."
    if not overall.has_intervals:
        return of_all
    clusters = max(interval.ideal_clusters for interval in overall.intervals.values())
    confidence = next(interval.confidence for interval in overall.intervals.values())
    often = f"In {100 * confidence:.10g} of 100 such samples, the interval holds the value"
    if overall.sample.words:
        return f"{of_all} {often} of all items."
    sample = f"{format_count(clusters, 'ideal cluster')} that were drawn uniformly from all"
    return f"The intervals take the truth as {sample}. {often} that a complete truth would give{overall.exception}."
