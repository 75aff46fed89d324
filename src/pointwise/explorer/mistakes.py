"""The page of mistakes: what was merged or split wrongly, what it costs, and the records behind it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from pointwise.answers.mistake import Mistake, Part
from pointwise.answers.mistakes import Mistakes
from pointwise.answers.records import Example
from pointwise.columns import ITEM
from pointwise.explorer.records import LETTERS, draw_records, letter, record_columns
from pointwise.explorer.runs import cluster_link, run_trail, say_cluster, say_share
from pointwise.explorer.site import Page, Visit
from pointwise.explorer.urls import link
from pointwise.pages.grids import Grid
from pointwise.text.values import format_count, format_metric, format_share, format_weight

_SHOWN, _MORE = 20, 200

_KINDS = {
    "both": "All",
    "over-merge": "Wrong merges",
    "under-merge": "Wrong splits",
    "outside": "Merges with items outside the truth",
    "missing": "Missing items",
}


@dataclass(frozen=True)
class MistakeCard:
    """A mistake with its records."""

    side: str
    cluster: str
    heading: str
    cost: str
    percent: str
    about: str
    href: str
    parts: list[tuple[str, int, str, str]]
    more: int
    grid: Grid | None


def show_mistakes(visit: Visit) -> Page:
    """Rank the mistakes by what they cost, with the records of some of their items side by side."""
    name, evaluation = visit.parts[0], visit.evaluation()
    kind: Any = visit["kind"] or "both"
    limit = _MORE if visit["all"] else _SHOWN
    columns = record_columns(evaluation)
    found = evaluation.mistakes(limit, kind=kind, show=columns)
    content = {
        "kinds": [(_KINDS[k], link("run", name, "mistakes", kind=k), k == kind) for k in _KINDS],
        "rates": [(_say_rate(rate), format_metric(value)) for rate, value in found.rates.items()],
        "cards": list(_cards(name, found)),
        "rest": list(_rest(found)),
        "more": link("run", name, "mistakes", kind=visit["kind"], all=1) if len(found) == limit == _SHOWN else "",
        "has_records": bool(columns),
        "review": link("run", name, "review"),
    }
    facts = {"run": name, "kind": kind, "rates": dict(found.rates)}
    trail = run_trail(name)
    return Page("Mistakes", "mistakes.html", content, trail, found.columns, found.to_dicts(), facts, run=name)


def _cards(name: str, found: Mistakes) -> Iterator[MistakeCard]:
    for number, mistake in enumerate(found):
        examples = [(rank, example) for rank, part in enumerate(mistake.largest) for example in part.records]
        yield MistakeCard(
            mistake.side,
            str(mistake.cluster),
            say_cluster(mistake.heading, mistake.side),
            format_metric(mistake.cost),
            f"{100 * mistake.share:.1f}",
            say_share(mistake),
            cluster_link(name, mistake),
            [_part(name, mistake, rank, part) for rank, part in enumerate(mistake.largest)],
            mistake.parts - len(mistake.largest),
            _draw(name, number, examples) if examples else None,
        )


def _draw(name: str, number: int, examples: Sequence[tuple[int, Example]]) -> Grid:
    """Lay the examples of all parts out, each with the letter of its part."""
    rows = [{ITEM: example.item, **example.record} for _, example in examples]
    ranks = [rank for rank, _ in examples]
    return draw_records(f"mistake-{number}", rows, lambda row: link("run", name, "item", row[ITEM]), ranks)


def _part(name: str, mistake: Mistake, rank: int, part: Part) -> tuple[str, int, str, str]:
    """Name a part by its letter, with its size and where it leads."""
    weight = "" if part.weight == part.items else f", weight {format_weight(part.weight)}"
    size = f"{part.name(mistake.other)}: {format_count(part.items, 'item')}{weight}"
    href = "" if part.cluster is None else link("run", name, "cluster", mistake.other, part.cluster)
    return letter(rank), min(rank, len(LETTERS) - 1), size, href


def _say_rate(rate: str) -> str:
    return rate.replace("_", "-", 1).replace("_", " ")


def _rest(found: Mistakes) -> Iterator[str]:
    for rest in found.rest:
        if rest.count:
            share = f"{format_share(rest.share)} of the {_say_rate(rest.rate)}"
            yield f"{rest.count:,} more cost {format_metric(rest.cost)} together, {share}."
