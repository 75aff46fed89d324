"""The metrics of a 2x2 confusion matrix, one row each, and the registration of a user's own."""

from __future__ import annotations

import difflib
import math
import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Literal

from pointwise.columns import RESULT_ENDINGS, RESULTS
from pointwise.core.confusion import Confusion
from pointwise.errors import UnknownMetricError, UsageError
from pointwise.text.values import short

Formula = Callable[[Confusion], Any]
"""From a confusion matrix to a value."""

Better = Literal["higher", "lower"]
"""Which values of a metric are better."""


@dataclass(frozen=True)
class Metric:
    """A number computed from a 2x2 confusion matrix.

    Args:
        name: Its name.
        formula: The value for one confusion matrix.
        text: The formula as people write it.
        summary: What it says, in one line.
        swapped: Which metric it becomes when ideal and actual clustering swap roles; itself if empty.
        better: Whether higher or lower values are better; None if neither.
        range: Least and greatest possible value.
        is_clipped: Whether rounding may push the value out of the range, so that it is clipped.
        is_total: Whether the value is defined for every item (an item is in its own TP).
        meets_empty: Whether it is averaged over items some of which have an empty cluster.
        means: If given, the metric is not averaged over items: it is `formula` applied to the averages of
            these metrics.

    Examples:
        >>> import pointwise as pw
        >>> pw.METRICS["recall"].text, pw.METRICS["recall"].better, pw.METRICS["recall"].swapped
        ('TP / (TP + FN)', 'higher', 'precision')
        >>> pw.METRICS["precision"].sees_false_positives, pw.METRICS["recall"].sees_false_positives
        (True, False)
    """

    name: str
    formula: Callable[..., Any]
    text: str
    summary: str
    swapped: str = ""
    better: Better | None = "higher"
    range: tuple[float, float] = (0.0, 1.0)
    is_clipped: bool = False
    is_total: bool = False
    meets_empty: bool = False
    means: tuple[str, ...] = ()

    @cached_property
    def sees_false_positives(self) -> bool:
        """Whether the value changes with what else the item's actual cluster holds."""
        if self.means:
            return any(find_metric(name).sees_false_positives for name in self.means)
        return any(self._value(tp, fn, 0) != self._value(tp, fn, 5) for tp, fn in ((2, 0), (2, 3), (7, 1)))

    @cached_property
    def with_empty(self) -> Metric:
        """The same metric for items some of which have an empty cluster, for which it may be undefined."""
        is_total = self.is_total and (bool(self.means) or -math.inf not in (self._value(0, 3, 0), self._value(0, 0, 3)))
        return replace(self, is_total=is_total, meets_empty=True)

    def _value(self, tp: int, fn: int, fp: int) -> float:
        total = 40
        value = self.formula(Confusion(tp, tp + fn, tp + fp, total, total - tp - fn - fp))
        return -math.inf if value != value else float(value)  # noqa: PLR0124  # undefined is one value, unlike NaN


def _f(beta: float) -> Formula:
    square = beta * beta if beta % 1 else int(beta * beta)
    return lambda c: c.ratio((1 + square) * c.tp, c.actual + square * c.ideal)


def _precision(c: Confusion) -> Any:
    return c.ratio(c.tp, c.actual)


def _recall(c: Confusion) -> Any:
    return c.ratio(c.tp, c.ideal)


def _specificity(c: Confusion) -> Any:
    return c.ratio(c.tn, c.tn + c.fp)


def _negative_predictive_value(c: Confusion) -> Any:
    return c.ratio(c.tn, c.tn + c.fn)


def _matthews(c: Confusion) -> Any:
    agree = _precision(c) * _recall(c) * _specificity(c) * _negative_predictive_value(c)
    disagree = (
        c.ratio(c.fp, c.actual) * c.ratio(c.fn, c.ideal) * c.ratio(c.fp, c.tn + c.fp) * c.ratio(c.fn, c.tn + c.fn)
    )
    return c.sqrt(agree) - c.sqrt(disagree)


