"""Cases: answers that somebody should look at again, and decide."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, Literal

from pointwise.diffs.closure import ItemPair, pair_of
from pointwise.diffs.judgements import Judgement, Judgements
from pointwise.diffs.questions import Question, Questions
from pointwise.inputs.graphs import Contradiction

CaseKind = Literal["disagreement", "flag", "contradiction"]
"""Why a pair needs a decision."""


@dataclass(frozen=True)
class Case:
    """A pair of items to decide on, because its answers do not fit together or its data is wrong.

    Args:
        kind: "disagreement" of judges, "flag" (a judge found the data wrong), or "contradiction": answers to other
            pairs imply the opposite.
        pair: The two items.
        reason: Why somebody should look again.
        answers: What people said about the pair.
        question: The question with the records of the items; None if the pair was not asked about for this diff.
        chain: For a contradiction, the items connected by yeses, from one item of the pair to the other.

    Examples:
        >>> import pointwise as pw
        >>> from pointwise.diffs.cases import find_cases
        >>> diff = pw.diff(baseline=[["i1", "i2"]], experiment=[["i1"], ["i2"]])
        >>> questions = diff.questions(1, seed=1)
        >>> yes = questions.judge_by(lambda a, b: True, judge="ann")
        >>> no = questions.judge_by(lambda a, b: False, judge="bob")
        >>> [(case.kind, case.pairs) for case in find_cases(questions, yes + no)]
        [('disagreement', (('i1', 'i2'),))]
    """

    kind: CaseKind
    pair: ItemPair
    reason: str
    answers: tuple[Judgement, ...]
    question: Question | None = None
    chain: tuple[str, ...] = ()

    @property
    def pairs(self) -> tuple[ItemPair, ...]:
        """The pair, and those whose answers contradict it."""
        links = [pair_of(one, other) for one, other in pairwise(self.chain)]
        ends = [pair_of(self.chain[0], self.chain[-1])] if self.chain else []
        return tuple(dict.fromkeys([self.pair, *ends, *links]))

    def to_dict(self) -> dict[str, Any]:
        """Return all facts by name, without the records."""
        said = [{"judge": a.judge, "answer": a.answer, "note": a.note} for a in self.answers]
        number = self.question and self.question.number
        known = {"kind": self.kind, "a": self.pair[0], "b": self.pair[1], "question": number, "reason": self.reason}
        return {**known, "answers": said, "chain": list(self.chain)}


def find_cases(questions: Questions, judgements: Judgements) -> tuple[Case, ...]:
    """List what needs a decision: disagreements, flagged pairs and contradictions."""
    by_pair = {q.pair: q for q in reversed(questions)}
    found = []
    for kind, pair, reason, chain in dict.fromkeys(_find(judgements)):
        found.append(Case(kind, pair, reason, judgements.about(pair), by_pair.get(pair), chain))
    return tuple(found)


_Found = tuple[CaseKind, ItemPair, str, tuple[str, ...]]


def _find(judgements: Judgements) -> Iterator[_Found]:
    for pair, verdict in judgements.verdicts.items():
        if verdict.is_disputed:
            yield "disagreement", pair, "judges disagree", ()
    for pair, verdict in judgements.verdicts.items():
        if verdict.is_flagged:
            yield "flag", pair, "flagged as a data error", ()
    for contradiction in judgements.contradictions:
        yield from _find_open(judgements, contradiction)


def _find_open(judgements: Judgements, contradiction: Contradiction) -> Iterator[_Found]:
    """List the pairs of a contradiction that nobody has decided yet."""
    for pair in (contradiction.pair, *(pair_of(one, other) for one, other in pairwise(contradiction.chain))):
        if not judgements.verdicts[pair].is_adjudicated:
            yield "contradiction", pair, str(contradiction), contradiction.chain
