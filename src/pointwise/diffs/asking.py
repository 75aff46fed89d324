"""Asking: which question a judge gets next, and how it is shown.

Every judge gets questions, and their two items, in an order of their own, so that neither order nor side gives anything
away. Some questions are also asked of a second judge, to measure how far judges agree, and a few of the same judge
again, to measure how consistent they are. A question whose answer follows from others is not asked; but it is recorded
that its turn came, because only then its answer counts.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from pointwise.diffs.closure import NO, YES
from pointwise.diffs.judgements import DERIVED, Judgement, Judgements, make_judgement
from pointwise.diffs.questions import Question, Questions
from pointwise.engines.chance import uniform

OVERLAP = 0.15  # of the questions that are asked of a second judge
REPEATS = 0.03  # of the questions that are asked of the same judge again

_APART = 20  # questions at least between a question and its repetition


@dataclass(frozen=True)
class Turn:
    """What a judge gets next.

    Args:
        question: What to ask; None if everything was asked.
        shown: Which item is on the left: "ab" or "ba".
        derived: Lines to record: questions whose turn came and whose answers are known.
        times: How often the judge has answered the question before.
    """

    question: Question | None
    shown: str
    derived: tuple[Judgement, ...] = ()
    times: int = 0


def next_turn(
    questions: Questions, judgements: Judgements, judge: str, *, skipped: frozenset[int] = frozenset()
) -> Turn:
    """Find the next question of a judge.

    Args:
        questions: All questions.
        judgements: All answers so far.
        judge: Whom to ask.
        skipped: Questions to ask last, because the judge skipped them.
    """
    own = _own(judgements, judge)
    derived: list[Judgement] = []
    for question in _waiting(questions, judgements, judge, skipped, own):
        answer = _known(question, judgements)
        if answer is None:
            return _turn(questions, question, judge, own, derived)
        derived.append(
            make_judgement(question.number, question.a, question.b, answer, judge=judge, kind=DERIVED)  # type: ignore[arg-type]
        )
    return Turn(None, "ab", tuple(derived))


def look_ahead(
    questions: Questions,
    judgements: Judgements,
    judge: str,
    *,
    number: int = 2,
    skipped: frozenset[int] = frozenset(),
) -> tuple[Turn, ...]:
    """Find which questions will come after the next one, so that a page can fetch them before it needs them.

    The answers given meanwhile may show that one of them need not be asked.

    Args:
        questions: All questions.
        judgements: All answers so far.
        judge: Whom to ask.
        number: How many questions to look ahead.
        skipped: Questions to ask last, because the judge skipped them.
    """
    own, turns = _own(judgements, judge), []
    for _ in range(number + 1):
        waiting = _waiting(questions, judgements, judge, skipped, own)
        question = next((q for q in waiting if _known(q, judgements) is None), None)
        if question is None:
            break
        turns.append(_turn(questions, question, judge, own, ()))
        own = [*own, question.number]
    return tuple(turns[1:])


def count_again(questions: Questions, judgements: Judgements, judge: str) -> int:
    """Count the answered questions that a judge is still asked, once no question is new any more; 0 before that."""
    if any(question.number not in judgements.reached for question in questions):
        return 0
    return sum(1 for _ in _waiting(questions, judgements, judge, frozenset(), _own(judgements, judge)))


def _own(judgements: Judgements, judge: str) -> list[int | None]:
    return [line.question for line in judgements.of(judge)]


def _known(question: Question, judgements: Judgements) -> str | None:
    """Return the answer of a question that nobody has reached, if it follows from others."""
    if question.number in judgements.reached:
        return None
    answer = judgements.closure.answer(question.pair)
    return answer if answer in (YES, NO) else None


def _turn(
    questions: Questions, question: Question, judge: str, own: Sequence[int | None], derived: Sequence[Judgement]
) -> Turn:
    times = own.count(question.number)
    return Turn(question, show_to(judge, question.number, times, questions), tuple(derived), times)


def show_to(judge: str, number: int, times: int, questions: Questions) -> str:
    """Return which item of a question is on the left, "ab" or "ba", for a judge who has answered it so many times."""
    side = uniform(f"{questions.design.seed}|side|{judge}|{number}|{times}")
    return "ab" if side < 0.5 else "ba"  # noqa: PLR2004  # a coin


def _waiting(
    questions: Questions, judgements: Judgements, judge: str, skipped: frozenset[int], own: Sequence[int | None]
) -> Iterator[Question]:
    """Go through what a judge may be asked: new questions, between them a few again, then what was skipped."""
    seed = questions.design.seed
    answered, seen = judgements.reached, set(own)
    order = sorted(questions, key=lambda q: (q.round, uniform(f"{seed}|turn|{judge}|{q.number}")))
    free = [q for q in order if q.number not in seen]
    new = [q for q in free if q.number not in answered]
    second = [q for q in free if q.number in answered and _is_shared(q, seed) and _is_asked_once(q, judgements)]
    repeats = [questions.by_number[n] for n in own[:-_APART] if n is not None and _is_repeated(n, seed, judge, own)]
    again = [*repeats, *second]
    waiting = [*again[:1], *new, *again[1:]] if len(own) % _EVERY == _EVERY - 1 else [*new, *again]
    yield from (q for q in waiting if q.number not in skipped)
    yield from (q for q in waiting if q.number in skipped)


_EVERY = round(1 / OVERLAP)  # how often an already answered question comes between new ones


def _is_shared(question: Question, seed: int) -> bool:
    return uniform(f"{seed}|overlap|{question.number}") < OVERLAP


def _is_asked_once(question: Question, judgements: Judgements) -> bool:
    verdict = judgements.verdicts.get(question.pair)
    return verdict is not None and not verdict.is_adjudicated and sum(verdict.votes.values()) == 1


def _is_repeated(number: int, seed: int, judge: str, own: Sequence[int | None]) -> bool:
    return uniform(f"{seed}|repeat|{judge}|{number}") < REPEATS and own.count(number) == 1
