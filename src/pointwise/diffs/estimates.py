"""Estimates: how good a change is, from what is known exactly and from the shares of yes among people's answers."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from pointwise.diffs.closure import NO, UNSURE, YES
from pointwise.diffs.judgements import Judgements
from pointwise.diffs.questions import Design, Question, Questions
from pointwise.diffs.sampling import STABLE
from pointwise.diffs.shares import Answers, Share, estimate_share, wilson
from pointwise.diffs.strata import MERGE, MINUS, PLUS, SPLIT, STRATA, Masses
from pointwise.uncertainty.student_t import critical_value

POOLED = "pooled_delta_recall"

_NUMBERS = {YES: 1.0, NO: 0.0, UNSURE: 0.5}

Weighting = str
RATE, DISTANCE, CHANGE = "rate", "distance", "change"
"""How much a pair counts: as in a rate, in a distance, or by the weight of its items alone."""


@dataclass(frozen=True)
class Estimate:
    """What people's answers say about a number.

    Args:
        metric: What it is.
        value: The estimate; None if there are too few answers for one.
        low: Lower end of its interval.
        high: Upper end.
        questions: How many questions, answered by people, it is based on.
        uses_model: Whether a model's answers made it more precise.
        reason: Why there is no value.

    Examples:
        >>> import pointwise as pw
        >>> diff = pw.diff(baseline=[["i1", "i3"], ["i2"]], experiment=[["i1", "i2"], ["i3"]])
        >>> questions = diff.questions(4, seed=1)
        >>> truth = {"i1": 1, "i2": 1, "i3": 2}
        >>> answers = questions.judge_by(lambda a, b: truth[a] == truth[b], judge="ann")
        >>> estimate = diff.estimate(questions, answers)["delta_precision"]
        >>> estimate.metric, round(estimate.value, 4), round(estimate.half_width, 4)
        ('delta_precision', 0.3333, 0.1938)
    """

    metric: str
    value: float | None
    low: float | None
    high: float | None
    questions: int
    uses_model: bool = False
    reason: str = ""

    @property
    def half_width(self) -> float | None:
        """Half of the interval's width."""
        return None if self.low is None or self.high is None else (self.high - self.low) / 2

    def __contains__(self, value: float) -> bool:
        """Tell whether a value lies in the interval."""
        return self.low is not None and self.high is not None and self.low <= value <= self.high


Combination = tuple[float, Mapping[tuple[str, Weighting], float]]
"""A constant, and factors of the shares of yes, by stratum and weighting."""


@dataclass(frozen=True)
class Judged:
    """A number that can be estimated from judgements.

    Args:
        name: Its name.
        summary: What it says, in one line.
        combine: How it is computed from shares, given what is known; None if it is estimated from sheets.
        better: Whether higher or lower values are better.
        range: The least and greatest value that it can have, given what is known.
        needs_singletons: Whether it has a meaning only if the experiment has every item alone.
    """

    name: str
    summary: str
    combine: Callable[[Masses], Combination] | None
    better: str
    range: Callable[[Masses], tuple[float, float]]
    needs_singletons: bool = False


def _part(stratum: str, weighting: Weighting, known: str, *, yes: bool) -> Callable[[Masses], Combination]:
    """Make a number that is a known quantity times the share of yes, or of no."""

    def combine(masses: Masses) -> Combination:
        whole = getattr(masses, known)
        return (0.0, {(stratum, weighting): whole}) if yes else (whole, {(stratum, weighting): -whole})

    return combine


def _sum(*parts: Callable[[Masses], Combination]) -> Callable[[Masses], Combination]:
    def combine(masses: Masses) -> Combination:
        constants, factors = zip(*(part(masses) for part in parts), strict=True)
        return sum(constants), {key: value for some in factors for key, value in some.items()}

    return combine


def _delta_precision(masses: Masses) -> Combination:
    factors = {SPLIT: -masses.split, MERGE: masses.merge, PLUS: masses.plus, MINUS: -masses.minus}
    return masses.offset, {(stratum, RATE): factor for stratum, factor in factors.items()}


