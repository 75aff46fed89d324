"""The pages of items: all of them, sorted and filtered; and one of them, with the four sets that it sees."""

from __future__ import annotations

from collections.abc import Container, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

import narwhals.stable.v2 as nw

from pointwise.answers.absence import find_absence
from pointwise.answers.conditions import parse_condition
from pointwise.answers.explanations import ItemExplanation, ItemSet
from pointwise.answers.tables import MetricTable
from pointwise.columns import ACTUAL, IDEAL, ITEM, WEIGHT, Column, Kind, inside, keys
from pointwise.core.evidence import Evidence
from pointwise.errors import NotFoundError, PointwiseError
from pointwise.evaluation import Evaluation
from pointwise.explorer.listing import keep_key, make_listing, read_order, take
from pointwise.explorer.nearest import find_nearest
from pointwise.explorer.records import differs, fetch, list_items, own_columns, record_columns
from pointwise.explorer.runs import run_trail
from pointwise.explorer.sidecars import Sorted
from pointwise.explorer.site import MissingPageError, Page, Visit
from pointwise.explorer.urls import link
from pointwise.inputs.composite import id_columns
from pointwise.pages.grids import Grid, write
from pointwise.pages.miniatures import draw_stack
from pointwise.store.manifest import RUN
from pointwise.text.values import format_count, format_metric, format_weight

_SHOWN = 20  # items of a set
_FEW = 4  # values that say nothing about how many different ones there are
_MOST_TEXT = 2_000  # characters of a value of its record
_RUNS = 10  # other runs in which an item is looked for

_MEANINGS = {
    "false_positives": ("Together, wrongly", "false positives: with it in its actual cluster, and they should not be"),
    "false_negatives": ("Apart, wrongly", "false negatives: in its ideal cluster, but in other actual clusters"),
    "true_positives": (
        "Together, rightly",
        "true positives, itself among them: with it in its actual cluster, and they should be",
    ),
    "true_negatives": ("Apart, rightly", "true negatives: everything else"),
}
_TONES = {"false_positives": "1", "true_positives": "2", "false_negatives": "0"}  # as circles that overlap would stand
_SIGNS = {"true_positives": "✓", "false_negatives": "−", "false_positives": "+"}


def show_items(visit: Visit) -> Page:
    """List the items of a run with their metrics, those for which a condition holds."""
    name, evaluation = visit.parts[0], visit.evaluation()
    table = evaluation.by_item()
    if visit["where"]:
        table = _restrict(table, visit["where"], evaluation.evidence)
    order = read_order(visit["sort"], table, default=table.item_columns[0])
    address = ("run", name, "items")
    found = take(keep_key(table), order, ITEM, after=visit["after"])
    rows = [{column: row[column] for column in table.columns} for row in found.rows]
    listing = make_listing(
        "items",
        "Items",
        table.describe(),
        found.rows,
        links={
            **dict.fromkeys(table.item_columns, lambda row: link("run", name, "item", row[ITEM])),
            IDEAL: lambda row: link("run", name, "cluster", "ideal", row[IDEAL]),
            ACTUAL: lambda row: link("run", name, "cluster", "actual", row[ACTUAL]),
        },
        order=order,
        sorts=lambda by: link(*address, sort=by, where=visit["where"]),
    )
    content = {
        "listing": listing,
        "where": visit["where"],
        "sort": visit["sort"],
        "action": link(*address),
        "columns": [*evaluation.evidence.slice_schema, *table.columns],
        "first": link(*address, sort=visit["sort"], where=visit["where"]) if visit["after"] else "",
        "next": link(*address, sort=visit["sort"], where=visit["where"], after=found.after) if found.after else "",
    }
    facts = {"run": name, "sort": str(order), "where": visit["where"], "after": found.after or None}
    return Page("Items", "items.html", content, run_trail(name), table.columns, rows, facts, run=name)


def _restrict(table: MetricTable, condition: str, evidence: Evidence) -> MetricTable:
    """Keep the items for which a condition holds, on their metrics or on what is known about them."""
    types = table.frame.collect_schema()
    own = {column.name: column.own for column in table.describe()}
    schema = evidence.slice_schema | {name: types[column] for name, column in own.items()}
    read = parse_condition(condition, schema, named=lambda name: own.get(name, inside(name)))
    lacking = [column for column in read.columns if column not in own]
    frame = table.frame
    if lacking:
        known = evidence.items_with(lacking).select(ITEM, *map(inside, lacking))
        frame = frame.join(known, on=ITEM, how="inner")
    return replace(table, frame=frame.filter(read.expression))