def _adjusted_rand(c: Confusion) -> Any:
    chance = c.ideal * (c.fn + c.tn) + c.actual * (c.fp + c.tn)
    return c.ratio(2 * (c.tp * c.tn - c.fn * c.fp), chance)


_ROWS = (
    Metric(
        "precision",
        _precision,
        "TP / (TP + FP)",
        "share of the item's actual cluster that belongs with it",
        swapped="recall",
        is_total=True,
    ),
    Metric(
        "recall",
        _recall,
        "TP / (TP + FN)",
        "share of the item's ideal cluster that is with it",
        swapped="precision",
        is_total=True,
    ),
    Metric(
        "f1",
        _f(1),
        "2 TP / (2 TP + FP + FN)",
        "harmonic mean of the item's precision and recall",
        is_total=True,
    ),
    Metric(
        "f1_of_means",
        lambda c, precision, recall: c.ratio(2 * precision * recall, precision + recall),
        "2 P R / (P + R)",
        "harmonic mean of the averaged precision P and recall R",
        is_total=True,
        means=("precision", "recall"),
    ),
    Metric(
        "jaccard_index",
        lambda c: c.ratio(c.tp, c.ideal + c.fp),
        "TP / (TP + FP + FN)",
        "what ideal and actual cluster share, of what either holds",
        is_total=True,
    ),
    Metric(
        "jaccard_distance",
        lambda c: c.ratio(c.fp + c.fn, c.ideal + c.fp),
        "(FP + FN) / (TP + FP + FN)",
        "a true distance between the clusterings",
        better="lower",
        is_total=True,
    ),
    Metric(
        "over_merge_rate",
        lambda c: c.ratio(c.fp, c.actual),
        "FP / (TP + FP) = 1 - precision",
        "share of the item's actual cluster that does not belong with it",
        swapped="under_merge_rate",
        better="lower",
        is_total=True,
    ),
    Metric(
        "under_merge_rate",
        lambda c: c.ratio(c.fn, c.ideal),
        "FN / (TP + FN) = 1 - recall",
        "share of the item's ideal cluster that is elsewhere",
        swapped="over_merge_rate",
        better="lower",
        is_total=True,
    ),
    Metric(
        "accuracy",
        lambda c: 1 - c.ratio(c.fp + c.fn, c.total),
        "(TP + TN) / all",
        "share of all weight that is on the right side of the item's actual cluster",
        is_total=True,
        is_clipped=True,
    ),
    Metric(
        "element_similarity",
        lambda c: c.minimum(_precision(c), _recall(c)),
        "min(precision, recall)",
        "element-centric similarity",
        is_total=True,
    ),
    Metric(
        "fowlkes_mallows",
        lambda c: c.sqrt(_precision(c) * _recall(c)),
        "sqrt(precision * recall)",
        "geometric mean of the item's precision and recall",
        is_total=True,
        is_clipped=True,
    ),
    Metric(
        "prevalence",
        lambda c: c.ratio(c.ideal, c.total),
        "(TP + FN) / all",
        "share of all weight in the item's ideal cluster",
        swapped="predicted_prevalence",
        better=None,
        is_total=True,
        is_clipped=True,
    ),
    Metric(
        "predicted_prevalence",
        lambda c: c.ratio(c.actual, c.total),
        "(TP + FP) / all",
        "share of all weight in the item's actual cluster",
        swapped="prevalence",
        better=None,
        is_total=True,
        is_clipped=True,
    ),
    Metric(
        "specificity",
        _specificity,
        "TN / (TN + FP)",
        "share of the weight outside the ideal cluster that stays out of the actual one",
        swapped="negative_predictive_value",
    ),
    Metric(
        "negative_predictive_value",
        _negative_predictive_value,
        "TN / (TN + FN)",
        "share of the weight outside the actual cluster that belongs outside",
        swapped="specificity",
    ),
    Metric(
        "fall_out",
        lambda c: c.ratio(c.fp, c.tn + c.fp),
        "FP / (TN + FP)",
        "share of the weight outside the ideal cluster that got into the actual one",
        swapped="false_omission_rate",
        better="lower",
    ),
    Metric(
        "miss_rate",
        lambda c: c.ratio(c.fn, c.ideal),
        "FN / (TP + FN)",
        "another name of the under-merge rate",
        swapped="false_discovery_rate",
        better="lower",
        is_total=True,
    ),
    Metric(
        "false_discovery_rate",
        lambda c: c.ratio(c.fp, c.actual),
        "FP / (TP + FP)",
        "another name of the over-merge rate",
        swapped="miss_rate",
        better="lower",
        is_total=True,
    ),
    Metric(
        "false_omission_rate",
        lambda c: c.ratio(c.fn, c.tn + c.fn),
        "FN / (TN + FN)",
        "share of the weight outside the actual cluster that belongs inside",
        swapped="fall_out",
        better="lower",
    ),
    Metric(
        "informedness",
        lambda c: _recall(c) + _specificity(c) - 1,
        "recall + specificity - 1",
        "how much the actual cluster knows of the ideal one, 0 by chance",
        swapped="markedness",
        range=(-1.0, 1.0),
        is_clipped=True,
    ),
    Metric(
        "markedness",
        lambda c: _precision(c) + _negative_predictive_value(c) - 1,
        "precision + negative_predictive_value - 1",
        "how much the ideal cluster knows of the actual one, 0 by chance",
        swapped="informedness",
        range=(-1.0, 1.0),
        is_clipped=True,
    ),
    Metric(
        "balanced_accuracy",
        lambda c: (_recall(c) + _specificity(c)) / 2,
        "(recall + specificity) / 2",
        "mean of recall and specificity",
        swapped="balanced_predictive_value",
    ),
    Metric(
        "balanced_predictive_value",
        lambda c: (_precision(c) + _negative_predictive_value(c)) / 2,
        "(precision + negative_predictive_value) / 2",
        "mean of precision and negative predictive value",
        swapped="balanced_accuracy",
    ),
    Metric(
        "matthews",
        _matthews,
        "sqrt(P R S N) - sqrt((1-P) (1-R) (1-S) (1-N)), S: specificity, N: negative predictive value",
        "correlation of ideal and actual membership (MCC)",
        range=(-1.0, 1.0),
        is_clipped=True,
    ),
    Metric(
        "adjusted_rand",
        _adjusted_rand,
        "2 (TP TN - FN FP) / ((TP+FN)(FN+TN) + (TP+FP)(FP+TN))",
        "agreement beyond chance, the adjusted Rand index of the item's matrix",
        range=(-1.0, 1.0),
        is_clipped=True,
    ),
)

