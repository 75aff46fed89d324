"""Closure: what answers imply, because belonging together is an equivalence."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from pointwise.inputs.graphs import Contradiction

YES, NO, UNSURE = "yes", "no", "unsure"

ItemPair = tuple[str, str]
"""Two items as text, the lesser first."""


def pair_of(a: Any, b: Any) -> ItemPair:
    """Return two items as a pair in which the order does not matter.

    Ids become text, so that answers about the items 7 and 9 fit tables with numbers and with text.
    """
    one, other = str(a), str(b)
    return (one, other) if one <= other else (other, one)


@dataclass(frozen=True)
class Closure:
    """What is known about any two items, given answers about some pairs.

    Two yeses make a third one, a yes and a no make a no. Answers that contradict each other imply nothing: what they
    join is left out until somebody has looked again.

    Args:
        answers: "yes", "no" or something else, which implies nothing, by pair.
    """

    answers: Mapping[ItemPair, str]

    def answer(self, pair: ItemPair) -> str | None:
        """Return what was answered about two items, or what follows from other answers; None if nothing does."""
        own = self.answers.get(pair)
        return own if own in (YES, NO) else self._implied(pair) or own

    def _implied(self, pair: ItemPair) -> str | None:
        groups = [self._groups.get(item) for item in pair]
        one, other = groups
        if one is None or other is None or one in self._spoilt or other in self._spoilt:
            return None
        if one == other:
            return YES
        return NO if _ordered(one, other) in self._apart else None

    @cached_property
    def _groups(self) -> dict[str, str]:
        """The group of each item that a yes or a no mentions."""
        parents = {item: item for pair in self._pairs(YES, NO) for item in pair}
        for one, other in self._pairs(YES):
            parents[_root(parents, one)] = _root(parents, other)
        return {item: _root(parents, item) for item in parents}

    def _pairs(self, *wanted: str) -> Iterator[ItemPair]:
        return (pair for pair, answer in self.answers.items() if answer in wanted)

    @cached_property
    def _apart(self) -> frozenset[ItemPair]:
        return frozenset(_ordered(self._groups[one], self._groups[other]) for one, other in self._pairs(NO))

    @cached_property
    def _spoilt(self) -> frozenset[str]:
        """The groups that an answer says do not belong together."""
        return frozenset(one for one, other in self._apart if one == other)

    @cached_property
    def contradictions(self) -> tuple[Contradiction, ...]:
        """The noes that a chain of yeses contradicts, each with a shortest chain."""
        found = [pair for pair in self._pairs(NO) if self._groups[pair[0]] == self._groups[pair[1]]]
        neighbours = _neighbours(self._pairs(YES)) if found else {}
        return tuple(Contradiction(pair, _chain(neighbours, pair)) for pair in sorted(found))


def _ordered(one: str, other: str) -> ItemPair:
    return (one, other) if one <= other else (other, one)


def _root(parents: dict[str, str], item: str) -> str:
    """Find the representative of an item's group, and shorten the path to it."""
    while parents[item] != item:
        parents[item] = parents[parents[item]]
        item = parents[item]
    return item


def _neighbours(pairs: Iterable[ItemPair]) -> dict[str, list[str]]:
    found: dict[str, list[str]] = {}
    for one, other in pairs:
        found.setdefault(one, []).append(other)
        found.setdefault(other, []).append(one)
    return found


def _chain(neighbours: Mapping[str, list[str]], pair: ItemPair) -> tuple[str, ...]:
    """Find a shortest path from one item of a pair to the other."""
    start, goal = pair
    before = {start: start}
    waiting = deque([start])
    while goal not in before:
        item = waiting.popleft()
        for other in sorted(neighbours[item]):
            if other not in before:
                before[other] = item
                waiting.append(other)
    chain = [goal]
    while chain[-1] != start:
        chain.append(before[chain[-1]])
    return tuple(reversed(chain))