@dataclass(frozen=True)
class Seen:
    """One of the four sets that an item sees."""

    kind: str
    heading: str
    meaning: str
    size: str
    grid: Grid | None
    more: str
    href: str

    @property
    def mark(self) -> str:
        """The sign of the set, where it has one."""
        return _SIGNS.get(self.kind, "")

    @property
    def tone(self) -> str:
        """How it is drawn."""
        return _TONES.get(self.kind, "")


def show_item(visit: Visit) -> Page:
    """Show what one item sees: four sets of items, with what is known about them beside the item itself."""
    name, key = visit.parts
    run = visit.sorted_run()
    evaluation = _look_around(run, name, key)
    explained = evaluation.explain(item=key, limit=_SHOWN)
    records = fetch(
        evaluation.evidence,
        [explained.item, *(i for s in explained.sets.values() for i in s.items)],
        record_columns(evaluation),
    )
    own = records.get(explained.item, {})
    attributes = list(own)
    seen = list(_sets(name, explained, records))
    content = {
        "weight": "" if explained.weight == 1 else f" It weighs {format_weight(explained.weight)}.",
        "ideal": (explained.ideal_cluster, link("run", name, "cluster", "ideal", explained.ideal_cluster)),
        "actual": (explained.actual_cluster, link("run", name, "cluster", "actual", explained.actual_cluster)),
        "numbers": [(m, format_metric(_number(explained.metrics[m]))) for m in explained.shown],
        "record": [(attribute, _whole(own[attribute])) for attribute in attributes],
        "seen": seen,
        "legend": [one for kind in _TONES for one in seen if one.kind == kind],
        "sizes": _say_sizes(explained),
        "stack": draw_stack((_TONES[kind], _MEANINGS[kind][0], explained.sets[kind].weight) for kind in _TONES),
        "elsewhere": link("run", name, "item", explained.item, "elsewhere"),
    }
    facts = explained.to_dict() | {"run": name, "record": own}
    rows = [
        {"set": kind, **records.get(item, {}), **id_columns(item)}
        for kind, found in explained.sets.items()
        for item in found.items
    ]
    trail = run_trail(name, ("Items", link("run", name, "items")))
    columns = ["set", *own_columns(evaluation.evidence.ids.names, attributes)]
    return Page(f"Item {key}", "item.html", content, trail, columns, rows, facts, run=name)


def _whole(value: Any) -> str:
    """Write a value of the item that is looked at; only a very long one is cut."""
    text = write(Kind.TEXT, value).text if not isinstance(value, str) else value
    return text if len(text) <= _MOST_TEXT else f"{text[:_MOST_TEXT]}…"


def _number(value: float | None) -> float:
    return float("nan") if value is None else value


def _look_around(run: Sorted, name: str, key: str) -> Evaluation:
    """Find an item with its two clusters."""
    try:
        return run.around(key)
    except NotFoundError:
        evaluation = run.by(ITEM)
        near = find_nearest(evaluation.evidence.items, ITEM, key, evaluation.engine)
        absence = find_absence(key, evaluation.evidence, evaluation.scope, evaluation.options)
        own = [] if absence.ideal_cluster is None else [_its_cluster(name, absence.ideal_cluster)]
        raise MissingPageError(
            f"Item {key!r} is not among the items of this run.",
            advice=absence.sentence,
            links=own,
            nearest=[(str(one), link("run", name, "item", one)) for one in near],
        ) from None


def _its_cluster(name: str, cluster: Any) -> tuple[str, str]:
    return f"Ideal cluster {cluster}", link("run", name, "cluster", "ideal", cluster)


def _say_sizes(explained: ItemExplanation) -> str:
    """Say how its actual cluster looks from where it stands."""
    right, wrong = explained.true_positives.count, explained.false_positives.count
    together = format_count(right + explained.false_negatives.count, "item")
    mixed = (
        f"and {format_count(wrong, 'item')} that {'does' if wrong == 1 else 'do'} not belong"
        if wrong
        else "and nothing else"
    )
    return (
        f"Of the {together} that belong together in the truth, itself among them, its actual cluster has {right:,}, "
        f"{mixed}."
    )


