"""Sittings: what a judge sees and does, whoever shows it, and what is to be decided afterwards."""

from __future__ import annotations

import shutil

import pyarrow as pa
import pytest

import pointwise as pw
from pointwise.diffs.asking import Turn
from pointwise.diffs.closure import pair_of
from pointwise.diffs.facing import Facing, face, in_order
from pointwise.diffs.judgements import make_judgement, record
from pointwise.diffs.sitting import Sitting, sit_down
from pointwise.errors import NotFoundError, UsageError

ITEMS = [f"i{n}" for n in range(60)]
BEFORE = {item: n // 6 for n, item in enumerate(ITEMS)}
AFTER = {item: n // 4 for n, item in enumerate(ITEMS)}
TRUTH = {item: n // 3 for n, item in enumerate(ITEMS)}


def answer_of(question):
    return "yes" if TRUTH[question.a] == TRUTH[question.b] else "no"


@pytest.fixture(scope="module")
def stored(tmp_path_factory):
    about = pa.table({"item": ITEMS, "name": [f"name {n}" for n in range(60)]})
    diff = pw.diff(baseline=BEFORE, experiment=AFTER, attributes=about)
    path = diff.save(tmp_path_factory.mktemp("stored") / "d")
    diff.questions(120, seed=3).save(path / "questions")
    return path


@pytest.fixture
def place(stored, tmp_path):
    """A copy of a diff with questions, to answer them in."""
    return shutil.copytree(stored, tmp_path / "d")


def test_what_was_announced_comes_unless_it_need_not_be_asked(place):
    sitting = sit_down(place, "ada")
    while (turn := sitting.turn()).question is not None:
        ahead = sitting.ahead()
        sitting.answer(turn.question.number, answer_of(turn.question), times=turn.times)
        follows = [t for t in ahead if sitting.judgements.closure.answer(t.question.pair) is None or t.times]
        got = sitting.turn()
        if ahead and ahead[0] in follows:
            assert (got.question, got.shown, got.times) == (ahead[0].question, ahead[0].shown, ahead[0].times)
    assert sitting.ahead() == ()
    assert sitting.standing().left == 0
    assert sitting.judgements.reached == {q.number for q in sitting.questions}


def test_an_answer_that_arrives_twice_is_recorded_once(place):
    sitting = sit_down(place, "ada")
    turn = sitting.turn()
    first = sitting.answer(turn.question.number, "yes", ms=1200, note="sure", times=turn.times)
    assert sitting.answer(turn.question.number, "yes", times=turn.times) == first
    assert len(sitting.judgements) == 1
    assert (first.ms, first.note, first.shown, first.context) == (1200, "sure", turn.shown, False)
    sitting.answer(turn.question.number, "no")  # a second thought
    assert len(sitting.judgements) == 2


def test_undo_brings_the_last_question_back_as_often_as_wanted(place):
    sitting = sit_down(place, "ada")
    asked = []
    for n in range(40):
        turn = sitting.turn()
        if n == 5:
            sitting.skip(turn.question.number)
            continue
        asked.append((turn.question.number, turn.times, turn.shown))
        sitting.answer(turn.question.number, answer_of(turn.question))
    for number, times, shown in reversed(asked):
        assert sitting.undo().question == number
        turn = sitting.turn()
        assert (turn.question.number, turn.times, turn.shown) == (number, times, shown)
    assert sitting.undo() is None
    assert sitting.standing().answered == 0


def test_a_skipped_question_comes_last_and_comes_back_when_undone(place):
    sitting = sit_down(place, "ada")
    skipped = sitting.turn().question.number
    sitting.skip(skipped)
    asked = []
    while (turn := sitting.turn()).question is not None and turn.question.number != skipped:
        asked.append(turn.question.number)
        sitting.answer(turn.question.number, "unsure")
    assert set(asked) == {q.number for q in sitting.questions} - {skipped}
    sitting.answer(skipped, "unsure")
    assert sitting.undo().question == skipped
    assert sitting.turn().question.number == skipped


def test_what_followed_from_an_answer_that_was_taken_back_is_asked(place):
    sitting = sit_down(place, "ada")
    while (turn := sitting.turn()).question is not None:
        sitting.answer(turn.question.number, answer_of(turn.question))
    derived = {line.question for line in sitting.judgements if line.kind == "derived"}
    assert derived
    while sitting.undo():
        pass
    assert sitting.judgements.reached == frozenset()
    asked = set()
    while (turn := sitting.turn()).question is not None:
        asked.add(turn.question.number)
        sitting.answer(turn.question.number, "unsure")
    assert asked == {q.number for q in sitting.questions}


def test_the_context_is_of_both_clusterings_tells_nothing_and_its_opening_is_recorded(place):
    sitting = sit_down(place, "ada")
    names = {f"name {n}": item for n, item in enumerate(ITEMS)}
    sizes = set()
    for question in sitting.questions:
        members = [[names[record["name"]] for record in side] for side in question.context]
        assert len({*members[0], *members[1], question.a, question.b}) == len(members[0]) + len(members[1]) + 2
        for item, side in zip((question.a, question.b), members, strict=True):
            assert all((BEFORE[item], AFTER[item]) == (BEFORE[m], AFTER[m]) for m in side)
            sizes.add(len(side))
    assert {1, 2, 3} & sizes
    turn = next(t for t in iter(lambda: _next(sitting), None) if any(t.question.context))
    number = turn.question.number
    assert sitting.open_context(number) == in_order(turn, turn.question.context)
    assert sitting.answer(number, "yes").context
    assert not sitting.answer(number, "yes").context


def _next(sitting):
    turn = sitting.turn()
    sitting.skip(turn.question.number)
    return turn


def test_no_more_than_five_members_are_shown_and_the_same_on_every_run():
    items = [f"x{n}" for n in range(300)]
    diff = pw.diff(baseline=dict.fromkeys(items, 1), experiment={i: n // 100 for n, i in enumerate(items)})
    one, other = (diff.questions(50, seed=2) for _ in range(2))
    assert one.questions == other.questions
    assert {len(side) for q in one for side in q.context} == {5}
    assert all(list(record) == ["item"] for q in one for side in q.context for record in side)


def test_two_sittings_see_each_other(place):
    ada, bob = sit_down(place, "ada"), sit_down(place, "bob")
    turn = ada.turn()
    ada.answer(turn.question.number, "yes")
    assert bob.standing().answered == ada.standing().answered == 1
    record(bob.folder, [make_judgement(turn.question.number, turn.question.a, turn.question.b, "no", judge="bob")])
    (case,) = ada.cases()
    assert (case.kind, case.question, [a.judge for a in case.answers]) == (
        "disagreement",
        turn.question,
        ["ada", "bob"],
    )
    assert ada.standing().alpha == pytest.approx(0)
    decided = ada.adjudicate(*case.pair, "no", note="looked it up")
    assert (decided.kind, decided.question) == ("adjudication", turn.question.number)
    assert bob.cases() == ()
    assert bob.judgements.verdicts[case.pair].answer == "no"
    assert bob.undo_decision() is None
    assert ada.undo_decision() == decided
    assert len(bob.cases()) == 1


def test_answers_and_decisions_are_taken_back_apart(place):
    ada = sit_down(place, "ada")
    question = ada.turn().question
    flagged = ada.answer(question.number, "flag")
    decided = ada.adjudicate(question.a, question.b, "yes")
    assert ada.undo() == flagged
    assert ada.undo() is None
    assert ada.judgements.verdicts[question.pair].answer == "yes"
    assert ada.undo_decision() == decided
    assert ada.judgements.verdicts == {}


def test_flags_and_contradictions_are_cases_with_what_is_known(place):
    sitting = sit_down(place, "ada")
    flagged = sitting.turn().question
    sitting.answer(flagged.number, "flag", note="two photos")
    rows = [("i0", "i1", "yes"), ("i1", "i2", "yes"), ("i0", "i2", "no")]
    record(sitting.folder, [make_judgement(None, a, b, answer, judge="bob") for a, b, answer in rows])
    cases = sitting.cases()
    assert [case.kind for case in cases] == ["flag", "contradiction", "contradiction", "contradiction"]
    assert cases[0].to_dict()["answers"] == [{"judge": "ada", "answer": "flag", "note": "two photos"}]
    assert {case.chain for case in cases[1:]} == {("i0", "i1", "i2")}
    assert cases[0].pairs == (flagged.pair,)
    assert {frozenset(case.pairs) for case in cases[1:]} == {frozenset(pair_of(a, b) for a, b, _ in rows)}
    assert all(case.pairs[0] == case.pair for case in cases)
    sitting.adjudicate("i0", "i2", "yes")
    assert [case.kind for case in sitting.cases()] == ["flag"]
    assert sitting.standing().to_dict()["cases"][0]["question"] == flagged.number


def test_a_round_that_is_drawn_meanwhile_is_asked_too(place):
    sitting = sit_down(place, "ada")
    number = len(sitting.questions)
    pw.load_diff(place).questions(50, after=sitting.questions).save(place / "questions")
    assert len(sitting.questions) > number


def test_progress_says_how_many_more_answers_the_target_takes(tmp_path):
    diff = pw.diff(baseline=BEFORE, experiment=AFTER)
    path = diff.save(tmp_path / "d")
    diff.questions(half_width=0.06, seed=3).save(path / "questions")
    sitting = sit_down(path, "ada")
    assert sitting.standing().left_to_target is None
    guesses = []
    while not sitting.standing().is_reached and (turn := sitting.turn()).question is not None:
        sitting.answer(turn.question.number, answer_of(turn.question))
        guesses.append(sitting.standing().left_to_target)
    standing = sitting.standing()
    assert standing.is_reached
    assert standing.leading.half_width <= 0.06
    assert standing.left_to_target == 0
    assert all(guess for guess in guesses[:-1] if guess is not None)
    assert "reached" in str(standing)


def test_the_precision_of_one_clustering_leads(tmp_path):
    diff = pw.diff(baseline=BEFORE, experiment="singletons")
    path = diff.save(tmp_path / "d")
    diff.questions(80, seed=3).save(path / "questions")
    sitting = sit_down(path, "ada")
    for question in sitting.questions:
        sitting.answer(question.number, answer_of(question))
    standing = sitting.standing()
    assert standing.leading.metric == "precision"
    assert "precision is known to" in str(standing)
    assert not any(side for q in sitting.questions for side in q.context)
    assert standing.estimates == diff.estimate(sitting.questions, sitting.judgements).overall


def test_what_cannot_be_done_is_said(place, tmp_path):
    with pytest.raises(NotFoundError):
        sit_down(tmp_path / "nothing", "ada")
    with pytest.raises(UsageError, match="name of a judge"):
        Sitting(place / "questions", "../ada")
    sitting = sit_down(place, "ada")
    for act in (sitting.skip, sitting.open_context, lambda n: sitting.answer(n, "yes")):
        with pytest.raises(NotFoundError, match="no question 999"):
            act(999)
    with pytest.raises(NotFoundError, match="Nobody has answered"):
        sitting.adjudicate("i0", "i1", "yes")
    with pytest.raises(UsageError, match="not an answer"):
        sitting.answer(1, "maybe")


def test_records_face_each_other_with_their_differences():
    question = pw.diff(
        baseline={"a": 1, "b": 1},
        experiment={"a": 1, "b": 2},
        attributes=pa.table({"item": ["a", "b"], "name": ["Jon Smith", "John Smyth"], "n": [1, 1], "x": [None, "y"]}),
    ).questions(5)[0]
    rows = {row.attribute: row for row in face(Turn(question, "ba"))}
    assert {name: row.mark for name, row in rows.items()} == {"name": "different", "n": "same", "x": "missing"}
    left, right = rows["name"].pieces
    assert "".join(text for text, _ in left) == "John Smyth"
    assert "".join(text for text, same in right if same) == "".join(text for text, same in left if same) == "Jon Smth"
    assert rows["x"].pieces == ((("y", False),), ())
    assert rows["n"].pieces == ((("1", True),), (("1", True),))
    assert Facing("t", "a" * 3000, "b", "different").pieces == ((("a" * 3000, False),), (("b", False),))
    left, right = Facing("t", "System and method", "Device for another method", "different").pieces
    assert left == (("System and ", False), ("method", True))  # not the single letters that both have
    assert right == (("Device for another ", False), ("method", True))
    assert face(Turn(None, "ab")) == []
