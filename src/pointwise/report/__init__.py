"""The report: one HTML file about an evaluation, a comparison or a diff.

It loads nothing and its size is bounded: aggregates and the top of each list are in the page, with the totals.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

from pointwise.errors import MissingExtraError

try:
    import jinja2 as _jinja2  # noqa: F401
    import vl_convert as _vl_convert  # noqa: F401
except ImportError as error:  # pragma: no cover  # tested in an environment without the extra
    raise MissingExtraError("Charts and reports need the extra 'report': pip install 'pointwise[report]'.") from error

from pointwise.report.comparison_page import describe_comparison
from pointwise.report.diff_page import describe_diff
from pointwise.report.evaluation_page import describe_evaluation
from pointwise.report.rendering import render, write_page

if TYPE_CHECKING:
    from pointwise.comparison.comparison import Comparison
    from pointwise.diffs.diff import Diff
    from pointwise.diffs.estimation import Estimates
    from pointwise.evaluation import Evaluation

__all__ = ["report_comparison", "report_diff", "report_evaluation"]


def report_evaluation(evaluation: Evaluation, path: str | os.PathLike[str], *, title: str | None = None) -> Path:
    """Write the report of an evaluation; see `Evaluation.report`."""
    inputs = evaluation.engine.inputs
    return write_page(
        path, lambda: render("evaluation.html", describe_evaluation(evaluation, title=title)), inputs=inputs
    )


def report_comparison(comparison: Comparison, path: str | os.PathLike[str], *, title: str | None = None) -> Path:
    """Write the report of a comparison; see `Comparison.report`."""
    inputs = comparison.engine.inputs
    return write_page(
        path, lambda: render("comparison.html", describe_comparison(comparison, title=title)), inputs=inputs
    )


def report_diff(
    diff: Diff, path: str | os.PathLike[str], *, estimates: Estimates | None = None, title: str | None = None
) -> Path:
    """Write the report of a diff; see `Diff.report`."""
    inputs = diff.engine.inputs
    return write_page(path, lambda: render("diff.html", describe_diff(diff, estimates, title=title)), inputs=inputs)
