"""Options: how a user wants the inputs read, and the choices of every policy."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from numbers import Integral, Real
from typing import Any, Literal, get_args

from pointwise.errors import UsageError
from pointwise.text.values import short

ColumnNames = str | Sequence[str]
"""The name of a column, or the names of several that together make up an id."""

Outside = Literal["ignore", "wrong", "spurious"]
"""How to treat members of actual clusters that the truth does not list."""

Missing = Literal["drop", "singleton", "wrong", "error"]
"""What happens to ideal items that the actual clustering lacks."""

Unassigned = Literal["error", "singleton", "one-cluster", "drop"]
"""What happens to items without a cluster."""

CompareOn = Literal["own", "shared"]
"""Which items the variants of a comparison are evaluated on."""

DiffOn = Literal["common", "union"]
"""Which items a diff is about: those that both clusterings have, or all."""

Contradictions = Literal["error", "drop"]
"""What happens to items with contradicting answers."""

MistakesBy = Literal["cluster", "pair"]
"""What a mistake is: a cluster that merges or was split, or two parts of one."""

Pairs = Literal["counts", "product", "replication"]
"""How much a pair of items counts: 1, the product of the weights, or as if weights were numbers of copies."""

DistanceMissing = Literal["drop", "singleton"]
"""What happens, in distances, to items that not all clusterings have."""

MistakeKind = Literal["over-merge", "under-merge", "outside", "missing", "both"]
"""Which mistakes to list; "both" are over-merges, with those outside the truth, and under-merges."""

LayoutName = Literal["splink", "dedupe", "zingg", "recordlinkage", "scikit-learn", "cami", "conll"]
"""Tools and formats whose tables are read as they come."""

CONFIDENCE = 0.95
"""How often intervals should contain the true value, unless a user says otherwise."""

POWER = 0.8
"""How often a planned test should detect the difference that it is planned for, unless a user says otherwise."""


@dataclass(frozen=True)
class UnassignedPolicy:
    """What happens to items that a clustering gives no cluster, or a label that stands for none."""

    policy: Unassigned = "error"
    labels: tuple[Any, ...] = ()


IDEAL_AND_ACTUAL = ("ideal", "actual")
BASELINE_AND_EXPERIMENT = ("baseline", "experiment")


@dataclass(frozen=True)
class Sampling:
    """How the ideal clusters of a truth were drawn from those of a population.

    Args:
        how: "clusters" (all ideal clusters were equally likely), "items" (items were drawn, and their whole clusters
            labelled), "complete" (the truth is everything), or "probabilities" (given for every ideal cluster).
        column: Column of the truth or of a separate table: the probability that each ideal cluster is in the truth.
        drawn: Number of items drawn.
        population: Number of ideal clusters ("clusters", per stratum if there are strata) or items in the population.
        strata: Column of the truth: clusters were drawn separately for each of its values.
        weight: Column that items were drawn in proportion to, if not all were equally likely.
        rate: Rate of drawing items per weight: a cluster of weight w is drawn with probability 1 - exp(-rate w).

    Examples:
        >>> import pointwise as pw
        >>> inputs = {"ideal": [["i1", "i2"]], "actual": [["i1", "i3"], ["i2"]]}
        >>> evaluation = pw.evaluate(**inputs, metrics="recall", sampling="items")
        >>> evaluation.options.sampling.how
        'items'
    """

    how: str
    column: str | None = None
    drawn: int | None = None
    population: int | Mapping[str, int] | None = None
    strata: str | None = None
    weight: str | None = None
    rate: float | None = None

    def __post_init__(self) -> None:
        """Refuse meaningless combinations."""
        if (self.weight is None) != (self.rate is None) or (self.rate is not None and not 0 < self.rate < math.inf):
            raise UsageError(f"Items drawn by {self.weight!r} need a rate above 0, not {self.rate!r}.")
        if self.drawn is not None and (self.how != "items" or self.drawn < 1):
            raise UsageError(f"drawn={self.drawn!r} is the number of items drawn, which goes with sampling='items'.")
        if self.strata is not None and self.how != "clusters":
            raise UsageError("strata=... goes with sampling='clusters': ideal clusters drawn within each stratum.")
        if isinstance(self.population, Mapping) != (self.strata is not None):
            raise UsageError(
                "population=... is one number, or with strata=... a mapping from every stratum to its number of ideal "
                "clusters."
            )


@dataclass(frozen=True)
class Options:
    """The parameters of an evaluation that say how to read its inputs. `evaluate` explains them."""

    item: ColumnNames | Mapping[str, ColumnNames] | None = None
    cluster: ColumnNames | Mapping[str, ColumnNames] | None = None
    weight: str | None = None
    slices: tuple[Any, ...] = ()
    outside: Outside = "ignore"
    missing: Missing = "drop"
    unassigned: Unassigned | Mapping[str, Unassigned] = "error"
    unassigned_labels: tuple[Any, ...] = ()
    sampling: Sampling | None = None
    header: bool | Mapping[str, bool] = True
    show: tuple[str, ...] | None = None  # columns to show of items; None for the first few of text
    sides: tuple[str, str] = IDEAL_AND_ACTUAL  # what a user calls the two clusterings
    layout: LayoutName | Mapping[str, LayoutName] | None = None

    def __post_init__(self) -> None:
        """Refuse meaningless values."""
        if self.weight is not None and not isinstance(self.weight, str):
            kind = type(self.weight).__name__
            raise UsageError(
                f"weight=... takes the name of a column, not a {kind}. Pass a table of weights as weights=...."
            )
        check_choice("outside", self.outside, Outside)
        check_choice("missing", self.missing, Missing)
        if self.outside == "spurious" and self.sampling is not None and self.sampling.how != "complete":
            raise UsageError(
                "outside='spurious' says that the truth lists every item, and sampling=... that it was drawn from "
                "more. Use outside='wrong', which says only that the drawn ideal clusters are complete."
            )
        per_side = self.unassigned.values() if isinstance(self.unassigned, Mapping) else [self.unassigned]
        for policy in per_side:
            check_choice("unassigned", policy, Unassigned)
        layouts = self.layout.values() if isinstance(self.layout, Mapping) else [self.layout]
        for layout in (layout for layout in layouts if layout is not None):
            check_choice("layout", layout, LayoutName)

    def check_tables(self, names: Sequence[str]) -> None:
        """Refuse a setting for a table that does not exist, instead of ignoring it.

        Raises:
            UsageError: The message lists the tables.
        """
        for parameter in ("item", "cluster", "unassigned", "header", "layout"):
            given = getattr(self, parameter)
            if isinstance(given, Mapping):
                check_keys(parameter, given, names)

    @property
    def has_empty(self) -> bool:
        """Whether items that one of the clusterings lacks may count with an empty cluster there."""
        return self.outside == "spurious" or self.missing == "wrong"

    def columns(self, parameter: str, side: str) -> ColumnNames | None:
        """Return the columns that `item` or `cluster` names for one table."""
        given: ColumnNames | Mapping[str, ColumnNames] | None = getattr(self, parameter)
        return given.get(side) if isinstance(given, Mapping) else given

    def layout_of(self, side: str) -> LayoutName | None:
        """Return the layout of one clustering; a single one is that of the clustering that is judged."""
        if isinstance(self.layout, Mapping):
            return self.layout.get(side)
        return None if side == self.sides[0] else self.layout

    def unassigned_policy(self, side: str) -> UnassignedPolicy:
        """Return what to do with the unassigned items of one clustering."""
        policy = self.unassigned.get(side, "error") if isinstance(self.unassigned, Mapping) else self.unassigned
        return UnassignedPolicy(policy, self.unassigned_labels)


def check_keys(parameter: str, given: Mapping[str, Any], names: Sequence[str]) -> None:
    """Refuse a mapping with a key that is not the name of a table.

    Raises:
        UsageError: The message lists the names.
    """
    unknown = next((key for key in given if key not in names), None)
    if unknown is not None:
        known = ", ".join(map(repr, names))
        raise UsageError(f"{parameter}=... names {short(unknown)}, which is not one of {known}.")


def check_choice(parameter: str, value: Any, choices: Any) -> None:
    """Refuse a value that a Literal does not list.

    Raises:
        UsageError: The message lists the choices.
    """
    known = get_args(choices)
    if not isinstance(value, str) or value not in known:
        raise UsageError(f"{parameter}={short(value)} is not one of {', '.join(map(repr, known))}.")


def is_number(value: Any) -> bool:
    """Tell whether a value is a number of Python or NumPy; NaN and True are not."""
    return isinstance(value, Real) and not isinstance(value, bool) and not math.isnan(value)


def has_header(header: bool | Mapping[str, bool], table: str) -> bool:  # noqa: FBT001  # or one per table
    """Tell whether the CSV files of one table begin with the names of their columns."""
    return header.get(table, True) if isinstance(header, Mapping) else header


def as_labels(given: Any) -> tuple[Any, ...]:
    """List the labels that stand for no cluster; a single one, also a NumPy integer, need not be in a list."""
    if given is None:
        return ()
    several = given if isinstance(given, Iterable) and not isinstance(given, (str, bytes)) else [given]
    return tuple(
        int(label) if isinstance(label, Integral) and not isinstance(label, bool) else label for label in several
    )
