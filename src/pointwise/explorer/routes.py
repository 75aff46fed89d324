"""Routes: which address is which page."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from urllib.parse import parse_qsl

from pointwise.columns import BASELINE, EXPERIMENT, ITEM
from pointwise.explorer.changed import (
    find_changed_item,
    show_changed_cluster,
    show_changed_item,
    show_diff,
    show_fates,
)
from pointwise.explorer.clusters import show_cluster, show_clusters
from pointwise.explorer.comparisons import find_compared_item, show_changes, show_compared_item, show_comparison
from pointwise.explorer.items import show_elsewhere, show_item, show_items
from pointwise.explorer.judging import answer_question, decide, show_ahead, show_cases, show_estimates, show_question
from pointwise.explorer.mistakes import show_mistakes
from pointwise.explorer.overview import show_overview
from pointwise.explorer.reports import show_comparison_report, show_diff_report, show_run_report
from pointwise.explorer.review import note_wrong_truth, show_review
from pointwise.explorer.runs import show_run
from pointwise.explorer.search import show_search
from pointwise.explorer.site import MissingPageError, Page, Visit
from pointwise.explorer.slices import show_slices
from pointwise.store.manifest import COMPARISON, DIFF, RUN, FolderKind

MOST_FIELDS = 100  # of an address or a form

Show = Callable[[Visit], Page]
Act = Callable[[Visit, Mapping[str, str]], str]
"""Does what a form requests, and returns where to go next."""


@dataclass(frozen=True)
class Route:
    """A page: its address, in which None stands for a name or an id, and what shows it.

    Args:
        parts: The parts of the address.
        show: Makes the page.
        kind: What the first name in the address refers to, for whose version an answer is valid; None for pages that
            are made anew each time.
        reads: The parameters that the page reads, beside which others say nothing.
    """

    parts: tuple[str | None, ...]
    show: Show
    kind: FolderKind | None = None
    reads: tuple[str, ...] = ()

    def read(self, query: str) -> dict[str, str]:
        """Read the parameters of the page; one that is not given is empty."""
        given = dict(parse_qsl(query, keep_blank_values=True, max_num_fields=MOST_FIELDS))
        return {name: given.get(name, "") for name in self.reads}


def match(pattern: tuple[str | None, ...], parts: tuple[str, ...]) -> tuple[str, ...] | None:
    """Return the names and ids in an address, or None if it is not like the pattern."""
    if len(parts) != len(pattern):
        return None
    pairs = list(zip(pattern, parts, strict=True))
    if any(own is not None and own != given for own, given in pairs):
        return None
    return tuple(given for own, given in pairs if own is None)


_LIST = ("sort", "after")
_PAIR = (EXPERIMENT, BASELINE)

ROUTES = (
    Route((), show_overview),
    Route(("search",), show_search, reads=("q", "run")),
    Route(("review",), show_review),
    Route(("run", None), show_run, RUN),
    Route(("run", None, "report"), show_run_report, RUN),
    Route(("run", None, "slices"), show_slices, RUN, ("by", "where")),
    Route(("run", None, "clusters", None), show_clusters, RUN, (*_LIST, "size", "where")),
    Route(("run", None, "cluster", None, None), show_cluster, RUN, ("part", "after")),
    Route(("run", None, "items"), show_items, RUN, (*_LIST, "where")),
    Route(("run", None, "item", None), show_item, RUN),
    Route(("run", None, "item", None, "elsewhere"), show_elsewhere),
    Route(("run", None, "mistakes"), show_mistakes, RUN, ("kind", "all")),
    Route(("compare", None), show_comparison, COMPARISON, _PAIR),
    Route(("compare", None, "report"), show_comparison_report, COMPARISON),
    Route(("compare", None, "clusters"), show_changes, COMPARISON, (*_PAIR, *_LIST, "change")),
    Route(("compare", None, "item"), find_compared_item, COMPARISON, (ITEM,)),
    Route(("compare", None, "item", None), show_compared_item, COMPARISON),
    Route(("diff", None), show_diff, DIFF, ("all",)),
    Route(("diff", None, "report"), show_diff_report),
    Route(("diff", None, "clusters"), show_fates, DIFF, (*_LIST, "fate")),
    Route(("diff", None, "cluster", None, None), show_changed_cluster, DIFF),
    Route(("diff", None, "item"), find_changed_item, DIFF, (ITEM,)),
    Route(("diff", None, "item", None), show_changed_item, DIFF),
    Route(("diff", None, "judge"), show_question, reads=("judge", "plain", "said")),
    Route(("diff", None, "judge", "ahead"), show_ahead, reads=("judge", "plain")),
    Route(("diff", None, "adjudicate"), show_cases, reads=("judge",)),
    Route(("diff", None, "estimates"), show_estimates),
)

ACTIONS: tuple[tuple[tuple[str | None, ...], Act], ...] = (
    (("run", None, "review"), note_wrong_truth),
    (("diff", None, "judge"), answer_question),
    (("diff", None, "adjudicate"), decide),
)


def find_route(parts: tuple[str, ...]) -> tuple[Route, tuple[str, ...]]:
    """Find the page that an address means, and the names and ids in it.

    Raises:
        MissingPageError: There is none.
    """
    for route in ROUTES:
        names = match(route.parts, parts)
        if names is not None:
            return route, names
    raise MissingPageError("There is no such page.", advice="The overview lists everything that is stored here.")
