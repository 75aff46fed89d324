"""The demonstration: what pointwise says of real data that comes with it."""

from __future__ import annotations

from collections.abc import Iterator

from pointwise.datasets import patentsview
from pointwise.evaluation import evaluate


def run_demo() -> Iterator[str]:
    """Evaluate a published clustering of inventors against the truth, and explain each look at it."""
    data = patentsview()
    release = "2022-06-30"
    yield (
        f"PatentsView clusters the inventors named on patents. Here is its release of {release} against 401 inventors "
        "whose mentions people have collected by hand; each mention weighs as many claims as its patent makes.\n"
    )
    evaluation = evaluate(
        ideal=data.truth,
        actual=data.releases[release],
        weight="num_claims",
        attributes=data.attributes,
        slices=["country", "patent_year >= 2015"],
    )
    yield f"{evaluation}\n"
    yield "Which inventors were torn apart most? The ideal clusters with the worst recall:\n"
    yield f"{evaluation.by_ideal_cluster().worst('recall', 5)}\n"
    yield "For whom does it work? Slices by country and by year:\n"
    yield f"{evaluation.by_slice()}\n"
    complete = evaluate(
        ideal=data.truth, actual=data.releases[release], weight="num_claims", weights=data.attributes, outside="wrong"
    )
    yield (
        "The warning above, taken seriously: these inventors' mentions are known completely, so any other member of "
        "their actual clusters is wrong there (outside='wrong'):\n"
    )
    yield f"{complete.overall}\n"
