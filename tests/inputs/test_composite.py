"""Ids of several columns: joined inside, and the columns that a user gave wherever items are handed out."""

from __future__ import annotations

import copy
import csv
import json
import pickle

import narwhals.stable.v2 as nw
import pandas as pd
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from typer.testing import CliRunner

import pointwise as pw
from pointwise import errors
from pointwise.cli import app
from pointwise.engines.queries import from_rows
from pointwise.inputs.composite import ItemColumns, id_columns, join_columns, join_id
from visiting import visiting

NAMES = ["source_dataset", "unique_id"]
ODD = "b|\\x"  # holds what joins parts and what escapes that
IDEAL = pa.table({"source_dataset": ["a", "a", ODD, "b"], "unique_id": [0, 1, 10, 0], "cluster": ["x", "x", "y", "y"]})
ACTUAL = IDEAL.set_column(2, "cluster", [["p", "q", "p", "q"]])
RECORDS = IDEAL.drop_columns("cluster").append_column("name", [["Ann", "Anne", "Bo", "Bob"]])
ITEMS = {("a", 0), ("a", 1), (ODD, 10), ("b", 0)}


def evaluate(**settings) -> pw.Evaluation:
    return pw.evaluate(**{"ideal": IDEAL, "actual": ACTUAL, "item": NAMES} | settings)


def items_of(rows) -> set[tuple]:
    assert "item" not in rows[0]
    return {(row["source_dataset"], row["unique_id"]) for row in rows}


TEXTS = st.text(st.sampled_from("a|\\\n ") | st.characters(exclude_categories=["Cs"], exclude_characters="\0"))
PARTS = st.integers(2, 4).flatmap(lambda n: st.lists(st.tuples(*[TEXTS] * n), min_size=1, max_size=8))


@settings(max_examples=200)
@given(rows=PARTS)
def test_ids_come_back_as_they_went_in(rows):
    ids = ItemColumns({f"c{n}": "text" for n in range(len(rows[0]))})
    assert [ids.read(join_id(row)) for row in rows] == rows
    joined = pa.table({"item": [join_id(row) for row in rows]})
    assert [tuple(row.values()) for row in ids.take_apart(joined).to_pylist()] == rows
    assert len({join_id(row) for row in rows}) == len(set(rows))


@given(rows=PARTS)
def test_engines_join_ids_and_take_them_apart(engine, rows):
    names = [f"c{n}" for n in range(len(rows[0]))]
    ids = ItemColumns(dict.fromkeys(names, "text"))
    frame = from_rows([dict(zip(names, row, strict=True), number=n) for n, row in enumerate(rows)], engine)
    joined = frame.select("number", join_columns(nw.col(name) for name in names).alias("item"))
    found = joined.select("number", "item", *(part.alias(name) for name, part in ids.parts().items())).sort("number")
    collected = engine.collect(found).to_pylist()
    assert [row["item"] for row in collected] == [join_id(row) for row in rows]
    assert [tuple(row[name] for name in names) for row in collected] == rows


def test_an_id_of_other_parts_is_the_first_part():
    ids = ItemColumns({"a": "text", "b": "text"})
    assert ids.take_apart(pa.table({"item": ["x|y|z", "x"]})).to_pylist() == [
        {"a": "x|y|z", "b": None},
        {"a": "x", "b": None},
    ]
    assert ids.read("x|y|z") == "x|y|z"


def test_tables_and_files_have_the_columns(engine, tmp_path):
    evaluation = evaluate(engine=engine, attributes=RECORDS)
    table = evaluation.by_item()
    assert table.columns[:3] == [*NAMES, "ideal_cluster"]
    assert items_of(table.to_dicts()) == ITEMS
    assert table.where("unique_id >= 1 and source_dataset = 'a'").to_dicts()[0]["actual_cluster"] == "q"
    assert table.sort("unique_id", descending=True).to_dicts()[0]["source_dataset"] == ODD
    assert items_of(evaluation.with_shown("name").by_item().to_dicts()) == ITEMS
    table.write(tmp_path / "items.csv")
    written = csv.DictReader((tmp_path / "items.csv").read_text().splitlines())
    assert {(row["source_dataset"], int(row["unique_id"])) for row in written} == ITEMS


