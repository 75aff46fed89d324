"""Worksheets: items drawn the same everywhere, and a truth that knows how it was drawn."""

from __future__ import annotations

import json
import math

import numpy as np
import pandas as pd
import pytest
from typer.testing import CliRunner

import pointwise as pw
from pointwise.cli import app
from pointwise.engines.chance import uniform
from pointwise.errors import InputError, UsageError


def make_population():
    generator = np.random.default_rng(8)
    ideal = np.repeat(np.arange(150), generator.zipf(1.9, 150).clip(1, 20))
    actual = np.where(generator.random(len(ideal)) < 0.2, generator.integers(0, 150, len(ideal)), ideal)
    sizes = generator.integers(1, 10, len(ideal))
    return pd.DataFrame({"item": [f"i{n}" for n in range(len(ideal))], "ideal": ideal, "actual": actual, "size": sizes})


POPULATION = make_population()
ACTUAL = POPULATION[["item", "actual"]].rename(columns={"actual": "cluster"})
ABOUT = POPULATION[["item", "size"]].assign(note="x,y")


def label(sheet: pd.DataFrame) -> pd.DataFrame:
    """Do what people do: fill in the clusters, and add the other items of these."""
    drawn = POPULATION[POPULATION["item"].isin(sheet["item"])]
    members = POPULATION[POPULATION["ideal"].isin(drawn["ideal"])][["item", "ideal"]]
    return members.rename(columns={"ideal": "cluster"}).merge(sheet.drop(columns="cluster"), on="item", how="left")


