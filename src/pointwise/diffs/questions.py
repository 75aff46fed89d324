"""Questions: which pairs of items to ask people about, as a sample for estimates."""

from __future__ import annotations

import json
import math
import os
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from functools import cached_property
from numbers import Integral
from pathlib import Path
from statistics import NormalDist
from typing import TYPE_CHECKING, Any

from pointwise.answers.records import Record, fetch_records
from pointwise.columns import ITEM
from pointwise.core.evidence import Evidence
from pointwise.diffs.closure import pair_of
from pointwise.diffs.context import find_companions
from pointwise.diffs.judgements import JudgementKind, Judgements, Oracle, ask_oracle
from pointwise.diffs.sampling import SHEET, Drawn, Sampler, Sheet
from pointwise.diffs.strata import STRATA, Masses
from pointwise.engines.chance import uniform
from pointwise.engines.files import whole_file
from pointwise.errors import NotFoundError, RunError, UsageError
from pointwise.inputs.options import is_number
from pointwise.store.manifest import DiffManifest, now, read_manifest
from pointwise.store.places import find_place
from pointwise.text.values import format_count, short
from pointwise.version import __version__

if TYPE_CHECKING:
    import pyarrow as pa

FOLDER = "questions"
"""The folder inside a stored diff that holds its questions and the answers to them."""

QUESTIONS = "questions.parquet"
DESIGN = "design.json"
FORMAT_VERSION = 1

_MOST = 1_000_000  # more questions than this must be a mistake
_FEWEST = 30  # draws before an interval can be trusted
_SAME = 1e-9  # relative difference of sums added in another order

_NUMBER, _ROUND, _STRATUM, _DRAWS, _CLUSTER_WEIGHT = "question", "round", "stratum", "draws", "cluster_weight"
_FIELDS = (_NUMBER, _ROUND, _STRATUM, "a", "b", _DRAWS, _CLUSTER_WEIGHT, "a_union", "b_union")
_SHEET = {"sheet": "number", "part": "part", "contribution": "contribution", "item_weight": "item_weight"}


@dataclass(frozen=True)
class OnSheet:
    """The place of a question on a sheet: all questions about one item, from which its recall is estimated.

    Args:
        number: Of the sheet.
        part: Whether the other item was split off, stayed or was merged in: "split", "stable" or "merge".
        contribution: The weight that a draw of it stands for.
        item_weight: Weight of the item that the sheet is about.
    """

    number: int
    part: str
    contribution: float
    item_weight: float


@dataclass(frozen=True)
class Question:
    """Do these two items belong together?

    Args:
        number: From 1 on.
        round: The round that it was drawn in.
        stratum: What it was drawn for: "split", "merge", "stable+", "stable-", or "sheet".
        a: One item.
        b: The other one.
        draws: How often the pair was drawn in this round: it is asked once and counts that many times.
        cluster_weight: Weight of the cluster that holds both.
        unions: For each item the weight of what its two clusters hold.
        sheet: Its place on a sheet, if it is on one.
        records: For each item what is known about it.
        context: For each item what is known about a few others that are with it in both clusterings.

    Examples:
        >>> import pointwise as pw
        >>> diff = pw.diff(baseline=[["i1", "i3"], ["i2"]], experiment=[["i1", "i2"], ["i3"]])
        >>> questions = diff.questions(4, seed=1)
        >>> first = questions[0]
        >>> first.number, len(first.pair)
        (1, 2)
    """

    number: int
    round: int
    stratum: str
    a: Any
    b: Any
    draws: int
    cluster_weight: float
    unions: tuple[float, float]
    sheet: OnSheet | None = None
    records: tuple[Record, Record] = ({}, {})
    context: tuple[Sequence[Record], Sequence[Record]] = ((), ())

    @property
    def pair(self) -> tuple[str, str]:
        """The two items, in no particular order."""
        return pair_of(self.a, self.b)


