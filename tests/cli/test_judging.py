"""The commands diff and judge, and what the other commands make of a stored diff."""

from __future__ import annotations

import csv
import io
import json
import os
import pty
import shutil
import sys

import pytest
from typer.testing import CliRunner

import pointwise as pw
from pointwise.cli import app, interview
from pointwise.diffs.sitting import sit_down

from diff_oracle import BASE, EXP, WEIGHTS

TRUTH = {"a": 1, "b": 2, "c": 2, "d": 2, "e": 3}


def call(*arguments, code=0, stdin=None):
    """Run a command in this process and return its standard output and standard error."""
    result = CliRunner().invoke(app, [str(a) for a in arguments], input=stdin)
    assert result.exit_code == code, result.output
    return result.stdout, result.stderr


def call_json(*arguments, **options):
    return json.loads(call(*arguments, "--format", "json", **options)[0])


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    """A folder with two clusterings, weights, attributes and a stored diff of them."""
    folder = tmp_path_factory.mktemp("diffs")
    for name, clusters in (("base", BASE), ("exp", EXP), ("truth", TRUTH)):
        rows = "".join(f"{item},{cluster}\n" for item, cluster in clusters.items())
        (folder / f"{name}.csv").write_text("item,cluster\n" + rows)
    (folder / "weights.csv").write_text("item,weight\n" + "".join(f"{i},{w}\n" for i, w in WEIGHTS.items()))
    (folder / "about.csv").write_text("item,team,name\na,red,Ann\nb,red,Bo\nc,red,Cy\nd,blue,\ne,blue,Ed\n")
    call("diff", folder / "base.csv", folder / "exp.csv", "--weights", folder / "weights.csv",
         "--attributes", folder / "about.csv", "--slice", "team", "--save", folder / "d")  # fmt: skip
    return folder


@pytest.fixture(scope="module")
def sampled(made, tmp_path_factory):
    """The same, with questions drawn and no answers."""
    folder = shutil.copytree(made, tmp_path_factory.mktemp("sampled") / "work")
    call("judge", "sample", folder / "d", "--n", "40", "--seed", "3")
    return folder


@pytest.fixture
def folder(made, tmp_path, monkeypatch):
    """A copy of the folder to work in."""
    return work_in_copy(made, tmp_path, monkeypatch)


@pytest.fixture
def asked(sampled, tmp_path, monkeypatch):
    """A copy of the folder with questions to work in."""
    return work_in_copy(sampled, tmp_path, monkeypatch)


def work_in_copy(folder, tmp_path, monkeypatch):
    monkeypatch.chdir(shutil.copytree(folder, tmp_path / "work"))
    monkeypatch.setenv("COLUMNS", "120")
    return tmp_path / "work"


def answer_by_truth(folder):
    """Export all questions, answer them as the truth does, and import that."""
    call("judge", "export", "d", "-o", "open.csv")
    rows = list(csv.DictReader(io.StringIO((folder / "open.csv").read_text())))
    lines = [f"{row['question']},{'yes' if TRUTH[row['a']] == TRUTH[row['b']] else 'no'}" for row in rows]
    (folder / "answers.csv").write_text("question,answer\n" + "\n".join(lines) + "\n")
    call("judge", "import", "d", "answers.csv", "--judge", "truth")


def test_diff_draws_what_changed(made):
    shown, _ = call("diff", made / "base.csv", made / "exp.csv", "--weights", made / "weights.csv")
    for words in (
        "Common items: 5 of 5",
        "jaccard_distance   0.5371",
        "Lineage",
        "Changes that make up",
        "were merged",
    ):
        assert words in shown
    found = call_json("diff", made / "base.csv", made / "exp.csv", "--weights", made / "weights.csv")
    assert found["overall"]["split_rate"] == pytest.approx(6 / 25)
    assert found["bounds"]["delta_recall"] == pytest.approx([-6 / 25, 2 / 5])
    assert found["extent"]["common_items"] == 5
    assert {row["kind"] for row in found["changes"]} == {"split", "merge"}
    assert sum(row["clusters"] for row in found["lineage"]) >= 3
    alone = call_json("diff", made / "base.csv", "singletons")
    assert alone["overall"]["merge_rate"] == 0


