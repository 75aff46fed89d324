"""The metrics of a diff: how much changed, from the perspective of an item. No judgement is needed.

They are formulas over a confusion matrix with the baseline in the ideal and the experiment in the actual role.
"""

from __future__ import annotations

import difflib
from collections.abc import Iterable

from pointwise.core.metrics import Metric
from pointwise.errors import UnknownMetricError

_ROWS = (
    Metric(
        "split_rate",
        lambda c: c.ratio(c.fn, c.ideal),
        "split off / baseline cluster",
        "share of the item's baseline cluster that is no longer with it",
        swapped="merge_rate",
        better=None,
        is_total=True,
    ),
    Metric(
        "merge_rate",
        lambda c: c.ratio(c.fp, c.actual),
        "merged in / experiment cluster",
        "share of the item's experiment cluster that was not with it before",
        swapped="split_rate",
        better=None,
        is_total=True,
    ),
    Metric(
        "jaccard_distance",
        lambda c: c.ratio(c.fp + c.fn, c.ideal + c.fp),
        "(split off + merged in) / both clusters",
        "share of the item's two clusters that changed; a true distance",
        swapped="jaccard_distance",
        better=None,
        is_total=True,
    ),
    Metric(
        "split_distance",
        lambda c: c.ratio(c.fn, c.ideal + c.fp),
        "split off / both clusters",
        "the part of the distance that comes from splits",
        swapped="merge_distance",
        better=None,
        is_total=True,
    ),
    Metric(
        "merge_distance",
        lambda c: c.ratio(c.fp, c.ideal + c.fp),
        "merged in / both clusters",
        "the part of the distance that comes from merges",
        swapped="split_distance",
        better=None,
        is_total=True,
    ),
)

IMPACT: dict[str, Metric] = {row.name: row for row in _ROWS}
"""The metric table of diffs."""


def find_impact(names: Iterable[str] | str | None) -> tuple[Metric, ...]:
    """Look up metrics of a diff, each once, in the order given; None gives all.

    Raises:
        UnknownMetricError: No metric has that name.
    """
    chosen = list(IMPACT) if names is None else [names] if isinstance(names, str) else list(dict.fromkeys(names))
    for name in chosen:
        if name not in IMPACT:
            near = difflib.get_close_matches(name, IMPACT, n=3, cutoff=0.5)
            hint = f"Did you mean {' or '.join(map(repr, near))}?" if near else f"There are {', '.join(IMPACT)}."
            raise UnknownMetricError(f"A diff has no metric {name!r}. {hint}")
    return tuple(IMPACT[name] for name in chosen)
