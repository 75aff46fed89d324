"""Exchange: questions for a spreadsheet, a labelling service or a model, and their answers back."""

from __future__ import annotations

import csv
import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Literal, TextIO, get_args

from pointwise.diffs.closure import pair_of
from pointwise.diffs.judgements import Answer, Judgement, JudgementKind, Judgements, make_judgement
from pointwise.diffs.questions import Question, Questions
from pointwise.engines.files import whole_file
from pointwise.errors import InputError, SourceError, UsageError
from pointwise.results import check_guard
from pointwise.text.formulas import guard
from pointwise.text.values import format_count

ExchangeFormat = Literal["csv", "jsonl"]

_COLUMNS = ("question", "a", "b", "answer", "note")
_WORDS: dict[str, Answer] = {
    **{answer: answer for answer in get_args(Answer)},
    "y": "yes",
    "n": "no",
    "u": "unsure",
    "f": "flag",
}
_EXAMPLES = 5  # lines that a message shows


def export_questions(questions: Iterable[Question], path: Path, *, guard_formulas: bool = False) -> int:
    """Write questions to a .csv or .jsonl file with space for answers; return how many.

    What a question was drawn for is left out, because judges must not know it.
    """
    rows = [_row(question) for question in questions]
    if guard_formulas:
        check_guard(path)
        rows = [{guard(name): guard(value) for name, value in row.items()} for row in rows]
    columns = list(dict.fromkeys([*_COLUMNS, *(name for row in rows for name in row)]))
    write = _write_csv if _format_of(path) == "csv" else _write_lines
    with whole_file(path) as unfinished, unfinished.open("w", encoding="utf-8", newline="") as file:
        write(file, columns, rows)
    return len(rows)


def _row(question: Question) -> dict[str, Any]:
    row: dict[str, Any] = {"question": question.number, "a": question.a, "b": question.b, "answer": "", "note": ""}
    first, second = question.records
    for name in first:
        row |= {f"a.{name}": first[name], f"b.{name}": second.get(name)}
    return row


def _write_csv(file: TextIO, columns: Sequence[str], rows: Iterable[Mapping[str, Any]]) -> None:
    writer = csv.DictWriter(file, columns, restval="")
    writer.writeheader()
    writer.writerows({name: "" if value is None else value for name, value in row.items()} for row in rows)


def _write_lines(file: TextIO, _: Sequence[str], rows: Iterable[Mapping[str, Any]]) -> None:
    file.writelines(json.dumps(row, ensure_ascii=False, default=str) + "\n" for row in rows)


def _format_of(path: Path) -> ExchangeFormat:
    """Tell the format by the ending."""
    ending = path.suffix.lower()
    if ending not in (".csv", ".jsonl"):
        raise UsageError(f"{str(path)!r} ends in neither .csv nor .jsonl, which questions and answers come in.")
    return "csv" if ending == ".csv" else "jsonl"


def import_answers(
    path: Path, questions: Questions, known: Judgements, *, judge: str | None, kind: JudgementKind = "import"
) -> list[Judgement]:
    """Read answers from a .csv or .jsonl file with the columns `question` and `answer`, and perhaps `judge` and `note`.

    Rows without an answer are skipped, and so are answers that the judge has given already. Nothing is imported if a
    line is wrong.

    Args:
        path: The file.
        questions: What was asked.
        known: What was answered already.
        judge: Who answered, where the file does not say so.
        kind: "import" for people's answers, "model" for those of a model.

    Raises:
        InputError: Lines name questions or answers that do not exist; the message says which.
    """
    found: list[Judgement] = []
    wrong: dict[str, list[int]] = {}
    for line, row in _read_rows(path):
        try:
            judgement = _understand(row, questions, judge, kind)
        except ValueError as error:
            wrong.setdefault(str(error), []).append(line)
            continue
        if judgement is not None:
            found.append(judgement)
    if wrong:
        number = sum(map(len, wrong.values()))
        reasons = [f"{_name_lines(lines)}: {reason}" for reason, lines in wrong.items()]
        more = f" and {len(reasons) - _EXAMPLES:,} other reasons" if len(reasons) > _EXAMPLES else ""
        raise InputError(
            f"{format_count(number, 'line')} of {str(path)!r} cannot be imported, so nothing was: "
            f"{'; '.join(reasons[:_EXAMPLES])}{more}."
        )
    given = {(line.judge, line.question): line.answer for line in known}
    return [j for j in found if given.get((j.judge, j.question)) != j.answer]


def _name_lines(lines: Sequence[int]) -> str:
    """Name the lines that are wrong for the same reason, or the first of them."""
    named = ", ".join(map(str, lines[:_EXAMPLES]))
    more = f" and {len(lines) - _EXAMPLES:,} more" if len(lines) > _EXAMPLES else ""
    return f"line{'s' if len(lines) > 1 else ''} {named}{more}"


def _read_rows(path: Path) -> Iterator[tuple[int, Mapping[str, Any]]]:
    read = _read_csv if _format_of(path) == "csv" else _read_lines
    try:
        with path.open(encoding="utf-8-sig", newline="") as file:
            yield from read(file, path)
    except FileNotFoundError as error:
        raise SourceError(f"There is no file {str(path)!r}.") from error
    except (OSError, UnicodeDecodeError, csv.Error) as error:
        raise SourceError(f"{str(path)!r} cannot be read: {error}.") from error


def _read_csv(file: TextIO, path: Path) -> Iterator[tuple[int, Mapping[str, Any]]]:
    rows = csv.DictReader(file)
    lacking = [name for name in ("question", "answer") if name not in (rows.fieldnames or ())]
    if lacking:
        raise InputError(f"{str(path)!r} has no column {lacking[0]!r}. Answers need the columns question and answer.")
    for row in rows:
        yield rows.line_num, row


def _read_lines(file: TextIO, path: Path) -> Iterator[tuple[int, Mapping[str, Any]]]:
    for number, text in enumerate(file, 1):
        if not text.strip():
            continue
        try:
            row = json.loads(text)
        except ValueError as error:
            raise InputError(f"Line {number} of {str(path)!r} is not JSON: {error}.") from error
        if not isinstance(row, dict):
            raise InputError(f"Line {number} of {str(path)!r} is not an object with question and answer.")
        yield number, row


def _understand(
    row: Mapping[str, Any], questions: Questions, judge: str | None, kind: JudgementKind
) -> Judgement | None:
    """Turn a row into a judgement; None if it has no answer.

    Raises:
        ValueError: It names no question, an unknown answer, other items, or no judge.
    """
    text = str(row.get("answer") or "").strip().lower()
    if not text:
        return None
    number = str(row.get("question") or "").strip()
    question = questions.by_number.get(int(number)) if number.isdecimal() else None
    if question is None:
        raise ValueError(f"there is no question {number!r}")
    if text not in _WORDS:
        raise ValueError(f"{text!r} is not an answer (they are {', '.join(get_args(Answer))})")
    if row.get("a") and row.get("b") and pair_of(row["a"], row["b"]) != question.pair:
        raise ValueError(f"question {number} is about {question.a} and {question.b}, not {row['a']} and {row['b']}")
    name = str(row.get("judge") or judge or "").strip()
    if not name:
        raise ValueError("it does not say who answered; name the judge with judge=...")
    note = str(row.get("note") or "")
    return make_judgement(question.number, question.a, question.b, _WORDS[text], judge=name, kind=kind, note=note)
