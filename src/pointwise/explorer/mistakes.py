"""The page of mistakes: what was merged or split wrongly, what it costs, and the records behind it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, get_args

from pointwise.answers.mistakes import MistakeKind, Mistakes
from pointwise.columns import ITEM
from pointwise.explorer.records import draw_records, fetch
from pointwise.explorer.runs import cluster_link, run_trail
from pointwise.explorer.site import Page, Visit
from pointwise.explorer.urls import link
from pointwise.pages.grids import Grid
from pointwise.text.values import format_metric, format_share

_SHOWN, _MORE = 20, 200

_KINDS = {
    "both": "All",
    "over-merge": "Merged wrongly",
    "under-merge": "Split wrongly",
    "outside": "Merged with what the truth does not list",
}


@dataclass(frozen=True)
class Card:
    """A mistake with its records."""

    kind: str
    sentence: str
    cost: str
    share: str
    href: str
    grid: Grid | None


def show_mistakes(visit: Visit) -> Page:
    """Rank the mistakes by what they cost, with the records of some of their items side by side."""
    name, evaluation = visit.parts[0], visit.evaluation()
    kind: Any = visit["kind"] or "both"
    limit = _MORE if visit["all"] else _SHOWN
    found = evaluation.mistakes(limit, kind=kind)
    examples = [i for mistake in found for part in (mistake.first, mistake.second) for i in part.examples]
    records = fetch(evaluation.evidence, list(dict.fromkeys(examples)))
    content = {
        "kinds": [(_KINDS[k], link("run", name, "mistakes", kind=k), k == kind) for k in get_args(MistakeKind)],
        "rates": [(rate.replace("_", " "), format_metric(value)) for rate, value in found.rates.items()],
        "cards": list(_cards(name, found, records)),
        "rest": list(_rest(found)),
        "more": link("run", name, "mistakes", kind=visit["kind"], all=1) if len(found) == limit == _SHOWN else "",
        "has_records": bool(records),
    }
    facts = {"run": name, "kind": kind, "rates": dict(found.rates)}
    trail = run_trail(name)
    return Page("Mistakes", "mistakes.html", content, trail, found.columns, found.to_dicts(), facts, run=name)


def _cards(name: str, found: Mistakes, records: Mapping[Any, Mapping[str, Any]]) -> Iterator[Card]:
    for number, mistake in enumerate(found):
        rows = [
            {ITEM: item, "part": letter, **records.get(item, {})}
            for letter, part in (("A", mistake.first), ("B", mistake.second))
            for item in part.examples
        ]
        yield Card(
            mistake.kind,
            str(mistake),
            format_metric(mistake.cost),
            format_share(mistake.share),
            cluster_link(name, mistake.kind, mistake.cluster),
            draw_records(f"mistake-{number}", rows, lambda row: link("run", name, "item", row[ITEM])) if rows else None,
        )


def _rest(found: Mistakes) -> Iterator[str]:
    for rest in found.rest:
        if rest.count:
            rate = rest.rate.replace("_", " ")
            yield f"{rest.count:,} more cost {format_metric(rest.cost)}, {format_share(rest.share)} of the {rate}."