METRICS: dict[str, Metric] = {row.name: replace(row, swapped=row.swapped or row.name) for row in _ROWS}
"""The metric table. Help texts, documentation, sort orders and the tests' laws derive from it."""

DEFAULT_METRICS = ("precision", "recall", "f1", "jaccard_distance")

_NAME = re.compile(r"[^\W\d_][^\W_]*(_[^\W_]+)*")
_F_BETA = re.compile(r"f(\d+(?:\.\d+)?)")
_LEAST_BETA = 0.001  # beyond this and its inverse, only one of precision and recall is left


def find_metric(chosen: str | Metric) -> Metric:
    """Look up a metric by name; `f2` or `f0.5` is the F-measure with that beta.

    Raises:
        UnknownMetricError: No metric has that name.
    """
    name = name_of(chosen)
    if name in METRICS:
        return METRICS[name]
    beta = _F_BETA.fullmatch(name)
    if beta and _LEAST_BETA <= float(beta[1]) <= 1 / _LEAST_BETA:
        return _f_beta(name, float(beta[1]))
    near = difflib.get_close_matches(name, METRICS, n=3, cutoff=0.5)
    hint = f"Did you mean {' or '.join(repr(n) for n in near)}?" if near else "`pointwise metrics` lists them."
    raise UnknownMetricError(f"There is no metric {short(name)}. {hint}")


