"""The pages of judging: questions one by one, what to decide, and what the answers say. The library does the rest."""

from __future__ import annotations

import threading
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from pointwise.columns import Column
from pointwise.diffs.asking import Turn
from pointwise.diffs.facing import Facing, face, in_order
from pointwise.diffs.judgements import read_judgements
from pointwise.diffs.questions import Question, find_questions, read_questions
from pointwise.diffs.sitting import Sitting
from pointwise.diffs.standing import Standing, look_at
from pointwise.errors import NotFoundError, UsageError
from pointwise.explorer.changed import diff_trail
from pointwise.explorer.listing import make_listing
from pointwise.explorer.site import MissingPageError, Page, Site, Visit
from pointwise.explorer.urls import link
from pointwise.pages.grids import Grid, bounded_value
from pointwise.pages.impact import say_estimated
from pointwise.store.manifest import DIFF
from pointwise.text.values import NOTHING, format_count, format_metric

ANSWERS = ("yes", "no", "unsure", "flag")

_CASES = 20  # on a page


def _sitting(visit: Visit, judge: str) -> tuple[Sitting, threading.Lock]:
    try:
        return visit.site.sittings.at(visit.stored(DIFF), judge)
    except NotFoundError:
        name, path = visit.parts[0], visit.stored(DIFF).path
        raise MissingPageError(
            "This diff has no questions yet.",
            advice=f"Draw some: pointwise judge sample {path} --half-width 0.01",
            links=[("The diff", link("diff", name))],
        ) from None


@dataclass(frozen=True)
class Side:
    """One value of two that face each other: its pieces, each with whether the other one has it too."""

    pieces: Sequence[tuple[str, bool]]


@dataclass(frozen=True)
class AttributeLine:
    """What is known about both items under one name."""

    attribute: str
    left: Side
    right: Side
    mark: str


@dataclass(frozen=True)
class Asked:
    """A question as it is drawn.

    Args:
        number: Its number.
        times: How often the judge has answered it before.
        since: When it was drawn, in milliseconds.
        left: The id of the item at the left.
        right: The id of the other one.
        lines: What is known about both.
        context: A few others that stay with each, if the judge has asked for them.
    """

    number: int
    times: int
    since: int
    left: str
    right: str
    lines: Sequence[AttributeLine]
    context: Sequence[Grid] | None


def show_question(visit: Visit) -> Page:
    """Ask a judge the next question; the address names the judge."""
    name, judge = visit.parts[0], visit["judge"].strip()
    trail = diff_trail(name)
    if not judge:
        _sitting(visit, "nobody")
        return Page("Who answers?", "judge_name.html", {"action": link("diff", name, "judge")}, trail)
    sitting, lock = _sitting(visit, judge)
    with lock:
        turn, standing, again = sitting.turn(), sitting.standing(), sitting.again()
        has_answered = bool(sitting.judgements.of(judge))
    facts: dict[str, Any] = {"diff": name, "judge": judge, "standing": _progress(standing)}
    content = _around(visit, standing, again) | {"said": visit["said"], "has_answered": has_answered}
    if turn.question is None:
        return Page("Nothing left to ask you", "judge_done.html", content, trail, facts=facts)
    left, right = in_order(turn, (turn.question.a, turn.question.b))
    content["asked"] = _draw(turn, sitting, is_plain=bool(visit["plain"]))
    rows = [{"attribute": f.attribute, "left": f.left, "right": f.right, "mark": f.mark} for f in face(turn)]
    facts |= {"question": turn.question.number, "left": left, "right": right}
    title = "Do these two belong together?"
    return Page(title, "judge.html", content, trail, ["attribute", "left", "right", "mark"], rows, facts)


def show_ahead(visit: Visit) -> Page:
    """Draw the questions that come after the next one, for a page to have them at hand. Nobody has seen them yet."""
    name, judge = visit.parts[0], visit["judge"].strip()
    sitting, lock = _sitting(visit, judge)
    with lock:
        turns, standing, again = sitting.ahead(), sitting.standing(), sitting.again()
    content = _around(visit, standing, again)
    content["questions"] = [_draw(turn, sitting, is_plain=bool(visit["plain"])) for turn in turns]
    rows = [{"question": asked.number} for asked in content["questions"]]
    return Page("What comes next", "ahead.html", content, diff_trail(name), ["question"], rows, {"judge": judge})


