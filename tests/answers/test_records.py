"""Records: what is known about items stands beside their ids, and is stored only if somebody asks for it."""

from __future__ import annotations

import json
import runpy
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from typer.testing import CliRunner

import pointwise as pw
from pointwise.cli import app

IDEAL = {"a1": "ann", "a2": "ann", "b1": "bob", "c1": "cyd"}
ACTUAL = {"a1": "x", "a2": "y", "b1": "x", "c1": "z"}
KNOWN = pa.table(
    {
        "item": ["c1", "b1", "a2", "a1"],
        "age": [1, 2, 3, 4],
        "name": ["Cyd", "Bob", None, "Ann"],
        "note": ["ok", "two\nlines \x1b[31m", "ok", "x" * 200],
        "cost": ["1", "2", "3", "4"],
    }
)
PEOPLE = pw.datasets.people()


def evaluated(**options):
    return pw.evaluate(ideal=IDEAL, actual=ACTUAL, attributes=KNOWN, metrics=["precision", "recall"], **options)


def call(*arguments):
    done = CliRunner().invoke(app, [str(argument) for argument in arguments], env={"COLUMNS": "120"})
    assert done.exit_code == 0, done.output
    return done.stdout


def test_a_few_items_are_looked_up_in_the_order_given(engine):
    records = evaluated(engine=engine).records(["b1", "nobody", "a1"], show=["name", "cost"])
    assert records.to_dicts() == [
        {"item": "b1", "ideal_cluster": "bob", "actual_cluster": "x", "weight": 1.0, "name": "Bob", "cost": "2"},
        {"item": "a1", "ideal_cluster": "ann", "actual_cluster": "x", "weight": 1.0, "name": "Ann", "cost": "4"},
    ]
    assert "Ann *" in repr(records)


def test_text_is_shown_unless_somebody_chooses():
    assert evaluated().shown.columns == ("name", "note", "cost")
    assert evaluated(show="age").shown.columns == ("age",)
    assert evaluated(show=[]).shown.columns == ()
    with pytest.raises(pw.PointwiseError, match=r"no column 'nam' to show. Did you mean 'name'"):
        evaluated().mistakes(show="nam")


def test_examples_of_mistakes_have_records_and_differences_are_marked():
    merged = next(m for m in evaluated(show=["name", "cost"]).mistakes() if m.kind == "over-merge")
    assert [part.to_dict()["examples"] for part in merged.largest] == [
        [{"name": "Ann", "cost": "4", "item": "a1"}],
        [{"name": "Bob", "cost": "2", "item": "b1"}],
    ]
    assert merged.differing == ["name", "cost"]
    split = next(m for m in evaluated(show="name").mistakes() if m.kind == "under-merge")
    assert split.differing == []  # one of the two has no name
    drawn = repr(evaluated(show=["name", "cost"]).mistakes())
    assert "Bob *" in drawn
    assert "attribute cost" in drawn  # the cost of a mistake is another one


def test_long_and_wild_values_do_not_break_the_layout(monkeypatch):
    monkeypatch.setenv("COLUMNS", "120")
    found = evaluated(show="note").mistakes()
    drawn = repr(found)
    assert "\x1b" not in drawn
    assert "two lines" in drawn
    assert all(len(line) <= 120 for line in drawn.split("\n"))
    assert "x" * 31 + "…" in drawn
    assert "x" * 32 not in drawn
    assert found[0].largest[0].records[0].record["note"] in KNOWN["note"].to_pylist()  # in data it is whole


def test_items_and_explanations_show_records(engine):
    evaluation = evaluated(engine=engine)
    assert "Bob" in repr(evaluation.by_item().worst("precision", 2))
    assert "name" not in evaluation.by_item().columns
    asked = evaluated(engine=engine, show=["name", "cost"]).by_item()
    assert {row["item"]: row["name"] for row in asked} == {"a1": "Ann", "a2": None, "b1": "Bob", "c1": "Cyd"}
    assert [row["item"] for row in asked.where("name == 'Bob'")] == ["b1"]
    item = evaluation.explain(item="a1", show="name")
    assert "Bob *" in repr(item)
    assert item.to_dict()["false_positives"]["records"] == [{"name": "Bob", "item": "b1"}]
    cluster = evaluation.explain(actual_cluster="x", show="name")
    assert "Bob *" in repr(cluster)
    assert cluster.to_dict()["cells"][1]["examples"] == [{"name": "Bob", "item": "b1"}]


