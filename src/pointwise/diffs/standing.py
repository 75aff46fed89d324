"""Standing: how far judging has come, and how precise the answers are by now."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from pointwise.columns import Column, Kind, keys
from pointwise.diffs.estimates import Counted, Estimate, count_answers, estimate_all
from pointwise.diffs.judgements import Judgements
from pointwise.diffs.questions import Questions
from pointwise.diffs.sampling import SHEET
from pointwise.diffs.strata import STRATA
from pointwise.results import Result
from pointwise.text.drawing import Drawing
from pointwise.text.values import format_count, format_metric
from pointwise.uncertainty.intervals import CONFIDENCE

FEWEST_ANSWERS = 30
"""Before so many answers an interval may be narrow by chance, so that no target counts as reached."""


@dataclass(frozen=True, repr=False)
class Standing(Result):
    """How many questions of each kind are answered, and how precise the change of precision is known by now.

    Args:
        rows: Questions, draws and answers by kind of pairs.
        delta_precision: The estimate so far.
        target: How wide half of its interval shall be; None if nobody said so.
        open_cases: Pairs that somebody should look at again, with the reason.
        problems: What was set aside, because it cannot be read.
    """

    rows: tuple[Mapping[str, Any], ...]
    delta_precision: Estimate
    target: float | None
    open_cases: tuple[tuple[tuple[str, str], str], ...]
    problems: tuple[str, ...]

    @property
    def questions(self) -> int:
        """How many questions there are."""
        return sum(row["questions"] for row in self.rows)

    @property
    def answered(self) -> int:
        """How many of them are answered, by somebody or by what follows from other answers."""
        return sum(row["answered"] for row in self.rows)

    @property
    def is_reached(self) -> bool:
        """Whether the target width is reached, by enough answers to be trusted."""
        width = self.delta_precision.half_width
        is_narrow = width is not None and self.target is not None and width <= self.target
        return is_narrow and self.answered >= min(FEWEST_ANSWERS, self.questions)

    def describe(self) -> tuple[Column, ...]:
        """Say what the columns are, and what each holds."""
        return _COLUMNS

    def to_dicts(self) -> list[dict[str, Any]]:
        """Return one row per kind of pairs."""
        return [dict(row) for row in self.rows]

    def to_dict(self) -> dict[str, Any]:
        """Return everything that is known by name."""
        estimate = self.delta_precision
        width = {"half_width": estimate.half_width, "target": self.target, "is_reached": self.is_reached}
        sizes = {"questions": self.questions, "answered": self.answered, "pairs": self.to_dicts()}
        cases = [{"a": a, "b": b, "reason": reason} for (a, b), reason in self.open_cases]
        value = {"delta_precision": estimate.value, "low": estimate.low, "high": estimate.high}
        return {
            **sizes,
            **value,
            **width,
            "open_cases": cases,
            "problems": list(self.problems),
        }

    def __str__(self) -> str:
        """Say in a line how far judging has come."""
        done = f"{self.answered:,} of {format_count(self.questions, 'question')} answered"
        width = self.delta_precision.half_width
        known = "" if width is None else f"; delta_precision is known to ±{format_metric(width)}"
        aim = (
            "" if self.target is None else f" (the target is ±{self.target:g}{', reached' if self.is_reached else ''})"
        )
        return f"{done}{known}{aim}"

    def drawing(self) -> Drawing:
        """Say what people shall see: the kinds of pairs, and what to look at again below them."""
        cases = [f"Look again at {a} and {b}: {reason}." for (a, b), reason in self.open_cases[:_CASES]]
        more = len(self.open_cases) - len(cases)
        note = [*cases, *([f"{format_count(more, 'more case')} to look at again."] if more else [])]
        return Drawing(str(self), _COLUMNS, self.to_dicts(), "\n".join([*note, *self.problems]))


_CASES = 5  # that are listed
_COLUMNS = (*keys("pairs"), *(Column(name, Kind.COUNT) for name in ("questions", "draws", "answered")))


def look_at(questions: Questions, judgements: Judgements, *, confidence: float = CONFIDENCE) -> Standing:
    """Find how far judging has come."""
    counted = count_answers(questions, judgements)
    estimates = estimate_all(questions.design.masses, counted, confidence=confidence)
    parts = {stratum: [c for c in counted if c.question.stratum == stratum] for stratum in (*STRATA, SHEET)}
    rows = tuple(_row(stratum, part) for stratum, part in parts.items() if part)
    return Standing(
        rows,
        estimates["delta_precision"],
        questions.design.half_width,
        tuple(judgements.open_cases),
        judgements.problems,
    )


def _row(stratum: str, counted: Sequence[Counted]) -> dict[str, Any]:
    draws, answered = sum(c.question.draws for c in counted), sum(c.human is not None for c in counted)
    return {"pairs": stratum, "questions": len(counted), "draws": draws, "answered": answered}