def _symmetric_iq(masses: Masses) -> Combination:
    split, merge = masses.split_weight, masses.merge_weight
    whole = split + merge
    if not whole:
        return math.nan, {}
    return 2 * split / whole - 1, {(SPLIT, CHANGE): -2 * split / whole, (MERGE, CHANGE): 2 * merge / whole}


def _precision(masses: Masses) -> Combination:
    return 1 - masses.split, {(SPLIT, RATE): masses.split}


def _up_to(known: str) -> Callable[[Masses], tuple[float, float]]:
    return lambda masses: (0.0, float(getattr(masses, known)))


def _either_way(known: str) -> Callable[[Masses], tuple[float, float]]:
    return lambda masses: (0.0 - float(getattr(masses, known)), float(getattr(masses, known)))  # never -0.0


_GOOD_SPLIT_DISTANCE = _part(SPLIT, DISTANCE, "split_distance", yes=False)
_BAD_SPLIT_DISTANCE = _part(SPLIT, DISTANCE, "split_distance", yes=True)
_GOOD_MERGE_DISTANCE = _part(MERGE, DISTANCE, "merge_distance", yes=True)
_BAD_MERGE_DISTANCE = _part(MERGE, DISTANCE, "merge_distance", yes=False)

_ROWS = (
    Judged(
        "precision",
        "precision of the baseline itself",
        _precision,
        "higher",
        lambda masses: (1 - masses.split, 1.0),
        needs_singletons=True,
    ),
    Judged(
        "delta_precision",
        "precision of the experiment minus precision of the baseline",
        _delta_precision,
        "higher",
        _either_way("jaccard_distance"),
    ),
    Judged(
        "good_split_rate",
        "share of an item's baseline cluster that was split off and does not belong with it",
        _part(SPLIT, RATE, "split", yes=False),
        "higher",
        _up_to("split"),
    ),
    Judged(
        "bad_split_rate",
        "share of an item's baseline cluster that was split off and belongs with it",
        _part(SPLIT, RATE, "split", yes=True),
        "lower",
        _up_to("split"),
    ),
    Judged(
        "good_merge_rate",
        "share of an item's experiment cluster that was merged in and belongs with it",
        _part(MERGE, RATE, "merge", yes=True),
        "higher",
        _up_to("merge"),
    ),
    Judged(
        "bad_merge_rate",
        "share of an item's experiment cluster that was merged in and does not belong with it",
        _part(MERGE, RATE, "merge", yes=False),
        "lower",
        _up_to("merge"),
    ),
    Judged(
        "good_distance",
        "share of an item's two clusters that changed for the better",
        _sum(_GOOD_SPLIT_DISTANCE, _GOOD_MERGE_DISTANCE),
        "higher",
        _up_to("jaccard_distance"),
    ),
    Judged(
        "bad_distance",
        "share of an item's two clusters that changed for the worse",
        _sum(_BAD_SPLIT_DISTANCE, _BAD_MERGE_DISTANCE),
        "lower",
        _up_to("jaccard_distance"),
    ),
    Judged(
        "good_split_distance",
        "share of an item's two clusters that was split off and does not belong with it",
        _GOOD_SPLIT_DISTANCE,
        "higher",
        _up_to("split_distance"),
    ),
    Judged(
        "bad_split_distance",
        "share of an item's two clusters that was split off and belongs with it",
        _BAD_SPLIT_DISTANCE,
        "lower",
        _up_to("split_distance"),
    ),
    Judged(
        "good_merge_distance",
        "share of an item's two clusters that was merged in and belongs with it",
        _GOOD_MERGE_DISTANCE,
        "higher",
        _up_to("merge_distance"),
    ),
    Judged(
        "bad_merge_distance",
        "share of an item's two clusters that was merged in and does not belong with it",
        _BAD_MERGE_DISTANCE,
        "lower",
        _up_to("merge_distance"),
    ),
    Judged(
        "symmetric_iq",
        "1 if all change is towards the truth, -1 if all is away from it",
        _symmetric_iq,
        "higher",
        lambda _: (-1.0, 1.0),
    ),
    Judged(
        POOLED,
        "recall of the experiment minus that of the baseline, if nothing belongs with an item but what either has",
        None,
        "higher",
        _either_way("affected"),
    ),
)

JUDGED: dict[str, Judged] = {row.name: row for row in _ROWS}
"""The numbers that can be estimated from judgements. Tables, help and gates derive from it."""


