"""Reports to download: one HTML file that can be sent to others, about a run, a comparison or a diff."""

from __future__ import annotations

import tempfile
from collections.abc import Callable
from pathlib import Path

from pointwise.diffs.judgements import read_judgements
from pointwise.diffs.questions import DESIGN, find_questions, read_questions
from pointwise.explorer.site import Page, Visit
from pointwise.store.manifest import DIFF


def show_run_report(visit: Visit) -> Page:
    """Return the report of a run."""
    return _download(visit, visit.evaluation().report)


def show_comparison_report(visit: Visit) -> Page:
    """Return the report of a comparison."""
    return _download(visit, visit.comparison().report)


def show_diff_report(visit: Visit) -> Page:
    """Return the report of a diff, with what the answers so far say."""
    diff, folder = visit.diff(), find_questions(visit.stored(DIFF).path)
    is_asked = (folder / DESIGN).exists()
    estimates = diff.estimate(read_questions(folder), read_judgements(folder)) if is_asked else None
    return _download(visit, lambda path: diff.report(path, estimates=estimates))


def _download(visit: Visit, write: Callable[[Path], Path]) -> Page:
    with tempfile.TemporaryDirectory() as folder:
        text = write(Path(folder) / "report.html").read_text(encoding="utf-8")
    return Page(visit.parts[0], "", {}, download=text)
