"""Sentences: what the headline numbers say, in words."""

from __future__ import annotations

import re
from collections.abc import Mapping

from pointwise.core.metrics import find_metric
from pointwise.text.values import format_share

_WORDS = {
    "precision": "Of the weight in an average item's actual cluster, {share} belongs there.",
    "recall": "Of the weight that belongs with an average item, {share} is with it.",
    "jaccard_distance": "An average item's ideal and actual cluster differ in {share} of what either holds.",
    "jaccard_index": "An average item's ideal and actual cluster agree on {share} of what either holds.",
    "over_merge_rate": "Of the weight in an average item's actual cluster, {share} does not belong there.",
    "under_merge_rate": "Of the weight that belongs with an average item, {share} is elsewhere.",
}


def explain_value(metric: str, value: float | None) -> str:
    """Say what a value of a metric means; the metric table's summary where there is no sentence for it."""
    if value is None or value != value:  # noqa: PLR0124  # NaN
        return f"{metric} is undefined for every item."
    if metric in _WORDS:
        return _WORDS[metric].format(share=format_share(value))
    summary = find_metric(metric).summary
    return f"{summary[:1].upper()}{summary[1:]}." if summary else ""


def say_balance(values: Mapping[str, float | None]) -> str:
    """Say which kind of mistake weighs more."""
    precision, recall = values.get("precision"), values.get("recall")
    if precision is None or recall is None:
        return ""
    over, under = 1 - precision, 1 - recall
    if min(over, under) == 0:
        return _say_one_sided(over, under)
    if max(over, under) < _SIMILAR * min(over, under):
        return "Wrong splits cost about as much as wrong merges."
    more, less = ("splits", "merges") if under > over else ("merges", "splits")
    return f"Wrong {more} cost {max(over, under) / min(over, under):,.1f} times as much as wrong {less}."


def _say_one_sided(over: float, under: float) -> str:
    if over == under:
        return "The two clusterings are the same on the common items."
    if over == 0:
        return "All mistakes are wrong splits: nothing was merged that the truth keeps apart."
    return "All mistakes are wrong merges: nothing was split that belongs together."


_SIMILAR = 1.25


def without_parameters(warning: str) -> str:
    """Remove from a warning the sentences about parameters, which a reader of a page cannot set.

    Examples:
        >>> without_parameters("5% are missing. missing='singleton' counts each as alone.")
        '5% are missing.'
    """
    sentences = re.split(r"(?<=\.) (?=[A-Za-z])", warning)
    return " ".join(sentence for sentence in sentences if not re.search(r"\b[a-z_]+='", sentence)) or warning
