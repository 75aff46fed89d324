"""The demonstration: what pointwise says about real data that comes with it."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from pointwise.comparison.comparing import compare
from pointwise.comparison.comparison import Comparison
from pointwise.datasets import patentsview
from pointwise.errors import MissingExtraError
from pointwise.evaluation import evaluate

REPORT = "pointwise-demo.html"


def run_demo(folder: Path | None = None) -> Iterator[Any]:
    """Evaluate a published clustering of inventors against the truth, and explain each step.

    Args:
        folder: Where to write the report at the end; by default the current folder.

    Yields:
        What to print: sentences, evaluations and tables.
    """
    data = patentsview()
    release = "2022-06-30"
    yield (
        f"PatentsView clusters the inventors named on patents. Here is its release of {release} against 401 inventors "
        "whose mentions people have collected by hand; each mention weighs as many claims as its patent makes."
    )
    evaluation = evaluate(
        ideal=data.truth,
        actual=data.releases[release],
        weight="num_claims",
        attributes=data.attributes,
        slices=["country", "patent_year >= 2015"],
    )
    yield evaluation
    yield "Which inventors were torn apart most? The ideal clusters with the worst recall:"
    yield evaluation.by_ideal_cluster().worst("recall", 5)
    yield "For whom does it work? Slices by country and by year:"
    yield evaluation.by_slice()
    strict: dict[str, Any] = {
        "ideal": data.truth,
        "actual": data.releases[release],
        "weight": "num_claims",
        "weights": data.attributes,
        "outside": "wrong",
    }
    yield (
        "The warning above, taken seriously: these inventors' mentions are known completely, so any other member of "
        "their actual clusters is wrong there (outside='wrong'):"
    )
    yield evaluate(**strict).overall
    yield (
        "These are values of the 401 inventors. What of all the others? The inventors are taken as drawn by items: "
        "mentions were drawn, and the whole inventor of each was labelled. So inventors with many mentions are in the "
        "truth more often than others, and they have more mentions, too: the average above counts them twice. "
        "sampling='items' puts that right and estimates values for all mentions. Small inventors are mixed up with "
        "others more often, so precision is lower:"
    )
    yield evaluate(**strict, sampling="items").overall
    yield (
        "The release of 2020-09-29 tore many inventors apart. Has the latest one made up for it? A report compares the "
        "two in detail, and all fifteen releases briefly:"
    )
    yield _write_report((folder or Path()) / REPORT)


def compare_releases() -> Comparison:
    """Compare the latest published clustering with that of September 2020, and with all others."""
    data = patentsview()
    return compare(
        ideal=data.truth,
        variants=data.releases,
        baseline="2020-09-29",
        weight="num_claims",
        weights=data.attributes,
        attributes=data.attributes,
        slices=["country", "patent_year >= 2015"],
        outside="wrong",
        on="shared",
    )


def _write_report(path: Path) -> str:
    try:
        return f"{compare_releases().report(path).resolve()}: open it in a browser."
    except MissingExtraError as error:
        return str(error)
