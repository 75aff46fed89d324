"""Estimation: the estimates of a diff and of its slices, as a table with the number of questions behind each."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import narwhals.stable.v2 as nw

from pointwise.answers.levels import band_keys, check_slices, items_for
from pointwise.answers.slices import SIZES, Slicing, band_name, band_start, read_slicing
from pointwise.columns import (
    ACTUAL,
    IDEAL,
    ITEM,
    ITEMS,
    MEANING,
    METRIC,
    SLICE,
    SQUARES,
    VALUE,
    WEIGHT,
    Column,
    Kind,
    keys,
)
from pointwise.core.evidence import Evidence
from pointwise.diffs.agreement import Agreement
from pointwise.diffs.estimates import JUDGED, Counted, Estimate, count_answers, estimate_all, estimate_overall
from pointwise.diffs.judgements import Judgements
from pointwise.diffs.questions import Questions
from pointwise.diffs.strata import SUMS, Masses, read_masses, weigh_pairs
from pointwise.engines.queries import from_rows
from pointwise.errors import NotFoundError
from pointwise.results import Result
from pointwise.text.drawing import Drawing
from pointwise.text.values import SHOWN_ROWS, format_count, format_interval, format_key, name_interval, short

OVERALL = "overall"

SliceKey = tuple[Any, ...]


@dataclass(frozen=True, repr=False)
class Estimates(Result):
    """What people's answers say about a change, overall and by slice.

    Args:
        overall: The estimates for all items, by name.
        slices: The same for slices, by slicing and slice.
        questions: How many questions there are.
        answered: How many of them count as answered.
        agreement: How far the judges agree.
        problems: What to know before trusting the numbers.
        confidence: How often intervals should contain the true value.

    Examples:
        >>> import pointwise as pw
        >>> diff = pw.diff(baseline=[["i1", "i3"], ["i2"]], experiment=[["i1", "i2"], ["i3"]])
        >>> questions = diff.questions(4, seed=1)
        >>> truth = {"i1": 1, "i2": 1, "i3": 2}
        >>> answers = questions.judge_by(lambda a, b: truth[a] == truth[b], judge="ann")
        >>> estimates = diff.estimate(questions, answers)
        >>> estimates.answered == estimates.questions
        True
    """

    overall: Mapping[str, Estimate]
    slices: Mapping[tuple[str, str], Mapping[str, Estimate]]
    questions: int
    answered: int
    agreement: Agreement
    problems: tuple[str, ...]
    confidence: float

    def __getitem__(self, metric: str) -> Estimate:
        """Return the estimate of a number for all items."""
        if metric not in self.overall:
            raise NotFoundError(f"There is no estimate {short(metric)}. There are {', '.join(self.overall)}.")
        return self.overall[metric]

    def to_dicts(self) -> list[dict[str, Any]]:
        """Return one row per number, overall and by slice."""
        groups = {(OVERALL, ""): self.overall, **self.slices}
        return [
            {"slice": name, "value_of_slice": value, **_row(estimate)}
            for (name, value), estimates in groups.items()
            for estimate in estimates.values()
        ]

    def describe(self) -> tuple[Column, ...]:
        """Say what the columns are, and what each holds."""
        return (*keys(SLICE, "value_of_slice"), *_COLUMNS)

    def drawing(self) -> Drawing:
        """Say what to show: all estimates for all items, and the most telling ones by slice."""
        title = f"Estimates from {self.answered:,} of {format_count(self.questions, 'question')}"
        if self.agreement.alpha is not None:
            title += f"; Krippendorff's alpha {self.agreement.alpha:.3f}"
        names = _SHOWN_OF_ONE if "precision" in self.overall else tuple(self.overall)
        rows = [_drawn_row({}, self.overall[name], self.confidence) for name in names]
        telling = [(key, group) for key, group in self.slices.items() if any(e.questions for e in group.values())]
        for (name, value), estimates in telling[:SHOWN_ROWS]:
            first = {SLICE: f"{name}={value}"}
            leading = [estimates[metric] for metric in _SHOWN_IN_SLICES if metric in estimates and metric in names]
            rows += [_drawn_row(first, estimate, self.confidence) for estimate in leading]
        if self.slices:
            rows = [{SLICE: OVERALL} | row for row in rows]
        shown = (METRIC, VALUE, name_interval(self.confidence), _QUESTIONS, *(() if self.slices else (MEANING,)))
        kinds = {column.name: column.kind for column in _COLUMNS}
        columns = [Column(n, kinds.get(n, Kind.TEXT)) for n in (*((SLICE,) if self.slices else ()), *shown)]
        reasons = {e.reason for e in self.overall.values() if e.reason}
        why = [f"No estimate where there is {reason}." for reason in sorted(reasons)]
        note = [*(why if self.answered else ["Nobody has answered yet."]), *self._say_left_out(telling), *self.problems]
        return Drawing(title, columns, rows, "\n".join(note))

    def _say_left_out(self, telling: Sequence[object]) -> Iterator[str]:
        """Say which slices a drawing leaves out."""
        if len(telling) > SHOWN_ROWS:
            yield f"{format_count(len(telling) - SHOWN_ROWS, 'more slice')} with answers."
        if len(telling) < len(self.slices):
            yield f"{format_count(len(self.slices) - len(telling), 'slice')} without answers, so nothing is known."


_QUESTIONS = "questions"
_COLUMNS = (
    *keys(METRIC),
    Column(VALUE, Kind.METRIC, "low", "high"),
    Column("low", Kind.END),
    Column("high", Kind.END),
    Column(_QUESTIONS, Kind.COUNT),
    Column("uses_model"),
    Column(MEANING),
)
_SHOWN_OF_ONE = ("precision", "good_split_rate", "bad_split_rate")  # where the experiment has every item alone
_SHOWN_IN_SLICES = ("precision", "delta_precision", "bad_split_rate", "bad_merge_rate")


def _row(estimate: Estimate) -> dict[str, Any]:
    return {
        METRIC: estimate.metric,
        VALUE: estimate.value,
        "low": estimate.low,
        "high": estimate.high,
        _QUESTIONS: estimate.questions,
        "uses_model": estimate.uses_model,
        MEANING: JUDGED[estimate.metric].summary,
    }


def _drawn_row(first: Mapping[str, Any], estimate: Estimate, confidence: float) -> dict[str, Any]:
    interval = format_interval(Kind.METRIC, estimate.low, estimate.high) or None
    return {**first, **_row(estimate), name_interval(confidence): interval}


def estimate(
    evidence: Evidence,
    masses: Masses,
    questions: Questions,
    judgements: Judgements,
    *,
    slices: Sequence[Any],
    confidence: float,
) -> Estimates:
    """Estimate how good a change is, for all items and for slices.

    Args:
        evidence: The items and their cells.
        masses: What is known before anybody judges.
        questions: What was asked.
        judgements: The answers.
        slices: Columns or conditions to slice by.
        confidence: How often intervals should contain the true value.
    """
    questions.design.check(masses)
    counted = count_answers(questions, judgements)
    overall = estimate_overall(questions.design, counted, confidence=confidence)
    found: dict[tuple[str, str], Mapping[str, Estimate]] = {}
    for spec in slices:
        cut = read_slicing(spec, evidence.slice_schema)
        check_slices([cut], ())
        members = _find_members(evidence, cut, counted)
        parts = sorted(_slice_masses(evidence, cut).items(), key=lambda part: -part[1].weight)
        for group, known in parts:
            inside = {
                c.question.number: (members[c.question.a] == group, members[c.question.b] == group) for c in counted
            }
            found[cut.name, _name_slice(cut, group)] = estimate_all(
                known, counted, confidence=confidence, members=inside, is_singletons=questions.design.is_singletons
            )
    answered = sum(c.human is not None for c in counted)
    problems = [*judgements.problems, *(f"Contradiction: {c}." for c in judgements.contradictions)]
    return Estimates(overall, found, len(questions), answered, judgements.agreement, tuple(problems), confidence)


def _name_slice(cut: Slicing, keys: SliceKey) -> str:
    bands = band_keys(cut)
    return ", ".join(
        band_name(value) if key.column in bands else format_key(value)
        for key, value in zip(cut.keys, keys, strict=True)
    )


def _sliced_items(evidence: Evidence, cut: Slicing) -> nw.LazyFrame:
    """Return the items with their cells and the keys of their slice."""
    items = items_for(evidence, cut.keys)
    keys = [key.expression.alias(key.column) for key in cut.keys if key.expression is not None]
    rows = items.select(ITEM, IDEAL, ACTUAL, WEIGHT, *keys)
    bands = [key for key in cut.keys if key.expression is None]
    if not bands:
        return rows
    sizes = evidence.cells.select(IDEAL, ACTUAL, *(band_start(SIZES[key.name]).alias(key.column) for key in bands))
    return rows.join(sizes, on=[IDEAL, ACTUAL], how="inner")


def _slice_masses(evidence: Evidence, cut: Slicing) -> dict[SliceKey, Masses]:
    """Find what is known about every slice."""
    names = [key.column for key in cut.keys]
    rows = _sliced_items(evidence, cut).with_columns((nw.col(WEIGHT) * nw.col(WEIGHT)).alias(SQUARES))
    parts = rows.group_by(IDEAL, ACTUAL, *names).agg(nw.len().alias(ITEMS), nw.col(WEIGHT).sum(), nw.col(SQUARES).sum())
    cells = parts.join(evidence.cells.drop(ITEMS, WEIGHT, SQUARES), on=[IDEAL, ACTUAL], how="inner")
    sums = weigh_pairs(cells).group_by(*names).agg(*(nw.col(name).sum() for name in (ITEMS, WEIGHT, *SUMS)))
    found = evidence.engine.collect(sums).to_pylist()
    return {tuple(row[name] for name in names): read_masses(row) for row in found}


def _find_members(evidence: Evidence, cut: Slicing, counted: Sequence[Counted]) -> dict[Any, SliceKey]:
    """Find the slice of every item that was asked about."""
    items = dict.fromkeys(item for c in counted for item in (c.question.a, c.question.b))
    wanted = from_rows([{ITEM: item} for item in items], evidence.engine)
    names = [key.column for key in cut.keys]
    rows = _sliced_items(evidence, cut).join(wanted, on=ITEM, how="inner").select(ITEM, *names)
    return {row[ITEM]: tuple(row[name] for name in names) for row in evidence.engine.collect(rows).to_pylist()}
