"""Changes: what happened to ideal clusters where variants have different items, and who lost or gained."""

from __future__ import annotations

import json

import pyarrow as pa
import pytest

import pointwise as pw
from pointwise.cli import app
from pointwise.errors import PointwiseError

IDEAL = {"a": 1, "b": 1, "c": 2, "d": 3}


def test_items_that_one_variant_lacks_do_not_merge_a_cluster():
    old, new = {"a": "x", "b": "y", "c": "z"}, {"a": "x", "c": "z", "d": "w"}
    comparison = pw.compare(ideal=IDEAL, variants={"old": old, "new": new})
    changes = {row["ideal_cluster"]: row["change"] for row in comparison.changes().to_dicts()}
    assert "merged together" not in changes.values()
    assert changes[3] == "only in the experiment"
    swapped = pw.compare(ideal=IDEAL, variants={"new": new, "old": old})
    assert {row["ideal_cluster"]: row["change"] for row in swapped.changes().to_dicts()}[3] == "only in the baseline"


def test_clusters_that_lost_nothing_are_no_losses():
    items = [f"i{n}" for n in range(30)]
    ideal = {item: n // 3 for n, item in enumerate(items)}
    actual = {item: n // 5 for n, item in enumerate(items)}
    weights = {item: 0.1 * (n % 7 + 1) for n, item in enumerate(items)}
    renamed = {item: f"other {cluster}" for item, cluster in actual.items()}
    comparison = pw.compare(ideal=ideal, variants={"old": actual, "new": renamed}, weights=weights)
    assert len(comparison.losses("recall")) == 0
    assert len(comparison.gains("recall")) == 0


def test_slices_that_only_one_run_stores_are_said(tmp_path):
    attributes = pa.table({"item": list(IDEAL), "g": ["x", "x", "y", "y"]})
    old, new = {"a": 1, "b": 2, "c": 2, "d": 3}, {"a": 1, "b": 1, "c": 2, "d": 3}
    pw.evaluate(ideal=IDEAL, actual=old, attributes=attributes, slices=["g"]).save(tmp_path / "old")
    pw.evaluate(ideal=IDEAL, actual=new).save(tmp_path / "new")
    comparison = pw.compare(variants={"old": tmp_path / "old", "new": tmp_path / "new"})
    comparison.report(tmp_path / "report.html")
    assert (tmp_path / "report.html").stat().st_size > 10_000
    with pytest.raises(PointwiseError, match="'new'"):
        comparison.by_slice("g")


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    items = [f"i{n:02d}" for n in range(30)]
    ideal, actual = {item: n for n, item in enumerate(items)}, dict.fromkeys(items, "all")
    folder = tmp_path_factory.mktemp("looking") / "run"
    pw.evaluate(ideal=ideal, actual=actual | {"x": "all"}, outside="wrong").save(folder)
    return str(folder)


def call(capsys, *arguments):
    app(list(arguments), standalone_mode=False)
    return capsys.readouterr().out


def test_explain_shows_as_many_cells_as_asked_for(run, capsys):
    shown = call(capsys, "explain", run, "--actual-cluster", "all", "--limit", "25")
    assert "25 of 30 rows" in shown


def test_mistakes_of_every_kind_that_is_printed_can_be_asked_for(run, capsys):
    found = json.loads(call(capsys, "mistakes", run, "--kind", "outside", "--format", "json"))
    assert {row["kind"] for row in found["mistakes"]} == {"outside"}


def test_the_csv_of_mistakes_keeps_numbers_out_of_the_clusters(run, capsys):
    header, *rows = call(capsys, "mistakes", run, "--limit", "2", "--format", "csv").splitlines()
    place = header.split(",").index("cluster")
    assert not any("more" in row.split(",")[place] for row in rows)


def test_a_clustering_may_be_called_clustering():
    matrix = pw.distance_matrix({"clustering": {"a": 1, "b": 1}, "other": {"a": 1, "b": 2}})
    rows = matrix.to_dicts()
    assert [list(row.values())[0] for row in rows] == ["clustering", "other"]  # noqa: RUF015
    assert matrix["clustering", "other"] == 0.5
    assert len(set(matrix.columns)) == 3


def test_attributes_of_a_stored_comparison_are_refused_rather_than_ignored(tmp_path, capsys):
    pw.compare(ideal=IDEAL, variants={"one": IDEAL, "other": IDEAL}).save(tmp_path / "both")
    with pytest.raises(SystemExit) as done:
        app(["report", str(tmp_path / "both"), "--attributes", "about.csv", "-o", str(tmp_path / "r.html")])
    assert done.value.code == 2
    assert "--attributes is for runs" in capsys.readouterr().err


def test_attributes_may_call_the_item_otherwise(run, tmp_path, capsys):
    lines = "".join(f"i{n:02d},{n % 2}\n" for n in range(30))
    (tmp_path / "about.csv").write_text("key,half\n" + lines, encoding="utf-8")
    options = ["--attributes", str(tmp_path / "about.csv"), "--item", "key", "--slice", "half", "--format", "json"]
    assert [row["items"] for row in json.loads(call(capsys, "slice", run, *options))] == [15, 15]