@dataclass(frozen=True)
class Design:
    """How questions were drawn.

    Args:
        seed: Of the random numbers.
        rounds: How many draws each round has, by stratum.
        masses: What was known before anybody judged, which also says which diff the questions belong to.
        half_width: Half the width that the interval of the change of precision should have; None if not requested.
        created: When the first round was drawn, in UTC.
        is_singletons: Whether the experiment has every item alone, so that questions are about the precision of the
            baseline.
        checksum: Of the baseline and experiment clusters that were drawn from.
    """

    seed: int
    rounds: tuple[Mapping[str, int], ...]
    masses: Masses
    half_width: float | None = None
    created: str = ""
    is_singletons: bool = False
    checksum: str = ""

    @property
    def sizes(self) -> Counter[str]:
        """The number of draws of all rounds, by stratum."""
        return sum((Counter(sizes) for sizes in self.rounds), Counter())

    def check(self, masses: Masses) -> None:
        """Refuse to be used for another diff.

        Raises:
            UsageError: The questions were drawn for another diff.
        """
        for name, own in asdict(self.masses).items():
            if not math.isclose(own, getattr(masses, name), rel_tol=_SAME, abs_tol=_SAME):
                raise UsageError(
                    f"These questions were drawn for another diff: {name.replace('_', ' ')} was {own:g} there and is "
                    f"{getattr(masses, name):g} here. Draw questions for this one; answers to the others can be reused."
                )


@dataclass(frozen=True, repr=False)
class Questions(Sequence[Question]):
    """A sample of pairs to ask about, in the order to ask them in.

    Args:
        questions: The pairs.
        design: How they were drawn.

    Examples:
        >>> import pointwise as pw
        >>> diff = pw.diff(baseline=[["i1", "i3"], ["i2"]], experiment=[["i1", "i2"], ["i3"]])
        >>> questions = diff.questions(4, seed=1)
        >>> len(questions) == len({question.pair for question in questions})
        True
        >>> questions.by_number[1].pair
        ('i1', 'i2')
        >>> questions.to_arrow().column_names[:5]
        ['question', 'round', 'stratum', 'a', 'b']
    """

    questions: tuple[Question, ...]
    design: Design

    def __len__(self) -> int:
        """Count the questions."""
        return len(self.questions)

    def __getitem__(self, index: Any) -> Any:
        """Return a question, or several."""
        return self.questions[index]

    @cached_property
    def by_number(self) -> Mapping[int, Question]:
        """The questions by their numbers."""
        return {question.number: question for question in self.questions}

    @property
    def draws(self) -> int:
        """How often a pair was drawn, over all questions."""
        return sum(question.draws for question in self.questions)

    def judge_by(self, oracle: Oracle, *, judge: str, kind: JudgementKind = "human") -> Judgements:
        """Let a function answer all questions, such as one that looks them up in a truth.

        Args:
            oracle: Takes two items and returns True, False, an answer as text, or None for no answer.
            judge: What to call it.
            kind: "model" if its answers should not count as those of people.
        """
        return ask_oracle(((q.number, q.a, q.b) for q in self.questions), oracle, judge=judge, kind=kind)

    def to_dicts(self) -> list[dict[str, Any]]:
        """Return the questions as rows, with the attributes of the items in columns `a_...` and `b_...`."""
        return [_as_row(question) for question in self.questions]

    def to_arrow(self) -> pa.Table:
        """Return the questions as a PyArrow table."""
        import pyarrow as pa

        return pa.Table.from_pylist(self.to_dicts())

    def save(self, path: str | os.PathLike[str]) -> Path:
        """Write the questions to a folder, beside the judgements that it may hold already.

        Raises:
            RunError: The folder has questions that these do not continue, or cannot be written.
        """
        import pyarrow.parquet as pq

        folder = Path(path)
        if (folder / DESIGN).exists():
            _check_continues(read_questions(folder), self, folder)
        try:
            folder.mkdir(parents=True, exist_ok=True)
            with whole_file(folder / QUESTIONS) as unfinished:
                pq.write_table(self.to_arrow(), unfinished)
            with whole_file(folder / DESIGN) as unfinished:  # last: a round counts when the design has it
                unfinished.write_text(json.dumps(_as_json(self.design), indent=2) + "\n", encoding="utf-8")
        except OSError as error:
            raise RunError(f"Cannot write questions to {str(folder)!r}: {error.strerror or error}.") from error
        return folder

    def __repr__(self) -> str:
        """Say how many questions there are, and for what."""
        sizes = self.design.sizes
        parts = ", ".join(f"{sizes[stratum]:,} {stratum}" for stratum in (*STRATA, SHEET) if sizes[stratum])
        return f"{format_count(len(self), 'question')} for {format_count(self.draws, 'draw')}: {parts}"