def test_a_stored_diff_is_shown(folder):  # noqa: ARG001
    assert "Slices by team" in call("show", "d")[0]
    rows = call_json("show", "d", "--by", "baseline-cluster", "--metric", "split_rate")
    assert [row["baseline_cluster"] for row in rows] == ["1", "2", "3"]
    assert len(call_json("show", "d", "--by", "experiment-cluster")) == 2
    assert len(call_json("show", "d", "--by", "item", "--where", "split_rate > 0.5")) == 1
    assert {row["fate"] for row in call_json("show", "d", "--by", "fate")} <= {"reshaped", "shrunk", "grown", "merged"}
    assert len(call_json("show", "d", "--by", "change", "--limit", "2")) == 2
    assert "was split into" in call("show", "d", "--by", "change")[0]
    assert len(call_json("show", "d", "--by", "slice", "--slice", "name")) == 5
    for wrong, words in (
        ("ideal-cluster", "not for a diff"),
        ("item --slice team", "--by slice"),
        ("change --worst split_rate", "--worst"),
    ):
        assert words in call("show", "d", "--by", *wrong.split(), code=2)[1]
    listed = call_json("runs", ".", "--diffs")
    assert [(row["diff"], row["items"], row["baseline_only"]) for row in listed] == [("d", 5, 0)]
    assert listed[0]["split_rate"] == pytest.approx(6 / 25)
    assert call_json("runs", ".") == []
    assert "d " in call("runs", ".", "--diffs")[0]


def test_explain_knows_diffs(folder):  # noqa: ARG001
    seen = call_json("explain", "d", "--item", "c")
    assert {row["set"]: row["items"] for row in seen["parts"]} == {
        "stable": ["c"],
        "split_off": ["a", "b"],
        "merged_in": ["d", "e"],
    }
    parts = call_json("explain", "d", "--baseline-cluster", "1")
    assert [row["experiment_cluster"] for row in parts["parts"]] == ["1", "2"]
    assert parts["experiment_cluster"] == "1"
    assert "comes from" not in call("explain", "d", "--experiment-cluster", "2")[0]
    assert "not for a diff" in call("explain", "d", "--ideal-cluster", "1", code=2)[1]
    assert "no baseline cluster" in call("explain", "d", "--baseline-cluster", "9", code=2)[1]
    assert "stored diff, not a run" in call("mistakes", "d", code=2)[1]


def test_questions_are_drawn_in_rounds(asked):
    first = pw.read_questions(asked / "d" / "questions")
    assert first.draws == 40
    assert first.design.seed == 3
    assert {"team", "name"} <= first[0].records[0].keys()
    answer_by_truth(asked)
    found = call_json("judge", "sample", "d", "--half-width", "0.05")
    assert found["questions"] > len(first)
    assert found["target"] == 0.05
    assert found["answered"] >= len(first)
    assert "seed" in call("judge", "sample", "d", "--n", "10", "--seed", "4", code=2)[1]
    assert "--n" in call("judge", "sample", "d", code=2)[1]


def test_lines_of_standard_input_answer_questions(asked):
    typed = "y sure\nz\nn\nwhat\ns\nunsure\nm for later\nf\n"
    shown, said = call("judge", "ask", "d", "--judge", "ada", stdin=typed)
    assert shown.count("Do these two belong together?") >= 5
    assert "differ" in shown
    assert "3 answers recorded" in shown
    assert "'what' is not an answer" in said
    assert "Undid" in said
    answers = pw.read_judgements(asked / "d" / "questions")
    assert [line.answer for line in answers if line.kind != "derived"] == ["no", "unsure", "flag"]
    assert [line.note for line in answers.lines if line.note] == ["sure", "for later"]
    before = len(answers)
    again, _ = call("judge", "ask", "d", "--judge", "ada", "--limit", "1", stdin="y\ny\n")
    assert "1 answer recorded" in again
    assert len(pw.read_judgements(asked / "d" / "questions")) > before


def test_the_last_answer_can_be_taken_back(asked):
    number = len(pw.read_questions(asked / "d" / "questions"))
    typed = "n\n" * number + "z\ny\n"
    shown, said = call("judge", "ask", "d", "--judge", "ada", stdin=typed)
    assert said.count("There is nothing left to ask you: z undo, q quit.") == 2
    assert shown.count("Do these two belong together?") == number + 1
    answers = [line.answer for line in pw.read_judgements(asked / "d" / "questions") if line.kind != "derived"]
    assert answers == ["no"] * (number - 1) + ["yes"]


def test_a_terminal_answers_by_single_keys(asked, monkeypatch):
    leader, follower = pty.openpty()
    keys = iter(["Y", "\x1b[A", "z", "z", "n", "m", "c", "u", "s", "\x03"])
    with os.fdopen(follower, "r") as terminal:
        monkeypatch.setattr(sys, "stdin", terminal)
        monkeypatch.setattr(interview.typer, "getchar", lambda: next(keys))
        monkeypatch.setattr(interview.typer, "prompt", lambda *_, **__: "odd")
        assert interview.Interview(sit_down(asked / "d", "bo"), interview.choose_reader()).run() == 2
    os.close(leader)
    answers = [line for line in pw.read_judgements(asked / "d" / "questions") if line.kind != "derived"]
    assert [(line.answer, line.note, line.context) for line in answers] == [("no", "", False), ("unsure", "odd", True)]
    assert all(line.ms is not None for line in answers)


