"""Commands that have people judge a diff: judge sample, ask, adjudicate, status, estimate, export and import."""

from __future__ import annotations

import getpass
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from pointwise.cli import options, output, stdin
from pointwise.cli.app import app, make_group
from pointwise.cli.diffing import is_diff, opened_diff
from pointwise.cli.options import Format
from pointwise.errors import NotFoundError, UsageError
from pointwise.inputs.options import CONFIDENCE
from pointwise.text.values import format_count

if TYPE_CHECKING:
    from pointwise.diffs.diff import Diff
    from pointwise.diffs.estimation import Estimates
    from pointwise.diffs.judgements import Judgements
    from pointwise.diffs.questions import Questions

judge_app = make_group()
app.add_typer(judge_app, name="judge", help="Ask people whether pairs of items belong together, and what that says.")


class AnswerSource(StrEnum):
    """Whose answers a file holds."""

    people = "people"
    model = "model"
    adjudication = "adjudication"


_KINDS: dict[AnswerSource, Any] = {
    AnswerSource.people: "import",
    AnswerSource.model: "model",
    AnswerSource.adjudication: "adjudication",
}

Judge = Annotated[
    str | None,
    typer.Option("--judge", metavar="NAME", help="Who answers.", show_default="the name you are logged in with"),
]


@judge_app.command()
def sample(
    diff: options.StoredDiff,
    *,
    n: Annotated[
        int | None, typer.Option("--n", "-n", min=1, metavar="N", help="How many pairs to draw; some may be the same.")
    ] = None,
    half_width: Annotated[
        float | None,
        typer.Option(
            metavar="NUMBER", help="Instead, how far the change of precision may be off to either side, such as 0.01."
        ),
    ] = None,
    seed: Annotated[int, typer.Option(metavar="N", help="The same seed gives the same questions.")] = 0,
    sheets: Annotated[
        int,
        typer.Option(
            min=0, metavar="N", help="How many items to draw whose members are judged, for the change of recall."
        ),
    ] = 0,
    members: Annotated[
        int, typer.Option(min=1, metavar="N", help="How many members of each part of its clusters a sheet asks about.")
    ] = 5,
    attributes: options.Attributes = None,
    confidence: options.Confidence = CONFIDENCE,
    threads: options.Threads = None,
    kind: options.FormatOption = Format.table,
) -> None:
    """Draw pairs of items to ask people about. A diff that has questions already gets a further round.

    A further round gives each kind of pair as many questions as its answers so far show to be needed.

    \b
    Example:
      pointwise judge sample diffs/tuesday --half-width 0.01
      pointwise judge sample diffs/tuesday --n 300 --seed 7
    """
    from pointwise.diffs.judgements import read_judgements
    from pointwise.diffs.questions import DESIGN, find_questions, read_questions
    from pointwise.diffs.standing import look_at

    folder = find_questions(diff)
    before = read_questions(folder) if (folder / DESIGN).exists() else None
    answers = read_judgements(folder) if before is not None else None
    if before is not None and seed not in (0, before.design.seed):
        raise UsageError(
            f"The questions of {diff!r} were begun with --seed {before.design.seed}, which a further round keeps."
        )
    with stdin.files(attributes) as (known,), opened_diff(diff, threads=threads) as found:
        chosen = found.with_attributes(known) if known is not None else found
        drawn = chosen.questions(
            n,
            half_width=half_width,
            seed=seed,
            after=before,
            judgements=answers,
            confidence=confidence,
            sheets=sheets,
            members=members,
        )
        drawn.save(folder)
    standing = look_at(drawn, read_judgements(folder), confidence=confidence)
    output.put_result(standing, kind, whole=standing.to_dict())
    new = len(drawn) - (len(before) if before is not None else 0)
    output.say(f"Drew {format_count(new, 'question')}. Answer them with pointwise judge ask {diff}.")
    if not drawn[-1].records[0]:
        output.say("Warning: nothing is known about the items, so judges see ids only. Give --attributes.")