def draw_questions(
    evidence: Evidence,
    masses: Masses,
    *,
    n: int | None,
    half_width: float | None,
    seed: int,
    after: Questions | None = None,
    shares: Mapping[str, float] | None = None,
    confidence: float,
    sheets: int = 0,
    members: int = 0,
    is_singletons: bool = False,
) -> Questions:
    """Draw pairs to ask about.

    Args:
        evidence: The items and their cells.
        masses: What is known before anybody judges.
        n: How many pairs to draw, in addition to those of earlier rounds.
        half_width: The greatest half width that the interval of the change of precision may have.
        seed: The same seed gives the same questions.
        after: Earlier rounds, which the new one continues.
        shares: The shares of yes that earlier answers suggest, by stratum.
        confidence: The confidence that the half width refers to.
        sheets: How many items to draw for sheets.
        members: How many members of each part of what its clusters hold a sheet asks about at most.
        is_singletons: Whether the experiment has every item alone.
    """
    if not masses.total:
        raise UsageError("The two clusterings are the same on these items, so there is nothing to ask.")
    if after is not None:
        after.design.check(masses)
        seed = after.design.seed
    before = after.design.sizes if after is not None else Counter[str]()
    spreads = {stratum: _spread((shares or {}).get(stratum, 0.5)) for stratum in STRATA if masses.of(stratum)}
    sizes: dict[str, int] = {}
    if not sheets or n is not None or half_width is not None:
        number = _how_many(n, half_width, masses, spreads, confidence=confidence, done=sum(before[s] for s in STRATA))
        sizes = allocate({s: masses.of(s) * spread for s, spread in spreads.items()}, number, before)
    rounds = (*(after.design.rounds if after is not None else ()), sizes | ({SHEET: sheets} if sheets else {}))
    sampler = Sampler(evidence, seed, len(rounds))
    checksum = sampler.checksum()
    if after is not None and after.design.checksum != checksum:
        raise UsageError(
            "These questions were drawn for another diff: its clusters have other names. Draw questions for this one; "
            "answers to the others can be reused."
        )
    made = _make_questions(sampler.draw(sizes) if sizes else (), len(rounds))
    made += _make_sheets(sampler.draw_sheets(sheets, members), len(rounds), before[SHEET]) if sheets else []
    last = after.questions[-1].number if after is not None else 0
    questions = _with_records(_number(made, seed, len(rounds), last), evidence, seed)
    created = after.design.created if after is not None else now()
    design = Design(seed, rounds, masses, half_width, created, is_singletons, checksum)
    return Questions((*(after.questions if after is not None else ()), *questions), design)


def _spread(share: float) -> float:
    return math.sqrt(share * (1 - share))


def _how_many(
    n: int | None,
    half_width: float | None,
    masses: Masses,
    spreads: Mapping[str, float],
    *,
    confidence: float,
    done: int,
) -> int:
    """Find how many pairs to draw now."""
    if (n is None) == (half_width is None):
        raise UsageError("Say how many questions to draw with n=..., or how precise with half_width=..., not both.")
    if n is not None:
        if not isinstance(n, Integral) or not 1 <= n <= _MOST:
            raise UsageError(f"n={short(n)}: draw from 1 to {_MOST:,} questions.")
        return int(n)
    if half_width is None or not is_number(half_width) or not 0 < half_width < 1:
        raise UsageError(f"half_width={short(half_width)} must lie between 0 and 1, such as 0.01.")
    z = NormalDist().inv_cdf((1 + confidence) / 2)
    needed = (z * sum(masses.of(stratum) * spread for stratum, spread in spreads.items()) / half_width) ** 2
    needed = max(needed, _FEWEST)
    if needed > _MOST:
        raise UsageError(f"half_width={half_width:g} would take {needed:,.0f} questions. Ask for less precision.")
    if needed <= done:
        raise UsageError(
            f"{format_count(done, 'draw')} are enough for half_width={half_width:g}: answer the open questions."
        )
    return math.ceil(needed) - done