def test_nobody_can_answer_on_a_closed_standard_input(asked, monkeypatch):  # noqa: ARG001
    monkeypatch.setattr(sys, "stdin", None)
    with pytest.raises(pw.PointwiseError, match="is closed"):
        interview.choose_reader()


def test_estimates_gate_and_report(asked):
    empty, _ = call("judge", "estimate", "d")
    assert "Nobody has answered yet" in empty
    answer_by_truth(asked)
    assert "There is nothing left" in call("judge", "ask", "d", "--judge", "truth", stdin="")[1]
    rows = {row["metric"]: row for row in call_json("judge", "estimate", "d")}
    assert rows["delta_precision"]["low"] <= -76 / 525 <= rows["delta_precision"]["high"]
    assert rows["delta_precision"]["questions"] > 0
    sliced = list(csv.DictReader(io.StringIO(call("judge", "estimate", "d", "--slice", "team", "-f", "csv")[0])))
    assert {row["value_of_slice"] for row in sliced} == {"", "red", "blue"}
    held, _ = call("gate", "d", "--max", "split_rate=0.3", "--min", "delta_precision=-0.9")
    assert "all checks held" in held
    failed = call_json(
        "gate", "d", "--max", "split_rate=0.1", "--min", f"delta_precision={rows['delta_precision']['value']}", code=1
    )
    assert [check["held"] for check in failed["checks"]] == [False, False], "the whole interval must keep to a limit"
    refused = {"--min oops=0.1": "no metric", "--max split_rate=7": "from -1 to 1", "": "lets everything"}
    for given, words in (refused | {"--max split_rate=1 --slice team": "for runs"}).items():
        assert words in call("gate", "d", *given.split(), code=2)[1]
    call("report", "d", "-o", "diff.html")
    page = (asked / "diff.html").read_text()
    for words in (
        "Is it better?",
        "were merged in",
        'data-metric="delta_precision"',
        "What became of the clusters",
        "Ann",
    ):
        assert words in page


def test_status_tells_who_disagrees(asked):
    number = pw.read_questions(asked / "d" / "questions")[0].number
    (asked / "two.jsonl").write_text(
        "".join(
            json.dumps({"question": number, "answer": a, "judge": j}) + "\n" for a, j in (("yes", "ada"), ("no", "bo"))
        )
    )
    call("judge", "import", "d", "two.jsonl")
    found = call_json("judge", "status", "d")
    assert [case["reason"] for case in found["cases"]] == ["judges disagree"]
    assert [judge["judge"] for judge in found["agreement"]["judges"]] == ["ada", "bo"]
    assert "Look again at" in call("judge", "status", "d")[0]
    (asked / "decided.csv").write_text(f"question,answer\n{number},no\n")
    call("judge", "import", "d", "decided.csv", "--judge", "chief", "--from", "adjudication")
    assert call_json("judge", "status", "d")["cases"] == []


def say(folder, *rows):
    """Import answers, given as pair, answer and judge."""
    numbers = {"".join(q.pair): q.number for q in pw.read_questions(folder / "d" / "questions")}
    lines = [json.dumps({"question": numbers[pair], "answer": a, "judge": j}) + "\n" for pair, a, j in rows]
    (folder / "said.jsonl").write_text("".join(lines))
    call("judge", "import", "d", "said.jsonl")


def test_what_was_answered_differently_is_decided(asked):
    say(asked, ("cd", "yes", "ada"), ("cd", "no", "bo"), ("de", "flag", "bo"))
    assert "pointwise judge adjudicate d" in call("judge", "status", "d")[1]
    shown, said = call(
        "judge", "adjudicate", "d", "--judge", "eve", stdin="s\nz\nf\nunsure the photo is lost\nn\nz\nq\n"
    )
    assert "2 cases to decide: judges disagree." in shown
    assert "to decide: flagged as a data error." in shown
    assert "Cy" in shown, "records are shown"
    assert "You have no decision to undo." in said
    assert "'f' is not an answer" in said
    assert "Undid your last decision." in said
    assert "1 decision recorded." in shown
    verdicts = pw.read_judgements(asked / "d" / "questions").verdicts
    assert [verdicts[pair].is_adjudicated for pair in (("c", "d"), ("d", "e"))] == [False, True]
    shown, said = call("judge", "adjudicate", "d", "--judge", "eve", stdin="m looked it up\nyes\n")
    assert "There is nothing to decide." in call("judge", "adjudicate", "d", "--judge", "eve", stdin="")[1]
    assert "There is nothing to decide" in said
    answers = pw.read_judgements(asked / "d" / "questions")
    assert answers.verdicts["c", "d"].answer == "yes"
    assert [line.note for line in answers if line.judge == "eve"] == ["the photo is lost", "looked it up"]
    assert len(answers.about(("c", "d"))) == 3, "all answers stay"
    assert "adjudicate" not in call("judge", "status", "d")[1]


