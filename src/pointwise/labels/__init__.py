"""The metrics over two aligned label arrays, in the style of scikit-learn.

For every metric there is a function `<metric>_score(labels_true, labels_pred, *, sample_weight=None)`,
also for metrics that a user registers, and for `f2` and the like. `scores` computes several at once,
`item_scores` gives the value of every item.

Everywhere in this module:

- `labels_true` holds the ideal cluster of each item, `labels_pred` its actual cluster. They may be NumPy
  arrays, lists, pandas or Polars series or Arrow arrays, of anything hashable. No label may be missing.
- `sample_weight` holds the weight of each item, a positive number. Without it every item weighs 1.
- `metrics` holds names of metrics; None stands for the default ones.

Example:
    >>> from pointwise.labels import precision_score, scores
    >>> precision_score(["a", "a", "b"], [1, 1, 1])
    0.5555555555555555
    >>> scores(["a", "a", "b"], [1, 1, 1], metrics=["recall", "jaccard_distance"])
    {'recall': 1.0, 'jaccard_distance': 0.4444444444444444}
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pointwise.core.alignment import check_spread
from pointwise.core.arithmetic import ARRAYS
from pointwise.core.confusion import Confusion
from pointwise.core.measurement import item_metrics
from pointwise.core.metrics import METRICS, Metric, find_metric, find_metrics
from pointwise.errors import InputError, UnknownMetricError, WeightError
from pointwise.inputs.options import Pairs
from pointwise.labels.cells import Cells, Floats, cross_tabulate, measure_cells
from pointwise.labels.codes import encode
from pointwise.labels.sums import sum_cells
from pointwise.related.families import check_options, score
from pointwise.text.values import format_count

__all__ = ["ItemConfusion", "confusion", "item_scores", "related_scores", "scores"]

_SUFFIX = "_score"
_NOWHERE = math.nan, math.nan, math.nan, math.nan, math.nan
_OF_NUMBERS, _OF_ARRAYS = Confusion(*_NOWHERE), Confusion(*_NOWHERE, ARRAYS)


@dataclass(frozen=True)
class ItemConfusion:
    """The 2x2 confusion matrix that each item sees: arrays in the order of the labels.

    Args:
        tp: Weight that the item's ideal and actual cluster share.
        fp: Weight of its actual cluster that does not belong with it.
        fn: Weight of its ideal cluster that is elsewhere.
        tn: Weight outside both.

    Examples:
        >>> matrix = confusion(["a", "a", "b"], [1, 1, 1])
        >>> matrix.tp, matrix.fn
        (array([2., 2., 1.]), array([0., 0., 0.]))
    """

    tp: Floats
    fp: Floats
    fn: Floats
    tn: Floats


def scores(
    labels_true: Any,
    labels_pred: Any,
    *,
    sample_weight: Any = None,
    metrics: Iterable[str] | str | None = None,
) -> dict[str, float]:
    """Compute several metrics over all items, by name.

    A metric is averaged over the items for which it is defined; it is NaN if there are none.

    Examples:
        >>> scores(["a", "a", "b"], [1, 1, 1], metrics=["recall", "over_merge_rate"])
        {'recall': 1.0, 'over_merge_rate': 0.4444444444444444}
    """
    chosen = find_metrics(metrics)
    cells = _cross_tabulate(labels_true, labels_pred, sample_weight)
    means = _averages(cells, item_metrics(chosen))
    return {metric.name: _value(metric, means, _OF_NUMBERS) for metric in chosen}


def item_scores(
    labels_true: Any,
    labels_pred: Any,
    *,
    sample_weight: Any = None,
    metrics: Iterable[str] | str | None = None,
) -> dict[str, Floats]:
    """Compute several metrics for every item: by name an array in the order of the labels.

    The value is NaN where a metric is undefined.

    Examples:
        >>> item_scores(["a", "a", "b"], [1, 1, 1], metrics="recall")
        {'recall': array([1., 1., 1.])}
    """
    chosen = find_metrics(metrics)
    cells = _cross_tabulate(labels_true, labels_pred, sample_weight, by_item=True)
    matrix = cells.confusion(slice(None))
    values = {metric.name: measure_cells(metric, matrix) for metric in item_metrics(chosen)}
    of_cells = {metric.name: _value(metric, values, _OF_ARRAYS) for metric in chosen}
    return {name: np.broadcast_to(value, cells.tp.shape)[cells.cell_of] for name, value in of_cells.items()}


def confusion(labels_true: Any, labels_pred: Any, *, sample_weight: Any = None) -> ItemConfusion:
    """Return the 2x2 confusion matrix of every item.

    Examples:
        >>> confusion(["a", "a", "b"], [1, 1, 1]).fp
        array([1., 1., 2.])
    """
    cells = _cross_tabulate(labels_true, labels_pred, sample_weight, by_item=True)
    matrix = cells.confusion(slice(None))
    return ItemConfusion(*(entry[cells.cell_of] for entry in (matrix.tp, matrix.fp, matrix.fn, matrix.tn)))


def related_scores(
    labels_true: Any,
    labels_pred: Any,
    *,
    sample_weight: Any = None,
    beta: float = 1.0,
    pairs: Pairs = "counts",
) -> dict[str, float]:
    """Compute the metrics of other families: pairs, B-cubed, V-measure, purity and more.

    Args:
        labels_true: Ideal cluster of each item.
        labels_pred: Actual cluster of each item.
        sample_weight: Weight of each item.
        beta: Above 1, completeness counts more in the V-measure; below 1, homogeneity.
        pairs: What a pair of items counts: `counts` 1, `product` the product of the two weights,
            `replication` as many as if each item were repeated as often as its weight says.

    Examples:
        >>> related_scores(["a", "a", "b"], [1, 1, 1])["pair_precision"]
        0.3333333333333333
    """
    check_options(beta=beta, pairs=pairs)
    cells = _cross_tabulate(labels_true, labels_pred, sample_weight)
    return score(sum_cells(cells), beta=beta, pairs=pairs)


def _cross_tabulate(labels_true: Any, labels_pred: Any, sample_weight: Any, *, by_item: bool = False) -> Cells:
    true, pred = encode(labels_true, "labels_true"), encode(labels_pred, "labels_pred")
    if len(true.array) != len(pred.array):
        raise InputError(
            f"`labels_true` has {len(true.array)} labels and `labels_pred` has {len(pred.array)}. "
            "Give both for the same items, in the same order."
        )
    weight = None if sample_weight is None else _weights(sample_weight, len(true.array))
    return cross_tabulate(true, pred, weight=weight, by_item=by_item)


def _weights(sample_weight: Any, length: int) -> Floats:
    try:
        given = np.asarray(sample_weight)
        weight = given.astype(np.float64) if _is_numeric(given) else None
    except (TypeError, ValueError):
        weight = None
    if weight is None:
        raise WeightError("`sample_weight` holds values that are not numbers. Give one number per item.")
    if weight.shape != (length,):
        raise WeightError(
            f"`sample_weight` has shape {weight.shape}, for {format_count(length, 'item')}. Give one per item."
        )
    if not (weight.min() > 0 and weight.max() < math.inf):
        bad = np.flatnonzero(~((weight > 0) & (weight < math.inf)))
        shown = ", ".join(f"{weight[i]} at position {i}" for i in bad[:5])
        raise WeightError(
            f"{len(bad)} weights are not positive finite numbers, e.g. {shown}. "
            "Drop items that must not count instead of giving them no weight."
        )
    with np.errstate(over="ignore"):  # a sum that overflows is refused like any other that is too large
        check_spread(float(weight.min()), float(weight.sum()))
    return weight


def _is_numeric(weight: NDArray[Any]) -> bool:
    """Tell numbers, including Python's own, from text that NumPy would read as numbers."""
    if weight.dtype.kind == "O":
        return not any(isinstance(value, str | bytes) for value in weight.flat)
    return weight.dtype.kind in "biuf"


