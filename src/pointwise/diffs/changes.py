"""Changes: which splits and merges make up how much of the split rate and the merge rate."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from pointwise.answers.mistake import OVER_MERGE, UNDER_MERGE, Mistake, Part
from pointwise.answers.mistakes import PAIR_COLUMNS, find_mistakes
from pointwise.answers.records import Record, Shown
from pointwise.columns import COST, SHARE, Column, Kind
from pointwise.core.evidence import Evidence
from pointwise.diffs.strata import MERGE, SPLIT
from pointwise.inputs.options import check_choice
from pointwise.results import Result
from pointwise.text.drawing import Drawing
from pointwise.text.values import format_metric

ChangeKind = Literal["split", "merge", "both"]
"""Which changes to list."""

_KINDS: dict[str, Any] = {SPLIT: UNDER_MERGE, MERGE: OVER_MERGE, "both": "both"}
_NAMES = {UNDER_MERGE: SPLIT, OVER_MERGE: MERGE}
_RATES = {"under_merge_rate": "split_rate", "over_merge_rate": "merge_rate"}


@dataclass(frozen=True)
class Change:
    """Two parts of a baseline cluster that were split, or two parts of baseline clusters that were merged.

    Args:
        kind: "split" or "merge".
        cluster: The baseline cluster that was split, or the experiment cluster that merges.
        cluster_weight: Its weight.
        first: The heavier part.
        second: The lighter part.
        cost: How much of the rate this change makes up.
        share: The same as a share of the rate.
        records: What is known about the example items of the parts.

    Examples:
        >>> import pointwise as pw
        >>> diff = pw.diff(baseline=[["i1", "i3"], ["i2"]], experiment=[["i1", "i2"], ["i3"]])
        >>> [change.kind for change in diff.changes()]
        ['merge', 'split']
    """

    kind: str
    cluster: Any
    cluster_weight: float
    first: Part
    second: Part
    cost: float
    share: float
    records: Mapping[Any, Mapping[str, Any]]

    def __str__(self) -> str:
        """Say in a sentence what happened."""
        if self.kind == SPLIT:
            parts = " and ".join(part.describe("experiment") for part in (self.first, self.second))
            return f"baseline {self.cluster} was split into {parts}"
        parts = " and ".join(part.describe("baseline") for part in (self.first, self.second))
        return f"{parts} were merged in experiment {self.cluster}"

    def to_dict(self) -> dict[str, Any]:
        """Return all facts by name."""
        facts: dict[str, Any] = {"kind": self.kind, "cost": self.cost, "share_of_rate": self.share}
        facts |= {"cluster": self.cluster, "cluster_weight": self.cluster_weight}
        for name, part in (("first", self.first), ("second", self.second)):
            facts |= {f"{name}_cluster": part.cluster, f"{name}_items": part.items, f"{name}_weight": part.weight}
            facts[f"{name}_examples"] = part.values
        return facts


@dataclass(frozen=True, repr=False)
class Changes(Result, Sequence[Change]):
    """Splits and merges, costliest first. With the rest they add up to the rates.

    Args:
        changes: The costliest ones.
        rates: The overall rates that they are part of.
        rest: How many are not listed and what they cost, per rate.

    Examples:
        >>> import pointwise as pw
        >>> diff = pw.diff(baseline=[["i1", "i3"], ["i2"]], experiment=[["i1", "i2"], ["i3"]])
        >>> len(diff.changes())
        2
    """

    changes: tuple[Change, ...]
    rates: Mapping[str, float]
    rest: Mapping[str, tuple[int, float]]

    def __len__(self) -> int:
        """Count the changes listed."""
        return len(self.changes)

    def __getitem__(self, index: Any) -> Any:
        """Return one of the changes listed, or several."""
        return self.changes[index]

    def __iter__(self) -> Iterator[Change]:
        """Go through the changes listed."""
        return iter(self.changes)

    def describe(self) -> tuple[Column, ...]:
        """Say what the columns are, and what each holds."""
        return PAIR_COLUMNS

    def to_dicts(self) -> list[dict[str, Any]]:
        """Return the changes listed as dictionaries."""
        return [change.to_dict() for change in self.changes]

    def drawing(self) -> Drawing:
        """Say what to show: the changes as sentences, what each costs, and the rest."""
        rates = " and ".join(f"{name} {format_metric(value)}" for name, value in self.rates.items())
        rows = [_row(c.kind, c.cost, c.share, str(c)) for c in self.changes]
        for rate, (number, cost) in self.rest.items():
            if number:
                rows.append(_row(rate.removesuffix("_rate"), cost, cost / self.rates[rate], f"{number:,} more"))
        note = "" if rows else "There are none."
        return Drawing(f"Changes that make up {rates}", DRAWN, rows, note)


DRAWN = (Column("kind"), Column(COST, Kind.METRIC), Column(SHARE, Kind.SHARE), Column("what happened"))
"""The columns of a change in a drawing."""


def _row(kind: str, cost: float, share: float, text: str) -> dict[str, Any]:
    return dict(zip((column.name for column in DRAWN), (kind, cost, share, text), strict=True))


def rank_changes(evidence: Evidence, limit: int, kind: ChangeKind) -> Changes:
    """Rank the changes by what they cost, and list the first ones.

    A split costs what an under-merge does when the baseline is the truth, and a merge what an over-merge does.
    """
    check_choice("kind", kind, ChangeKind)
    found = find_mistakes(evidence, limit, _KINDS[kind], by="pair", shown=Shown(tuple(evidence.slice_schema)))
    changes = tuple(
        Change(_NAMES[m.kind], m.cluster, m.weight, m.first, m.second, m.cost, m.share, _records(m)) for m in found
    )
    rates = {_RATES[name]: value for name, value in found.rates.items()}
    return Changes(changes, rates, {_RATES[rest.rate]: (rest.count, rest.cost) for rest in found.rest})


def _records(mistake: Mistake) -> dict[Any, Record]:
    return {e.item: e.record for part in mistake.largest for e in part.records if e.record}
