"""The commands compare and distance."""

from __future__ import annotations

import csv
import io
import json

import pytest
from typer.testing import CliRunner

from pointwise.cli import app
from pointwise.cli.comparing import name_sources
from pointwise.errors import UsageError

LABELS = {"truth": "11223", "old": "12345", "new": "11225"}


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """A folder with a truth, two clusterings and attributes."""
    for name, labels in LABELS.items():
        rows = "".join(f"i{n},{label}\n" for n, label in enumerate(labels))
        (tmp_path / f"{name}.csv").write_text("item,cluster\n" + rows, encoding="utf-8")
    kinds = "".join(f"i{n},{'x' if n < 2 else 'y'}\n" for n in range(5))
    (tmp_path / "about.csv").write_text("item,kind\n" + kinds, encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "120")
    return tmp_path


def run(*arguments):
    return CliRunner().invoke(app, list(arguments))


def test_compare_draws_values_and_differences(folder):  # noqa: ARG001
    shown = run("compare", "truth.csv", "old.csv", "new.csv", "--slice", "kind", "--attributes", "about.csv")
    assert shown.exit_code == 0
    assert "Differences: new against old" in shown.output
    assert "Differences by kind" in shown.output


def test_compare_for_machines(folder):  # noqa: ARG001
    found = json.loads(run("compare", "truth.csv", "a=old.csv", "b=new.csv", "--baseline", "b", "-f", "json").output)
    assert found["baseline"] == "b"
    assert [row["variant"] for row in found["overall"]] == ["a", "b"]
    recall = next(row for row in found["deltas"] if row["metric"] == "recall")
    assert recall["delta"] == pytest.approx(-0.4)
    done = run("compare", "truth.csv", "old.csv", "new.csv", "-f", "csv")
    assert "--format json also has deltas" in done.stderr
    rows = list(csv.DictReader(io.StringIO(done.stdout)))
    assert [row["variant"] for row in rows] == ["old", "new"]
    assert "| variant |" in run("compare", "truth.csv", "old.csv", "new.csv", "-f", "markdown").output


def test_compare_stores_what_it_found_and_takes_stored_runs(folder):
    saved = run("compare", "truth.csv", "old.csv", "new.csv", "--save", "kept")
    assert saved.exit_code == 0
    assert (folder / "kept" / "comparison.json").is_file()
    again = run("compare", "old=kept/001", "new=kept/002", "-f", "json")
    assert again.exit_code == 0, again.output
    fresh = run("compare", "truth.csv", "old.csv", "new.csv", "-f", "json")
    pairs = zip(json.loads(again.output)["overall"], json.loads(fresh.output)["overall"], strict=True)
    for stored, computed in pairs:
        assert stored["variant"] == computed["variant"]
        for name in ("precision", "recall", "jaccard_distance"):
            assert stored[name] == pytest.approx(computed[name], rel=1e-12)


def test_compare_without_intervals(folder):  # noqa: ARG001
    shown = run("compare", "truth.csv", "old.csv", "new.csv", "--no-intervals")
    assert shown.exit_code == 0
    assert "±" not in shown.output


def test_evaluate_without_intervals(folder):  # noqa: ARG001
    assert "interval" in run("evaluate", "truth.csv", "old.csv").output
    assert "interval" not in run("evaluate", "truth.csv", "old.csv", "--no-intervals").output


def test_distance(folder):  # noqa: ARG001
    found = json.loads(run("distance", "truth.csv", "old.csv", "new.csv", "-f", "json").output)
    assert found[0] == {"clustering": "truth", "truth": 0.0, "old": pytest.approx(0.4), "new": 0.0}
    shown = run("distance", "old.csv", "new.csv", "--by", "symmetric_difference").output
    assert "symmetric_difference" in shown
    assert "0.8000" in shown
    assert run("distance", "old.csv", "new.csv", "--item", "ideal=id").exit_code == 2
    assert run("distance", "old.csv").exit_code == 2


def test_names_come_from_files_unless_given(tmp_path):
    assert name_sources(["runs/a.csv", "b=x/c.parquet", "runs/folder", "d.csv.gz"]) == {
        "a": "runs/a.csv",
        "b": "x/c.parquet",
        "folder": "runs/folder",
        "d": "d.csv.gz",
    }
    odd = tmp_path / "x=y.csv"
    odd.touch()
    assert name_sources([str(odd)]) == {"x=y": str(odd)}
    with pytest.raises(UsageError, match="Two clusterings are called 'a'"):
        name_sources(["x/a.csv", "y/a.csv"])