def test_stored_runs_keep_the_names(engine, tmp_path):
    loaded = pw.load(evaluate(engine=engine).save(tmp_path / "run"), engine=engine)
    assert items_of(loaded.by_item().to_dicts()) == ITEMS
    assert loaded.explain(item=(ODD, 10)).item == (ODD, 10)
    known = loaded.with_attributes(RECORDS)
    assert known.records([(ODD, 10)]).to_dicts()[0] | {"name": "Bo"} == known.records([(ODD, 10)]).to_dicts()[0]
    assert "Bo" in repr(known.by_item())


def test_objects_hold_tuples():
    evaluation = evaluate(attributes=RECORDS)
    explained = evaluation.explain(item=("a", 0))
    assert explained.item == ("a", 0)
    assert explained.false_positives.items == ((ODD, 10),)
    assert explained.to_dict()["source_dataset"] == "a"
    assert explained.to_dict()["false_positives"]["records"] == [{"source_dataset": ODD, "unique_id": 10, "name": "Bo"}]
    assert explained.to_arrow()["items"].to_pylist()[1] == [{"source_dataset": ODD, "unique_id": 10}]
    assert explained == evaluation.explain(item="a|0")
    examples = [example for m in evaluation.mistakes() for part in m.largest for example in part.examples]
    assert set(examples) == ITEMS
    assert json.loads(json.dumps(evaluation.mistakes(1).to_dicts()))[0]["largest"][0]["examples"] == [
        {"name": "Ann", "source_dataset": "a", "unique_id": 0}
    ]
    assert evaluation.mistakes(1, by="pair").to_dicts()[0]["first_examples"] == [
        {"source_dataset": "a", "unique_id": 0}
    ]
    assert "a|0" in repr(evaluation.mistakes())


def test_an_id_survives_copies():
    item = evaluate().explain(item=("a", 0)).item
    for twin in (copy.deepcopy(item), pickle.loads(pickle.dumps(item))):  # noqa: S301
        assert (twin, id_columns(twin)) == (("a", 0), {"source_dataset": "a", "unique_id": 0})


def test_comparisons_and_diffs_have_the_columns(tmp_path):
    comparison = pw.compare(ideal=IDEAL, variants={"old": IDEAL, "new": ACTUAL}, item=NAMES, attributes=RECORDS)
    loaded = pw.load_comparison(comparison.save(tmp_path / "comparison"))
    for found in (comparison, loaded):
        assert items_of(found.by_item().to_dicts()) == ITEMS
        assert items_of(found.moved_items().to_dicts()) < ITEMS
        assert found.explain(item=("a", 0)).to_dict()["unique_id"] == 0
        assert found.explain(ideal_cluster="x").parts[0].examples[0].item == ("a", 0)
    diff = pw.diff(baseline=IDEAL, experiment=ACTUAL, item=NAMES)
    stored = pw.load_diff(diff.save(tmp_path / "diff"))
    assert items_of(stored.by_item().to_dicts()) == ITEMS
    assert stored.explain(item=("a", 0)).key == ("a", 0)
    assert stored.changes().to_dicts()[0]["first_examples"] == [{"source_dataset": "a", "unique_id": 0}]
    assert {question.a for question in diff.questions(20)} <= {join_id(item) for item in ITEMS}


@pytest.mark.parametrize(
    ("actual", "kind"),
    [(ACTUAL, int), (pa.table(ACTUAL.to_pandas().astype({"unique_id": str})), str), ("actual.csv", str)],
)
def test_a_part_is_an_integer_where_both_clusterings_say_so(tmp_path, monkeypatch, actual, kind):
    monkeypatch.chdir(tmp_path)
    ACTUAL.to_pandas().to_csv("actual.csv", index=False)
    assert {type(row["unique_id"]) for row in evaluate(actual=actual).by_item()} == {kind}