def _around(visit: Visit, standing: Standing, again: int) -> dict[str, Any]:
    """Collect what stands around a question."""
    name, judge, plain = visit.parts[0], visit["judge"].strip(), visit["plain"]
    return {
        "judge": judge,
        "action": link("diff", name, "judge"),
        "ahead": link("diff", name, "judge", "ahead", judge=judge, plain=plain),
        "standing": standing,
        "again": _say_again(again) if again else "",
        "percent": f"{100 * standing.answered / max(1, standing.questions):.1f}",
        "plain": plain,
        "toggle": link("diff", name, "judge", judge=judge, plain="" if plain else 1),
    }


def _say_again(again: int) -> str:
    """Say why somebody is asked although every question has had its turn."""
    questions = f"{format_count(again, 'answered question')} {'is' if again == 1 else 'are'}"
    return f"{questions} left for you: a second answer shows how far people agree."


def _draw(turn: Turn, sitting: Sitting, *, is_plain: bool) -> Asked:
    question = turn.question
    assert question is not None  # noqa: S101  # whoever calls has looked
    left, right = in_order(turn, (question.a, question.b))
    context = in_order(turn, question.context) if question.number in sitting.opened else ()
    return Asked(
        question.number,
        turn.times,
        _now(),
        bounded_value(left).text,
        bounded_value(right).text,
        [_line(facing, is_plain=is_plain) for facing in face(turn)],
        [_context(n, records) for n, records in enumerate(context)],
    )


def _now() -> int:
    return int(time.time() * 1000)


def _progress(standing: Standing) -> dict[str, Any]:
    """Show the progress of judging, and nothing that could influence a judge."""
    return {
        "answered": standing.answered,
        "questions": standing.questions,
        "half_width": standing.leading.half_width,
        "target": standing.target,
    }


def _line(facing: Facing, *, is_plain: bool) -> AttributeLine:
    sides = facing.pieces
    if is_plain or facing.mark != "different":
        sides = tuple((("".join(text for text, _ in side), True),) if side else () for side in sides)  # type: ignore[assignment]
    left, right = (Side(side or ((NOTHING, True),)) for side in sides)
    return AttributeLine(facing.attribute, left, right, facing.mark)


def _context(number: int, records: Sequence[Mapping[str, Any]]) -> Grid:
    """Lay out a few others that stay with one of the items, without their ids."""
    names = list(dict.fromkeys(name for record in records for name in record))
    columns = [Column(name) for name in names]
    rows = [dict.fromkeys(names) | dict(record) for record in records]
    return make_listing(f"context-{number}", "Also grouped with it", columns, rows)


def answer_question(visit: Visit, form: Mapping[str, str]) -> str:
    """Record what a judge pressed, and return where to go next."""
    name, judge, pressed = visit.parts[0], form.get("judge", "").strip(), form.get("press", "")
    sitting, lock = _sitting(visit, judge)
    said = ""
    with lock:
        if pressed == "undo":
            said = "undone" if sitting.undo() is not None else "nothing"
        elif pressed == "skip":
            sitting.skip(_number(form, "question"))
        elif pressed == "context":
            sitting.open_context(_number(form, "question"))
        elif pressed in ANSWERS:
            ms = max(0, _now() - _number(form, "since"))
            note, times = form.get("note", "").strip()[:_LONGEST], _number(form, "times")
            sitting.answer(_number(form, "question"), pressed, ms=ms, note=note, times=times)  # type: ignore[arg-type]
        else:
            raise UsageError(f"{pressed!r} is not an answer. Answers are {', '.join(ANSWERS)}.")
        following = _name_next(sitting) if form.get("ahead") else ""
    return link("diff", name, "judge", judge=judge, said=said, plain=form.get("plain", "")) + following


def _name_next(sitting: Sitting) -> str:
    """Say which question comes next, for a page that has it at hand."""
    turn = sitting.turn()
    return f"#question-{turn.question.number}-{turn.times}" if turn.question else ""


_LONGEST = 2_000  # characters of a note


