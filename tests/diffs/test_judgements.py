"""Judgements: none that was acknowledged is lost, and what they come to is right."""

from __future__ import annotations

import json
import os
import random
import signal
import subprocess
import sys
import time
from itertools import combinations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import answering
from pointwise.diffs.cases import find_cases
from pointwise.diffs.judgements import (
    Judgements,
    make_judgement,
    read_judgements,
    record,
    reuse,
    take_back,
)
from pointwise.errors import NotFoundError, RunError, UsageError

WRITERS = 12
NO_QUESTIONS = ()


def judged(*answers, judge="ada", kind="human"):
    """Make judgements of pairs written as "a b yes"."""
    lines = [make_judgement(n, *text.split(), judge=judge, kind=kind) for n, text in enumerate(answers, 1)]
    return Judgements(tuple(lines))


def test_writers_killed_at_any_moment_lose_no_acknowledged_answer(tmp_path):
    rng = random.Random(18)  # noqa: S311  # no secret
    acknowledged, file = set(), tmp_path / "judgements" / "ada.jsonl"
    for _ in range(WRITERS):
        command = [sys.executable, answering.__file__, str(tmp_path), "ada"]
        with subprocess.Popen(command, stdout=subprocess.PIPE) as writer:
            acknowledged.add(writer.stdout.readline().strip().decode())
            time.sleep(rng.uniform(0, 0.1))
            os.kill(writer.pid, signal.SIGKILL)
            ids = writer.stdout.read().decode().split("\n")
            acknowledged |= set(ids[:-1]) - {""}
        if rng.random() < 0.5:  # a kill rarely hits the write itself: let the disk have taken half of it
            with file.open("ab") as torn:
                torn.write(b'{"id": "half')
    record(tmp_path, [make_judgement(1, "a", "b", "no", judge="ada")])
    found = read_judgements(tmp_path)
    assert acknowledged <= {line.id for line in found.lines}
    assert len(acknowledged) >= WRITERS
    assert found.lines[-1].answer == "no"


def test_what_an_interrupted_writer_leaves_is_set_aside_wherever_it_was_cut(tmp_path):
    lines = [make_judgement(n, "ä", "b", "yes", judge="ada") for n in (1, 2)]
    record(tmp_path, lines)
    file = tmp_path / "judgements" / "ada.jsonl"
    content = file.read_bytes()
    first = content.index(b"\n") + 1
    for cut in range(first, len(content) + 1):
        file.write_bytes(content[:cut])
        found = read_judgements(tmp_path)
        whole = 2 if cut == len(content) else 1
        assert [line.id for line in found.lines] == [line.id for line in lines[:whole]]
        assert len(found.problems) == (first < cut < len(content))
    file.write_bytes(content[:-5])
    record(tmp_path, lines[1:])
    found = read_judgements(tmp_path)
    assert [line.id for line in found.lines] == [line.id for line in lines]
    assert found.problems == ("ada.jsonl: 1 unfinished by a writer that was interrupted",)


def test_lines_that_mean_nothing_are_named_and_the_rest_is_read(tmp_path):
    record(tmp_path, [make_judgement(1, "a", "b", "yes", judge="ada")])
    file = tmp_path / "judgements" / "ada.jsonl"
    good = json.loads(file.read_text())
    lines = ["nonsense", "[]", "{}", json.dumps(good | {"answer": "maybe"}), json.dumps(good | {"kind": "ghost"})]
    with file.open("a") as more:
        more.write("\n".join([*lines, json.dumps(good | {"id": "new", "field_of_the_future": 1})]) + "\n")
    found = read_judgements(tmp_path)
    assert [line.id for line in found.lines] == [good["id"], "new"]
    assert [problem.split(":")[0] for problem in found.problems] == [f"ada.jsonl, line {n}" for n in range(2, 7)]


def test_two_processes_write_one_file_without_mixing_their_lines(tmp_path):
    command = [sys.executable, answering.__file__, str(tmp_path), "ada"]
    with subprocess.Popen(command, stdout=subprocess.PIPE) as writer:
        own = []
        writer.stdout.readline()
        for n in range(50):
            own.append(make_judgement(n, "a", "b", "no", judge="ada", note="y" * 5000))
            record(tmp_path, own[-1:])
        writer.kill()
        writer.stdout.read()
    found = read_judgements(tmp_path)
    assert {line.id for line in own} <= {line.id for line in found.lines}
    assert not [problem for problem in found.problems if "line" in problem]


def test_errors_say_what_is_wrong(tmp_path):
    with pytest.raises(UsageError, match="'maybe' is not an answer"):
        make_judgement(1, "a", "b", "maybe", judge="ada")
    for name in ("", "../ada", "a/b", "x" * 65):
        with pytest.raises(UsageError, match="cannot be the name of a judge"):
            make_judgement(1, "a", "b", "yes", judge=name)
    with pytest.raises(NotFoundError, match="no folder"):
        read_judgements(tmp_path / "nowhere")
    (tmp_path / "judgements" / "ada.jsonl").mkdir(parents=True)
    with pytest.raises(RunError, match="Cannot write"):
        record(tmp_path, [make_judgement(1, "a", "b", "yes", judge="ada")])