def allocate(sizes: Mapping[str, float], number: int, before: Mapping[str, int]) -> dict[str, int]:
    """Share out draws over strata, so that with the earlier ones each has its due share, and at least one.

    Args:
        sizes: What the number of draws of a stratum should be proportional to.
        number: How many to share out.
        before: How many there are already.
    """
    lacking = [stratum for stratum in sizes if not before.get(stratum)]
    if number < len(lacking):
        raise UsageError(
            f"{format_count(number, 'question')} cannot tell about {len(lacking)} kinds of pairs "
            f"({', '.join(lacking)}): draw at least one of each."
        )
    everything = number + sum(before.get(stratum, 0) for stratum in sizes)
    total = sum(sizes.values())
    wanted = {s: everything * size / total - before.get(s, 0) if total else 1.0 for s, size in sizes.items()}
    least = {stratum: int(stratum in lacking) for stratum in sizes}
    return _round_to(number, wanted, least)


def _round_to(number: int, wanted: Mapping[str, float], least: Mapping[str, int]) -> dict[str, int]:
    """Find whole numbers of a given sum that are close to what is wanted, and no less than allowed."""
    given = dict(least)
    for _ in range(number - sum(given.values())):
        neediest = max(wanted, key=lambda stratum: wanted[stratum] - given[stratum])
        given[neediest] += 1
    return given


def _make_questions(drawn: Iterable[Drawn], round_: int) -> list[Question]:
    """Turn draws into questions; a pair that was drawn several times is one question."""
    found: dict[tuple[str, tuple[str, str]], Question] = {}
    for one in drawn:
        (a, b), unions = one.items, one.unions
        if pair_of(a, b)[0] != str(a):
            (a, b), unions = (b, a), (unions[1], unions[0])
        key = one.stratum, pair_of(a, b)
        question = found.get(key) or Question(0, round_, one.stratum, a, b, 0, one.cluster_weight, unions)
        found[key] = replace(question, draws=question.draws + 1)
    return list(found.values())


def _make_sheets(sheets: Iterable[Sheet], round_: int, done: int) -> list[Question]:
    """Turn sheets into questions; a member that was drawn several times for the same part is one question."""
    found: dict[tuple[int, str, str], Question] = {}
    for sheet in sheets:
        for part, member, contribution in sheet.members:
            a, b = sorted((sheet.item, member), key=str)
            place = OnSheet(done + sheet.number + 1, part, contribution, sheet.weight)
            key = sheet.number, part, str(member)
            question = found.get(key) or Question(0, round_, SHEET, a, b, 0, 0.0, (0.0, 0.0), place)
            found[key] = replace(question, draws=question.draws + 1)
    return list(found.values())


def _number(made: Iterable[Question], seed: int, round_: int, last: int) -> list[Question]:
    """Number questions in an order that reveals nothing about them."""

    def place(question: Question) -> float:
        sheet = question.sheet and (question.sheet.number, question.sheet.part)
        return uniform(f"{seed}|{round_}|order|{question.stratum}|{question.pair}|{sheet}")

    return [replace(question, number=last + n) for n, question in enumerate(sorted(made, key=place), 1)]


def _with_records(questions: Sequence[Question], evidence: Evidence, seed: int) -> list[Question]:
    """Copy the attributes of the items, and of a few items that stay with them."""
    items = list(dict.fromkeys(item for q in questions for item in (q.a, q.b)))
    companions = find_companions(evidence, items, seed)
    sides = [companions.of(q.a, q.b) for q in questions]
    others = (member for both in sides for side in both for member in side)
    records = fetch_records(evidence, [*items, *others], list(evidence.slice_schema))

    def look_up(members: Sequence[Any]) -> list[Record]:
        return [records.get(member) or {ITEM: member} for member in members]

    return [
        replace(q, records=(records.get(q.a, {}), records.get(q.b, {})), context=(look_up(one), look_up(other)))
        for q, (one, other) in zip(questions, sides, strict=True)
    ]