Membership = tuple[bool, bool]
"""Whether the first and the second item of a question lie in a slice."""

_ALL, _NONE = (True, True), (False, False)


@dataclass(frozen=True)
class Counted:
    """A question with what counts as its answers: 1 for yes, 0 for no, 0.5 for unsure, None for none."""

    question: Question
    human: float | None
    model: float | None


def count_answers(questions: Questions, judgements: Judgements) -> list[Counted]:
    """Find the answer of every question: its own, the majority's, or one that follows from others.

    An answer that is known without the question's turn having come counts only when all questions of its stratum and
    round are answered. Before that, answers that follow easily would count more often, which would bias the shares.
    """
    known = {q.number: judgements.closure.answer(q.pair) for q in questions}
    waiting = {(q.stratum, q.round) for q in questions if known[q.number] is None}
    counted = []
    for question in questions:
        counts = question.number in judgements.reached or (question.stratum, question.round) not in waiting
        answer = known[question.number] if counts else None
        model = judgements.model_verdicts.get(question.pair)
        human = None if answer is None else _NUMBERS[answer]
        counted.append(Counted(question, human, None if model is None else _NUMBERS[model.answer]))
    return counted


def estimate_all(
    masses: Masses,
    counted: Sequence[Counted],
    *,
    confidence: float,
    members: Mapping[int, Membership] | None = None,
    is_singletons: bool = False,
) -> dict[str, Estimate]:
    """Estimate every number that can be estimated from judgements.

    Args:
        masses: What is known about these items.
        counted: The questions with their answers.
        confidence: How often intervals should contain the true value.
        members: For a slice, whether each of the two items of a question lies in it, by the question's number.
        is_singletons: Whether the experiment has every item alone.
    """
    shares = _Shares(counted, confidence, members)
    rows = [row for row in JUDGED.values() if is_singletons or not row.needs_singletons]
    return {row.name: _estimate(row, row.combine(masses), masses, shares) for row in rows if row.combine is not None}


def estimate_overall(design: Design, counted: Sequence[Counted], *, confidence: float) -> dict[str, Estimate]:
    """Estimate everything for all items, from what the design of the questions says; nothing else is needed."""
    found = estimate_all(design.masses, counted, confidence=confidence, is_singletons=design.is_singletons)
    recall = estimate_recall(design.masses, counted, confidence=confidence)
    return found if recall is None else {**found, recall.metric: recall}


@dataclass
class _Shares:
    """The shares of yes of every stratum, for every way to weigh its pairs, estimated when they are needed."""

    counted: Sequence[Counted]
    confidence: float
    members: Mapping[int, Membership] | None

    def __post_init__(self) -> None:
        self._found: dict[tuple[str, Weighting], Share] = {}

    def of(self, stratum: str, weighting: Weighting) -> Share:
        key = stratum, weighting
        if key not in self._found:
            own = [c for c in self.counted if c.question.stratum == stratum]
            self._found[key] = estimate_share(self._answers(own, weighting), self.confidence)
        return self._found[key]

    def _answers(self, own: Sequence[Counted], weighting: Weighting) -> Answers:
        inside = [_ALL if self.members is None else self.members.get(c.question.number, _NONE) for c in own]
        weigh = _WEIGHTS[weighting]
        return Answers(
            draws=np.array([c.question.draws for c in own], float),
            human=np.array([c.human for c in own], float),
            model=np.array([c.model for c in own], float),
            weights=np.array([weigh(c.question, members) for c, members in zip(own, inside, strict=True)], float),
        )


def _rate_weight(_: Question, members: Membership) -> float:
    """Return how much of a pair counts: each of its items sees the other one."""
    return sum(members) / 2


def _distance_weight(question: Question, members: Membership) -> float:
    """Return what a pair adds to a distance, of what it adds to the rate that it was drawn by."""
    seen = sum(is_member / union for is_member, union in zip(members, question.unions, strict=True))
    return question.cluster_weight * seen / 2


def _change_weight(question: Question, members: Membership) -> float:
    """Return what a pair adds to the weight of all changes, of what it adds to the rate that it was drawn by."""
    return question.cluster_weight * sum(members) / 2


