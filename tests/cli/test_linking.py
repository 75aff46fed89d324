"""The commands for links do what the library does."""

from __future__ import annotations

import json

import pytest
from typer.testing import CliRunner

import pointwise as pw
from pointwise.cli import app

PAIRS = "a,b,p\n1,2,0.9\n2,3,0.4\n3,4,0.7\n4,9,0.2\n"
JUDGED = "left,right,same\n1,2,yes\n2,3,no\n3,4,yes\n"
ENDS = ("--left", "a", "--right", "b", "--score", "p")


@pytest.fixture
def run(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "pairs.csv").write_text(PAIRS)
    (tmp_path / "judged.csv").write_text(JUDGED)
    (tmp_path / "truth.csv").write_text("item,cluster\n1,x\n2,x\n3,y\n4,y\n")
    (tmp_path / "alone.csv").write_text("item\n7\n")

    def call(*words, code=0):
        done = CliRunner().invoke(app, list(words))
        assert done.exit_code == code, done.output
        return done

    return call


def test_cluster_writes_components(run, tmp_path):
    done = run("cluster", "pairs.csv", *ENDS, "--threshold", "0.5", "--items", "alone.csv", "-o", "clusters.csv")
    assert "Wrote 6 items in 4 clusters to clusters.csv." in done.output
    rows = sorted((tmp_path / "clusters.csv").read_text().split()[1:])
    assert rows == ["1,1", "2,1", "3,3", "4,3", "7,7", "9,9"]


def test_cluster_refuses_contradictions_in_options_of_its_own(run, tmp_path):
    (tmp_path / "judged.csv").write_text(JUDGED + "2,4,yes\n")
    done = run("cluster", "judged.csv", "--answer", "same", "-o", "truth.csv", code=2)
    assert "'2' and '3' do not belong together, but '2' = '4' = '3' do" in " ".join(done.output.split())
    assert "--contradictions drop" in " ".join(done.output.split())


def test_evaluate_takes_links_on_both_sides(run):
    words = ("--actual-links", "--left", "actual=a", "--right", "actual=b", "--score", "p", "--threshold", "0.5")
    done = run("evaluate", "judged.csv", "pairs.csv", "--ideal-links", "--answer", "same", *words, "-f", "json")
    assert json.loads(done.stdout)["overall"]["f1"] == 1.0


def test_compare_takes_links(run):
    done = run("compare", "truth.csv", "x=pairs.csv", "--actual-links", *ENDS, "--threshold", "0.8", "-f", "json")
    assert json.loads(done.stdout)["overall"][0]["recall"] == 0.75


def test_options_of_links_need_links(run):
    done = run("evaluate", "truth.csv", "pairs.csv", "--threshold", "0.5", code=2)
    assert "--threshold is for links: add --actual-links" in " ".join(done.output.split())


def test_sweep_chooses_a_threshold(run):
    words = ("sweep", "truth.csv", "pairs.csv", *ENDS, "--thresholds", "0.3,0.5,0.8", "--no-intervals")
    done = run(*words, "--best", "recall", "--min", "precision=0.9", "-f", "json")
    found = json.loads(done.stdout)
    with pw.sweep(
        ideal="truth.csv", links="pairs.csv", left="a", right="b", score="p", thresholds=[0.3, 0.5, 0.8]
    ) as own:
        assert [row["f1"] for row in found["thresholds"]] == pytest.approx([row["f1"] for row in own])
    assert found["best"]["threshold"] == 0.5
    assert "Best recall: 1.0000 at threshold 0.5." in done.stderr


def test_sweep_refuses_what_is_no_threshold(run):
    done = run("sweep", "truth.csv", "pairs.csv", *ENDS, "--thresholds", "half", code=2)
    assert "neither a whole number nor a list" in " ".join(done.output.split())
