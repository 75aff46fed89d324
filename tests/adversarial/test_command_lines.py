"""Command lines under attack: any of them ends with a result or one clear line, and never with a traceback."""

from __future__ import annotations

import contextlib
import os

import pytest
from hypothesis import given
from hypothesis import strategies as st

import pointwise as pw
from pointwise.cli import app

COMMANDS = (
    *("evaluate", "show", "explain", "mistakes", "slice", "coverage", "compare", "distance", "gate", "runs", "report"),
    *("diff", "sweep", "cluster", "sample", "plan", "judge sample", "judge status", "judge estimate", "judge export"),
    "judge import",
)
OPTIONS = (
    "--limit", "-n", "-m", "--metric", "--slice", "--by", "--worst", "--where", "--format", "--threads", "--min",
    "--max", "--max-drop", "--baseline", "--item", "--ideal-cluster", "--actual-cluster", "--weight", "--weights",
    "--outside", "--missing", "--unassigned", "--unassigned-label", "--attributes", "--memory-limit", "--kind",
    "--left", "--right", "--score", "--threshold", "--thresholds", "--answer", "--items", "--number", "--seed", "--on",
    "--output", "--save", "--html", "--half-width", "--bound", "--difference", "--power", "--confidence", "--sampling",
    "--drawn", "--population", "--strata", "--baseline", "--experiment", "--best", "--title", "--contradictions",
)  # fmt: skip
VALUES = (
    "0", "-1", "1", "99999999999999999999", "f" + "9" * 400, "f0", "precision", "precision=0.5", "precision=nan",
    "recall=1e999", "=", "", "a", "x", "g", "g = 'it''s'", "not " * 400 + "g", "ideal=item", "json", "csv", "\x1b[31m",
    "../..", "pipe", "/", "4GB", "-4GB", "1" * 30 + "GB", "overall", "item", "wrong", "\ud800", "name\nline",
    "nan", "inf", "1e400", "0.5", "items", "clusters", "complete", "common", "left", "right", "score", "file/x", "\0",
)  # fmt: skip


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    top = tmp_path_factory.mktemp("lines")
    (top / "t.csv").write_text("item,cluster\na,1\nb,1\nc,2\n", encoding="utf-8")
    (top / "c.csv").write_text("item,cluster\na,1\nb,2\nc,2\n", encoding="utf-8")
    (top / "empty.csv").write_text("", encoding="utf-8")
    (top / "binary.parquet").write_bytes(b"PAR1\x00\x01")
    os.mkfifo(top / "pipe")
    (top / "links.csv").write_text("left,right,score\na,b,0.9\nb,c,0.4\n", encoding="utf-8")
    pw.evaluate(ideal=top / "t.csv", actual=top / "c.csv").save(top / "run")
    pw.compare(ideal=top / "t.csv", variants={"x": top / "c.csv", "y": top / "t.csv"}).save(top / "comparison")
    diff = pw.diff(baseline=top / "t.csv", experiment=top / "c.csv")
    diff.save(top / "diff")
    return top


places = st.sampled_from(
    [
        *("t.csv", "c.csv", "links.csv", "empty.csv", "binary.parquet", ".", "nowhere", "run/items.parquet"),
        *("run", "comparison", "comparison/001", "diff"),
    ]
)
settings = st.lists(st.tuples(st.sampled_from(OPTIONS), st.sampled_from(VALUES)), max_size=3)


@given(command=st.sampled_from(COMMANDS), given_places=st.lists(places, max_size=3), options=settings)
def test_every_command_line_ends_well(folder, command, given_places, options, capsys):
    arguments = [
        *command.split(),
        *(str(folder / place) for place in given_places),
        *(part for pair in options for part in pair),
    ]
    with contextlib.chdir(folder), pytest.raises(SystemExit) as done:  # where some of the values say to write
        app(arguments)
    assert done.value.code in (None, 0, 1, 2), arguments
    written = capsys.readouterr()
    assert "Traceback" not in written.err
    assert written.out or written.err
