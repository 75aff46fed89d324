"""Options that say how the truth was drawn reach the library, and its messages name them."""

from __future__ import annotations

import json

import pytest
from typer.testing import CliRunner

import pointwise as pw
from pointwise.cli import app

DATA = pw.datasets.patentsview()
FILES = [str(DATA.truth), str(DATA.releases["2022-06-30"])]


def run(*arguments):
    return CliRunner().invoke(app, [*arguments, *FILES])


def test_evaluate_estimates_for_the_population():
    given = ("--outside", "wrong", "--sampling", "items", "--drawn", "450", "--population", "20000")
    done = run("evaluate", *given, "--confidence", "0.9", "--format", "json")
    expected = pw.evaluate(
        ideal=DATA.truth,
        actual=DATA.releases["2022-06-30"],
        outside="wrong",
        sampling="items",
        drawn=450,
        population=20_000,
        confidence=0.9,
    )
    found = json.loads(done.stdout)
    assert found["overall"]["precision"] == pytest.approx(expected.overall["precision"], rel=1e-9)
    assert found["intervals"]["precision"]["low"] == pytest.approx(expected.overall.interval("precision").low)
    assert found["intervals"]["precision"]["confidence"] == 0.9


def test_messages_name_the_options():
    assert "--outside wrong" in run("evaluate", "--sampling", "items").stderr
    assert "--population" in run("evaluate", "--sampling", "clusters", "--population", "many").stderr