MetricChoice = str | Metric | Iterable[str | Metric]
"""One metric or several, each by its name or as a `Metric`."""


def find_metrics(chosen: MetricChoice | None) -> tuple[Metric, ...]:
    """Look up several metrics, each once, in the order given; None gives the default ones."""
    if not isinstance(chosen, Iterable) or isinstance(chosen, str):
        chosen = None if chosen is None else [chosen]
    names = DEFAULT_METRICS if chosen is None else dict.fromkeys(map(name_of, chosen))
    if not names:
        raise UsageError("No metric was chosen. Name at least one, or leave `metrics` out.")
    return tuple(find_metric(name) for name in names)


def name_of(chosen: Any) -> str:
    """Return the name of a metric, given by name or as the `Metric` that is registered under its name."""
    if isinstance(chosen, Metric):
        registered = METRICS.get(chosen.name, chosen)  # metrics with a beta are made anew for every request
        if registered.formula is not chosen.formula:
            raise UsageError(f"The metric {chosen.name!r} is not the one of that name. Register it with pw.metric.")
        return chosen.name
    if not isinstance(chosen, str):
        raise UsageError(f"Give a metric by name or as a Metric, not as {short(chosen)}.")
    return chosen


def _f_beta(name: str, beta: float) -> Metric:
    square = f"{beta * beta:g}"
    inverse = f"f{1 / beta:g}"
    return Metric(
        name,
        _f(beta),
        f"(1 + {square}) TP / (TP + FP + {square} (TP + FN))",
        f"F-measure that counts recall {beta:g} times as much as precision",
        swapped=inverse,
        is_total=True,
    )


def metric(
    *,
    range: tuple[float, float] = (0.0, 1.0),  # noqa: A002  # the word of the metric table
    better: Better | None = "higher",
    swapped: str = "",
    summary: str = "",
    text: str = "",
    name: str = "",
) -> Callable[[Formula], Formula]:
    """Register a function of a `Confusion` as a metric of that name.

    Inside, use `c.tp`, `c.fp`, `c.fn`, `c.tn`, `c.ideal`, `c.actual`, `c.total`, the operators `+ - *`,
    `c.ratio(a, b)` to divide, `c.sqrt(x)` and `c.minimum(a, b)`. Then the metric works at every level, on
    every engine and for label arrays.

    Examples:
        >>> import pointwise as pw
        >>> @pw.metric(summary="share that both clusters hold twice")
        ... def dice(c):
        ...     return c.ratio(2 * c.tp, c.ideal + c.actual)
    """

    def register(formula: Formula) -> Formula:
        own = name or getattr(formula, "__name__", "")
        if own in _BUILT_IN:
            raise UsageError(f"{own!r} is a built-in metric. Give yours another name.")
        _check_name(own)
        doc = (formula.__doc__ or "").strip().split("\n")[0]
        METRICS[own] = Metric(own, formula, text, summary or doc, swapped=swapped or own, better=better, range=range)
        return formula

    return register


def _check_name(name: str) -> None:
    """Refuse a name that could clash with columns of tables or of intermediate steps."""
    if not _NAME.fullmatch(name):
        raise UsageError(
            f"A metric needs a name of letters and digits, with single underscores between them, not {short(name)}."
        )
    if name.lower() in RESULTS or name.lower().endswith(RESULT_ENDINGS):
        raise UsageError(
            f"A metric cannot be called {short(name)}: tables have a column of that name, or of that ending, beside "
            "the metrics. Give yours another name."
        )
    same = next((other for other in METRICS if other != name and other.lower() == name.lower()), None)
    if same:
        raise UsageError(f"There is already a metric {same!r}, and {name!r} differs from it only in case.")


_BUILT_IN = frozenset(METRICS)