def _sets(name: str, explained: ItemExplanation, records: Mapping[Any, Mapping[str, Any]]) -> Iterator[Seen]:
    ideal, actual = explained.ideal_cluster, explained.actual_cluster
    hrefs = {
        "true_positives": link("run", name, "cluster", "ideal", ideal, part=actual),
        "false_positives": link("run", name, "cluster", "actual", actual),
        "false_negatives": link("run", name, "cluster", "ideal", ideal),
    }
    marked = _telling(explained, records)
    for kind, (heading, meaning) in _MEANINGS.items():
        found = explained.sets[kind]
        weight = "" if found.weight == found.count else f", weight {format_weight(found.weight)}"
        size = f"{format_count(found.count, 'item')}{weight}"
        own = records.get(explained.item, {})
        grid = _draw(name, kind, found, records, own=own, marked=marked) if found.items else None
        yield Seen(kind, heading, meaning, size, grid, _say_more(kind, found), hrefs.get(kind, ""))


def _telling(explained: ItemExplanation, records: Mapping[Any, Mapping[str, Any]]) -> set[str]:
    """Choose the attributes in which a difference tells something: not titles, which hardly two items share."""
    shown = [records.get(item, {}) for found in explained.sets.values() for item in found.items]
    telling = set()
    for attribute in records.get(explained.item, {}):
        values = [str(record[attribute]) for record in shown if record.get(attribute) is not None]
        if len(values) <= _FEW or 2 * len(set(values)) <= len(values):
            telling.add(attribute)
    return telling


def _say_more(kind: str, found: ItemSet) -> str:
    """Say how many items of a set are not listed; a run does not know those outside the truth by name."""
    more = found.count - len(found.items)
    if kind == "false_positives" and more and len(found.items) < _SHOWN:
        return f"{format_count(more, 'item')} outside the truth, which a run counts and does not list"
    return format_count(more, "more item") if more and found.items else ""


def _draw(
    name: str,
    kind: str,
    found: ItemSet,
    records: Mapping[Any, Mapping[str, Any]],
    *,
    own: Mapping[str, Any],
    marked: Container[str],
) -> Grid:
    """Lay out the items of a set, marking what differs from the item itself."""
    rows = [{ITEM: one, **{a: records.get(one, {}).get(a) for a in own}} for one in found.items]
    grid = list_items(kind, _MEANINGS[kind][0], rows, list(own), lambda row: link("run", name, "item", row[ITEM]))
    for row, line in zip(rows, grid.rows, strict=True):
        for number, (attribute, usual) in enumerate(own.items(), len(line.values) - len(own)):
            if attribute in marked and differs(row[attribute], None if usual is None else str(usual)):
                line.values[number] = replace(line.values[number], mark="≠", tone="differs")
    return grid


def show_elsewhere(visit: Visit) -> Page:
    """Show the same item in other runs."""
    name, key = visit.parts
    others = [s for s in visit.site.shelf.look() if s.kind is RUN and s.name != name and not s.inside][-_RUNS:]
    rows = [row for stored in others if (row := _look_up(visit, stored.name, key))]
    metrics = list(dict.fromkeys(column for row in rows for column in row if column not in _ABOUT))
    columns = [*keys("run"), *(Column(c) for c in (IDEAL, ACTUAL)), Column(WEIGHT, Kind.WEIGHT)]
    columns += [Column(metric, Kind.METRIC) for metric in metrics]
    links = {"run": lambda row: link("run", row["run"], "item", key)}
    grid = make_listing("elsewhere", "The same item in other runs", columns, rows, links=links)
    content = {"grid": grid, "looked_at": len(others)}
    trail = run_trail(name, (f"Item {key}", link("run", name, "item", key)))
    title = "The same item in other runs"
    return Page(title, "elsewhere.html", content, trail, [c.name for c in columns], rows, {"item": key}, run=name)


_ABOUT = ("run", IDEAL, ACTUAL, WEIGHT)


def _look_up(visit: Visit, run: str, key: str) -> dict[str, Any] | None:
    try:
        evaluation = visit.sorted_run(run).around(key)
        table = evaluation.by_item()
        found = table.where(nw.col(ITEM) == evaluation.evidence.key(ITEM, key)).to_dicts()
    except PointwiseError:
        return None  # a run that is damaged, or whose ids are of another type
    metrics = [m.name for m in evaluation.metrics if not m.means]
    return {"run": run} | {c: found[0][c] for c in (IDEAL, ACTUAL, WEIGHT, *metrics)} if found else None
