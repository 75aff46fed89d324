"""Facing records: what is known about two items, side by side, with where they differ."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher
from typing import Any, Literal

from pointwise.diffs.asking import Turn

Mark = Literal["same", "different", "missing"]

Piece = tuple[str, bool]
"""A part of a text, and whether the other text has it too."""

Pieces = tuple[Piece, ...]

_ALIKE = 0.7  # of their letters: texts that share fewer are compared word by word, as people would
_WORDS = re.compile(r"\w+\s*|[^\w\s]+\s*|\s+")
_LONGEST = 2_000  # characters of texts that are compared piece by piece; longer ones differ as a whole


@dataclass(frozen=True)
class Facing:
    """What is known about the two items of a question under one name.

    Args:
        attribute: The name.
        left: What it is for the item at the left; None if it is missing.
        right: The same for the other one.
        mark: Whether the two are the "same", "different", or one of them is "missing".
    """

    attribute: str
    left: Any
    right: Any
    mark: Mark

    @property
    def pieces(self) -> tuple[Pieces, Pieces]:
        """Both values as text in pieces, each with whether the other one has it too."""
        left, right = ("" if value is None else str(value) for value in (self.left, self.right))
        if self.mark != "different" or max(len(left), len(right)) > _LONGEST:
            is_same = self.mark == "same"
            return (((left, is_same),) if left else ()), (((right, is_same),) if right else ())
        letters = SequenceMatcher(None, left, right, autojunk=False)
        if letters.ratio() >= _ALIKE:
            return _cut(left, right, letters)
        ours, theirs = _WORDS.findall(left), _WORDS.findall(right)
        return _cut(ours, theirs, SequenceMatcher(None, ours, theirs, autojunk=False))


def _cut(left: Sequence[str], right: Sequence[str], matcher: SequenceMatcher[str]) -> tuple[Pieces, Pieces]:
    """Cut two texts, given as letters or as words, into what they share and what they do not."""
    steps = matcher.get_opcodes()
    ours = tuple(("".join(left[i:j]), tag == "equal") for tag, i, j, _, _ in steps if j > i)
    theirs = tuple(("".join(right[i:j]), tag == "equal") for tag, _, _, i, j in steps if j > i)
    return ours, theirs


def face(turn: Turn) -> list[Facing]:
    """Lay the records of a turn's question side by side, in the order that was drawn for the judge."""
    return list(_face(turn))


def _face(turn: Turn) -> Iterator[Facing]:
    if turn.question is None:
        return
    left, right = in_order(turn, turn.question.records)
    for name in dict.fromkeys([*left, *right]):
        one, other = left.get(name), right.get(name)
        is_missing = one is None or other is None
        yield Facing(name, one, other, "missing" if is_missing else "same" if one == other else "different")


def in_order(turn: Turn, sides: tuple[Any, Any]) -> tuple[Any, Any]:
    """Put values of the items a and b in the order in which these are shown."""
    return sides if turn.shown == "ab" else (sides[1], sides[0])