_WEIGHTS: dict[Weighting, Callable[[Question, Membership], float]] = {
    RATE: _rate_weight,
    DISTANCE: _distance_weight,
    CHANGE: _change_weight,
}


def _estimate(row: Judged, combination: Combination, masses: Masses, shares: _Shares) -> Estimate:
    """Add up shares; the squared distances of their ends to their values add up, too (MOVER)."""
    constant, factors = combination
    needed = {key: factor for key, factor in factors.items() if factor}
    found = {key: shares.of(*key) for key in needed}
    questions = sum(share.questions for share in found.values())
    if math.isnan(constant):
        return Estimate(row.name, None, None, None, questions, reason="nothing was split or merged")
    missing = [stratum for (stratum, _), share in found.items() if share.value is None]
    if missing:
        return Estimate(row.name, None, None, None, questions, reason=f"no answer about {' and '.join(missing)} pairs")
    value, below, above = constant, 0.0, 0.0
    for key, share in found.items():
        middle = needed[key] * (share.value or 0.0)
        ends = sorted((needed[key] * share.low, needed[key] * share.high))
        value, below, above = value + middle, below + (middle - ends[0]) ** 2, above + (ends[1] - middle) ** 2
    least, most = row.range(masses)
    low, high = max(least, value - math.sqrt(below)), min(most, value + math.sqrt(above))
    uses_model = any(share.uses_model for share in found.values())
    return Estimate(row.name, value, min(low, value), max(high, value), questions, uses_model)


def estimate_recall(masses: Masses, counted: Sequence[Counted], *, confidence: float) -> Estimate | None:
    """Estimate the change of recall from sheets, all of whose questions are answered; None if none was drawn.

    What belongs with an item is taken to lie within its two clusters, as pooling does: then the change of an item's
    recall has the right sign, and is not underestimated. The items are the sampling units.
    """
    sheets: dict[int, list[Counted]] = {}
    for one in counted:
        if one.question.sheet is not None:
            sheets.setdefault(one.question.sheet.number, []).append(one)
    if not sheets:
        return None
    whole = [sheet for sheet in sheets.values() if all(one.human is not None for one in sheet)]
    questions = sum(len(sheet) for sheet in whole)
    if len(whole) < _FEWEST_SHEETS:
        reason = f"no two of {len(sheets):,} sheets are answered"
        return Estimate(POOLED, None, None, None, questions, reason=reason)
    values = np.array([_pooled_delta(sheet) for sheet in whole])
    value, spread = float(values.mean()), float(values.std(ddof=1))
    reach = critical_value(confidence, len(values) - 1) * spread / math.sqrt(len(values))
    if not spread:  # too few sheets differ to have been drawn
        reach = wilson(0.0, len(values), confidence)[1]
    low, high = ((value + sign * reach) * masses.affected for sign in (-1, 1))
    least, most = JUDGED[POOLED].range(masses)
    return Estimate(POOLED, value * masses.affected, max(least, low), min(most, high), questions)


_FEWEST_SHEETS = 2  # one alone has no spread


def _pooled_delta(sheet: Sequence[Counted]) -> float:
    """Compute the change of one item's recall; unsure counts half."""
    right: dict[str, float] = {}
    weight = 0.0
    for one in sheet:
        place = one.question.sheet
        if place is not None:
            weight = place.item_weight
            part = one.question.draws * place.contribution * (one.human or 0.0)
            right[place.part] = right.get(place.part, 0.0) + part
    lost, gained = right.get(SPLIT, 0.0), right.get(MERGE, 0.0)
    return (gained - lost) / (weight + lost + gained + right.get(STABLE, 0.0))


def suggest_shares(counted: Sequence[Counted]) -> dict[str, float]:
    """Guess the share of yes in each stratum, cautiously, to decide how many more questions each needs."""
    guesses = {}
    for stratum in STRATA:
        answers = [c for c in counted if c.question.stratum == stratum and c.human is not None]
        number = sum(c.question.draws for c in answers)
        yes = sum(c.question.draws * (c.human or 0.0) for c in answers)
        guesses[stratum] = (yes + _CAUTION / 2) / (number + _CAUTION)
    return guesses


_CAUTION = 4.0  # answers, half of them yes, that are added before anybody has answered, as Wilson's interval does
