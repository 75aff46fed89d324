"""The interview: questions one after the other, in a terminal by single keys, else by lines of standard input."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from pointwise.cli.streams import put_text, say
from pointwise.columns import Column, Kind
from pointwise.errors import UsageError
from pointwise.text.drawing import Drawing
from pointwise.text.values import NOTHING, format_count

if TYPE_CHECKING:
    from pointwise.diffs.asking import Turn
    from pointwise.diffs.judgements import Answer
    from pointwise.diffs.questions import Questions

ANSWERS: dict[str, Answer] = {"y": "yes", "n": "no", "u": "unsure", "f": "flag"}
SKIP, UNDO, NOTE, QUIT = "s", "z", "m", "q"

_KEYS = "y yes, n no, u unsure, f wrong data; s skip, z undo, m note, q quit"
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
            "Standard input is closed, so that nobody can answer. Run the command in a terminal, pipe lines such as y, "
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
    """Read a line: a key or a whole answer, and behind it a note."""
    line = sys.stdin.readline()
    if not line:
        return Reply(QUIT)
    word, _, note = line.strip().partition(" ")
    words: dict[str, str] = {answer: key for key, answer in ANSWERS.items()}
    return Reply(words.get(word.lower(), word.lower()), note.strip())


@dataclass
class Interview:
    """One judge's sitting. Every answer is on the disk before the next question is shown.

    Args:
        folder: Where questions and answers are.
        questions: What to ask.
        judge: Who answers.
        read: Where replies come from.
        limit: How many answers to ask for at most.
    """

    folder: Path
    questions: Questions
    judge: str
    read: Read
    limit: int | None = None
    given: int = 0
    skipped: frozenset[int] = field(default_factory=frozenset)

    def run(self) -> int:
        """Ask until everything is answered, the limit is reached or the judge stops; count the answers."""
        while self.limit is None or self.given < self.limit:
            turn = self._next_turn()
            if turn.question is None:
                say("There is nothing left to ask you.")
                break
            if not self._ask(turn):
                break
        return self.given

    def _next_turn(self) -> Turn:
        from pointwise.diffs.asking import next_turn
        from pointwise.diffs.judgements import read_judgements, record

        turn = next_turn(self.questions, read_judgements(self.folder), self.judge, skipped=self.skipped)
        record(self.folder, turn.derived)
        return turn

    def _ask(self, turn: Turn) -> bool:
        """Ask one question; say whether to go on."""
        put_text(self._draw(turn))
        note, started = "", time.monotonic()
        while True:
            reply = self.read()
            if reply.key == QUIT:
                return False
            if reply.key == NOTE:
                note = reply.note
            elif reply.key in ANSWERS:
                self._record(turn, reply.key, reply.note or note, round(1000 * (time.monotonic() - started)))
                return True
            elif reply.key == SKIP:
                self.skipped |= {turn.question.number} if turn.question else set()
                return True
            elif reply.key == UNDO:
                self._undo()
                return True
            else:
                say(f"{reply.key!r} is not an answer: {_KEYS}.")

    def _record(self, turn: Turn, key: str, note: str, ms: int) -> None:
        from pointwise.diffs.judgements import make_judgement, record

        question: Any = turn.question
        facts = {"ms": ms, "shown": turn.shown, "note": note}
        record(
            self.folder,
            [make_judgement(question.number, question.a, question.b, ANSWERS[key], judge=self.judge, **facts)],
        )
        self.given += 1

    def _undo(self) -> None:
        from pointwise.diffs.judgements import read_judgements, record, take_back

        line = take_back(read_judgements(self.folder), self.judge)
        if line is None:
            say("There is no answer of yours to take back.")
            return
        record(self.folder, [line])
        self.given -= 1
        say("Took back your last answer.")

    def _draw(self, turn: Turn) -> str:
        from pointwise.diffs.judgements import read_judgements
        from pointwise.diffs.standing import look_at
        from pointwise.text.terminal import draw_table, wrap

        standing = look_at(self.questions, read_judgements(self.folder))
        return f"\n{wrap(f'{standing}.')}\n\n{draw_table(_lay_out(turn))}"


def _lay_out(turn: Turn) -> Drawing:
    """Lay two records side by side, in the order that was drawn for this judge."""
    question: Any = turn.question
    items, records = [question.a, question.b], list(question.records)
    if turn.shown == "ba":
        items, records = items[::-1], records[::-1]
    rows = [_row("item", items[0], items[1], mark="")]
    names = dict.fromkeys(name for record in records for name in record)
    rows += [_compare(name, *records) for name in names]
    columns = [Column(name, Kind.TEXT) for name in _COLUMNS]
    return Drawing("Do these two belong together?", columns, rows, _KEYS)


_COLUMNS = ("attribute", "one", "other", "values")


def _row(name: str, one: Any, other: Any, mark: str) -> dict[str, Any]:
    return dict(zip(_COLUMNS, (name, _write(one), _write(other), mark), strict=True))


def _write(value: Any) -> str:
    return NOTHING if value is None else str(value)


def _compare(name: str, first: Mapping[str, Any], second: Mapping[str, Any]) -> dict[str, Any]:
    one, other = first.get(name), second.get(name)
    mark = "missing" if one is None or other is None else "same" if one == other else "≠ differ"
    return _row(name, one, other, mark)


def say_given(number: int) -> str:
    """Say how many answers a sitting gave."""
    return f"{format_count(number, 'answer')} recorded."
