"""Judgements: people's answers to "do these two belong together?", kept one by one and put together."""

from __future__ import annotations

import json
import os
import re
import secrets
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, fields, replace
from functools import cached_property
from pathlib import Path
from typing import Any, Literal, get_args

from pointwise.diffs.agreement import Agreement, agree
from pointwise.diffs.closure import NO, UNSURE, YES, Closure, ItemPair, pair_of
from pointwise.diffs.ledger import append_lines, read_lines
from pointwise.errors import NotFoundError, UsageError
from pointwise.inputs.graphs import Contradiction
from pointwise.store.manifest import now

Answer = Literal["yes", "no", "unsure", "flag"]
"""What a judge can say: "flag" if the data of the question is wrong."""

JudgementKind = Literal["human", "model", "import", "derived", "adjudication"]
"""Where an answer comes from."""

FOLDER = "judgements"
FLAG = "flag"  # the data of the question is wrong; counts as unsure until it is adjudicated
ADJUDICATION, DERIVED, MODEL = "adjudication", "derived", "model"

_ENDING = ".jsonl"
_JUDGE = re.compile(r"\w[\w .@+-]{0,63}")


@dataclass(frozen=True)
class Judgement:
    """One answer of one judge, as a line of the judge's file.

    Args:
        id: Of the line.
        question: Number of the question that was asked; None if it was asked for another diff.
        a: One of the two items.
        b: The other one.
        answer: "yes", "no", "unsure" or "flag" (the data is wrong); None takes back the line that `replaces` names.
        judge: Who answered.
        kind: "human"; "import" (a human's answer from a file); "model"; "adjudication", which wins over other answers;
            or "derived": the answer followed from others when it was the question's turn, so that nobody was asked.
        at: When, in UTC.
        ms: How many milliseconds it took.
        shown: Which item was on the left: "ab" or "ba".
        context: Whether the judge looked at other members of the clusters.
        note: The judge's note.
        replaces: The line that this one replaces.

    Examples:
        >>> import pointwise as pw
        >>> diff = pw.diff(baseline=[["i1", "i3"], ["i2"]], experiment=[["i1", "i2"], ["i3"]])
        >>> questions = diff.questions(4, seed=1)
        >>> truth = {"i1": 1, "i2": 1, "i3": 2}
        >>> answers = questions.judge_by(lambda a, b: truth[a] == truth[b], judge="ann")
        >>> answers[0].judge, answers[0].pair, answers[0].answer
        ('ann', ('i1', 'i2'), 'yes')
    """

    id: str
    question: int | None
    a: Any
    b: Any
    answer: Answer | None
    judge: str
    kind: JudgementKind = "human"
    at: str = ""
    ms: int | None = None
    shown: str = "ab"
    context: bool = False
    note: str = ""
    replaces: str | None = None

    @property
    def pair(self) -> ItemPair:
        """The two items, in no particular order."""
        return pair_of(self.a, self.b)


def make_judgement(
    question: int | None, a: Any, b: Any, answer: Answer | None, *, judge: str, **facts: Any
) -> Judgement:
    """Give an answer an id and the time.

    Raises:
        UsageError: There is no such answer, or the judge's name cannot be the name of a file.
    """
    if answer is not None and answer not in get_args(Answer):
        raise UsageError(f"{answer!r} is not an answer. Answers are {', '.join(get_args(Answer))}.")
    check_judge(judge)
    return Judgement(secrets.token_hex(8), question, a, b, answer, judge, at=now(), **facts)


def check_judge(name: str) -> None:
    """Refuse a judge's name that cannot be the name of a file.

    Raises:
        UsageError: It cannot.
    """
    if not _JUDGE.fullmatch(name):
        raise UsageError(
            f"{name!r} cannot be the name of a judge: use up to 64 letters, digits, spaces and . @ + - _, beginning "
            "with a letter or a digit."
        )


