"""The benchmarks run, and the performance page shows what they found."""

from __future__ import annotations

import json
import re
import runpy
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
FOLDER = ROOT / "benchmarks"
SCRIPTS = sorted(path.name for path in FOLDER.glob("[!_]*.py"))
TINY = {
    "everyday.py": ["--smoke", "--items", "1000"],
    "billion.py": ["--smoke", "--items", "1e4", "--truth", "100", "--limited", "1e4", "--both", "0"],
    "peers.py": ["--smoke", "--largest", "1000"],
    "large.py": ["--smoke", "--items", "1e4", "--truth", "1000", "--both", "1e4"],
    "intervals.py": ["--repeats", "3", "--clusters", "50"],
    "diff.py": ["--smoke", "--repeats", "2", "--releases", "1", "--items", "500", "--large", "1000"],
    "explorer.py": ["--smoke", "--items", "2000", "--looks", "2"],
    "labels.py": ["--smoke", "--largest", "1000"],
    "links.py": ["--smoke", "--items", "1000", "--links", "3000", "--thresholds", "5", "--clustered", "3000"],
    "saving.py": ["--items", "1000"],
    "slices.py": ["--smoke", "--items", "5000", "--repeats", "1"],
}
LIMITS_ITSELF = {"peers.py"}  # how much memory the process may have, which would hold for the tests after it, too
TABLES = {
    "everyday.py": ["everyday", "growth"],
    "billion.py": ["billion", "passes"],
    "peers.py": ["peers"],
    "large.py": ["large", "profile"],
    "intervals.py": [],  # its table stands on another page
    "diff.py": ["diff_needed", "diff_coverage", "diff_large"],
    "explorer.py": ["explorer"],
    "labels.py": ["labels"],
    "links.py": ["sweep", "links"],
    "saving.py": [],
    "slices.py": ["slices"],
    "spark.py": ["spark", "spark_jobs"],
}


@pytest.fixture
def run(monkeypatch: pytest.MonkeyPatch) -> Callable[..., int | str | None]:
    """Run a script in this process, which imports what it needs once; return what it ends with, None if all is well."""
    monkeypatch.syspath_prepend(FOLDER)

    def run_script(script: str, *words: str) -> int | str | None:
        if script in LIMITS_ITSELF:
            command = [sys.executable, FOLDER / script, *words]
            return subprocess.run(command, check=False, timeout=120).returncode or None
        monkeypatch.setattr(sys, "argv", [script, *words])
        try:
            runpy.run_path(str(FOLDER / script), run_name="__main__")
        except SystemExit as end:
            return end.code or None
        return None

    return run_script


def test_every_script_is_tried():
    assert set(SCRIPTS) == {*TINY, "spark.py", "page.py"}


@pytest.mark.parametrize("script", SCRIPTS)
def test_script_answers_help(run, script, capfd):
    assert run(script, "--help") is None
    assert capfd.readouterr().out.startswith("usage: ")


@pytest.mark.filterwarnings("ignore")  # those of the peers that it runs are not ours
@pytest.mark.parametrize("script", TINY)
def test_script_runs_to_its_end(run, tmp_path, script):
    where = [] if script == "saving.py" else ["--results", str(tmp_path)]
    assert run(script, *TINY[script], *where) is None
    for name in TABLES[script]:
        found = json.loads((tmp_path / f"{name}.json").read_text(encoding="utf-8"))
        assert found["rows"]
        assert {"python", "pointwise", "duckdb", "commit", "date"} <= set(found["machine"])
        assert (tmp_path / f"{name}.md").exists()


def test_page_has_a_place_for_every_table():
    page = (ROOT / "docs" / "performance.md").read_text(encoding="utf-8")
    places = re.findall(r"<!-- table: (\w+) -->", page)
    assert sorted(places) == sorted(name for names in TABLES.values() for name in names)


def test_page_shows_the_recorded_results(run):
    assert run("page.py", "--check") is None


def test_page_on_intervals_shows_the_recorded_results():
    recorded = (FOLDER / "results" / "intervals.md").read_text(encoding="utf-8")
    assert recorded in (ROOT / "docs" / "intervals.md").read_text(encoding="utf-8")


def test_page_is_filled_from_results(run, tmp_path):
    row = {"case": "a", "ms": 3041.06, "items": 1000, "ratio": 0.98765, "rest": None}
    (tmp_path / "some.json").write_text(json.dumps({"machine": {"cores": 2}, "rows": [row]}), encoding="utf-8")
    page = tmp_path / "page.md"
    page.write_text("Before\n<!-- table: some -->\nold\n<!-- end -->\n<!-- table: none -->\n<!-- end -->\n")
    words = ["--page", str(page), "--results", str(tmp_path)]
    assert "is not what its results say" in run("page.py", *words, "--check")
    assert run("page.py", *words) is None
    text = page.read_text(encoding="utf-8")
    assert "| a | 3,040 | 1,000 | 0.988 |  |" in text
    assert "<sub>cores 2</sub>" in text
    assert "*Not measured yet.*" in text
    assert "old" not in text
    assert run("page.py", *words, "--check") is None


def test_billion_says_at_once_that_the_disk_is_too_small(run, tmp_path):
    assert "GB are needed" in run("billion.py", "--items", "1e15", "--folder", str(tmp_path))
