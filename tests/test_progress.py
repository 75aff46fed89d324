"""Progress: phases are heard by who listens, and shown on terminals only."""

from __future__ import annotations

import io
import sys
import time

import pytest

import pointwise as pw
from pointwise.cli import app, live
from pointwise.core.coverage import Scope
from pointwise.engines.duckdb import DuckDBEngine
from pointwise.progress import listening, phase


class Terminal(io.StringIO):
    def isatty(self):
        return True


def test_an_evaluation_names_its_phases(tmp_path):
    heard = []
    with listening(heard.append):
        pw.load(pw.evaluate(ideal=[0, 0, 1], actual=[0, 1, 1]).save(tmp_path / "run"))
    assert heard == ["reading", "aligning", "cross-tabulating", "writing", "reading"]
    pw.evaluate(ideal=[0, 0, 1], actual=[0, 1, 1])
    assert len(heard) == 5


@pytest.mark.parametrize("limits", [{}, {"threads": 1}])
def test_duckdb_draws_no_bar_of_its_own(limits):
    engine = DuckDBEngine(**limits)
    ((is_on,),) = engine._connection.execute("SELECT current_setting('enable_progress_bar')").fetchall()
    assert is_on is False


def test_a_bar_appears_on_a_terminal_when_work_takes_long(monkeypatch):
    monkeypatch.setattr(sys, "stderr", Terminal())
    monkeypatch.setattr(live, "_PATIENCE", 0.0)
    with live.progress("reading", "aligning"):
        time.sleep(0.1)
        phase("aligning")
        time.sleep(0.3)
    assert "aligning" in sys.stderr.getvalue()


def test_metrics_are_shown_while_coverage_is_still_counted(monkeypatch, tmp_path):
    clusters = tmp_path / "clusters.csv"
    clusters.write_text("item,cluster\na,1\nb,1\n")
    shown = []
    count_clusters = Scope._count_clusters

    def count_slowly(scope):
        time.sleep(0.3)  # longer than the bar takes to be drawn again
        shown.append(sys.stderr.getvalue())
        return count_clusters(scope)

    monkeypatch.setattr(sys, "stderr", Terminal())
    monkeypatch.setattr(live, "_PATIENCE", 0.0)
    monkeypatch.setattr(Scope, "_count_clusters", count_slowly)
    monkeypatch.setenv("COLUMNS", "80")
    app(["evaluate", str(clusters), str(clusters)], standalone_mode=False)
    assert "counting members outside the truth" in shown[0]
    assert "precision 1.0000, recall 1.0000, f1 1.0000, jaccard_distance 0.0000" in shown[0]


def test_no_bar_for_quick_work_or_without_a_terminal(monkeypatch):
    for stream in (Terminal(), io.StringIO()):
        monkeypatch.setattr(sys, "stderr", stream)
        with live.progress("reading"):
            phase("reading")
        assert "reading" not in stream.getvalue()