def test_tables_of_items_mark_what_differs_within_an_ideal_cluster():
    for evaluation in (evaluated(), evaluated(show=["name", "cost"])):
        drawn = repr(evaluation.by_item().sort("item"))
        lines = {line.split()[0]: line for line in drawn.split("\n") if line[1:2] in "abc" and line[2:3].isdigit()}
        assert "3 *" in lines["a2"]  # costs 3, the first of its cluster 4
        assert not any("*" in lines[item] for item in ("a1", "b1", "c1"))
        assert "*: differs from the first record of the cluster" in drawn
    assert "*" not in repr(evaluated(show=["name"]).by_item())  # one of the two has no name


def test_what_cannot_be_shown_or_kept_is_refused(tmp_path: Path):
    with pytest.raises(pw.PointwiseError, match=r"no column 'nam' to show. Did you mean 'name'"):
        evaluated(show="nam")
    bare = pw.evaluate(ideal=IDEAL, actual=ACTUAL)
    with pytest.raises(pw.PointwiseError, match="which is nothing here"):
        bare.save(tmp_path / "kept", keep=True)
    assert not (tmp_path / "kept").exists()
    stored, table = str(bare.save(tmp_path / "bare")), str(tmp_path / "known.parquet")
    pq.write_table(KNOWN, table)
    for words in (["mistakes", stored], ["show", stored, "--by", "item"], ["explain", stored, "--item", "a1"]):
        done = CliRunner().invoke(app, [*words, "--show", "name"])
        assert (done.exit_code, "Nothing is known about the items" in done.stderr) == (2, True)
        assert "--attributes" in done.stderr
        assert "Ann" in call(*words, "--show", "name", "--attributes", table)


def test_runs_keep_records_only_when_asked(tmp_path: Path):
    evaluated(show=["name"]).save(tmp_path / "plain")
    evaluated(show=["name"]).save(tmp_path / "kept", keep=True)
    stored = {n: pq.read_table(tmp_path / n / "items.parquet").column_names for n in ("plain", "kept")}
    assert "name" not in stored["plain"]
    assert "name" in stored["kept"]
    assert "note" not in stored["kept"]
    assert b"Bob" not in b"".join(p.read_bytes() for p in (tmp_path / "plain").rglob("*.*"))
    assert "Bob" in repr(pw.load(tmp_path / "kept").mistakes())
    plain = pw.load(tmp_path / "plain")
    assert "Bob" not in repr(plain.mistakes())
    assert "Bob" in repr(plain.with_attributes(KNOWN).mistakes())


def test_comparisons_show_how_variants_treated_a_cluster_or_an_item():
    variants = {"old": ACTUAL, "new": ACTUAL | {"a2": "x", "b1": "w"}}
    comparison = pw.compare(ideal=IDEAL, variants=variants, attributes=KNOWN, show=["name"], metrics=["recall"])
    found = comparison.explain(ideal_cluster="ann")
    assert [(part.clusters, part.items, part.share) for part in found.parts] == [
        ({"old": "x", "new": "x"}, 1, 0.5),
        ({"old": "y", "new": "x"}, 1, 0.5),
    ]
    assert found.to_dicts()[0]["examples"] == [{"name": "Ann", "item": "a1"}]
    assert "old: recall 0.5000" in repr(found)
    item = comparison.explain(item="a1")
    assert [(row["variant"], row["count"]) for row in item if row["set"] == "true_positives"] == [
        ("old", 1),
        ("new", 2),
    ]
    assert {row["item"] for row in comparison.moved_items()} == {"a1", "a2"}
    assert "Ann" in repr(comparison.moved_items())
    for wrong in ({}, {"item": "a1", "ideal_cluster": "ann"}):
        with pytest.raises(pw.PointwiseError, match="Say what to explain"):
            comparison.explain(**wrong)
    for unknown in ({"item": "nobody"}, {"ideal_cluster": "nobody"}):
        with pytest.raises(pw.PointwiseError, match="nobody"):
            comparison.explain(**unknown)


