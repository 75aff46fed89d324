"""Sittings: one judge answering the questions of a diff, in a terminal, on a page or through a program."""

from __future__ import annotations

import os
from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Generic, TypeVar

from pointwise.answers.records import Record
from pointwise.diffs.asking import Turn, count_again, look_ahead, next_turn, show_to
from pointwise.diffs.cases import Case, find_cases
from pointwise.diffs.closure import pair_of
from pointwise.diffs.judgements import (
    ADJUDICATION,
    FOLDER,
    Answer,
    Judgement,
    Judgements,
    check_judge,
    make_judgement,
    read_judgements,
    record,
    take_back,
)
from pointwise.diffs.questions import DESIGN, Question, Questions, find_questions, read_questions
from pointwise.diffs.standing import Standing, look_at
from pointwise.errors import NotFoundError
from pointwise.inputs.options import CONFIDENCE

T = TypeVar("T")


class _Reread(Generic[T]):
    """Something read from files, and read again only when they change."""

    def __init__(self, read: Callable[[], T], state: Callable[[], Hashable]) -> None:
        self._read, self._state = read, state
        self._known: tuple[Hashable, T] | None = None

    def get(self) -> T:
        state = self._state()  # before reading, so that what is written meanwhile is read next time
        known = self._known
        if known is None or known[0] != state:
            known = self._known = state, self._read()
        return known[1]


@dataclass
class Sitting:
    """One judge at the questions of a folder. Every answer is on disk when the method that takes it returns.

    Other judges, and other programs, may write to the same folder at the same time. Anything else (skipped questions,
    opened contexts) is forgotten when the sitting ends.

    Args:
        folder: Where questions and answers are.
        judge: Who answers.

    Raises:
        UsageError: The judge's name cannot be the name of a file.
    """

    folder: Path
    judge: str
    skipped: frozenset[int] = field(default_factory=frozenset)
    opened: frozenset[int] = field(default_factory=frozenset)

    def __post_init__(self) -> None:
        """Get ready to read."""
        check_judge(self.judge)
        self._questions = _Reread(lambda: read_questions(self.folder), self._state_of_questions)
        self._judgements = _Reread(lambda: read_judgements(self.folder), self._state_of_answers)

    def _state_of_questions(self) -> Hashable:
        design = self.folder / DESIGN
        return (design.stat().st_mtime_ns, design.stat().st_size) if design.exists() else None

    def _state_of_answers(self) -> Hashable:
        try:
            with os.scandir(self.folder / FOLDER) as entries:
                return frozenset((entry.name, entry.stat().st_size) for entry in entries)
        except FileNotFoundError:
            return None

    @property
    def questions(self) -> Questions:
        """All questions, with those of rounds that were drawn meanwhile."""
        return self._questions.get()

    @property
    def judgements(self) -> Judgements:
        """All answers, with those that others gave meanwhile."""
        return self._judgements.get()

    def turn(self) -> Turn:
        """Find the next question, and record those before it whose answers follow from others."""
        turn = next_turn(self.questions, self.judgements, self.judge, skipped=self.skipped)
        if turn.derived:
            record(self.folder, turn.derived)
        return turn

    def ahead(self, number: int = 2) -> tuple[Turn, ...]:
        """Find which questions will come after the next one."""
        return look_ahead(self.questions, self.judgements, self.judge, number=number, skipped=self.skipped)

    def again(self) -> int:
        """Count the answered questions that are still asked, once no question is new any more; 0 before that."""
        return count_again(self.questions, self.judgements, self.judge)

    def answer(
        self, number: int, answer: Answer, *, ms: int | None = None, note: str = "", times: int | None = None
    ) -> Judgement:
        """Record an answer.

        Args:
            number: Of the question.
            answer: "yes", "no", "unsure", or "flag" if the data is wrong.
            ms: How many milliseconds it took.
            note: The judge's note.
            times: `Turn.times` of the turn that is answered. An answer that arrives twice is then recorded once.
        """
        question, before = self._find(number), self._given(number)
        if times is not None and len(before) > times:
            return before[times]
        facts = {"ms": ms, "note": note, "context": number in self.opened}
        shown = show_to(self.judge, number, len(before), self.questions)
        given = make_judgement(number, question.a, question.b, answer, judge=self.judge, shown=shown, **facts)
        record(self.folder, [given])
        self.skipped -= {number}
        self.opened -= {number}
        return given

    def skip(self, number: int) -> None:
        """Ask a question last."""
        self.skipped |= {self._find(number).number}

    def undo(self) -> Judgement | None:
        """Take back the last answer, so that its question comes next; return it, or None if there is no answer left."""
        undone = self._take_back(decision=False)
        if undone is not None and undone.question is not None:
            self.skipped -= {undone.question}
        return undone

    def undo_decision(self) -> Judgement | None:
        """Take back the last decision, so that its case is open again; return it, or None if there is none left."""
        return self._take_back(decision=True)

    def _take_back(self, *, decision: bool) -> Judgement | None:
        line = take_back(self.judgements, self.judge, decision=decision)
        if line is None:
            return None
        undone = next(one for one in self.judgements.of(self.judge) if one.id == line.replaces)
        record(self.folder, [line])
        return undone

    def open_context(self, number: int) -> tuple[Sequence[Record], Sequence[Record]]:
        """Show a few others that stay with each of the two items, left and right; the answer will record it."""
        question = self._find(number)
        self.opened |= {number}
        shown = show_to(self.judge, number, len(self._given(number)), self.questions)
        first, second = question.context
        return (first, second) if shown == "ab" else (second, first)

    def standing(self, *, confidence: float = CONFIDENCE) -> Standing:
        """Return the progress of judging, and what the answers of all judges say so far."""
        return look_at(self.questions, self.judgements, confidence=confidence)

    def cases(self) -> tuple[Case, ...]:
        """List what needs a decision."""
        return find_cases(self.questions, self.judgements)

    def adjudicate(self, a: Any, b: Any, answer: Answer, *, note: str = "") -> Judgement:
        """Decide about a pair. This wins over all other answers, which stay.

        Raises:
            NotFoundError: Nobody was asked about the pair.
        """
        said = self.judgements.about(pair_of(a, b))
        if not said:
            raise NotFoundError(
                f"Nobody has answered whether {a} and {b} belong together, so there is nothing to decide."
            )
        first = said[0]
        facts = {"kind": ADJUDICATION, "note": note}
        decided = make_judgement(first.question, first.a, first.b, answer, judge=self.judge, **facts)
        record(self.folder, [decided])
        return decided

    def _given(self, number: int) -> list[Judgement]:
        return [one for one in self.judgements.of(self.judge) if one.question == number]

    def _find(self, number: int) -> Question:
        if number not in self.questions.by_number:
            raise NotFoundError(f"There is no question {number}. They are numbered from 1 to {len(self.questions):,}.")
        return self.questions.by_number[number]


def sit_down(diff: str | os.PathLike[str], judge: str) -> Sitting:
    """Begin a sitting of a judge at the questions of a stored diff.

    Raises:
        NotFoundError: There is no such diff, or it has no questions.
        RunError: It is not a stored diff, or it cannot be trusted.
    """
    sitting = Sitting(find_questions(diff), judge)
    len(sitting.questions)  # there are some
    return sitting