def test_items_are_drawn_as_often_as_their_weights_say():
    many = {f"i{n}": n // 3 for n in range(2000)}
    weights = {item: 9.0 if n % 2 else 1.0 for n, item in enumerate(many)}
    plain, heavy = (pw.sample_items(many, 100, weights=given, seed=2) for given in (None, weights))
    drawn = [{row["item"] for row in sheet} for sheet in (plain, heavy)]
    assert [len(items) for items in drawn] == [100, 100]
    assert [sum(weights[item] > 1 for item in items) for items in drawn] == pytest.approx([50, 90], abs=12)
    again = pw.sample_items(dict(reversed(many.items())), 100, seed=2)
    assert [row["item"] for row in again] == [row["item"] for row in plain]
    assert drawn[0] != {row["item"] for row in pw.sample_items(many, 100, seed=3)}


def test_a_labelled_worksheet_is_a_truth_with_its_design(tmp_path):
    sheet = pw.sample_items(ACTUAL, 60, attributes=ABOUT, seed=3)
    assert sheet.columns == ["item", "cluster", "actual_cluster", "size", "note", "sampling_design"]
    assert "60 of" in repr(sheet)
    settings = {"actual": ACTUAL, "outside": "wrong", "metrics": ["precision", "recall"]}
    sheet.write(tmp_path / "sheet.csv")
    sheet.write(tmp_path / "sheet.parquet")
    for read, path in ((pd.read_csv, "sheet.csv"), (pd.read_parquet, "sheet.parquet")):
        labelled = label(read(tmp_path / path))
        told = pw.evaluate(ideal=labelled, **settings)
        plain = labelled[["item", "cluster"]]
        given = pw.evaluate(ideal=plain, **settings, sampling="items", drawn=60, population=len(ACTUAL))
        for name in ("value", "low", "high"):
            assert [row[name] for row in told.overall] == pytest.approx([row[name] for row in given.overall])
        assert "drawn by items (60 items drawn)" in repr(told.overall)
    assert pw.compare(ideal=labelled, variants={"a": ACTUAL}, outside="wrong")["a"].overall.sample.words
    assert not pw.evaluate(ideal=plain, actual=ACTUAL).overall.sample.words


def draw_again(frame, n, seed):
    """Draw in plain Python as engines do; return the ideal clusters drawn, and the rate."""
    scores = [
        -math.log(uniform(f"{seed}|item|{item}")) / w for item, w in zip(frame["item"], frame["size"], strict=True)
    ]
    order = np.argsort(scores)
    return frame["ideal"].to_numpy()[order[:n]], scores[order[n]]


def test_the_estimates_of_worksheets_by_weight_are_right_on_average():
    """A cluster of weight w is in the truth with probability 1 - exp(-rate w), so that these stand for all clusters."""
    weights = POPULATION.groupby("ideal")["size"].sum()
    found = []
    for seed in range(100):
        clusters, rate = draw_again(POPULATION, 40, seed)
        found.append((1 / (1 - np.exp(-rate * weights[np.unique(clusters)]))).sum())
    assert np.mean(found) == pytest.approx(len(weights), abs=3 * np.std(found) / math.sqrt(100))


def test_values_are_estimated_with_the_probabilities_of_the_worksheet():
    sheet = pw.sample_items(ACTUAL, 40, weight="size", attributes=ABOUT, seed=7)
    clusters, rate = draw_again(POPULATION, 40, 7)
    assert sheet.sampling.rate == pytest.approx(rate)
    weights = POPULATION.groupby("ideal")["size"].sum()[np.unique(clusters)]
    labelled = label(sheet.to_pandas()).drop(columns="size")
    settings = {"ideal": labelled, "actual": ACTUAL, "outside": "wrong", "metrics": "recall"}
    evaluation = pw.evaluate(**settings, attributes=ABOUT)
    values = evaluation.by_ideal_cluster().to_pandas().set_index("ideal_cluster").sort_index()
    d = values["weight"].to_numpy() / (1 - np.exp(-rate * weights.to_numpy()))
    assert evaluation.overall["recall"] == pytest.approx((d * values["recall"].to_numpy()).sum() / d.sum())
    assert "40 items drawn by size" in repr(evaluation.overall)
    with pytest.raises(InputError, match="no table has a column 'size'"):
        pw.evaluate(**settings)


def test_what_is_no_whole_worksheet_is_refused():
    sheet = pw.sample_items(ACTUAL, 30, seed=1).to_pandas()
    labelled, settings = label(sheet), {"actual": ACTUAL, "outside": "wrong"}
    dropped = labelled[labelled["item"] != sheet["item"][0]]
    with pytest.raises(InputError, match="Of the 30 items that were drawn, the truth has 29"):
        pw.evaluate(ideal=dropped, **settings)
    for design, found in (("mine", "is not what"), (None, "holds nothing")):
        with pytest.raises(InputError, match=found):
            pw.evaluate(
                ideal=labelled.assign(sampling_design=pd.Series([design] * len(labelled), dtype=str)), **settings
            )
    assert pw.evaluate(ideal=dropped, **settings, sampling="clusters").overall.sample.words
    for number in (0, len(ACTUAL), 2.5):
        with pytest.raises(UsageError, match="cannot be drawn"):
            pw.sample_items(ACTUAL, number)
    with pytest.raises(InputError, match="positive weight"):
        pw.sample_items({"a": 1, "b": 1, "c": 2}, 1, weights={"a": 1, "b": 0})


def test_the_command_draws_the_same_items(tmp_path):
    ACTUAL.to_csv(tmp_path / "actual.csv", index=False)
    ABOUT.to_parquet(tmp_path / "about.parquet")
    options = ["--number", "25", "--seed", "4", "--attributes", str(tmp_path / "about.parquet"), "--weight", "size"]
    done = CliRunner().invoke(
        app, ["sample", str(tmp_path / "actual.csv"), *options, "--output", str(tmp_path / "sheet.csv")]
    )
    assert done.exit_code == 0, done.output
    written = pd.read_csv(tmp_path / "sheet.csv")
    expected = pw.sample_items(ACTUAL, 25, weight="size", attributes=ABOUT, seed=4)
    assert written["item"].tolist() == [row["item"] for row in expected]
    assert json.loads(written["sampling_design"][0])["weight"] == "size"
    label(written).to_csv(tmp_path / "truth.csv", index=False)
    truth, rest = str(tmp_path / "truth.csv"), ["--outside", "wrong", "--attributes", str(tmp_path / "about.parquet")]
    done = CliRunner().invoke(app, ["evaluate", truth, str(tmp_path / "actual.csv"), *rest])
    assert done.exit_code == 0, done.output
    assert "25 items drawn by size" in " ".join(done.stdout.split())
