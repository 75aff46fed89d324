"""Write the page of all metrics from the metric table: `python docs/make_metrics.py docs/metrics.md`."""

import sys
from collections.abc import Iterator
from pathlib import Path

from pointwise.core.metrics import DEFAULT_METRICS, METRICS, Metric
from pointwise.related.families import definitions

INTRODUCTION = """\
# Metrics

Every item has a 2x2 confusion matrix: TP is the weight of the items that are with it and should be (itself among them),
FP of those that are with it and should not be, FN of those that should be and are not, TN of all others, and *all* is
their sum. A metric is a formula of these, and the value of a cluster, a slice or everything is the weighted average
over its items. Where a denominator is zero, the value is undefined, and the average leaves the item out.

Without `metrics=` the tables show {default}. `f2` or `f0.5` is
the F-measure with that beta.
[Which metric when](which-metric.md) says what they are good for, and
[getting started](getting-started.md#other-metrics) how to add your own.
"""

RELATED = """
## Metrics of other families

`evaluation.related()` computes these from the same cells, to compare with other tools
([coming from scikit-learn](coming-from-scikit-learn.md)). Only those of B-cubed are averages over items.
"""


def write_page() -> str:
    """Write the page."""
    names = ", ".join(f"`{name}`" for name in DEFAULT_METRICS)
    lines = [INTRODUCTION.format(default=names), "| metric | formula | meaning | range | better | swapped |"]
    lines += ["|---|---|---|---|---|---|", *map(_row, METRICS.values())]
    lines += ["", "*Swapped* is what a metric becomes when the two clusterings change places.", RELATED]
    return "\n".join([*lines, *_related()]) + "\n"


def _row(metric: Metric) -> str:
    low, high = metric.range
    swapped = "itself" if metric.swapped == metric.name else f"`{metric.swapped}`"
    numbers = (f"{low:g} to {high:g}", metric.better or "–", swapped)
    return f"| {' | '.join((f'`{metric.name}`', f'`{metric.text}`', metric.summary, *numbers))} |"


def _related() -> Iterator[str]:
    yield from ("| metric | meaning |", "|---|---|")
    for row in definitions("counts"):
        yield f"| `{row.name}` | {row.summary} |"


if __name__ == "__main__":
    Path(sys.argv[1]).write_text(write_page(), encoding="utf-8")
