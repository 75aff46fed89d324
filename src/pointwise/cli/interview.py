"""Interviews: questions one after the other, in a terminal by single keys, else by lines of standard input."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

import typer

from pointwise.cli.streams import put_text, say
from pointwise.columns import Column, Kind
from pointwise.errors import UsageError
from pointwise.text.drawing import Drawing
from pointwise.text.values import NOTHING, format_count

if TYPE_CHECKING:
    from pointwise.answers.records import Record
    from pointwise.diffs.asking import Turn
    from pointwise.diffs.judgements import Answer
    from pointwise.diffs.sitting import Sitting

ANSWERS: dict[str, Answer] = {"y": "yes", "n": "no", "u": "unsure", "f": "flag"}
TITLE = "Do these two belong together?"
SKIP, UNDO, NOTE, CONTEXT, QUIT = "s", "z", "m", "c", "q"

_KEYS = "y yes, n no, u unsure, f wrong data; c context, s skip, z undo, m note, q quit"
_INTERRUPTS = ("", "\x03", "\x04", "\x1a", "\x1b")  # the end of input, Ctrl-C, Ctrl-D, Ctrl-Z, Escape


@dataclass(frozen=True)
class Reply:
    """What a judge typed: a key, and a note if there is one."""

    key: str
    note: str = ""


Read = Callable[[], Reply]


def choose_reader() -> Read:
    """Read single keys from a terminal, and lines from anything else.

    Raises:
        UsageError: There is nothing to read from.
    """
    if sys.stdin is None or sys.stdin.closed:
        raise UsageError(
            "Standard input is closed, so nobody can answer. Run the command in a terminal, pipe lines such as y, "
            "n or u into it, or use pointwise judge export and import."
        )
    return _read_key if sys.stdin.isatty() else _read_line


def _read_key() -> Reply:
    try:
        key = typer.getchar().lower()
    except (KeyboardInterrupt, EOFError):
        return Reply(QUIT)
    if key == NOTE:
        return Reply(NOTE, typer.prompt("note", default="", show_default=False, err=True))
    return Reply(QUIT if key in _INTERRUPTS else key)


def _read_line() -> Reply:
    """Read a line: a key or a whole answer, followed by a note."""
    line = sys.stdin.readline()
    if not line:
        return Reply(QUIT)
    word, _, note = line.strip().partition(" ")
    words: dict[str, str] = {answer: key for key, answer in ANSWERS.items()}
    return Reply(words.get(word.lower(), word.lower()), note.strip())


Action = Callable[[str], bool]
"""What a key does, given the note that the judge wrote; whether that ends the turn."""


def listen(read: Read, actions: Mapping[str, Action], keys: str) -> bool:
    """Do what the judge's keys say until one of them ends the turn; say whether to go on.

    Args:
        read: Where replies come from.
        actions: What the keys do. Notes and quitting are the same everywhere.
        keys: What to say of the keys to somebody who typed another one.
    """
    note = ""
    while True:
        reply = read()
        if reply.key == QUIT:
            return False
        if reply.key == NOTE:
            note = reply.note
        elif reply.key not in actions:
            say(f"{reply.key!r} is not an answer: {keys}.")
        elif actions[reply.key](reply.note or note):
            return True


def end(read: Read, message: str, undo: Action | None) -> bool:
    """Say that everything is answered; if there is something to undo, offer that, and say whether to go on after it."""
    if undo is None:
        say(f"{message}.")
        return False
    say(f"{message}: {_LAST_KEYS}.")
    return listen(read, {UNDO: undo}, _LAST_KEYS)


_LAST_KEYS = "z undo, q quit"


@dataclass
class Interview:
    """One judge's sitting. Every answer is on disk before the next question is shown.

    Args:
        sitting: Who answers what.
        read: Where replies come from.
        limit: How many answers to ask for at most.
    """

    sitting: Sitting
    read: Read
    limit: int | None = None
    given: int = 0

    def run(self) -> int:
        """Ask until everything is answered, the limit is reached or the judge stops; count the answers."""
        while self.limit is None or self.given < self.limit:
            turn = self.sitting.turn()
            if turn.question is None:
                goes_on = end(self.read, "There is nothing left to ask you", self._undo if self.given else None)
            else:
                goes_on = self._ask(turn, turn.question.number)
            if not goes_on:
                break
        return self.given

    def _ask(self, turn: Turn, number: int) -> bool:
        """Ask one question; return whether to go on."""
        put_text(self._draw(turn))
        started = time.monotonic()

        def answer(note: str, given: Answer) -> bool:
            self.sitting.answer(number, given, note=note, ms=round(1000 * (time.monotonic() - started)))
            self.given += 1
            return True

        def show_context(_: str) -> bool:
            put_text(_draw_context(*self.sitting.open_context(number)))
            return False

        def skip(_: str) -> bool:
            self.sitting.skip(number)
            return True

        answers = {key: partial(answer, given=given) for key, given in ANSWERS.items()}
        return listen(self.read, {**answers, CONTEXT: show_context, SKIP: skip, UNDO: self._undo}, _KEYS)

    def _undo(self, _: str) -> bool:
        if self.sitting.undo() is None:
            say("You have no answer to undo.")
        else:
            self.given -= 1
            say("Undid your last answer.")
        return True

    def _draw(self, turn: Turn) -> str:
        from pointwise.text.terminal import draw_table, wrap

        question: Any = turn.question
        pair = lay_out(turn, (question.a, question.b), _KEYS)
        return f"\n{wrap(f'{self.sitting.standing()}.')}\n\n{draw_table(pair)}"


def lay_out(turn: Turn, items: tuple[Any, Any], keys: str) -> Drawing:
    """Lay two items and what is known of them side by side, in the order that was drawn for this judge."""
    from pointwise.diffs.facing import face, in_order

    rows = [_row("item", *in_order(turn, items), mark="")]
    rows += [_row(f.attribute, f.left, f.right, mark=_MARKS[f.mark]) for f in face(turn)]
    columns = [Column(name, Kind.TEXT) for name in _COLUMNS]
    return Drawing(TITLE, columns, rows, keys)


_COLUMNS = ("attribute", "one", "other", "values")
_MARKS = {"same": "same", "different": "≠ differ", "missing": "missing"}


def _row(name: str, one: Any, other: Any, mark: str) -> dict[str, Any]:
    return dict(zip(_COLUMNS, (name, _write(one), _write(other), mark), strict=True))


def _write(value: Any) -> str:
    return NOTHING if value is None else str(value)


def _draw_context(left: Sequence[Record], right: Sequence[Record]) -> str:
    """Draw what is known about a few others that stay with either item, a row each."""
    from pointwise.text.terminal import draw_table

    sides = [("one", record) for record in left] + [("other", record) for record in right]
    if not sides:
        return "Nothing else is with either of them in both clusterings."
    names = list(dict.fromkeys(name for _, record in sides for name in record))
    rows = [{_WITH: side, **{name: _write(record.get(name)) for name in names}} for side, record in sides]
    columns = [Column(name, Kind.TEXT) for name in (_WITH, *names)]
    return "\n" + draw_table(Drawing("Others that are with them", columns, rows))


_WITH = "with"


def say_given(number: int) -> str:
    """Say how many answers a sitting gave."""
    return f"{format_count(number, 'answer')} recorded."