@judge_app.command()
def ask(
    diff: options.StoredDiff,
    *,
    judge: Judge = None,
    limit: Annotated[
        int | None, typer.Option("--limit", min=1, metavar="N", help="Stop after that many answers.")
    ] = None,
) -> None:
    """Answer questions: do these two belong together? One key per answer; quit and go on whenever you like.

    Every answer is on disk before the next question comes. Without a terminal, answers are read line by line.

    \b
    Example:
      pointwise judge ask diffs/tuesday
      pointwise judge ask diffs/tuesday --judge ada --limit 50
    """
    from pointwise.cli.interview import Interview, choose_reader, say_given
    from pointwise.diffs.sitting import sit_down

    sitting = sit_down(diff, _name(judge))
    given = Interview(sitting, choose_reader(), limit).run()
    output.put_text(f"{say_given(given)} {sitting.standing()}.")


@judge_app.command()
def adjudicate(
    diff: options.StoredDiff,
    *,
    judge: Judge = None,
    limit: Annotated[
        int | None, typer.Option("--limit", min=1, metavar="N", help="Stop after so many decisions.")
    ] = None,
) -> None:
    """Decide where judges disagree, contradict themselves or found the data wrong. One key per decision.

    A decision wins over all other answers about its pair, which stay on record. Without a terminal, decisions are read
    line by line.

    \b
    Example:
      pointwise judge adjudicate diffs/tuesday
      pointwise judge adjudicate diffs/tuesday --judge eve
    """
    from pointwise.cli.deciding import Deciding, say_decided
    from pointwise.cli.interview import choose_reader
    from pointwise.diffs.sitting import sit_down

    sitting = sit_down(diff, _name(judge))
    given = Deciding(sitting, choose_reader(), limit).run()
    output.put_text(f"{say_decided(given)} {sitting.standing()}.")


def _name(judge: str | None) -> str:
    """Name the judge after the user who is logged in, unless told otherwise."""
    if judge is not None:
        return judge
    try:
        return getpass.getuser()
    except (KeyError, OSError):
        raise UsageError("Cannot tell who you are: give judge=....") from None


@judge_app.command()
def serve(
    diff: options.StoredDiff,
    *,
    judge: Annotated[
        str | None, typer.Option("--judge", metavar="NAME", help="Who answers.", show_default="the page asks")
    ] = None,
    port: options.Port = 0,
    no_open: options.NoOpen = False,
    host: options.Host = "127.0.0.1",
    allowed_host: options.AllowedHost = None,
) -> None:
    """Answer questions in a browser, alone or with others at the same time.

    It runs on this machine until you stop it with Ctrl-C, and only people with the printed address get in. It needs the
    extra explore.

    \b
    Example:
      pointwise judge serve diffs/tuesday
      pointwise judge serve diffs/tuesday --judge ada --port 8000
    """
    from pointwise.explorer import Address, Site, judging_page, serve

    _read(diff)  # there are questions
    site = Site(Path(diff))
    address = Address(host, port, tuple(allowed_host or ()), path=judging_page(site, judge))
    serve(site, address, say=output.say, opens=not no_open)


@judge_app.command()
def status(diff: options.StoredDiff, *, kind: options.FormatOption = Format.table) -> None:
    """Show how many questions are answered, how precise that makes the estimate, and what to look at again.

    \b
    Example:
      pointwise judge status diffs/tuesday
    """
    from pointwise.diffs.standing import look_at

    _, questions, judgements = _read(diff)
    standing, agreement = look_at(questions, judgements), judgements.agreement
    if kind is Format.json:
        output.put_text(output.draw_json(standing.to_dict() | {"agreement": agreement.to_dict()}))
        return
    output.put_result(standing, kind)
    if agreement.judges and not kind.is_csv:
        output.put_text("\n" + output.draw(agreement.drawing(), kind))
    if standing.cases:
        output.say(f"Decide what to look at again with pointwise judge adjudicate {diff}.")