@dataclass(frozen=True)
class Verdict:
    """What the answers about one pair add up to.

    Args:
        answer: "yes", "no" or "unsure".
        votes: How many judges gave which answer.
        is_adjudicated: Whether somebody decided after looking at the answers.
    """

    answer: str
    votes: Mapping[str, int]
    is_adjudicated: bool = False

    @property
    def is_disputed(self) -> bool:
        """Whether judges said different things and nobody has decided yet."""
        return not self.is_adjudicated and len([a for a in (YES, NO) if self.votes.get(a)]) > 1

    @property
    def is_flagged(self) -> bool:
        """Whether a judge found the data wrong and nobody has decided yet."""
        return not self.is_adjudicated and bool(self.votes.get(FLAG))


def _majority(votes: Counter[str]) -> str:
    """Return the most frequent answer; "unsure" if there is a tie."""
    merged = votes.copy()
    merged[UNSURE] += merged.pop(FLAG, 0)
    (answer, most), *others = merged.most_common()
    return UNSURE if any(number == most for _, number in others) else answer


@dataclass(frozen=True, repr=False)
class Judgements(Sequence[Judgement]):
    """Answers of one judge or several, none of which is ever lost.

    Args:
        lines: Everything that was recorded, in the order of time.
        problems: What was set aside, because it cannot be read.

    Examples:
        >>> import pointwise as pw
        >>> diff = pw.diff(baseline=[["i1", "i3"], ["i2"]], experiment=[["i1", "i2"], ["i3"]])
        >>> questions = diff.questions(4, seed=1)
        >>> truth = {"i1": 1, "i2": 1, "i3": 2}
        >>> answers = questions.judge_by(lambda a, b: truth[a] == truth[b], judge="ann")
        >>> {pair: verdict.answer for pair, verdict in answers.verdicts.items()}
        {('i1', 'i2'): 'yes', ('i1', 'i3'): 'no'}
        >>> both = answers + questions.judge_by(lambda a, b: True, judge="bob")
        >>> [(answer.judge, answer.answer) for answer in both.about(("i1", "i3"))]
        [('ann', 'no'), ('bob', 'yes')]
        >>> len(both.standing), len(both.of("bob")), both.contradictions
        (4, 2, ())
        >>> [(row["judge"], row["yes_share"]) for row in both.agreement]
        [('ann', 0.5), ('bob', 1.0)]
        >>> guesses = questions.judge_by(lambda a, b: True, judge="matcher", kind="model")
        >>> len(guesses.verdicts), {verdict.answer for verdict in guesses.model_verdicts.values()}
        (0, {'yes'})
    """

    lines: tuple[Judgement, ...]
    problems: tuple[str, ...] = ()

    def __len__(self) -> int:
        """Count the answers that stand."""
        return len(self.standing)

    def __getitem__(self, index: Any) -> Any:
        """Return one of the answers that stand, or several."""
        return self.standing[index]

    def __add__(self, other: Judgements) -> Judgements:
        """Combine answers from two places; what both have counts once."""
        known = {line.id for line in self.lines}
        lines = (*self.lines, *(line for line in other.lines if line.id not in known))
        return Judgements(_in_time(lines), tuple(dict.fromkeys((*self.problems, *other.problems))))

    @cached_property
    def standing(self) -> tuple[Judgement, ...]:
        """The answers that were neither taken back nor replaced."""
        gone = {line.replaces for line in self.lines if line.replaces}
        return tuple(line for line in self.lines if line.answer is not None and line.id not in gone)

    @cached_property
    def verdicts(self) -> Mapping[ItemPair, Verdict]:
        """What people's answers add up to, by pair: the majority, or what was adjudicated."""
        decided = {line.pair: line for line in self._of_kind(ADJUDICATION)}
        votes = _count_votes(self._of_kind("human", "import"))
        verdicts = {pair: Verdict(_majority(counts), counts) for pair, counts in votes.items()}
        for pair, line in decided.items():
            verdicts[pair] = Verdict(_majority(Counter([str(line.answer)])), votes.get(pair, {}), is_adjudicated=True)
        return verdicts

    @cached_property
    def model_verdicts(self) -> Mapping[ItemPair, Verdict]:
        """What the answers of models add up to, by pair. They never mix with those of people."""
        return {pair: Verdict(_majority(n), n) for pair, n in _count_votes(self._of_kind(MODEL)).items()}

    @cached_property
    def closure(self) -> Closure:
        """What follows from people's answers."""
        return Closure({pair: verdict.answer for pair, verdict in self.verdicts.items()})

    @property
    def contradictions(self) -> tuple[Contradiction, ...]:
        """Answers that cannot all be true."""
        return self.closure.contradictions

    @cached_property
    def reached(self) -> frozenset[int]:
        """The questions whose turn has come: somebody answered them, or their answer was known and still is."""
        people = [*self._of_kind("human", "import", ADJUDICATION), *filter(self._still_follows, self._of_kind(DERIVED))]
        return frozenset(line.question for line in people if line.question is not None)

    def _still_follows(self, derived: Judgement) -> bool:
        """Tell whether the answers that a line was derived from were not taken back since."""
        return self.closure.answer(derived.pair) in (YES, NO)

    @cached_property
    def agreement(self) -> Agreement:
        """How far the judges agree with one another and with themselves."""
        return agree((v.judge, v.pair, str(v.answer), v.ms) for v in self._of_kind("human", "import"))

    def of(self, judge: str) -> tuple[Judgement, ...]:
        """Return a judge's own answers that stand, in the order of time."""
        return tuple(v for v in self.standing if v.judge == judge and v.kind != DERIVED)

    def about(self, pair: ItemPair) -> tuple[Judgement, ...]:
        """Return people's answers about a pair that stand, in the order of time."""
        return self._by_pair.get(pair, ())

    @cached_property
    def _by_pair(self) -> Mapping[ItemPair, tuple[Judgement, ...]]:
        found: dict[ItemPair, tuple[Judgement, ...]] = {}
        for line in self._of_kind("human", "import", ADJUDICATION):
            found[line.pair] = (*found.get(line.pair, ()), line)
        return found

    def _of_kind(self, *kinds: str) -> Iterator[Judgement]:
        return (line for line in self.standing if line.kind in kinds)

    def __repr__(self) -> str:
        """Say how many answers there are."""
        answers = Counter(verdict.answer for verdict in self.verdicts.values())
        judges = {line.judge for line in self.standing}
        counts = ", ".join(f"{answers[answer]:,} {answer}" for answer in (YES, NO, UNSURE))
        return f"{len(self.verdicts):,} pairs judged by {len(judges):,}: {counts}"


