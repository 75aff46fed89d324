"""Options: how a user wants the inputs read, and the choices of every policy."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, get_args

from pointwise.errors import UsageError

Columns = str | Sequence[str]

Outside = Literal["ignore", "wrong"]
"""What members of actual clusters that the truth does not list mean."""

Missing = Literal["drop", "singleton", "error"]
"""What happens to ideal items that the actual clustering lacks."""

Unassigned = Literal["error", "singleton", "one-cluster", "drop"]
"""What happens to items without a cluster."""

On = Literal["own", "shared"]
"""Which items the variants of a comparison are evaluated on."""

Absent = Literal["drop", "singleton"]
"""What happens to items that not all clusterings have, where distances are measured."""


@dataclass(frozen=True)
class UnassignedPolicy:
    """What happens to items that a clustering gives no cluster, or a label that stands for none."""

    policy: Unassigned = "error"
    labels: tuple[Any, ...] = ()


@dataclass(frozen=True)
class Options:
    """The parameters of an evaluation that say how to read its inputs. `evaluate` explains them."""

    item: Columns | Mapping[str, Columns] | None = None
    cluster: Columns | Mapping[str, Columns] | None = None
    weight: str | None = None
    slices: tuple[Any, ...] = ()
    outside: Outside = "ignore"
    missing: Missing = "drop"
    unassigned: Unassigned | Mapping[str, Unassigned] = "error"
    unassigned_labels: tuple[Any, ...] = ()

    def __post_init__(self) -> None:
        """Refuse values that mean nothing."""
        check_choice("outside", self.outside, Outside)
        check_choice("missing", self.missing, Missing)
        per_side = self.unassigned.values() if isinstance(self.unassigned, Mapping) else [self.unassigned]
        for policy in per_side:
            check_choice("unassigned", policy, Unassigned)

    def columns(self, parameter: str, side: str) -> Columns | None:
        """Return the columns that `item` or `cluster` names for one table."""
        given: Columns | Mapping[str, Columns] | None = getattr(self, parameter)
        return given.get(side) if isinstance(given, Mapping) else given

    def unassigned_policy(self, side: str) -> UnassignedPolicy:
        """Return what to do with the unassigned items of one clustering."""
        policy = self.unassigned.get(side, "error") if isinstance(self.unassigned, Mapping) else self.unassigned
        return UnassignedPolicy(policy, self.unassigned_labels)


def check_choice(parameter: str, value: Any, choices: Any) -> None:
    """Refuse a value that a Literal does not list.

    Raises:
        UsageError: The message lists the choices.
    """
    known = get_args(choices)
    if value not in known:
        raise UsageError(f"{parameter}={value!r} is not one of {', '.join(map(repr, known))}.")