def test_an_item_that_a_variant_lacks_is_in_no_cluster_of_it():
    variants = {"old": ACTUAL, "new": {"a1": "x", "b1": "w", "c1": "z"}}
    found = pw.compare(ideal=IDEAL, variants=variants, metrics=["recall"]).explain(ideal_cluster="ann")
    assert sorted((part.clusters["old"], part.clusters["new"]) for part in found.parts if part.clusters["new"]) == [
        ("x", "x")
    ]
    assert [part.clusters for part in found.parts if not part.clusters["new"]] == [{"old": "y", "new": None}]


def test_the_command_line_shows_records_and_what_changed(tmp_path: Path):
    files = {"truth": IDEAL, "old": ACTUAL, "new": ACTUAL | {"a2": "x", "b1": "w"}}
    for name, found in files.items():
        pq.write_table(pa.table({"item": list(found), "cluster": list(found.values())}), tmp_path / f"{name}.parquet")
    pq.write_table(KNOWN, tmp_path / "known.parquet")
    known, run, compared = tmp_path / "known.parquet", tmp_path / "run", tmp_path / "compared"
    call("evaluate", tmp_path / "truth.parquet", tmp_path / "old.parquet", "--attributes", known, "--save", run)
    assert "Bob" not in call("mistakes", run)
    assert "Bob *" in call("mistakes", run, "--attributes", known, "--show", "name")
    assert "Bob *" in call("explain", run, "--item", "a1", "--attributes", known, "--show", "name")
    assert "Bob" in call("show", run, "--by", "item", "--attributes", known, "--show", "name,cost")
    pairs = json.loads(call("mistakes", run, "--by", "pair", "--format", "json"))
    assert pairs["mistakes"][0]["first_items"] == 1
    options = ["--attributes", known, "--show", "name", "--keep", "--save", compared, "--slice", "age >= 3"]
    call("compare", tmp_path / "truth.parquet", tmp_path / "old.parquet", tmp_path / "new.parquet", *options)
    assert "age >= 3" in call("show", compared, "--slice", "age >= 3")
    told = json.loads(call("changes", compared, "--format", "json"))
    assert {row["ideal_cluster"]: row["change"] for row in told["clusters"]} == {
        "ann": "merged together",
        "bob": "better",
    }
    assert {row["item"]: row["name"] for row in told["items"]} == {"a1": "Ann", "a2": None}
    assert "merged together" in call("changes", compared)
    assert "actual_cluster_new" in call("explain", compared, "--ideal-cluster", "ann")
    related = {row["metric"]: row["value"] for row in json.loads(call("show", run, "--related", "--format", "json"))}
    assert related["edit_distance"] == 2
    products = json.loads(call("show", run, "--related", "--pairs", "product", "--format", "json"))
    assert "product_pair_f1" in {row["metric"] for row in products}


def test_planted_mistakes_of_people_are_found_and_nothing_else():
    evaluation = pw.evaluate(ideal=PEOPLE.truth, actual=PEOPLE.clusters, attributes=PEOPLE.records)
    found = evaluation.mistakes(1_000)
    planted = pq.read_table(PEOPLE.planted).to_pylist()
    assert {(m.kind, m.cluster) for m in found} == {(row["kind"], row["cluster"]) for row in planted}
    assert planted[0]["cluster"] == found[0].cluster
    swapped = next(row["cluster"] for row in planted if row["why"].startswith("another name"))
    assert next(m for m in found if m.cluster == swapped).differing == ["name"]


def test_people_come_from_the_script():
    script = runpy.run_path(str(Path(__file__).parents[2] / "docs" / "make_people.py"))
    for name, table in script["tables"](script["make"]()):
        assert table.to_pylist() == pq.read_table(getattr(PEOPLE, name)).to_pylist()