@judge_app.command()
def estimate(
    diff: options.StoredDiff,
    *,
    slices: options.Slices = None,
    attributes: options.Attributes = None,
    confidence: options.Confidence = CONFIDENCE,
    threads: options.Threads = None,
    kind: options.FormatOption = Format.table,
) -> None:
    """Estimate from the answers how good the change is, with intervals: overall, and by slice.

    \b
    Example:
      pointwise judge estimate diffs/tuesday
      pointwise judge estimate diffs/tuesday --slice country --format csv
    """
    _, questions, judgements = _read(diff)
    with stdin.files(attributes) as (known,), opened_diff(diff, threads=threads) as found:
        chosen = found.with_attributes(known) if known is not None else found
        estimates = chosen.estimate(questions, judgements, slices=slices or (), confidence=confidence)
    output.put_result(estimates, kind)


@judge_app.command("export")
def export_(
    diff: options.StoredDiff,
    *,
    path: Annotated[str, typer.Option("--output", "-o", metavar="FILE", help="The file to write: .csv or .jsonl.")],
    everything: Annotated[
        bool, typer.Option("--all", help="Write all questions, not only those that nobody has answered.")
    ] = False,
    guard_formulas: options.GuardFormulas = False,
) -> None:
    """Write questions to a file with space for answers, for a spreadsheet, a labelling service or a model.

    \b
    Example:
      pointwise judge export diffs/tuesday -o questions.csv
    """
    from pointwise.diffs.exchange import export_questions

    _, questions, judgements = _read(diff)
    wanted = [q for q in questions if everything or q.number not in judgements.reached]
    number = export_questions(wanted, Path(path), guard_formulas=guard_formulas)
    output.say(f"Wrote {format_count(number, 'question')} to {path}.")


@judge_app.command("import")
def import_(
    diff: options.StoredDiff,
    path: Annotated[
        str,
        typer.Argument(
            metavar="FILE", help="Answers: a .csv or .jsonl file, or another stored diff of the same items."
        ),
    ],
    *,
    judge: Annotated[
        str | None, typer.Option("--judge", metavar="NAME", help="Who answered, where the file does not say so.")
    ] = None,
    source: Annotated[AnswerSource, typer.Option("--from", help="Whose answers they are.")] = AnswerSource.people,
) -> None:
    """Take over answers from a file with the columns question and answer, and perhaps judge and note.

    Nothing is imported if a line is wrong. Answers of a model never count as those of people: they make estimates more
    precise where at least 30 people's answers of a kind show how far to trust them. An adjudication wins over other
    answers.

    \b
    Example:
      pointwise judge import diffs/tuesday answers.csv --judge ada
      pointwise judge import diffs/tuesday guesses.jsonl --judge llm --from model
      pointwise judge import diffs/tuesday diffs/monday
    """
    from pointwise.diffs.exchange import import_answers
    from pointwise.diffs.judgements import record, reuse

    folder, questions, judgements = _read(diff)
    if is_diff(path):
        answers = reuse(_read(path)[2], judgements)
    else:
        answers = import_answers(Path(path), questions, judgements, judge=judge, kind=_KINDS[source])
    record(folder, answers)
    new = "" if answers else ": it has none that are not known already"
    output.say(f"Imported {format_count(len(answers), 'answer')} from {path}{new}.")


def _read(diff: str) -> tuple[Path, Questions, Judgements]:
    """Read what is stored beside a diff: the folder, the questions and the answers."""
    from pointwise.diffs.judgements import read_judgements
    from pointwise.diffs.questions import find_questions, read_questions

    folder = find_questions(diff)
    return folder, read_questions(folder), read_judgements(folder)


def estimate_stored(found: Diff, diff: str) -> Estimates | None:
    """Estimate from what is stored beside a diff; None if no questions were drawn."""
    try:
        _, questions, judgements = _read(diff)
    except NotFoundError:
        return None
    return found.estimate(questions, judgements)