def _count_votes(answers: Iterable[Judgement]) -> dict[ItemPair, Counter[str]]:
    """Count the last answer of every judge, by pair."""
    last = {(line.pair, line.judge): str(line.answer) for line in answers}
    votes: dict[ItemPair, Counter[str]] = {}
    for (pair, _), answer in last.items():
        votes.setdefault(pair, Counter())[answer] += 1
    return votes


def _in_time(lines: Iterable[Judgement]) -> tuple[Judgement, ...]:
    return tuple(sorted(lines, key=lambda line: line.at))


def record(folder: Path, judgements: Iterable[Judgement]) -> None:
    """Append answers to the files of their judges, and return when they are on disk.

    Args:
        folder: The folder of the questions.
        judgements: What to record, from `make_judgement`.
    """
    lines: dict[str, list[bytes]] = {}
    for judgement in judgements:
        text = json.dumps(asdict(judgement), ensure_ascii=False, separators=(",", ":"))
        lines.setdefault(judgement.judge, []).append(text.encode())
    place = Path(folder) / FOLDER
    place.mkdir(exist_ok=True)
    for judge, texts in lines.items():
        append_lines(place / (judge + _ENDING), texts)


def take_back(judgements: Judgements, judge: str, *, decision: bool = False) -> Judgement | None:
    """Make the line that takes back the judge's last answer, or last decision; None if there is none left."""
    own = [line for line in judgements.of(judge) if (line.kind == ADJUDICATION) is decision]
    if not own:
        return None
    last = own[-1]
    return make_judgement(last.question, last.a, last.b, None, judge=judge, kind=last.kind, replaces=last.id)


