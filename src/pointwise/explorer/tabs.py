"""Tabs: the pages of one run, comparison or diff beside each other, the one that is looked at marked."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from pointwise.explorer.urls import link

_TABS: dict[str, tuple[tuple[str, tuple[str, ...]], ...]] = {
    "run": (
        ("Summary", ()),
        ("Mistakes", ("mistakes",)),
        ("Ideal clusters", ("clusters", "ideal")),
        ("Actual clusters", ("clusters", "actual")),
        ("Slices", ("slices",)),
        ("Items", ("items",)),
    ),
    "compare": (("Summary", ()), ("Ideal clusters", ("clusters",))),
    "diff": (
        ("Summary", ()),
        ("Clusters", ("clusters",)),
        ("Answer questions", ("judge",)),
        ("Disagreements", ("adjudicate",)),
        ("Is it better?", ("estimates",)),
    ),
}
"""What a tab says, and the end of its address, by the beginning of the address."""

_PLURALS = {"cluster": "clusters", "item": "items"}


@dataclass(frozen=True)
class Tab:
    """A page beside the one that is looked at."""

    name: str
    href: str
    is_current: bool


def tabs_of(parts: Sequence[str]) -> list[Tab]:
    """List the pages beside the one at an address."""
    if len(parts) < 2 or parts[0] not in _TABS:  # noqa: PLR2004
        return []
    kind, name, *rest = parts
    plural = tuple(_PLURALS.get(part, part) for part in rest[:1]) + tuple(rest[1:])
    return [
        Tab(said, link(kind, name, *end), plural[: len(end)] == end if end else not rest) for said, end in _TABS[kind]
    ]
