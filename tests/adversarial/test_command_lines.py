"""Command lines under attack: any of them ends with a result or one clear line, and never with a traceback."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

import pointwise as pw
from pointwise.cli import app

COMMANDS = ("evaluate", "show", "explain", "mistakes", "slice", "coverage", "compare", "distance", "gate", "runs")
OPTIONS = (
    "--limit", "-n", "-m", "--metric", "--slice", "--by", "--worst", "--where", "--format", "--threads", "--min",
    "--max", "--max-drop", "--baseline", "--item", "--ideal-cluster", "--actual-cluster", "--weight", "--weights",
    "--outside", "--missing", "--unassigned", "--unassigned-label", "--attributes", "--memory-limit", "--kind",
)  # fmt: skip
VALUES = (
    "0", "-1", "1", "99999999999999999999", "f" + "9" * 400, "f0", "precision", "precision=0.5", "precision=nan",
    "recall=1e999", "=", "", "a", "x", "g", "g = 'it''s'", "not " * 400 + "g", "ideal=item", "json", "csv", "\x1b[31m",
    "../..", "/dev/null", "/", "4GB", "-4GB", "1" * 30 + "GB", "overall", "item", "wrong", "\ud800", "name\nline",
)  # fmt: skip


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    top = tmp_path_factory.mktemp("lines")
    (top / "t.csv").write_text("item,cluster\na,1\nb,1\nc,2\n", encoding="utf-8")
    (top / "c.csv").write_text("item,cluster\na,1\nb,2\nc,2\n", encoding="utf-8")
    (top / "empty.csv").write_text("", encoding="utf-8")
    (top / "binary.parquet").write_bytes(b"PAR1\x00\x01")
    pw.evaluate(ideal=top / "t.csv", actual=top / "c.csv").save(top / "run")
    return top


places = st.sampled_from(["t.csv", "c.csv", "empty.csv", "binary.parquet", "run", ".", "nowhere", "run/items.parquet"])
settings = st.lists(st.tuples(st.sampled_from(OPTIONS), st.sampled_from(VALUES)), max_size=3)


@given(command=st.sampled_from(COMMANDS), given_places=st.lists(places, max_size=3), options=settings)
def test_every_command_line_ends_well(folder, command, given_places, options, capsys):
    arguments = [
        command,
        *(str(folder / place) for place in given_places),
        *(part for pair in options for part in pair),
    ]
    with pytest.raises(SystemExit) as done:
        app(arguments)
    assert done.value.code in (None, 0, 1, 2), arguments
    written = capsys.readouterr()
    assert "Traceback" not in written.err
    assert written.out or written.err