def test_the_truth_names_the_columns():
    renamed = ACTUAL.rename_columns(["src", "id", "cluster"])
    found = evaluate(actual=renamed, item={"ideal": NAMES, "actual": ["src", "id"]})
    assert items_of(found.by_item().to_dicts()) == ITEMS
    joined = pa.table({"item": [join_id(tuple(row.values())[:2]) for row in ACTUAL.to_pylist()], "c": ["p", "q"] * 2})
    found = evaluate(actual=joined, item={"ideal": NAMES})
    assert items_of(found.by_item().to_dicts()) == {(source, str(number)) for source, number in ITEMS}


def test_columns_that_are_called_like_those_of_results():
    names = ["weight", "recall", "item"]
    table = pa.table({"weight": ["a", "b"], "recall": [1, 2], "item": ["i", "j"], "c": [1, 1]})
    evaluation = pw.evaluate(ideal=table, actual=table, item=names, cluster="c")
    assert evaluation.by_item().columns[:3] == ["item_weight", "item_recall", "item_item"]
    assert {row["item_recall"] for row in evaluation.by_item()} == {1, 2}
    assert evaluation.records([("a", 1, "i")]).to_dicts()[0]["item_weight"] == "a"


def test_tuples_are_ids_of_several_columns():
    ideal = {("a", 0): "x", ("a", 1): "x", ("b", 0): "y"}
    clusters = [[("a", 0), ("b", 0)], [("a", 1)]]
    weights = {item: n for n, item in enumerate(ideal, 1)}
    evaluation = pw.evaluate(ideal=ideal, actual=clusters, weights=weights)
    rows = {(row["item_1"], row["item_2"]): row["weight"] for row in evaluation.by_item()}
    assert rows == {("a", 0): 1, ("a", 1): 2, ("b", 0): 3}
    named = pw.evaluate(ideal=IDEAL, actual=clusters, item=NAMES)
    assert items_of(named.by_item().to_dicts()) == set(ideal)
    assert pw.evaluate(ideal=clusters, actual=IDEAL, item={"actual": NAMES}).by_item().columns[:2] == NAMES


@pytest.mark.parametrize("names", [NAMES, [None, None], ["cluster", "unique_id"], ["unique_id", "unique_id"]])
def test_a_multiindex_is_an_id_of_several_columns(tmp_path, names):
    index = pd.MultiIndex.from_tuples([("a", 0), ("a", 1), ("b", 0)], names=names)
    ideal, actual = pd.Series(["x", "x", "y"], index), pd.Series(["p", "q", "q"], index)
    weights = pd.Series([1.0, 2.0, 3.0], index)
    evaluation = pw.evaluate(ideal=ideal, actual=actual, weights=weights)
    free = {
        (None, None): ["item_1", "item_2"],
        ("cluster", "unique_id"): ["item_1", "unique_id"],
        ("unique_id", "unique_id"): ["unique_id", "item_2"],
    }
    columns = free.get(tuple(names), names)
    assert evaluation.by_item().columns[:2] == columns
    assert {tuple(row[c] for c in columns): row["weight"] for row in evaluation.by_item()} == weights.to_dict()
    loaded = pw.load(evaluation.save(tmp_path / "run"))
    known = pa.table(dict(zip(columns, [["a", "b"], [0, 0]], strict=True)) | {"name": ["Ann", "Bob"]})
    assert loaded.with_attributes(known).records([("b", 0)]).to_dicts()[0]["name"] == "Bob"


@pytest.mark.parametrize(
    "clusters",
    [{("a", 0): 1, ("b",): 1}, {("a",): 1}, {("a", 0): 1, "b": 1}, {("a", 0): 1, None: 1}, {("a", 0.5): 1}],
)
def test_tuples_that_are_not_alike_are_refused(clusters):
    with pytest.raises(errors.IdTypeError):
        pw.evaluate(ideal=clusters, actual=clusters)


