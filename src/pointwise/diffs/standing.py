"""Standing: the progress of judging, and how precise the estimates are so far."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from pointwise.columns import Column, Kind, keys
from pointwise.diffs.cases import Case, find_cases
from pointwise.diffs.estimates import Counted, Estimate, count_answers, estimate_overall
from pointwise.diffs.judgements import Judgements
from pointwise.diffs.questions import Questions
from pointwise.diffs.sampling import SHEET
from pointwise.diffs.strata import STRATA
from pointwise.inputs.options import CONFIDENCE
from pointwise.results import Result
from pointwise.text.drawing import Drawing
from pointwise.text.values import format_count, format_metric

FEWEST_ANSWERS = 30
"""With fewer answers an interval may be narrow by chance, so no target counts as reached."""


@dataclass(frozen=True, repr=False)
class Standing(Result):
    """How many questions of each kind are answered, and how precisely the change of precision is known so far.

    Args:
        rows: Questions, draws and answers by kind of pairs.
        estimates: All estimates so far, by name.
        target: The half width that the interval of the leading estimate should have; None if not given.
        alpha: Krippendorff's alpha of the judges; None if it has no value.
        cases: Pairs that somebody should look at again.
        problems: What was set aside, because it cannot be read.

    Examples:
        >>> import pointwise as pw
        >>> diff = pw.diff(baseline=[["i1", "i3"], ["i2"]], experiment=[["i1", "i2"], ["i3"]])
        >>> questions = diff.questions(half_width=0.5, seed=1)
        >>> truth = {"i1": 1, "i2": 1, "i3": 2}
        >>> answers = questions.judge_by(lambda a, b: truth[a] == truth[b], judge="ann")
        >>> from pointwise.diffs.standing import look_at
        >>> standing = look_at(questions, answers)
        >>> standing.answered, standing.left, [row["answered"] for row in standing]
        (2, 0, [1, 1])
        >>> standing.leading.metric, standing.target, standing.is_reached, standing.left_to_target
        ('delta_precision', 0.5, True, 0)
    """

    rows: tuple[Mapping[str, Any], ...]
    estimates: Mapping[str, Estimate]
    target: float | None
    alpha: float | None
    cases: tuple[Case, ...]
    problems: tuple[str, ...]

    @property
    def leading(self) -> Estimate:
        """What the target is about: the change of precision, or the precision of one clustering."""
        return self.estimates.get("precision", self.estimates["delta_precision"])

    @property
    def questions(self) -> int:
        """How many questions there are."""
        return sum(row["questions"] for row in self.rows)

    @property
    def answered(self) -> int:
        """How many of them are answered, by somebody or because other answers imply it."""
        return sum(row["answered"] for row in self.rows)

    @property
    def left(self) -> int:
        """How many of them are open."""
        return self.questions - self.answered

    @property
    def left_to_target(self) -> int | None:
        """About how many more answers the target will take, if they are like those so far; None if unknown.

        It may be more than there are questions.
        """
        width = self.leading.half_width
        if width is None or self.target is None:
            return None
        needed = max(self.answered * (width / self.target) ** 2, min(FEWEST_ANSWERS, self.questions))
        return 0 if self.is_reached else max(1, math.ceil(needed) - self.answered)

    @property
    def is_reached(self) -> bool:
        """Whether the target width is reached, by enough answers to be trusted."""
        width = self.leading.half_width
        is_narrow = width is not None and self.target is not None and width <= self.target
        return is_narrow and self.answered >= min(FEWEST_ANSWERS, self.questions)

    def describe(self) -> tuple[Column, ...]:
        """Say what the columns are, and what each holds."""
        return _COLUMNS

    def to_dicts(self) -> list[dict[str, Any]]:
        """Return one row per kind of pairs."""
        return [dict(row) for row in self.rows]

    def to_dict(self) -> dict[str, Any]:
        """Return all facts by name."""
        leading = self.leading
        return {
            "questions": self.questions,
            "answered": self.answered,
            "left": self.left,
            "pairs": self.to_dicts(),
            leading.metric: leading.value,
            "low": leading.low,
            "high": leading.high,
            "half_width": leading.half_width,
            "target": self.target,
            "is_reached": self.is_reached,
            "left_to_target": self.left_to_target,
            "alpha": self.alpha,
            "cases": [case.to_dict() for case in self.cases],
            "problems": list(self.problems),
        }

    def __str__(self) -> str:
        """Summarise the progress of judging in a line."""
        done = f"{self.answered:,} of {format_count(self.questions, 'question')} answered"
        width = self.leading.half_width
        known = "" if width is None else f"; {self.leading.metric} is known to ±{format_metric(width)}"
        return done + known + ("" if self.target is None else f" (the target is ±{self.target:g}{self._say_left()})")

    def _say_left(self) -> str:
        if self.is_reached:
            return ", reached"
        return "" if self.left_to_target is None else f", about {format_count(self.left_to_target, 'more answer')}"

    def drawing(self) -> Drawing:
        """Say what to show: the kinds of pairs, and what to look at again below them."""
        cases = [f"Look again at {case.pair[0]} and {case.pair[1]}: {case.reason}." for case in self.cases[:_CASES]]
        more = len(self.cases) - len(cases)
        note = [*cases, *([f"{format_count(more, 'more case')} to look at again."] if more else [])]
        return Drawing(str(self), _COLUMNS, self.to_dicts(), "\n".join([*note, *self.problems]))


_CASES = 5  # that are listed
_COLUMNS = (*keys("pairs"), *(Column(name, Kind.COUNT) for name in ("questions", "draws", "answered")))


def look_at(questions: Questions, judgements: Judgements, *, confidence: float = CONFIDENCE) -> Standing:
    """Find the progress of judging, and what the answers say so far."""
    counted = count_answers(questions, judgements)
    parts = {stratum: [c for c in counted if c.question.stratum == stratum] for stratum in (*STRATA, SHEET)}
    return Standing(
        tuple(_row(stratum, part) for stratum, part in parts.items() if part),
        estimate_overall(questions.design, counted, confidence=confidence),
        questions.design.half_width,
        judgements.agreement.alpha,
        find_cases(questions, judgements),
        judgements.problems,
    )


def _row(stratum: str, counted: Sequence[Counted]) -> dict[str, Any]:
    draws, answered = sum(c.question.draws for c in counted), sum(c.human is not None for c in counted)
    return {"pairs": stratum, "questions": len(counted), "draws": draws, "answered": answered}
