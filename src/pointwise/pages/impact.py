"""Impact: how much a diff changed and whether that is better, in words and numbers for people."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from pointwise.columns import Kind
from pointwise.pages.facts import Headline
from pointwise.text.values import (
    format_count,
    format_difference,
    format_interval,
    format_metric,
    format_share,
    name_interval,
)

if TYPE_CHECKING:
    from pointwise.diffs.diff import Diff
    from pointwise.diffs.estimation import Estimates

_LEADING = {
    "precision": "How much of the weight in an average item's cluster belongs there",
    "delta_precision": "Precision of the experiment minus precision of the baseline",
}
_SENTENCES = {
    "split_rate": "Of the weight in an average item's baseline cluster, {share} is no longer with it.",
    "merge_rate": "Of the weight in an average item's experiment cluster, {share} was not with it before.",
    "jaccard_distance": "Of what an average item's two clusters hold, {share} changed.",
}


def summarise_diff(diff: Diff, estimates: Estimates | None) -> str:
    """Say in a sentence or two what matters most."""
    overall = diff.overall
    share = format_share(overall.affected_weight / overall.weight)
    items = f"{overall.affected_items:,} of {format_count(overall.items, 'item')}"
    changed = "" if diff.is_singletons else f"{items} are affected, {share} of the weight. "
    return changed + say_estimated(diff, estimates)


def say_estimated(diff: Diff, estimates: Estimates | None) -> str:
    """Say what people's answers tell: whether the experiment is better, or how precise a single clustering is."""
    metric = "precision" if diff.is_singletons else "delta_precision"
    if estimates is None or estimates[metric].value is None:
        what = "how precise it is" if diff.is_singletons else "whether the experiment is better"
        return f"There are too few answers so far to say {what}."
    known = estimates[metric]
    value, low, high = (end or 0.0 for end in (known.value, known.low, known.high))
    ends = f"{name_interval(estimates.confidence)} {format_interval(Kind.METRIC, low, high)}"
    answers = format_count(known.questions, "answer")
    if diff.is_singletons:
        return f"Based on {answers}, its precision is {format_metric(value)} ({ends})."
    verdict = "better" if low > 0 else "worse" if high < 0 else "neither clearly better nor clearly worse"
    return f"Based on {answers}, the experiment is {verdict}: precision changed by {format_difference(value)} ({ends})."


def impact_headlines(diff: Diff) -> list[Headline]:
    """Say how much changed."""
    found = []
    for metric, sentence in _SENTENCES.items():
        value = diff.overall.values[metric]
        found.append(Headline(metric, format_metric(value), "", sentence.format(share=format_share(value))))
    return found


def judged_headlines(estimates: Estimates | None) -> Iterator[Headline]:
    """Say what the answers add up to."""
    if estimates is None:
        return
    for one in (estimates.overall[name] for name in _LEADING if name in estimates.overall):
        if one.value is not None:
            told = format_metric(one.value) if one.metric == "precision" else format_difference(one.value)
            ends = f"{name_interval(estimates.confidence)} {format_interval(Kind.METRIC, one.low, one.high)}"
            sentence = f"{_LEADING[one.metric]}, based on {format_count(one.questions, 'answer')}."
            yield Headline(one.metric, told, ends, sentence)


def say_bounds(diff: Diff) -> str:
    """Say which values are possible, whatever people answer."""
    known = " and ".join(_say_bound(name, low, high) for name, (low, high) in diff.overall.bounds.items())
    return f"Whatever people answer, {known}."


def _say_bound(name: str, low: float, high: float) -> str:
    if name.startswith("delta_"):
        ends = f"{format_difference(low)} and {format_difference(high)}"
        return f"the change in {name.removeprefix('delta_')} lies between {ends}"
    return f"the {name.replace('_', ' ')} lies between {format_metric(low)} and {format_metric(high)}"