def _as_row(question: Question) -> dict[str, Any]:
    row: dict[str, Any] = {
        _NUMBER: question.number,
        _ROUND: question.round,
        _STRATUM: question.stratum,
        "a": question.a,
        "b": question.b,
        _DRAWS: question.draws,
        _CLUSTER_WEIGHT: question.cluster_weight,
        "a_union": question.unions[0],
        "b_union": question.unions[1],
    }
    row |= {column: question.sheet and getattr(question.sheet, name) for column, name in _SHEET.items()}
    for side, record, context in zip("ab", question.records, question.context, strict=True):
        row |= {f"{side}_context": [dict(member) for member in context]}
        row |= {f"{side}.{name}": value for name, value in record.items()}
    return row


def _from_row(row: Mapping[str, Any]) -> Question:
    first, second = (
        {name.removeprefix(f"{side}."): value for name, value in row.items() if name.startswith(f"{side}.")}
        for side in "ab"
    )
    values = {name: row[name] for name in _FIELDS}
    unions = values.pop("a_union"), values.pop("b_union")
    place = {name: row[column] for column, name in _SHEET.items()}
    sheet = None if place["number"] is None else OnSheet(**place)
    context = row["a_context"], row["b_context"]
    return Question(values.pop(_NUMBER), **values, unions=unions, sheet=sheet, records=(first, second), context=context)


def _as_json(design: Design) -> dict[str, Any]:
    return {"format_version": FORMAT_VERSION, "pointwise_version": __version__, **asdict(design)}


def read_questions(path: str | os.PathLike[str]) -> Questions:
    """Read the questions of a folder.

    Raises:
        NotFoundError: There are none.
        RunError: They cannot be read.

    Examples:
        >>> import pointwise as pw
        >>> diff = pw.diff(baseline=[["i1", "i3"], ["i2"]], experiment=[["i1", "i2"], ["i3"]])
        >>> questions = diff.questions(4, seed=1)
        >>> import pathlib, tempfile
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     stored = diff.save(pathlib.Path(folder) / "diff")
        ...     saved = questions.save(stored)
        ...     len(pw.read_questions(stored)) == len(questions)
        True
    """
    import pyarrow as pa
    import pyarrow.parquet as pq

    folder = Path(path)
    if not (folder / DESIGN).is_file():
        raise NotFoundError(f"There are no questions in {str(folder)!r}. Draw some first: pointwise judge sample DIFF.")
    try:
        facts = json.loads((folder / DESIGN).read_text(encoding="utf-8"))
        is_newer = facts["format_version"] > FORMAT_VERSION
        design = None if is_newer else _read_design(facts)
        rows = [] if design is None else pq.read_table(folder / QUESTIONS).to_pylist()
        questions = tuple(_from_row(row) for row in rows if design and row[_ROUND] <= len(design.rounds))
    except (OSError, ValueError, KeyError, TypeError, pa.ArrowException) as error:
        raise RunError(f"The questions in {str(folder)!r} are damaged: {error}.") from error
    if design is None:
        raise RunError(
            f"The questions in {str(folder)!r} were drawn by pointwise {facts.get('pointwise_version')} in format "
            f"{facts['format_version']}; this pointwise reads formats up to {FORMAT_VERSION}. Install a newer one."
        )
    return Questions(questions, design)


def find_questions(diff: str | os.PathLike[str]) -> Path:
    """Return the folder for the questions of a stored diff, which need not be there yet.

    Raises:
        NotFoundError: There is no such diff.
        RunError: It is not a stored diff, or it cannot be trusted.
    """
    place = find_place(diff)
    read_manifest(place, DiffManifest)
    return place / FOLDER


def _read_design(facts: Mapping[str, Any]) -> Design:
    rounds = tuple(dict(sizes) for sizes in facts["rounds"])
    masses = Masses(**facts["masses"])
    rest = {name: facts[name] for name in ("seed", "half_width", "created", "is_singletons", "checksum")}
    return Design(rounds=rounds, masses=masses, **rest)


def _check_continues(stored: Questions, new: Questions, folder: Path) -> None:
    """Refuse to replace questions by others: answers belong to them."""
    kept = [(q.number, q.pair, q.draws) for q in stored]
    if kept != [(q.number, q.pair, q.draws) for q in new[: len(stored)]]:
        raise RunError(
            f"{str(folder)!r} has {format_count(len(stored), 'question')} of its own. Continue them with after=..., or "
            "choose another folder."
        )
