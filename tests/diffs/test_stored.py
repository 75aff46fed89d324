"""Stored diffs: what is loaded answers as what was saved did, and nothing beside it is lost."""

from __future__ import annotations

import json

import pyarrow as pa
import pytest

import pointwise as pw
from alike import alike
from pointwise.errors import NotFoundError, RunError

from diff_oracle import BASE, EXP, WEIGHTS


@pytest.fixture
def stored(tmp_path):
    kinds = pa.table({"item": list(BASE), "kind": ["x", "x", "x", "y", "y"]})
    diff = pw.diff(baseline=BASE, experiment=EXP, weights=WEIGHTS, attributes=kinds, slices="kind")
    return diff, diff.save(tmp_path / "d")


def test_a_loaded_diff_answers_as_the_saved_one(stored):
    diff, path = stored
    loaded = pw.load_diff(path)
    assert loaded.overall.to_dicts() == alike(diff.overall)
    assert loaded.extent == diff.extent
    assert loaded.masses == diff.masses
    assert loaded.is_singletons == diff.is_singletons
    assert loaded.by_slice().to_dicts() == alike(diff.by_slice())
    assert loaded.by_item().sort("item").to_dicts() == alike(diff.by_item().sort("item"))
    questions = loaded.questions(30, seed=4)
    assert [(q.a, q.b, q.draws) for q in questions] == [(q.a, q.b, q.draws) for q in diff.questions(30, seed=4)]
    judged = questions.judge_by(lambda *_: True, judge="ada")
    assert diff.estimate(questions, judged)["delta_precision"] == loaded.estimate(questions, judged)["delta_precision"]


def test_a_diff_of_all_items_and_one_with_singletons_come_back(tmp_path):
    union = pw.diff(baseline={"a": 1, "b": 1}, experiment={"a": 1, "c": 1}, on="union")
    loaded = pw.load_diff(union.save(tmp_path / "union"))
    assert loaded.extent.on == "union"
    assert loaded.lineage().to_dicts() == alike(union.lineage())
    alone = pw.diff(baseline={"a": 1, "b": 1}, experiment="singletons")
    assert pw.load_diff(alone.save(tmp_path / "alone")).is_singletons


def test_attributes_can_come_later(stored):
    _, path = stored
    table = pa.table({"item": list(BASE), "name": [f"n{i}" for i in BASE]})
    loaded = pw.load_diff(path).with_attributes(table)
    assert loaded.questions(10)[0].records[0].keys() >= {"name", "kind"}


def test_questions_beside_a_diff_keep_it_from_being_replaced(stored):
    diff, path = stored
    with pytest.raises(RunError, match="already"):
        diff.save(path)
    diff.save(path, overwrite=True)
    diff.questions(10).save(path / "questions")
    with pytest.raises(RunError, match="questions"):
        diff.save(path, overwrite=True)


def test_what_is_no_diff_is_refused(stored, tmp_path):
    _, path = stored
    with pytest.raises(NotFoundError):
        pw.load_diff(tmp_path / "nothing")
    with pytest.raises(RunError, match="is a stored diff, not a run"):
        pw.load(path)
    run = pw.evaluate(ideal=BASE, actual=EXP).save(tmp_path / "run")
    with pytest.raises(RunError, match="is a stored run, not a diff"):
        pw.load_diff(run)
    facts = json.loads((path / "diff.json").read_text())
    (path / "diff.json").write_text(json.dumps(facts | {"common_items": 99}))
    with pytest.raises(RunError, match="damaged"):
        pw.load_diff(path)
    assert len(pw.history(tmp_path)) == 1
