"""The pages of a diff: how much changed, what was split and merged, and what became of the clusters."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from pointwise.answers.mistake import Part
from pointwise.columns import ACTUAL, ACTUAL_WEIGHT, IDEAL, IDEAL_WEIGHT, ITEM, WEIGHT
from pointwise.diffs.changes import Change, Changes
from pointwise.diffs.diff import Diff
from pointwise.diffs.explanations import ChangedCluster, ChangedItem
from pointwise.diffs.lineage import FATE, FATES, HEIR
from pointwise.diffs.names import BASELINE_CLUSTER
from pointwise.diffs.questions import DESIGN, find_questions
from pointwise.errors import NotFoundError
from pointwise.explorer.listing import make_listing, read_order, take
from pointwise.explorer.nearest import find_nearest
from pointwise.explorer.records import choose_columns, draw_records, fetch, letter, own_columns
from pointwise.explorer.site import MissingPageError, Page, Visit
from pointwise.explorer.urls import link
from pointwise.inputs.composite import id_columns
from pointwise.pages.facts import name_source
from pointwise.pages.grids import Grid, bounded_value
from pointwise.pages.impact import impact_headlines, say_bounds
from pointwise.store.manifest import DIFF
from pointwise.text.values import format_count, format_metric, format_share, format_weight

_SHOWN, _MORE = 20, 200

SIDES = ("baseline", "experiment")


@dataclass(frozen=True)
class ChangeCard:
    """A change with its records."""

    heading: str
    href: str
    percent: str
    about: str
    parts: list[tuple[str, int, str, str]]
    grid: Grid | None


def diff_trail(name: str, *more: tuple[str, str]) -> list[tuple[str, str]]:
    """List the pages above one that belongs to a diff."""
    return [("Overview", "/"), (name, link("diff", name)), *more]


def show_diff(visit: Visit) -> Page:
    """Show what changed between two clusterings."""
    name, diff = visit.parts[0], visit.diff()
    overall, lineage = diff.overall, diff.lineage()
    limit = _MORE if visit["all"] else _SHOWN
    changes = diff.changes(limit)
    has_questions = (find_questions(visit.stored(DIFF).path) / DESIGN).exists()
    fate_links = {FATE: lambda row: link("diff", name, "clusters", fate=row[FATE]) if row[FATE] != "new" else ""}
    content = {
        "extent": str(diff.extent),
        "compared": _name_sides(diff),
        "affected": _say_affected(diff),
        "impact": make_listing("impact", "How much changed", overall.describe(), overall.to_dicts()),
        "headlines": impact_headlines(diff),
        "bounds": say_bounds(diff),
        "lineage": make_listing(
            "lineage", "What became of the clusters", lineage.describe(), lineage.to_dicts(), links=fate_links
        ),
        "cards": list(_cards(name, changes)),
        "more": link("diff", name, all=1) if len(changes) == limit == _SHOWN else "",
        "questions": _question_links(name) if has_questions else [],
        "place": str(visit.stored(DIFF).path),
        "action": link("diff", name, "item"),
        "report": link("diff", name, "report"),
    }
    facts = {"diff": name, "overall": overall.to_dict(), "lineage": lineage.to_dicts()}
    title = f"What changed: {name}"
    return Page(title, "diff.html", content, diff_trail(name)[:1], changes.columns, changes.to_dicts(), facts)


def _question_links(name: str) -> list[tuple[str, str]]:
    return [
        ("answer questions", link("diff", name, "judge")),
        ("decide where answers disagree", link("diff", name, "adjudicate")),
        ("see what the answers say", link("diff", name, "estimates")),
    ]


def _name_sides(diff: Diff) -> list[tuple[str, str]]:
    """Say which two clusterings are compared."""
    found = {side: diff.sources.get(f"{side} clustering") for side in SIDES}
    names = {side: bounded_value(name_source(source)).text for side, source in found.items() if source is not None}
    if diff.is_singletons:
        names["experiment"] = "every item alone"
    return [(side.capitalize(), name) for side, name in names.items()]


def _say_affected(diff: Diff) -> str:
    o = diff.overall
    share = format_share(o.affected_weight / o.weight)
    return f"{o.affected_items:,} of {format_count(o.items, 'item')} are affected, {share} of the weight."


def _cards(name: str, changes: Changes) -> Iterator[ChangeCard]:
    for number, change in enumerate(changes):
        is_split = change.kind == "split"
        side, other = SIDES if is_split else SIDES[::-1]
        rate = changes.rates[f"{change.kind}_rate"]
        what = "was split" if is_split else f"merges two {other} clusters"
        yield ChangeCard(
            f"{side.capitalize()} cluster {change.cluster} {what}",
            link("diff", name, "cluster", side, change.cluster),
            f"{100 * change.share:.1f}",
            f"{format_share(change.share)} of the {change.kind} rate ({_of(change.cost, rate)})",
            [_part(name, other, rank, part) for rank, part in enumerate((change.first, change.second))],
            _draw(name, number, change),
        )


def _of(cost: float, rate: float) -> str:
    return f"{format_metric(cost)} of {format_metric(rate)}"


def _part(name: str, side: str, rank: int, part: Part) -> tuple[str, int, str, str]:
    """Name a part by its letter, with its size and where it leads."""
    size = f"{part.name(side)}: {format_count(part.items, 'item')}"
    return letter(rank), rank, size, link("diff", name, "cluster", side, part.cluster)


def _draw(name: str, number: int, change: Change) -> Grid | None:
    """Lay the examples of both parts out, marking what differs between them."""
    examples = [(rank, item) for rank, part in enumerate((change.first, change.second)) for item in part.examples]
    if not examples:
        return None
    rows = [{ITEM: item, **change.records.get(item, {})} for _, item in examples]
    ranks = [rank for rank, _ in examples]
    return draw_records(f"change-{number}", rows, lambda row: link("diff", name, "item", row[ITEM]), ranks)


def show_fates(visit: Visit) -> Page:
    """List every baseline cluster with what became of it."""
    name, diff = visit.parts[0], visit.diff()
    table = diff.fates()
    if visit["fate"]:
        quoted = visit["fate"].replace("'", "''")
        table = table.where(f"{FATE} = '{quoted}'")
    order = read_order(visit["sort"], table, default=f"-{WEIGHT}")
    found = take(table, order, BASELINE_CLUSTER, after=visit["after"])
    address, kept = ("diff", name, "clusters"), {"fate": visit["fate"]}
    listing = make_listing(
        "fates",
        table.title,
        table.describe(),
        found.rows,
        links={
            BASELINE_CLUSTER: lambda row: link("diff", name, "cluster", "baseline", row[BASELINE_CLUSTER]),
            HEIR: lambda row: link("diff", name, "cluster", "experiment", row[HEIR]) if row[HEIR] is not None else "",
        },
        order=order,
        sorts=lambda by: link(*address, sort=by, **kept),
    )
    content = {
        "listing": listing,
        "fates": [("all", link(*address), not visit["fate"])]
        + [(fate, link(*address, fate=fate), fate == visit["fate"]) for fate in FATES if fate != "new"],
        "first": link(*address, sort=visit["sort"], **kept) if visit["after"] else "",
        "next": link(*address, sort=visit["sort"], after=found.after, **kept) if found.after else "",
    }
    facts = {"diff": name, "fate": visit["fate"], "after": found.after or None}
    title = "What became of the baseline clusters"
    return Page(title, "fates.html", content, diff_trail(name), table.columns, found.rows, facts)


def show_changed_cluster(visit: Visit) -> Page:
    """Show the parts that a cluster of one side has on the other."""
    name, side, key = visit.parts
    if side not in SIDES:
        raise MissingPageError(f"Clusters of a diff are in the baseline or in the experiment, not in the {side!r}.")
    explained = _explain_cluster(name, side, key, visit.diff())
    other = "experiment" if side == "baseline" else "baseline"
    links = {f"{other}_cluster": lambda row: link("diff", name, "cluster", other, row[f"{other}_cluster"])}
    rows = explained.to_dicts()
    columns = [c for c in explained.describe() if c.name not in (IDEAL_WEIGHT, ACTUAL_WEIGHT)]
    grid = make_listing("parts", "Parts", columns, rows[:_MORE], links=links)
    parts = format_count(len(rows), f"{other} cluster")
    come = "It comes from" if explained.items == 1 else "They come from"
    verb = "It lies in" if side == "baseline" else come
    content = {
        "size": f"{_say_size(explained.items, explained.weight)}. {verb} {parts}.",
        "numbers": [(m, format_metric(v)) for m, v in explained.metrics.items()],
        "grid": grid,
    }
    trail = diff_trail(name, ("Clusters", link("diff", name, "clusters")))
    title = f"{side.capitalize()} cluster {key}"
    return Page(title, "changed.html", content, trail, explained.columns, rows, explained.to_dict())


def _explain_cluster(name: str, side: str, key: str, diff: Diff) -> ChangedCluster:
    try:
        given: dict[str, Any] = {f"{side}_cluster": key}
        explained = diff.explain(**given)
    except NotFoundError as error:
        column = IDEAL if side == "baseline" else ACTUAL
        near = find_nearest(diff.evidence.cells, column, key, diff.engine)
        raise MissingPageError(
            str(error),
            advice="Check the id, or begin with a cluster of the list.",
            links=[("What became of the baseline clusters", link("diff", name, "clusters"))],
            nearest=[(str(one), link("diff", name, "cluster", side, one)) for one in near],
        ) from None
    assert isinstance(explained, ChangedCluster)  # noqa: S101  # that is what a cluster is explained by
    return explained


def _say_size(items: int, weight: float) -> str:
    return format_count(items, "item") + ("" if weight == items else f", weight {format_weight(weight)}")


def show_changed_item(visit: Visit) -> Page:
    """Show what changed for one item: what stayed with it, what was split off and what was merged in."""
    name, key = visit.parts
    diff = visit.diff()
    explained = _explain_item(name, key, diff)
    items = [explained.key, *(i for found in explained.sets.values() for i in found.items)]
    records = fetch(diff.evidence, items, choose_columns(diff.evidence))
    own = records.get(explained.key, {})
    rows = [
        {"set": kind, **records.get(item, {}), **id_columns(item)}
        for kind, found in explained.sets.items()
        for item in found.items
    ]
    content = {
        "clusters": [
            (
                side,
                getattr(explained, f"{side}_cluster"),
                link("diff", name, "cluster", side, getattr(explained, f"{side}_cluster")),
            )
            for side in SIDES
        ],
        "weight": "" if explained.weight == 1 else f" It weighs {format_weight(explained.weight)}.",
        "numbers": [(m, format_metric(v)) for m, v in explained.metrics.items()],
        "sets": [
            (
                kind.replace("_", " "),
                _say_size(found.count, found.weight),
                draw_records(
                    kind,
                    [{ITEM: i, **records.get(i, {})} for i in found.items],
                    lambda row: link("diff", name, "item", row[ITEM]),
                )
                if found.items
                else None,
                format_count(found.count - len(found.items), "more item") if found.count > len(found.items) else "",
            )
            for kind, found in sorted(explained.sets.items(), key=lambda named: named[0] == "stable")
        ],
    }
    facts = explained.to_dict() | {"diff": name, "record": own}
    columns = ["set", *own_columns(diff.evidence.ids.names, list(own))]
    return Page(f"Item {key}", "changed_item.html", content, diff_trail(name), columns, rows, facts)


def _explain_item(name: str, key: str, diff: Diff) -> ChangedItem:
    try:
        explained = diff.explain(item=key)
    except NotFoundError:
        near = find_nearest(diff.evidence.items, ITEM, key, diff.engine)
        raise MissingPageError(
            f"Item {key!r} is not among the items of this diff.",
            nearest=[(str(one), link("diff", name, "item", one)) for one in near],
        ) from None
    assert isinstance(explained, ChangedItem)  # noqa: S101  # that is what an item is explained by
    return explained


def find_changed_item(visit: Visit) -> Page:
    """Redirect from the id in a form to the item's page."""
    return show_changed_item(visit.with_parts(visit.parts[0], visit[ITEM].strip()))