def test_missing_parts_and_repeated_columns_are_refused():
    with pytest.raises(errors.MissingValueError):
        pw.evaluate(ideal={("a", None): 1, ("a", "b"): 2}, actual={("a", "b"): 1})
    with pytest.raises(errors.UsageError, match="twice"):
        evaluate(item=["unique_id", "unique_id"])


def test_links_sweeps_and_worksheets_have_the_columns():
    links = pa.table({"source_dataset_l": ["a", "a"], "unique_id_l": [0, 1], "source_dataset_r": ["b", ODD]})
    links = links.append_column("unique_id_r", [[0, 10]]).append_column("p", [[0.9, 0.4]])
    ends = {"left": ["source_dataset_l", "unique_id_l"], "right": ["source_dataset_r", "unique_id_r"], "score": "p"}
    clusters = pw.cluster_links(links, threshold=0.5, **ends)
    assert clusters.column_names == [*NAMES, "cluster"]
    assert items_of(clusters.to_pylist()) == ITEMS
    assert items_of(evaluate(actual=pw.Links(links, threshold=0.5, **ends)).by_item().to_dicts()) == ITEMS
    sweep = pw.sweep(ideal=IDEAL, links=links, item=NAMES, **ends)
    assert sweep.clusters(0.5).equals(clusters)
    assert items_of(sweep.evaluation(0.5).by_item().to_dicts()) == ITEMS
    sheet = pw.sample_items(IDEAL, 3, item=NAMES)
    assert sheet.columns[:2] == NAMES
    assert items_of(sheet.to_dicts()) < ITEMS


def test_the_command_line_names_an_item_by_its_joined_parts(tmp_path):
    stored = str(evaluate().save(tmp_path / "run"))
    run = CliRunner().invoke(app, ["explain", stored, "--item", "b\\|\\\\x|10", "--format", "json"])
    assert run.exit_code == 0, run.output
    told = json.loads(run.stdout)
    assert (told["source_dataset"], told["unique_id"]) == (ODD, 10)
    shown = CliRunner().invoke(app, ["show", stored, "--by", "item", "--format", "csv"])
    assert shown.stdout.startswith("source_dataset,unique_id,ideal_cluster")


def test_pages_and_reports_list_the_columns(tmp_path):
    evaluation = evaluate(attributes=RECORDS, slices=["name"])
    evaluation.save(tmp_path / "runs" / "odd", keep=True)
    pw.diff(baseline=IDEAL, experiment=ACTUAL, item=NAMES).save(tmp_path / "runs" / "changed")
    with visiting(tmp_path / "runs") as client:
        items = client.get("/run/odd/items.json").json()["rows"]
        assert items_of(items) == ITEMS
        page = client.get("/run/odd/items?where=unique_id %3E 5").text
        assert "/run/odd/item/b%5C%7C%5C%5Cx%7C10" in page
        assert "unique_id" in page
        sets = client.get("/run/odd/item/b%5C%7C%5C%5Cx%7C10.json").json()
        assert (sets["source_dataset"], sets["unique_id"]) == (ODD, 10)
        assert items_of(sets["rows"]) < ITEMS
        members = client.get("/run/odd/cluster/ideal/y.csv").text
        assert members.startswith("source_dataset,unique_id,actual_cluster")
        for address in (
            "/run/odd/mistakes",
            "/run/odd/cluster/ideal/y",
            "/run/odd/item/a%7C0",
            "/diff/changed/item/a%7C0",
        ):
            found = client.get(address)
            assert found.status_code == 200
            assert "<th" in found.text
            assert "source_dataset" in found.text.replace("<wbr>", "")  # where a narrow heading may break
    report = evaluation.report(tmp_path / "report.html").read_text()
    assert "<bdi>unique_id</bdi>" in report
