"""Agreement: how far judges agree who answered the same questions."""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from statistics import median
from typing import Any

from pointwise.columns import Column, Kind, keys
from pointwise.results import Result
from pointwise.text.drawing import Drawing
from pointwise.text.values import format_count


def krippendorff_alpha(units: Iterable[Sequence[Hashable]]) -> float | None:
    """Return Krippendorff's alpha for values without an order: 1 for perfect agreement, 0 for agreement by chance.

    Judges may skip units; a unit judged by fewer than two does not count.

    Args:
        units: For each thing judged, the values that it was given.

    Returns:
        None if there is nothing to agree on: no unit with two values, or the same value everywhere.

    Examples:
        >>> krippendorff_alpha([["yes", "yes"], ["no", "no"], ["yes", "no"], ["no", "no"]])
        0.5333333333333333
    """
    totals: Counter[Hashable] = Counter()
    differing = 0.0  # ordered pairs of different values within a unit, each unit counting as much as its values
    for values in units:
        if len(values) > 1:
            counts = Counter(values)
            totals += counts
            differing += (len(values) ** 2 - sum(n * n for n in counts.values())) / (len(values) - 1)
    number = totals.total()
    expected = number**2 - sum(n * n for n in totals.values())
    return 1 - (number - 1) * differing / expected if expected else None


def cohen_kappa(pairs: Iterable[tuple[Hashable, Hashable]]) -> float | None:
    """Return Cohen's kappa of two judges: 1 for perfect agreement, 0 for agreement by chance.

    Args:
        pairs: The two values that each thing was given.

    Returns:
        None if they judged nothing in common, or chance alone would have them agree on everything.

    Examples:
        >>> cohen_kappa([("yes", "yes")] * 20 + [("yes", "no")] * 5 + [("no", "yes")] * 10 + [("no", "no")] * 15)
        0.4
    """
    table = Counter(pairs)
    number = table.total()
    first, second = Counter[Hashable](), Counter[Hashable]()
    for (one, other), count in table.items():
        first[one] += count
        second[other] += count
    by_chance = sum(first[value] * second[value] for value in first)
    agreed = sum(count for (one, other), count in table.items() if one == other)
    possible = number * number - by_chance
    return (number * agreed - by_chance) / possible if possible else None


@dataclass(frozen=True, repr=False)
class Agreement(Result):
    """How far judges agree. Only yes and no count: unsure answers contradict nobody.

    Args:
        alpha: Krippendorff's alpha of all judges; None if no two of them answered the same question, or all answers are
            the same.
        shared: Number of pairs that at least two judges answered.
        kappas: Cohen's kappa of every two judges, with the number of pairs that both answered.
        judges: Of every judge the number of answers, the shares of yes and unsure, the median time of an answer, and
            how often a repeated question got the same answer.

    Examples:
        >>> import pointwise as pw
        >>> diff = pw.diff(baseline=[["i1", "i3"], ["i2"]], experiment=[["i1", "i2"], ["i3"]])
        >>> questions = diff.questions(4, seed=1)
        >>> truth = {"i1": 1, "i2": 1, "i3": 2}
        >>> answers = questions.judge_by(lambda a, b: truth[a] == truth[b], judge="ann")
        >>> answers.agreement.shared
        0
    """

    alpha: float | None
    shared: int
    kappas: tuple[dict[str, Any], ...]
    judges: tuple[dict[str, Any], ...]

    def to_dicts(self) -> list[dict[str, Any]]:
        """Return one row per judge."""
        return [dict(row) for row in self.judges]

    def to_dict(self) -> dict[str, Any]:
        """Return all facts by name."""
        return {"alpha": self.alpha, "shared": self.shared, "kappas": list(self.kappas), "judges": self.to_dicts()}

    def describe(self) -> tuple[Column, ...]:
        """Say what the columns are, and what each holds."""
        return _COLUMNS

    def drawing(self) -> Drawing:
        """Say what to show: the judges, with the agreement of any two below them."""
        alpha = "–" if self.alpha is None else f"{self.alpha:.3f}"
        title = f"Judges: Krippendorff's alpha {alpha} on {format_count(self.shared, 'pair')} that two or more answered"
        kappas = [f"{k['one']} and {k['other']}: {_say_kappa(k)}" for k in self.kappas]
        rows = [row | {"median_seconds": _tenths(row["median_seconds"])} for row in self.judges]
        return Drawing(title, _COLUMNS, rows, "\n".join(kappas))


_COLUMNS = (
    *keys("judge"),
    Column("answers", Kind.COUNT),
    Column("yes_share", Kind.SHARE),
    Column("unsure_share", Kind.SHARE),
    Column("median_seconds", Kind.WEIGHT),
    Column("repeats", Kind.COUNT),
    Column("same_share", Kind.SHARE),
)


def _tenths(seconds: float | None) -> float | None:
    return None if seconds is None else round(seconds, 1)


def _say_kappa(known: Mapping[str, Any]) -> str:
    return f"kappa {_written(known['kappa'])} on {format_count(known['pairs'], 'pair')} that both answered"


def _written(value: float | None) -> str:
    return "–" if value is None else f"{value:.3f}"


def agree(answers: Iterable[tuple[str, Hashable, str, int | None]]) -> Agreement:
    """Measure agreement.

    Args:
        answers: Judge, pair, answer and milliseconds of every answer, in the order of time.
    """
    answers = tuple(answers)
    last = {(judge, pair): answer for judge, pair, answer, _ in answers}
    by_pair: dict[Hashable, dict[str, str]] = {}
    for (judge, pair), answer in last.items():
        if answer in _DECIDED:
            by_pair.setdefault(pair, {})[judge] = answer
    shared = [votes for votes in by_pair.values() if len(votes) > 1]
    judges = sorted({judge for judge, *_ in answers})
    return Agreement(
        alpha=krippendorff_alpha([list(votes.values()) for votes in shared]),
        shared=len(shared),
        kappas=tuple(_kappa(shared, one, other) for one, other in combinations(judges, 2)),
        judges=tuple(_describe(judge, [row[1:] for row in answers if row[0] == judge]) for judge in judges),
    )


_DECIDED = ("yes", "no")


def _kappa(shared: Iterable[Mapping[str, str]], one: str, other: str) -> dict[str, Any]:
    pairs = [(votes[one], votes[other]) for votes in shared if one in votes and other in votes]
    return {"one": one, "other": other, "pairs": len(pairs), "kappa": cohen_kappa(pairs)}


def _describe(judge: str, answers: Sequence[tuple[Hashable, str, int | None]]) -> dict[str, Any]:
    decided = [answer for _, answer, _ in answers if answer in _DECIDED]
    times = [ms / 1000 for _, _, ms in answers if ms is not None]
    before: dict[Hashable, str] = {}
    repeats = []
    for pair, answer, _ in answers:
        if pair in before:
            repeats.append(before[pair] == answer)
        before[pair] = answer
    return {
        "judge": judge,
        "answers": len(answers),
        "yes_share": _share(sum(answer == "yes" for answer in decided), len(decided)),
        "unsure_share": _share(len(answers) - len(decided), len(answers)),
        "median_seconds": median(times) if times else None,
        "repeats": len(repeats),
        "same_share": _share(sum(repeats), len(repeats)),
    }


def _share(part: int, whole: int) -> float | None:
    return part / whole if whole else None