def _averages(cells: Cells, metrics: Iterable[Metric]) -> dict[str, float]:
    """Average over all items; an undefined value is left out together with its weight."""
    metrics = tuple(metrics)
    sums: dict[str, list[float]] = {metric.name: [] for metric in metrics}
    weights: dict[str, list[float]] = {metric.name: [] for metric in metrics}
    for part in cells.parts():
        matrix, weight = cells.confusion(part), cells.tp[part]
        whole = float(weight.sum())
        for metric in metrics:
            total, defined = _sum_defined(metric, measure_cells(metric, matrix) * weight, weight, whole)
            sums[metric.name].append(total)
            weights[metric.name].append(defined)
    return {name: _quotient(math.fsum(sums[name]), math.fsum(weights[name])) for name in sums}


def _sum_defined(metric: Metric, products: Floats, weight: Floats, whole: float) -> tuple[float, float]:
    """Sum the products that are numbers, and the weights of these."""
    total = float(products.sum())
    if metric.is_total or total == total:  # noqa: PLR0124  # a sum with NaN in it is NaN
        return total, whole
    is_defined = ~np.isnan(products)
    return float(products[is_defined].sum()), float(weight[is_defined].sum())


def _quotient(total: float, weight: float) -> float:
    return total / weight if weight else math.nan


def _value(metric: Metric, values: dict[str, Any], matrix: Confusion) -> Any:
    """Pick a metric's value, or compute it from the values of other metrics."""
    if not metric.means:
        return values[metric.name]
    return metric.formula(matrix, *(values[name] for name in metric.means))


def _score_function(name: str) -> Callable[..., float]:
    def score(labels_true: Any, labels_pred: Any, *, sample_weight: Any = None) -> float:
        return scores(labels_true, labels_pred, sample_weight=sample_weight, metrics=name)[name]

    metric = find_metric(name)
    score.__name__ = score.__qualname__ = name + _SUFFIX
    score.__doc__ = (
        f"Compute {name} over all items: {metric.summary}.\n\n"
        f"    {name} = {metric.text or 'a formula of its own'}, averaged over the items, weighted.\n\n"
        "    Args:\n        labels_true: Ideal cluster of each item.\n"
        "        labels_pred: Actual cluster of each item.\n        sample_weight: Weight of each item.\n    "
    )
    return score


def __getattr__(name: str) -> Callable[..., float]:
    """Make the score functions of metrics that were registered after this module was loaded."""
    try:
        if not name.endswith(_SUFFIX):
            raise AttributeError(_say_absent(name))
        function = _score_function(name.removesuffix(_SUFFIX))
    except UnknownMetricError as error:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}. {error}") from None
    globals()[name] = function  # Pickle needs to find the same function again.
    return function


def _say_absent(name: str) -> str:
    hint = f" Did you mean {name + _SUFFIX!r}?" if name in METRICS else ""
    return f"module {__name__!r} has no attribute {name!r}.{hint}"


def __dir__() -> list[str]:
    """List also the score functions of a user's own metrics."""
    return sorted({*globals(), *(name + _SUFFIX for name in METRICS)})


for _name in METRICS:
    globals()[_name + _SUFFIX] = _score_function(_name)
__all__ += [name + _SUFFIX for name in METRICS]
