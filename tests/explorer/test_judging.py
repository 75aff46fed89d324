"""Judging, comparing and looking at changes in the explorer: everything is what the library says."""

from __future__ import annotations

import json
import re
import shutil
from collections.abc import Iterator
from pathlib import Path

import pyarrow as pa
import pytest
from starlette.testclient import TestClient

import pointwise as pw
from pointwise.diffs.judgements import read_judgements
from pointwise.diffs.questions import find_questions, read_questions
from pointwise.explorer.urls import link
from visiting import SAME_ORIGIN, is_alike, visiting

WORDS = [f"word {n}" for n in range(40)]
BASELINE = {word: f"b{n // 4}" for n, word in enumerate(WORDS)}
EXPERIMENT = {word: f"e{n // 5}" for n, word in enumerate(WORDS)}
RECORDS = pa.table({"item": WORDS, "name": [f"Name {n // 4}" for n in range(40)], "city": ["Ulm", None] * 20})


@pytest.fixture(scope="module")
def stored(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("stored")
    diff = pw.diff(baseline=BASELINE, experiment=EXPERIMENT, attributes=RECORDS)
    diff.save(folder / "changed")
    diff.questions(40, seed=3).save(find_questions(folder / "changed"))
    diff.save(folder / "unasked")
    truth = {word: f"t{n // 10}" for n, word in enumerate(WORDS)}
    variants = {"old one": BASELINE, "new/one": EXPERIMENT}
    pw.compare(ideal=truth, variants=variants, attributes=RECORDS, slices=["city"]).save(folder / "compared")
    return folder


@pytest.fixture(scope="module")
def client(stored: Path) -> Iterator[TestClient]:
    with visiting(stored) as opened:
        yield opened


@pytest.fixture
def judged(stored: Path, tmp_path: Path) -> Iterator[TestClient]:
    shutil.copytree(stored / "changed", tmp_path / "changed")
    with visiting(tmp_path) as opened:
        opened.top = tmp_path  # type: ignore[attr-defined]
        yield opened


def ask(client: TestClient, judge: str) -> dict:
    answer = client.get("/diff/changed/judge.json", params={"judge": judge})
    assert answer.status_code == 200, answer.text
    return answer.json()


def press(client: TestClient, judge: str, key: str, asked: dict | None = None, **more: str) -> int:
    form = {"judge": judge, "press": key, "times": "0", "since": "0", **more}
    if asked is not None:
        form["question"] = str(asked["question"])
    answer = client.post("/diff/changed/judge", data=form, headers=SAME_ORIGIN)
    if answer.status_code == 303:
        assert answer.headers["location"].startswith("/diff/changed/judge?judge=")
    return answer.status_code


def lines(client: TestClient, judge: str) -> list[dict]:
    path = find_questions(client.top / "changed") / "judgements" / f"{judge}.jsonl"  # type: ignore[attr-defined]
    return [json.loads(line) for line in path.read_text().splitlines()]


def test_an_answer_is_on_the_disk_when_the_page_moves_on(judged: TestClient):
    first = ask(judged, "ada")
    assert press(judged, "ada", "yes", first, note="sure") == 303
    given = lines(judged, "ada")[-1]
    assert (given["question"], given["answer"], given["note"]) == (first["question"], "yes", "sure")
    assert {given["a"], given["b"]} == {first["left"], first["right"]}
    assert (given["shown"] == "ab") == (given["a"] == first["left"])
    assert ask(judged, "ada")["question"] != first["question"]


def test_undo_brings_the_question_back_and_appends(judged: TestClient):
    first = ask(judged, "ada")
    press(judged, "ada", "no", first)
    assert press(judged, "ada", "undo") == 303
    assert ask(judged, "ada")["question"] == first["question"]
    assert [line["answer"] for line in lines(judged, "ada")] == ["no", None]
    press(judged, "ada", "undo")
    page = judged.get("/diff/changed/judge", params={"judge": "ada", "said": "nothing"}).text
    assert "no answer of yours" in page


def test_pressing_twice_answers_once(judged: TestClient):
    first = ask(judged, "ada")
    for _ in range(2):
        press(judged, "ada", "yes", first)
    assert len(lines(judged, "ada")) == 1


def test_a_skipped_question_comes_later_and_a_context_is_recorded(judged: TestClient):
    first = ask(judged, "ada")
    press(judged, "ada", "skip", first)
    second = ask(judged, "ada")
    assert second["question"] != first["question"]
    press(judged, "ada", "context", second)
    assert "Also grouped with the left one" in judged.get("/diff/changed/judge", params={"judge": "ada"}).text
    press(judged, "ada", "unsure", second)
    assert lines(judged, "ada")[-1]["context"] is True


def test_the_next_questions_are_fetched_ahead_without_counting_as_shown(judged: TestClient):
    first = ask(judged, "ada")
    page = judged.get("/diff/changed/judge", params={"judge": "ada"}).text
    assert f'data-ahead="{link("diff", "changed", "judge", "ahead", judge="ada")}"' in page
    ahead = judged.get("/diff/changed/judge/ahead.json", params={"judge": "ada"}).json()["rows"]
    text = judged.get("/diff/changed/judge/ahead", params={"judge": "ada"}).text
    assert len(ahead) == 2
    assert first["question"] not in {row["question"] for row in ahead}
    assert all(f'id="question-{row["question"]}-0"' in text for row in ahead)
    assert ask(judged, "ada")["question"] == first["question"]
    assert not (find_questions(judged.top / "changed") / "judgements" / "ada.jsonl").exists()  # type: ignore[attr-defined]

    form = {"judge": "ada", "press": "yes", "times": "0", "since": "0", "question": first["question"], "ahead": "1"}
    answer = judged.post("/diff/changed/judge", data=form, headers=SAME_ORIGIN | {"accept": "application/json"})
    assert answer.status_code == 200
    assert answer.json()["next"].endswith(f"#question-{ask(judged, 'ada')['question']}-0")
    assert lines(judged, "ada")[-1]["answer"] == "yes"


def test_two_judges_do_not_get_into_each_others_way(judged: TestClient):
    for _ in range(3):
        for judge in ("ada", "bob"):
            assert press(judged, judge, "yes", ask(judged, judge)) == 303
    assert {line["judge"] for line in lines(judged, "ada")} == {"ada"}
    assert len([line for line in lines(judged, "bob") if line["kind"] == "human"]) == 3


def test_a_judge_is_not_told_what_would_sway_them(judged: TestClient):
    text = judged.get("/diff/changed/judge", params={"judge": "ada"}).text + json.dumps(ask(judged, "ada"))
    for word in ("stratum", "split", "merge", "baseline", "experiment", "stable", "b1", "e1"):
        assert word not in text.replace("changed", "").replace("together", "")


@pytest.mark.parametrize(
    "form",
    [
        {"press": "maybe"},
        {"press": "yes", "question": "x"},
        {"press": "yes", "question": "-1"},
        {"judge": "../evil", "press": "undo"},
        {"judge": "", "press": "undo"},
        {"press": "yes", "question": "9" * 400},
    ],
)
def test_what_is_no_answer_is_refused(judged: TestClient, form: dict[str, str]):
    full = {"judge": "ada", "times": "0", "since": "0", "question": "1"} | form
    answer = judged.post("/diff/changed/judge", data=full, headers=SAME_ORIGIN)
    assert answer.status_code in (400, 404)
    assert not (judged.top.parent / "evil.jsonl").exists()  # type: ignore[attr-defined]


def test_an_unknown_question_is_refused(judged: TestClient):
    assert press(judged, "ada", "yes", {"question": 4_000}) == 404


def test_disagreements_are_decided_and_the_decision_wins(judged: TestClient):
    folder = find_questions(judged.top / "changed")  # type: ignore[attr-defined]
    first = read_questions(folder)[0]
    for judge, key in (("ada", "yes"), ("bob", "no")):
        press(judged, judge, key, {"question": first.number})
    cases = judged.get("/diff/changed/adjudicate.json").json()["rows"]
    assert [case["kind"] for case in cases] == ["disagreement"]
    text = judged.get("/diff/changed/adjudicate", params={"judge": "eve"}).text
    assert "Judges disagree" in text
    form = {"judge": "eve", "a": cases[0]["a"], "b": cases[0]["b"], "press": "no"}
    assert judged.post("/diff/changed/adjudicate", data=form, headers=SAME_ORIGIN).status_code == 303
    verdict = read_judgements(folder).verdicts[first.pair]
    assert (verdict.answer, verdict.is_adjudicated) == ("no", True)
    assert "nothing to decide" in judged.get("/diff/changed/adjudicate").text


def test_estimates_are_those_of_the_library(judged: TestClient):
    for _ in range(40):
        asked = ask(judged, "ada")
        if "question" not in asked:
            break
        press(judged, "ada", "yes" if asked["question"] % 3 else "no", asked)
    top = judged.top / "changed"  # type: ignore[attr-defined]
    folder = find_questions(top)
    expected = pw.load_diff(top).estimate(read_questions(folder), read_judgements(folder)).to_dicts()
    found = judged.get("/diff/changed/estimates.json").json()
    assert [row["metric"] for row in found["rows"]] == [row["metric"] for row in expected]
    assert [row["value"] for row in found["rows"]] == pytest.approx([row["value"] for row in expected], nan_ok=True)
    assert "you have answered everything" in judged.get("/diff/changed/judge", params={"judge": "ada"}).text
    assert judged.get("/diff/changed/estimates").status_code == 200


def test_who_comes_when_everything_is_answered_is_told_why_they_are_asked(judged: TestClient):
    def see(judge: str) -> str:
        return str(judged.get("/diff/changed/judge", params={"judge": judge}).text)

    def answer_all(judge: str) -> int:
        for given in range(100):
            if "question" not in (asked := ask(judged, judge)):
                return given
            assert press(judged, judge, "yes", asked) == 303
        raise AssertionError("It never ends.")

    assert "a second answer" not in see("bob")
    answer_all("ada")
    told = re.search(
        r"(\d+) answered questions are left for you: a second answer shows how far people agree", see("bob")
    )
    assert told
    assert told[0] in judged.get("/diff/changed/judge/ahead", params={"judge": "bob"}).text
    assert int(told[1]) == answer_all("bob") > 1
    assert "you have answered everything" in see("bob")
    assert "Others have answered everything" in see("eve")


def test_a_diff_without_questions_says_how_to_draw_them(client: TestClient):
    for page in ("judge", "adjudicate", "estimates"):
        answer = client.get(f"/diff/unasked/{page}")
        assert answer.status_code == 404
        assert "pointwise judge sample" in answer.text
    assert "pointwise judge sample" in client.get("/diff/unasked").text
    assert "Your name" in client.get("/diff/changed/judge").text


def test_a_diff_shows_the_changes_of_the_library(client: TestClient, stored: Path):
    diff = pw.load_diff(stored / "changed")
    found = client.get("/diff/changed.json").json()
    assert is_alike(found["rows"], diff.changes().to_dicts())
    assert is_alike(found["lineage"], diff.lineage().to_dicts())
    fates = client.get("/diff/changed/clusters.json", params={"fate": "split"}).json()["rows"]
    assert {row["baseline_cluster"] for row in fates} == {
        row["baseline_cluster"] for row in diff.fates().where("fate = 'split'").to_dicts()
    }
    assert client.get(link("diff", "changed", "cluster", "baseline", "b1")).status_code == 200
    assert client.get(link("diff", "changed", "cluster", "ideal", "b1")).status_code == 404
    assert client.get(link("diff", "changed", "cluster", "baseline", "nothing")).status_code == 404
    nearest = client.get(link("diff", "changed", "cluster", "experiment", "e1x")).text
    assert link("diff", "changed", "cluster", "experiment", "e1") in nearest
    assert link("diff", "changed", "clusters") in nearest.partition("<main")[2]
    assert '<span class="mark tone-1">B</span>' in client.get("/diff/changed").text
    item = client.get(link("diff", "changed", "item", "word 7")).text
    assert '<span class="mark tone-0">' not in item  # letters are for parts, which this page does not have
    assert "Split off" in item
    assert "Name 1" in item
    assert client.get("/diff/changed/item", params={"item": "word 7"}).status_code == 200
    assert "word 1" in client.get(link("diff", "changed", "item", "word 1x")).text


def test_a_comparison_shows_the_differences_of_the_library(client: TestClient, stored: Path):
    compared = pw.load_comparison(stored / "compared")
    pair = {"experiment": "new/one", "baseline": "old one"}
    found = client.get("/compare/compared.json", params=pair).json()
    expected = compared.deltas(**pair).to_dicts()
    assert [row["delta"] for row in found["rows"]] == pytest.approx([row["delta"] for row in expected])
    assert client.get("/compare/compared", params=pair).status_code == 200
    changes = client.get("/compare/compared/clusters.json", params=pair | {"change": "better"}).json()["rows"]
    assert all(row["change"] == "better" for row in changes)
    sides = client.get(link("compare", "compared", "item", "word 7") + ".json").json()["rows"]
    assert [row["variant"] for row in sides] == ["old one", "new/one"]
    assert client.get(link("compare", "compared", "item", "nothing")).status_code == 404
    assert client.get("/compare/compared", params={"experiment": "nothing"}).status_code == 404


def test_a_variant_of_a_comparison_is_a_run_of_its_own(client: TestClient, stored: Path):
    name = "compared/new/one"
    assert client.get(link("run", name)).status_code == 200
    found = client.get(link("run", name, "mistakes") + ".json").json()["rows"]
    expected = pw.load_comparison(stored / "compared")["new/one"].mistakes().to_dicts()
    assert [row["cost"] for row in found] == pytest.approx([row["cost"] for row in expected])
    assert "Name" in client.get(link("run", name, "mistakes")).text or "city" in client.get(link("run", name)).text
    assert client.get(link("run", name, "mistakes", kind="nothing")).status_code == 400


def test_one_stored_folder_can_be_explored_by_itself(stored: Path):
    with visiting(stored / "changed") as opened:
        assert opened.get("/diff/changed").status_code == 200
