"""Asking and exchange: who is asked what, and what comes back from files."""

from __future__ import annotations

import csv
import json
from collections import Counter

import pyarrow as pa
import pytest

import pointwise as pw
from pointwise.diffs.asking import next_turn
from pointwise.diffs.exchange import export_questions, import_answers
from pointwise.diffs.judgements import Judgements, make_judgement
from pointwise.errors import InputError, SourceError, UsageError

from diff_oracle import BASE, EXP, WEIGHTS

ITEMS = [f"i{n}" for n in range(60)]
BEFORE = {item: n // 6 for n, item in enumerate(ITEMS)}
AFTER = {item: n // 4 for n, item in enumerate(ITEMS)}
TRUTH = {item: n // 3 for n, item in enumerate(ITEMS)}


@pytest.fixture(scope="module")
def questions():
    return pw.diff(baseline=BEFORE, experiment=AFTER).questions(120, seed=3)


@pytest.fixture(scope="module")
def few():
    attributes = pa.table({"item": list(BASE), "name": [f"n, {i}" for i in BASE], "=x": [1, 2, 3, 4, None]})
    return pw.diff(baseline=BASE, experiment=EXP, weights=WEIGHTS, attributes=attributes).questions(40, seed=3)


def play(questions, judges, number):
    """Let judges answer truly by turns; return who was asked what, and all answers."""
    judgements, asked = Judgements(()), []
    for turn in range(number):
        judge = judges[turn % len(judges)]
        got = next_turn(questions, judgements, judge)
        judgements += Judgements(got.derived)
        if got.question is None:
            continue
        q = got.question
        asked.append((judge, q.number))
        answer = "yes" if TRUTH[q.a] == TRUTH[q.b] else "no"
        judgements += Judgements((make_judgement(q.number, q.a, q.b, answer, judge=judge, shown=got.shown),))
    return asked, judgements


def test_one_judge_is_asked_everything_that_does_not_follow_and_little_twice(questions):
    asked, judgements = play(questions, ["ada"], 400)
    counts = Counter(number for _, number in asked)
    assert judgements.reached == {q.number for q in questions}
    assert set(counts.values()) <= {1, 2}
    assert sum(number == 2 for number in counts.values()) <= 12
    derived = [line for line in judgements if line.kind == "derived"]
    assert len(derived) + len(counts) == len(questions)
    assert derived
    for line in derived:
        assert line.answer == ("yes" if TRUTH[line.a] == TRUTH[line.b] else "no")


def test_two_judges_share_the_questions_and_see_some_of_each_other(questions):
    asked, judgements = play(questions, ["ada", "bob"], 600)
    by_judge = {judge: {number for who, number in asked if who == judge} for judge in ("ada", "bob")}
    both = by_judge["ada"] & by_judge["bob"]
    assert 3 <= len(both) <= 40
    assert judgements.reached == {q.number for q in questions}
    assert judgements.agreement.alpha == 1
    assert abs(len(by_judge["ada"]) - len(by_judge["bob"])) < 25


def test_the_order_and_the_sides_are_the_judges_own_and_reproducible(questions):
    first = {judge: next_turn(questions, Judgements(()), judge) for judge in map(str, range(40))}
    assert len({turn.question.number for turn in first.values()}) > 15
    assert {turn.shown for turn in first.values()} == {"ab", "ba"}
    again = next_turn(questions, Judgements(()), "7")
    assert (again.question, again.shown) == (first["7"].question, first["7"].shown)


def test_what_a_judge_skips_comes_last(questions):
    start = next_turn(questions, Judgements(()), "ada").question.number
    assert next_turn(questions, Judgements(()), "ada", skipped=frozenset([start])).question.number != start
    everything = frozenset(q.number for q in questions)
    assert next_turn(questions, Judgements(()), "ada", skipped=everything).question.number == start


def test_exported_questions_come_back_as_answers(few, tmp_path):
    path = tmp_path / "questions.csv"
    assert export_questions(few, path) == len(few)
    rows = list(csv.DictReader(path.read_text().splitlines()))
    assert list(rows[0])[:5] == ["question", "a", "b", "answer", "note"]
    assert "stratum" not in rows[0]
    assert rows[0]["a.name"] == f"n, {rows[0]['a']}"
    rows[0] |= {"answer": "Yes ", "note": "sure"}
    rows[1] |= {"answer": "n"}
    with path.open("w", newline="") as file:
        writer = csv.DictWriter(file, list(rows[0]))
        writer.writeheader()
        writer.writerows(rows)
    found = import_answers(path, few, Judgements(()), judge="ada")
    assert [(j.question, j.answer, j.kind, j.note) for j in found] == [
        (1, "yes", "import", "sure"),
        (2, "no", "import", ""),
    ]
    assert import_answers(path, few, Judgements(tuple(found)), judge="ada") == []
    other = import_answers(path, few, Judgements(tuple(found)), judge="bob", kind="model")
    assert [j.kind for j in other] == ["model", "model"]


def test_lines_of_json_come_back_too(few, tmp_path):
    path = tmp_path / "q.jsonl"
    export_questions(few, path)
    rows = [json.loads(line) | {"answer": "unsure", "judge": "eve"} for line in path.read_text().splitlines()]
    path.write_text("\n".join(map(json.dumps, rows)) + "\n\n")
    found = import_answers(path, few, Judgements(()), judge=None)
    assert {j.judge for j in found} == {"eve"}
    assert len(found) == len(few)


def test_lines_that_cannot_be_taken_over_are_refused_together(few, tmp_path):
    path = tmp_path / "a.csv"
    path.write_text("question,answer,a,b\n1,yes,,\n99,yes,,\nx,no,,\n1,maybe,,\n2,no,p,q\n,yes,,\n98,no,,\n97,no,,\n")
    with pytest.raises(InputError) as error:
        import_answers(path, few, Judgements(()), judge="ada")
    text = str(error.value)
    assert text.startswith("7 lines of ")
    for part in (
        "line 3: there is no question '99'",
        "line 5: 'maybe' is not an answer",
        "not p and q",
        "and 2 other reasons",
    ):
        assert part in text
    path.write_text("question,answer\n1,yes\n")
    with pytest.raises(InputError, match="does not say who answered"):
        import_answers(path, few, Judgements(()), judge=None)


def test_files_that_are_none_of_ours(few, tmp_path):
    with pytest.raises(UsageError, match=r"neither \.csv nor \.jsonl"):
        export_questions(few, tmp_path / "q.xlsx")
    with pytest.raises(SourceError, match="There is no file"):
        import_answers(tmp_path / "nowhere.csv", few, Judgements(()), judge="ada")
    (tmp_path / "a.csv").write_text("a,b\n1,2\n")
    with pytest.raises(InputError, match="no column 'question'"):
        import_answers(tmp_path / "a.csv", few, Judgements(()), judge="ada")
    for text, problem in (("{", "is not JSON"), ("[]", "is not an object")):
        (tmp_path / "a.jsonl").write_text(text + "\n")
        with pytest.raises(InputError, match=problem):
            import_answers(tmp_path / "a.jsonl", few, Judgements(()), judge="ada")