def reuse(judgements: Judgements, known: Judgements) -> list[Judgement]:
    """Take over answers that were given for another diff of the same items.

    They answer questions without anybody being asked again, but they are not a sample of this diff.

    Args:
        judgements: Of the other diff.
        known: What this diff has already.
    """
    ids = {line.id for line in known.lines}
    return [replace(v, question=None, replaces=None) for v in judgements if v.id not in ids and v.kind != DERIVED]


def read_judgements(folder: str | os.PathLike[str]) -> Judgements:
    """Read all answers in a folder of questions. What cannot be read is set aside and reported, not fatal.

    Raises:
        NotFoundError: There is no such folder.

    Examples:
        >>> import pointwise as pw
        >>> diff = pw.diff(baseline=[["i1", "i3"], ["i2"]], experiment=[["i1", "i2"], ["i3"]])
        >>> questions = diff.questions(4, seed=1)
        >>> import pathlib, tempfile
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     stored = diff.save(pathlib.Path(folder) / "diff")
        ...     saved = questions.save(stored)
        ...     len(pw.read_judgements(stored))
        0
    """
    top = Path(folder)
    if not top.is_dir():
        raise NotFoundError(f"There is no folder {str(top)!r} with judgements.")
    lines: list[Judgement] = []
    problems: list[str] = []
    for path in sorted((top / FOLDER).glob(f"*{_ENDING}")):
        content = read_lines(path)
        if content.torn:
            problems.append(f"{path.name}: {len(content.torn)} unfinished by a writer that was interrupted")
        for number, text in enumerate(content.whole, 1):
            try:
                lines.append(_parse(text))
            except ValueError as error:
                problems.append(f"{path.name}, line {number}: {error}")
    return Judgements(_in_time(lines), tuple(problems))


_FIELDS = frozenset(field.name for field in fields(Judgement))


def _parse(text: bytes) -> Judgement:
    """Read a line; what a newer pointwise may have added is left out."""
    facts = json.loads(text)
    if not isinstance(facts, dict):
        raise ValueError("is not an object")  # noqa: TRY004  # like all that is wrong with a line
    try:
        line = Judgement(**{name: value for name, value in facts.items() if name in _FIELDS})
    except TypeError as error:
        raise ValueError(f"lacks a field ({error})") from error
    if line.answer is not None and line.answer not in get_args(Answer):
        raise ValueError(f"has the unknown answer {line.answer!r}")
    if line.kind not in get_args(JudgementKind):
        raise ValueError(f"is of the unknown kind {line.kind!r}")
    return line


Oracle = Callable[[Any, Any], "bool | str | None"]
"""Says whether two items belong together: True, False, or an answer as text; None if it does not say."""


def ask_oracle(
    pairs: Iterable[tuple[int, Any, Any]], oracle: Oracle, *, judge: str, kind: JudgementKind = "human"
) -> Judgements:
    """Let a function answer questions, such as one that looks them up in a truth.

    Args:
        pairs: Number and the two items of each question.
        oracle: What answers.
        judge: What to call it.
        kind: "model" if its answers should not count as those of people.
    """
    words = {True: YES, False: NO}
    lines = []
    for number, a, b in pairs:
        answer: Any = oracle(a, b)
        if answer is not None:
            lines.append(make_judgement(number, a, b, words.get(answer, answer), judge=judge, kind=kind))
    return Judgements(tuple(lines))
