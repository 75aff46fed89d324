"""Deciding: pairs whose answers do not fit together, one after the other, by the same keys as an interview."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING

from pointwise.cli.interview import ANSWERS, SKIP, UNDO, Read, end, lay_out, listen
from pointwise.cli.streams import put_text, say
from pointwise.columns import Column
from pointwise.text.drawing import Drawing
from pointwise.text.values import format_count

if TYPE_CHECKING:
    from pointwise.diffs.cases import Case
    from pointwise.diffs.closure import ItemPair
    from pointwise.diffs.judgements import Answer
    from pointwise.diffs.sitting import Sitting

_ANSWERS = {key: answer for key, answer in ANSWERS.items() if answer != "flag"}
_KEYS = "y yes, n no, u nobody can tell; s skip, z undo, m note, q quit"


@dataclass
class Deciding:
    """One person's decisions. Each is on the disk before the next case is shown.

    Args:
        sitting: Who decides about what.
        read: Where replies come from.
        limit: How many decisions to ask for at most.
    """

    sitting: Sitting
    read: Read
    limit: int | None = None
    given: int = 0
    _skipped: set[ItemPair] = field(default_factory=set)

    def run(self) -> int:
        """Ask until everything is decided, the limit is reached or the person stops; count the decisions."""
        while self.limit is None or self.given < self.limit:
            cases = sorted(self.sitting.cases(), key=lambda case: case.pair in self._skipped)
            if cases:
                goes_on = self._ask(cases[0], len(cases))
            else:
                goes_on = end(self.read, "There is nothing to decide", self._undo if self.given else None)
            if not goes_on:
                break
        return self.given

    def _ask(self, case: Case, number: int) -> bool:
        """Ask about one case; say whether to go on."""
        put_text(self._draw(case, number))

        def decide(note: str, answer: Answer) -> bool:
            self.sitting.adjudicate(*case.pair, answer, note=note)
            self.given += 1
            return True

        def skip(_: str) -> bool:
            self._skipped.add(case.pair)
            return True

        answers = {key: partial(decide, answer=answer) for key, answer in _ANSWERS.items()}
        return listen(self.read, {**answers, SKIP: skip, UNDO: self._undo}, _KEYS)

    def _undo(self, _: str) -> bool:
        if self.sitting.undo_decision() is None:
            say("You have no decision to undo.")
        else:
            self.given -= 1
            say("Undid your last decision.")
        return True

    def _draw(self, case: Case, number: int) -> str:
        from pointwise.diffs.asking import Turn
        from pointwise.text.terminal import draw_table, wrap

        title = f"{format_count(number, 'case')} to decide: {case.reason}."
        said = Drawing("What was said", [Column(name) for name in _COLUMNS], list(self._list_answers(case)))
        pair = lay_out(Turn(case.question, "ab"), case.pair, _KEYS)
        return f"\n{wrap(title)}\n\n{draw_table(said)}\n\n{draw_table(pair)}"

    def _list_answers(self, case: Case) -> Iterator[dict[str, str]]:
        """List what was said about the pair, and about those that it contradicts."""
        for pair in case.pairs:
            for one in self.sitting.judgements.about(pair):
                yield dict(zip(_COLUMNS, (*pair, one.judge, str(one.answer), one.note), strict=True))


_COLUMNS = ("one", "other", "judge", "answer", "note")


def say_decided(number: int) -> str:
    """Say how many decisions were made."""
    return f"{format_count(number, 'decision')} recorded."
