"""Asking: which question a judge gets next, and how it is shown.

Every judge has an order of questions and of their two items of their own, so that neither the order nor the side says
anything. A question that somebody answered is asked again of another judge for a part of them, to see how far judges
agree, and of the same judge for a few, to see how far they agree with themselves. A question whose answer follows from
others is not asked; that its turn came is noted, because only then its answer counts.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

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
        shown: Which item stands at the left: "ab" or "ba".
        derived: Lines to record: questions whose turn came and whose answers are known.
    """

    question: Question | None
    shown: str
    derived: tuple[Judgement, ...]


def next_turn(
    questions: Questions, judgements: Judgements, judge: str, *, skipped: frozenset[int] = frozenset()
) -> Turn:
    """Find the next question of a judge.

    Args:
        questions: All questions.
        judgements: All answers so far.
        judge: Who is to be asked.
        skipped: Questions to ask last, because the judge skipped them.
    """
    seed = questions.design.seed
    derived: list[Judgement] = []
    for question in _waiting(questions, judgements, judge, skipped):
        answer = judgements.closure.answer(question.pair)
        is_new = question.number not in judgements.reached
        if is_new and answer in ("yes", "no"):
            derived.append(
                make_judgement(question.number, question.a, question.b, answer, judge=judge, kind=DERIVED)  # type: ignore[arg-type]
            )
            continue
        side = uniform(f"{seed}|side|{judge}|{question.number}")
        return Turn(question, "ab" if side < 0.5 else "ba", tuple(derived))  # noqa: PLR2004  # a coin
    return Turn(None, "ab", tuple(derived))


def _waiting(questions: Questions, judgements: Judgements, judge: str, skipped: frozenset[int]) -> Iterator[Question]:
    """Go through what a judge may be asked: new questions, then second opinions, then repeats, then skipped ones."""
    seed, own = questions.design.seed, [line.question for line in judgements.of(judge)]
    answered, seen = judgements.reached, set(own)
    order = sorted(questions, key=lambda q: (q.round, uniform(f"{seed}|turn|{judge}|{q.number}")))
    free = [q for q in order if q.number not in seen]
    new = [q for q in free if q.number not in answered]
    second = [q for q in free if q.number in answered and _is_shared(q, seed) and _is_asked_once(q, judgements)]
    repeats = [questions.by_number[n] for n in own[:-_APART] if n is not None and _is_repeated(n, seed, judge, own)]
    waiting = [*second[:1], *new, *second[1:]] if len(own) % _EVERY == _EVERY - 1 else [*new, *second]
    yield from (q for q in (*waiting, *repeats) if q.number not in skipped)
    yield from (q for q in waiting if q.number in skipped)


_EVERY = round(1 / OVERLAP)  # as often a second opinion comes between new questions


def _is_shared(question: Question, seed: int) -> bool:
    return uniform(f"{seed}|overlap|{question.number}") < OVERLAP


def _is_asked_once(question: Question, judgements: Judgements) -> bool:
    verdict = judgements.verdicts.get(question.pair)
    return verdict is not None and not verdict.is_adjudicated and sum(verdict.votes.values()) == 1


def _is_repeated(number: int, seed: int, judge: str, own: list[int | None]) -> bool:
    return uniform(f"{seed}|repeat|{judge}|{number}") < REPEATS and own.count(number) == 1