def _number(form: Mapping[str, str], name: str) -> int:
    text = form.get(name, "")
    if not (text.isascii() and text.isdecimal() and len(text) < len(str(1 << 63))):
        raise UsageError(f"The form does not say which {name}.")
    return int(text)


@dataclass(frozen=True)
class Decision:
    """A case with the records of its items, and what judges said."""

    a: str
    b: str
    reason: str
    answers: list[tuple[str, str, str]]
    lines: Sequence[AttributeLine]


def show_cases(visit: Visit) -> Page:
    """List what needs a decision, with what every judge said."""
    name, judge = visit.parts[0], visit["judge"].strip()
    sitting, lock = _sitting(visit, judge or "nobody")
    with lock:
        cases = sitting.cases()
    content = {
        "judge": judge,
        "action": link("diff", name, "adjudicate"),
        "cases": [
            Decision(
                case.pair[0],
                case.pair[1],
                case.reason,
                [(one.judge, str(one.answer), one.note) for one in case.answers],
                _facing_records(case.question) if case.question else (),
            )
            for case in cases[:_CASES]
        ],
        "more": len(cases) - _CASES,
    }
    rows = [case.to_dict() for case in cases]
    columns = ["kind", "a", "b", "question", "reason", "answers", "chain"]
    return Page("Decide where answers disagree", "cases.html", content, diff_trail(name), columns, rows, {"diff": name})


def _facing_records(question: Question) -> list[AttributeLine]:
    return [_line(facing, is_plain=False) for facing in face(Turn(question, "ab"))]


def decide(visit: Visit, form: Mapping[str, str]) -> str:
    """Record a decision, and return where to go next."""
    name, judge, answer = visit.parts[0], form.get("judge", "").strip(), form.get("press", "")
    sitting, lock = _sitting(visit, judge)
    with lock:
        note = form.get("note", "").strip()[:_LONGEST]
        sitting.adjudicate(form.get("a", ""), form.get("b", ""), answer, note=note)  # type: ignore[arg-type]
    return link("diff", name, "adjudicate", judge=judge)


def show_estimates(visit: Visit) -> Page:
    """Show what the answers say about the change, with intervals, and how far judges agree."""
    name, diff = visit.parts[0], visit.diff()
    _sitting(visit, "nobody")
    folder = find_questions(visit.stored(DIFF).path)
    questions, judgements = read_questions(folder), read_judgements(folder)
    estimates, standing = diff.estimate(questions, judgements), look_at(questions, judgements)
    drawn, agreement = estimates.drawing(), judgements.agreement
    content = {
        "verdict": say_estimated(diff, estimates),
        "standing": standing,
        "left": _say_left(standing),
        "estimates": make_listing("estimates", drawn.title, drawn.columns, list(drawn.rows), note=drawn.note),
        "pairs": make_listing("pairs", "Kinds of pairs", standing.describe(), standing.to_dicts()),
        "alpha": None if standing.alpha is None else format_metric(standing.alpha),
        "agreement": _draw_agreement(agreement),
        "cases": format_count(len(standing.cases), "case"),
        "adjudicate": link("diff", name, "adjudicate"),
        "judge": link("diff", name, "judge"),
        "problems": standing.problems,
    }
    facts = {"diff": name, "standing": standing.to_dict(), "agreement": agreement.to_dict()}
    rows = estimates.to_dicts()
    return Page("Is it better?", "estimates.html", content, diff_trail(name), estimates.columns, rows, facts)


def _draw_agreement(agreement: Any) -> Grid | None:
    drawn = agreement.drawing()
    return make_listing("judges", drawn.title, drawn.columns, list(drawn.rows), note=drawn.note) if drawn.rows else None


def _say_left(standing: Standing) -> str:
    if standing.is_reached:
        return "The target width is reached."
    if not standing.left:
        return "Every question has an answer."
    if standing.left_to_target is None:
        return f"{format_count(standing.left, 'question')} left."
    return f"About {format_count(standing.left_to_target, 'more answer')} to reach the target width."


def judging_page(site: Site, judge: str | None) -> str:
    """Write the address at which a judge answers the questions of the diff that a site consists of."""
    return link("diff", site.top.resolve().name, "judge", judge=judge)