def test_taking_back_goes_on_until_nothing_is_left(tmp_path):
    record(tmp_path, judged("a b yes", "c d no", "e f unsure").lines)
    expected = [("c", "d"), ("a", "b")]
    for left in (2, 1):
        record(tmp_path, [take_back(read_judgements(tmp_path), "ada")])
        found = read_judgements(tmp_path)
        assert len(found) == left
        assert found.of("ada")[-1].pair == expected[2 - left]
    record(tmp_path, [take_back(read_judgements(tmp_path), "ada")])
    found = read_judgements(tmp_path)
    assert (len(found), len(found.lines), found.reached) == (0, 6, frozenset())
    assert take_back(found, "ada") is None


def test_the_majority_decides_and_ties_are_unsure():
    def verdict(*answers):
        votes = Judgements(())
        for n, answer in enumerate(answers):
            votes += judged(f"a b {answer}", judge=f"judge {n}")
        return votes.verdicts["a", "b"].answer

    assert verdict("yes") == "yes"
    assert verdict("yes", "no") == "unsure"
    assert verdict("yes", "no", "yes") == "yes"
    assert verdict("yes", "unsure", "flag") == "unsure"
    assert verdict("no", "no", "yes", "yes", "unsure") == "unsure"


def test_the_last_answer_of_a_judge_counts_and_the_order_of_the_items_does_not():
    found = judged("a b no", "b a yes")
    assert found.verdicts["a", "b"].votes == {"yes": 1}
    assert found.agreement.judges[0]["repeats"] == 1
    assert found.agreement.judges[0]["same_share"] == 0


def test_adjudication_wins_and_originals_stay():
    votes = judged("a b yes") + judged("a b no", judge="bob")
    assert [case.reason for case in find_cases(NO_QUESTIONS, votes)] == ["judges disagree"]
    decided = votes + judged("a b no", judge="bob", kind="adjudication")
    assert decided.verdicts["a", "b"].answer == "no"
    assert find_cases(NO_QUESTIONS, decided) == ()
    assert dict(decided.verdicts["a", "b"].votes) == {"yes": 1, "no": 1}


def test_answers_of_models_never_mix_with_those_of_people():
    found = judged("a b yes", kind="model") + judged("c d no", judge="bob")
    assert list(found.verdicts) == [("c", "d")]
    assert list(found.model_verdicts) == [("a", "b")]
    assert found.reached == {1}
    assert found.closure.answer(("a", "b")) is None


def test_answers_for_another_diff_are_taken_over_once():
    other = judged("a b yes", "c d no")
    taken = reuse(other, Judgements(()))
    assert [line.question for line in taken] == [None, None]
    known = Judgements(tuple(taken))
    assert known.reached == frozenset()
    assert known.closure.answer(("a", "b")) == "yes"
    assert reuse(other, known) == []


def test_contradictions_are_shown_with_their_chain_and_imply_nothing():
    found = judged("a b yes", "b c yes", "c d yes", "a d no", "d x yes", "p q yes", "q r yes", "p s no")
    (contradiction,) = found.contradictions
    assert contradiction.chain == ("a", "b", "c", "d")
    assert str(contradiction) == "'a' and 'd' do not belong together, but 'a' = 'b' = 'c' = 'd' do"
    answer = found.closure.answer
    assert answer(("a", "d")) == "no"
    assert answer(("a", "c")) is None
    assert answer(("p", "r")) == "yes"
    assert answer(("r", "s")) == "no"
    assert answer(("r", "zzz")) is None
    assert len(find_cases(NO_QUESTIONS, found)) == 4


@settings(max_examples=100)
@given(st.data())
def test_what_follows_from_a_truth_is_true_and_complete(data):
    items = [f"i{n}" for n in range(data.draw(st.integers(2, 8)))]
    truth = {item: data.draw(st.integers(0, 3)) for item in items}
    pairs = list(combinations(items, 2))
    asked = data.draw(st.lists(st.sampled_from(pairs), max_size=12))
    answers = {True: "yes", False: "no"}
    found = judged(*(f"{a} {b} {answers[truth[a] == truth[b]]}" for a, b in asked))
    assert found.contradictions == ()
    known = dict.fromkeys(asked)
    for pair in pairs:
        answer = found.closure.answer(pair)
        assert answer in (None, answers[truth[pair[0]] == truth[pair[1]]])
        assert (answer is not None) == (_implied(pair, known, truth))


def _implied(pair, asked, truth):
    """Search for a way of yeses with at most one no among the pairs asked: that is what transitivity gives."""
    reached, front = {(pair[0], 0)}, [(pair[0], 0)]
    while front:
        item, noes = front.pop()
        for one, other in [*asked, *((b, a) for a, b in asked)]:
            step = (other, noes + (truth[one] != truth[other]))
            if one == item and step[1] <= 1 and step not in reached:
                reached.add(step)
                front.append(step)
    return any((pair[1], noes) in reached for noes in (0, 1))