def test_contradictory_answers_are_shown_together_and_decided(asked):
    say(asked, ("ab", "yes", "ada"), ("bc", "yes", "bo"), ("ac", "no", "cy"))
    shown, said = call("judge", "adjudicate", "d", "--judge", "eve", "--limit", "1", stdin="no\n")
    assert "3 cases to decide: 'a' and 'c' do not belong together, but 'a' = 'b' = 'c' do." in shown
    assert [line.split() for line in shown.splitlines() if line.split()[2:3] in (["ada"], ["bo"], ["cy"])] == [
        ["a", "c", "cy", "no"],
        ["a", "b", "ada", "yes"],
        ["b", "c", "bo", "yes"],
    ]
    assert "1 decision recorded." in shown
    assert "nothing to decide" not in said
    shown, said = call("judge", "adjudicate", "d", "--judge", "eve", stdin="n\n")
    assert "2 cases to decide" in shown
    assert "There is nothing to decide" in said
    assert pw.read_judgements(asked / "d" / "questions").contradictions == ()


def test_answers_of_another_diff_are_taken_over(asked):
    answer_by_truth(asked)
    call("diff", "base.csv", "exp.csv", "--save", "e")
    _, said = call("judge", "sample", "e", "--n", "20")
    assert "ids only" in said
    call("judge", "import", "e", "d")
    assert "There is nothing left" in call("judge", "ask", "e", "--judge", "ada", stdin="")[1]
    assert call_json("judge", "status", "e")["answered"] == call_json("judge", "status", "e")["questions"]


def test_what_cannot_be_judged_is_refused(folder):
    assert "judge sample" in call("judge", "ask", "d", code=2)[1]
    assert "judge sample" in call("judge", "status", "d", code=2)[1]
    assert "judge sample" in call("judge", "adjudicate", "d", code=2)[1]
    assert "stored diff" in call("judge", "adjudicate", "nowhere", code=2)[1]
    assert "people's answers" in call("gate", "d", "--min", "delta_precision=0", code=2)[1]
    assert "no stored diff" in call("judge", "sample", "nowhere", "--n", "3", code=2)[1]
    call("evaluate", "truth.csv", "exp.csv", "--save", "run")
    assert "stored run, not a diff" in call("judge", "sample", "run", "--n", "3", code=2)[1]
    assert "--overwrite" in call("diff", "base.csv", "exp.csv", "--save", "d", code=2)[1]
    wrong = call("diff", "base.csv", "exp.csv", "--item", "baseline=item", "--item", "item", code=2)[1]
    assert "baseline=COLUMN" in wrong
    call("judge", "sample", "d", "--n", "10")
    (folder / "bad.csv").write_text("question,answer\n1,maybe\n")
    assert "line 2" in call("judge", "import", "d", "bad.csv", "--judge", "ada", code=2)[1]
    (folder / "bad.csv").write_text("question,answer\n" + "1,yes\n" * 7 + "1,maybe\n")
    refused = call("judge", "import", "d", "bad.csv", code=2)[1]
    assert "8 lines of 'bad.csv'" in refused
    assert refused.count("who answered") == 1
    assert "lines 2, 3, 4, 5, 6 and 2 more: it does not say who answered" in refused
    assert "line 9: 'maybe' is not an answer" in refused
    assert "There is no file 'gone.csv'." in call("judge", "import", "d", "gone.csv", code=2)[1]
    call("judge", "export", "d", "-o", "empty.csv")
    assert "Imported 0 answers from empty.csv: it has none" in call("judge", "import", "d", "empty.csv")[1]
    assert "name of a judge" in call("judge", "adjudicate", "d", "--judge", "../ada", code=2)[1]


@pytest.mark.parametrize(
    "command",
    ["diff", *(f"judge {n}" for n in ("sample", "ask", "adjudicate", "status", "estimate", "export", "import"))],
)
def test_every_command_has_help_with_an_example(command):
    text, _ = call(*command.split(), "--help")
    assert "Example:" in text
    assert f"pointwise {command}" in text
