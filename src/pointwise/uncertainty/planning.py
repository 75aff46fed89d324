"""Planning: how many ideal clusters to label, estimated from those labelled so far.

The clusters drawn tell what drawing more would give. With c times the effort, a cluster that was drawn with probability
π is drawn with π' = 1 - (1 - π)^c. So the sample would have Σ π'/π clusters, and the variance, to which a cluster of
influence z adds (1 - π) z² now, becomes a sum of (1 - π') z² π/π'. Where π is too small to be known, c times as many
clusters give a c-th of the variance. Degrees of freedom grow with the number of clusters, and the interval is the one
that would be shown.

How far influences vary is itself only known from the clusters drawn. Their variance behaves like a chi-square with the
degrees of freedom of the interval, which gives the range beside every number.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import narwhals.stable.v2 as nw
import numpy as np
import numpy.typing as npt

from pointwise.columns import DELTA, HIGH, IDEAL, IDEAL_CLUSTERS, LOW, METRIC, VALUE, Column, Kind, keys, with_ends
from pointwise.core.evidence import Evidence
from pointwise.core.lifting import defined_weight, sum_up
from pointwise.core.measurement import item_metrics
from pointwise.core.metrics import Metric
from pointwise.core.sample import REST, Sample
from pointwise.engines.base import Engine
from pointwise.engines.queries import only_row
from pointwise.errors import UsageError
from pointwise.inputs.options import POWER, is_number
from pointwise.results import Result
from pointwise.text.drawing import Drawing
from pointwise.text.values import format_confidence, format_count, short
from pointwise.uncertainty.bootstrap import find_ends
from pointwise.uncertainty.ends import ERROR, FREEDOM, SQUARE, check_confidence, may_be_bounded
from pointwise.uncertainty.intervals import INFLUENCE, explain_absence, find_influences, spread
from pointwise.uncertainty.student_t import critical_value
from pointwise.uncertainty.verdict import ENOUGH

_BINS = 50  # of probabilities, per power of e: clusters in one bin are practically equally likely
_CHANCE, _KNOWN, _BIN, _CLUSTERS = "_chance", "_known", "_bin", "_clusters"
_STEPS = 400  # efforts to try; in between, results are interpolated
_FEWEST, _MOST = 2, 1e10  # clusters
_TAIL = 0.1  # probability left out on either side of the range

NEEDED = IDEAL_CLUSTERS
MORE = "more_clusters"
DRAWN = "items_to_draw"

Array = npt.NDArray[np.float64]


@dataclass(frozen=True)
class Need:
    """What one metric needs.

    Args:
        metric: Its name.
        value: What was found so far: the value, or the difference of two.
        low: Lower end of its interval so far.
        high: Upper end.
        clusters: How many ideal clusters the truth must have in all.
        least_clusters: How many would do if values vary as little as the clusters so far allow; None if unknown.
        most_clusters: How many are needed if values vary as much as the clusters so far allow.
        items_to_draw: How many items to draw in all, where it is known how many were drawn so far.

    Examples:
        >>> import pointwise as pw
        >>> ideal = {f"i{n}": n // 2 for n in range(80)}
        >>> actual = {item: cluster if cluster % 5 else 100 + n for n, (item, cluster) in enumerate(ideal.items())}
        >>> (need,) = pw.evaluate(ideal=ideal, actual=actual, outside="wrong").plan("recall", half_width=0.02).needs
        >>> need.metric, need.least_clusters < need.clusters < need.most_clusters
        ('recall', True)
    """

    metric: str
    value: float
    low: float | None
    high: float | None
    clusters: int
    least_clusters: int | None
    most_clusters: int | None
    items_to_draw: int | None = None


@dataclass(frozen=True, repr=False)
class Plan(Result):
    """How many ideal clusters to label: a row per metric.

    Args:
        goal: What to reach.
        labelled: How many ideal clusters the truth has so far.
        needs: What every metric needs.
        note: What to know about the numbers.
        what: What `value` is called: a value, or a difference.

    Examples:
        >>> import pointwise as pw
        >>> ideal = {f"i{n}": n // 2 for n in range(80)}
        >>> actual = {item: cluster if cluster % 5 else 100 + n for n, (item, cluster) in enumerate(ideal.items())}
        >>> plan = pw.evaluate(ideal=ideal, actual=actual, outside="wrong").plan("recall", half_width=0.02)
        >>> plan.labelled, plan.clusters, plan.more_clusters
        (40, 393, 353)
    """

    goal: str
    labelled: int
    needs: tuple[Need, ...]
    note: str
    what: str = VALUE

    @property
    def clusters(self) -> int:
        """How many ideal clusters are enough for all metrics."""
        return max(need.clusters for need in self.needs)

    @property
    def more_clusters(self) -> int:
        """How many of these are still to be labelled."""
        return max(0, self.clusters - self.labelled)

    def describe(self) -> tuple[Column, ...]:
        """Say what the columns are, and what each holds."""
        kind = Kind.DELTA if self.what == DELTA else Kind.METRIC
        needed = with_ends(Column(NEEDED, Kind.COUNT))
        has_items = any(need.items_to_draw is not None for need in self.needs)
        drawn = Column(DRAWN, Kind.COUNT, is_drawn=has_items)
        return (*keys(METRIC), *with_ends(Column(self.what, kind)), *needed, Column(MORE, Kind.COUNT), drawn)

    def to_dicts(self) -> list[dict[str, Any]]:
        """Return the rows as dictionaries."""
        return [self._row(need) for need in self.needs]

    def _row(self, need: Need) -> dict[str, Any]:
        value = {METRIC: need.metric, self.what: need.value, self.what + LOW: need.low, self.what + HIGH: need.high}
        number = {NEEDED: need.clusters, NEEDED + LOW: need.least_clusters, NEEDED + HIGH: need.most_clusters}
        return value | number | {MORE: max(0, need.clusters - self.labelled), DRAWN: need.items_to_draw}

    def drawing(self) -> Drawing:
        """Say what to show."""
        title = f"Plan: {self.goal}, judged by {format_count(self.labelled, 'ideal cluster')}"
        return Drawing(title, self.describe(), self.to_dicts(), self.note)


@dataclass(frozen=True)
class Goal:
    """What the interval of a value should reach.

    Args:
        half_width: How far it may extend to either side, on average.
        bound: A value that it should exclude.
    """

    half_width: float | None = None
    bound: float | None = None

    def __post_init__(self) -> None:
        """Refuse meaningless goals."""
        if (self.half_width is None) == (self.bound is None):
            raise UsageError("Say what the interval should reach: half_width=..., or bound=..., a value to exclude.")
        if self.bound is not None and not is_number(self.bound):
            raise UsageError(f"bound={short(self.bound)} is not a number.")
        if self.half_width is not None and not (is_number(self.half_width) and 0 < self.half_width < math.inf):
            raise UsageError(f"half_width={short(self.half_width)} must be above 0, such as 0.01.")

    def gaps(self, value: float, low: Array, high: Array) -> Array:
        """Return by how much intervals miss the goal."""
        if self.half_width is not None:
            return (high - low) / 2 - self.half_width
        bound = float(self.bound or 0.0)
        return bound - low if bound < value else high - bound

    def check(self, metric: Metric, value: float) -> None:
        """Refuse a bound outside the range, or one that no interval can exclude."""
        if self.bound is not None and (not metric.range[0] <= self.bound <= metric.range[1] or self.bound == value):
            raise UsageError(
                f"bound={self.bound!r} cannot be distinguished from {metric.name} {value:.4f}: give another value from "
                f"{metric.range[0]:g} to {metric.range[1]:g}."
            )

    @property
    def words(self) -> str:
        """The goal for people."""
        if self.half_width is not None:
            return f"intervals with a half width of {self.half_width:g}"
        return f"intervals that leave out {self.bound:g}"


@dataclass(frozen=True)
class Pilot:
    """What the clusters drawn so far say about drawing more.

    Args:
        chances: Probabilities of being drawn; 0 where they are too small to be known.
        counts: How many of the clusters drawn have each of them.
        squares: The sums of their squared influences, by metric.
    """

    chances: Array
    counts: Array
    squares: Mapping[str, Array]

    @property
    def clusters(self) -> int:
        """How many clusters were drawn."""
        return int(self.counts.sum())

    @property
    def efforts(self) -> Array:
        """Multiples of what was drawn, from two clusters to more than any data has."""
        return np.geomspace(_FEWEST, _MOST, _STEPS) / self.clusters

    def _thinned(self, efforts: Array) -> tuple[Array, Array]:
        """Return the probabilities at every effort, and how many clusters stand for one drawn now: π/π'."""
        chances, effort = self.chances[None, :], np.asarray(efforts, dtype=float)[:, None]
        with np.errstate(divide="ignore", invalid="ignore"):
            raised = -np.expm1(effort * np.log1p(-chances))
            share = np.where(chances > 0, chances / raised, 1 / effort)
        return raised, share

    def grow(self, efforts: Array) -> Array:
        """Return how many clusters every effort brings."""
        found: Array = (self.counts / self._thinned(efforts)[1]).sum(axis=1)
        return found

    def shrink(self, metric: str, efforts: Array) -> Array:
        """Return the factor by which every effort reduces the standard error of a metric."""
        raised, share = self._thinned(efforts)
        squares = self.squares[metric]
        left = (squares * share * (1 - raised)).sum(axis=1) / (squares * (1 - self.chances)).sum()
        found: Array = np.sqrt(np.maximum(left, 0.0))
        return found

    def first_effort(self, gaps: Array) -> float:
        """Find the effort at which a gap closes; if none does, everything must be drawn."""
        efforts = self.efforts
        place = int(np.argmax(gaps <= 0))
        if gaps[place] > 0:
            return self._everything()
        if place == 0:
            return float(efforts[0])
        before, after = gaps[place - 1], gaps[place]
        ends = np.log(efforts[place - 1 : place + 1])
        return float(np.exp(ends[0] + (ends[1] - ends[0]) * before / (before - after)))

    def _everything(self) -> float:
        if not self.chances.all():
            raise UsageError("No number of clusters would reach this: the goal is too far away.")
        clusters = self.grow(self.efforts)
        return float(self.efforts[np.argmax(clusters > clusters[-1] - _ROUNDED)])

    def freedom(self, now: float, efforts: Array) -> Array:
        """Return the degrees of freedom at every effort."""
        clusters = self.grow(efforts)
        return np.maximum(1.0, np.minimum(now * clusters / self.clusters, clusters - 1))


def read_pilot(influences: nw.LazyFrame, names: Sequence[str], *, sample: Sample, engine: Engine) -> Pilot:
    """Sum the squared influences of ideal clusters by their probability of being drawn.

    Args:
        influences: One row per ideal cluster, as `find_influences` gives them.
        names: Of the metrics.
        sample: How the clusters were drawn.
        engine: What computes.
    """
    if sample.clusters is None:
        rows = influences.with_columns(nw.lit(1.0).alias(REST))
    else:
        rows = influences.join(sample.clusters.select(IDEAL, REST), on=IDEAL, how="inner")
    rows = rows.with_columns((1 - nw.col(REST)).alias(_CHANCE), *(_square(name) for name in names))
    known = nw.when(nw.col(_CHANCE) > 0).then(nw.col(_CHANCE)).otherwise(nw.lit(_UNKNOWN))
    rows = rows.with_columns(known.alias(_KNOWN))
    rows = rows.with_columns((nw.col(_KNOWN).log() * _BINS).floor().alias(_BIN))
    sums = [nw.col(_CHANCE).sum(), *(nw.col(name + SQUARE).sum() for name in names)]
    table = engine.collect(rows.group_by(_BIN).agg(nw.len().alias(_CLUSTERS), *sums).sort(_BIN))
    columns = {name: np.array(table[name].to_pylist(), dtype=float) for name in table.column_names}
    squares = {name: np.nan_to_num(columns[name + SQUARE]) for name in names}
    return Pilot(np.minimum(columns[_CHANCE] / columns[_CLUSTERS], 1.0), columns[_CLUSTERS], squares)


_UNKNOWN = 1e-30  # in the place of a probability of 0, which has no logarithm


def _square(name: str) -> nw.Expr:
    influence = nw.col(name + INFLUENCE)
    return (influence * influence).alias(name + SQUARE)


def plan_values(
    evidence: Evidence, metrics: Sequence[Metric], goal: Goal, *, confidence: float, drawn: int | None
) -> Plan:
    """Estimate how many ideal clusters give intervals that reach a goal.

    Args:
        evidence: The items and their cells, with how the truth was drawn.
        metrics: Of which metrics.
        goal: What their intervals should reach.
        confidence: How often the intervals should contain the true value.
        drawn: How many items were drawn so far, if items were drawn and that is known.

    Raises:
        UsageError: The truth is complete, or does not show how much values vary.
    """
    check_confidence(confidence)
    engine, sample, names = evidence.engine, evidence.sample, [m.name for m in metrics]
    check_incomplete(sample)
    measured = evidence.measured(metrics)
    values = only_row(evidence.estimate(measured, (), metrics), engine)
    sums = engine.checkpoint(sum_up(sample.expand(measured), (IDEAL,), metrics))
    weights = list(dict.fromkeys(defined_weight(m) for m in item_metrics(metrics)))
    squares = [(nw.col(weight) * nw.col(weight)).alias(weight + SQUARE) for weight in weights]
    rows = find_influences(sums, (), metrics).with_columns(*squares)
    carry = [*weights, *(weight + SQUARE for weight in weights)]
    (tests,) = spread(rows, (), names, engine=engine, confidence=confidence, sample=sample, carry=carry)
    pilot = read_pilot(rows, names, sample=sample, engine=engine)
    needs = []
    for metric in metrics:
        value = values[metric.name]
        found = _need(metric, value, tests, pilot, goal, sample=sample, confidence=confidence)
        needs.append(with_items(*found, drawn, pilot))
    words = f"{format_confidence(confidence)} {goal.words}"
    return Plan(words, pilot.clusters, tuple(needs), _say_range(pilot, needs))


def check_incomplete(sample: Sample) -> None:
    """Refuse to plan where nothing remains to be drawn."""
    if sample.is_complete:
        raise UsageError("The truth is complete: there is nothing more to label, and values are exact.")


def _need(
    metric: Metric,
    value: float | None,
    tests: Mapping[str, Any],
    pilot: Pilot,
    goal: Goal,
    *,
    sample: Sample,
    confidence: float,
) -> tuple[Need, float]:
    """Find the least effort after which the interval of a metric reaches the goal."""
    error, freedom = tests[metric.name + ERROR], tests[metric.name + FREEDOM]
    if value is None or (error is None and not (value in metric.range and may_be_bounded(metric, sample))):
        why = "it is undefined" if value is None else explain_absence(metric, pilot.clusters, value, sample)
        raise UsageError(f"Nothing can be planned for {metric.name}: {why}.")
    goal.check(metric, value)
    weight = defined_weight(item_metrics([metric])[0])
    lightness = tests[weight + SQUARE] / tests[weight] ** 2

    def ends(efforts: Array, factor: float) -> tuple[Array, Array]:
        light = lightness * pilot.clusters / pilot.grow(efforts)
        reach: list[float | None] = [None] * len(efforts)
        if error is not None:
            criticals = [critical_value(confidence, df) for df in pilot.freedom(freedom, efforts)]
            reach = list(np.array(criticals) * error * factor * pilot.shrink(metric.name, efforts))
        column = [value] * len(efforts)
        found = find_ends(metric, column, reach, light.tolist(), confidence=confidence, sample=sample)
        return np.array(found[0], dtype=float), np.array(found[1], dtype=float)

    def effort_at(factor: float) -> float:
        return pilot.first_effort(goal.gaps(value, *ends(pilot.efforts, factor)))

    low, high = ends(np.ones(1), 1.0)
    effort = effort_at(1.0)
    return find_range(metric.name, (value, float(low[0]), float(high[0])), pilot, effort_at, freedom=freedom), effort


def find_range(
    metric: str,
    found: tuple[float, float | None, float | None],
    pilot: Pilot,
    effort_at: Callable[[float], float],
    *,
    freedom: float | None,
    least: float = 0.0,
) -> Need:
    """Count the clusters that an effort brings, with the range that a standard error from so few clusters allows.

    Args:
        metric: Its name.
        found: The value so far, with the ends of its interval.
        pilot: The clusters so far.
        effort_at: What is needed if the standard error is this many times as large as found.
        freedom: The degrees of freedom of the standard error; None if there is none.
        least: How many clusters are needed at least, whatever the error.
    """

    def count(effort: float) -> int:
        return math.ceil(max(float(pilot.grow(np.array([effort]))[0]), least) - _ROUNDING)

    ends = [None, None] if freedom is None else [count(effort_at(factor)) for factor in error_range(freedom)]
    return Need(metric, *found, count(effort_at(1.0)), *ends)


_ROUNDING = 1e-6
_ROUNDED = 0.5  # of a cluster


def error_range(freedom: float) -> tuple[float, float]:
    """Return how many times smaller and larger the true standard error may be than the one found.

    Examples:
        >>> [round(factor, 2) for factor in error_range(10)]
        [0.79, 1.43]
    """
    from scipy.special import chdtri

    return math.sqrt(freedom / chdtri(freedom, _TAIL)), math.sqrt(freedom / chdtri(freedom, 1 - _TAIL))


def with_items(need: Need, effort: float, drawn: int | None, pilot: Pilot) -> Need:
    """Add how many items to draw, of which several may bring the same cluster."""
    if drawn is None:
        return need
    more = need.clusters / float(pilot.grow(np.array([effort]))[0])  # of what was needed whatever the error
    return replace(need, items_to_draw=math.ceil(drawn * effort * max(1.0, more) - _ROUNDING))


def _say_range(pilot: Pilot, needs: Sequence[Need]) -> str:
    """Say how far to trust the numbers: in benchmarks, those of small pilots were more often too low than too high."""
    if all(need.most_clusters is None for need in needs):
        return "The numbers hold if the clusters to come show no error either."
    range_means = "[low, high] after a count: its range, because how much clusters vary is itself an estimate"
    if pilot.clusters >= _SMALL:
        return range_means
    return f"{range_means}. From fewer than {_SMALL} clusters, counts and ranges tend to be too low."


_SMALL = 100


@dataclass(frozen=True)
class Difference:
    """A difference to detect.

    Args:
        size: How large it is.
        power: In which share of samples to detect it.
        tests: How many tests are made, for which the confidence holds jointly.
    """

    size: float
    power: float = POWER
    tests: int = 1

    def __post_init__(self) -> None:
        """Refuse what cannot be planned for."""
        if not 0 < self.size < math.inf:
            raise UsageError(f"difference={self.size!r} must be above 0, such as 0.01: the least one that matters.")
        if not _COIN <= self.power < 1:
            raise UsageError(f"power={self.power!r} must be from 0.5 to below 1, such as 0.8.")
        if self.tests < 1:
            raise UsageError(f"tests={self.tests!r} must be a positive number.")

    def errors(self, confidence: float, freedom: Array) -> Array:
        """Return how many standard errors the difference must be away from zero."""
        level = 1 - (1 - confidence) / self.tests
        power = critical_value(2 * self.power - 1, _NORMAL) if self.power > _COIN else 0.0
        return np.array([critical_value(level, df) + power for df in freedom])

    def words(self, confidence: float) -> str:
        """The goal for people."""
        tests = f", {self.tests} tests" if self.tests > 1 else ""
        sure = format_confidence(confidence)
        return f"a difference of {self.size:g} found with {sure} confidence and power {self.power:g}{tests}"


_COIN = 0.5  # a power below that of a coin toss is not a goal
_NORMAL = 1e9  # degrees of freedom


@dataclass(frozen=True)
class FoundDifference:
    """A difference that was found so far.

    Args:
        metric: Of which metric.
        found: The difference, with the ends of its interval.
        error: Its standard error; None if nothing changed.
        freedom: The degrees of freedom of that.
        changed: How many ideal clusters changed.
    """

    metric: Metric
    found: tuple[float, float | None, float | None]
    error: float | None
    freedom: float | None
    changed: int


def plan_differences(
    influences: nw.LazyFrame,
    changes: Sequence[FoundDifference],
    goal: Difference,
    *,
    sample: Sample,
    engine: Engine,
    confidence: float,
    drawn: int | None,
) -> Plan:
    """Estimate how many ideal clusters are needed to detect a difference.

    Args:
        influences: One row per ideal cluster: by how much it moves the differences.
        changes: The differences so far.
        goal: What to detect.
        sample: How the clusters were drawn.
        engine: What computes.
        confidence: How certain a clear change must be.
        drawn: How many items were drawn so far, if items were drawn and that is known.

    Raises:
        UsageError: The truth is complete, or nothing changed, so that it is unknown how much changes vary.
    """
    check_confidence(confidence)
    check_incomplete(sample)
    pilot = read_pilot(influences, [change.metric.name for change in changes], sample=sample, engine=engine)
    needs = [with_items(*_need_of_change(change, pilot, goal, confidence), drawn, pilot) for change in changes]
    return Plan(goal.words(confidence), pilot.clusters, tuple(needs), _say_range(pilot, needs), DELTA)


def _need_of_change(change: FoundDifference, pilot: Pilot, goal: Difference, confidence: float) -> tuple[Need, float]:
    name, error, freedom = change.metric.name, change.error, change.freedom
    if error is None or freedom is None or not change.changed:
        raise UsageError(f"Nothing can be planned for {name}: no ideal cluster changed, or there is only one.")
    efforts = pilot.efforts
    reach = goal.errors(confidence, pilot.freedom(freedom, efforts)) * error * pilot.shrink(name, efforts)

    def effort_at(factor: float) -> float:
        return pilot.first_effort(reach * factor - goal.size)

    least = ENOUGH * pilot.clusters / change.changed  # fewer would give no verdict
    effort = effort_at(1.0)
    return find_range(name, change.found, pilot, effort_at, freedom=freedom, least=least), effort
