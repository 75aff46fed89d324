"""The pages of clusters: all of them, sorted and filtered; and one of them, with its cells and members."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import narwhals.stable.v2 as nw

from pointwise.answers.breakdown import break_down
from pointwise.answers.explanations import ClusterExplanation
from pointwise.answers.slices import BANDS, band_name, band_start
from pointwise.answers.tables import MetricTable
from pointwise.columns import (
    ACTUAL,
    COST,
    IDEAL,
    ITEM,
    ITEM_SIZES,
    ITEMS,
    WEIGHT,
    Column,
    Kind,
    keys,
)
from pointwise.engines.queries import from_rows
from pointwise.errors import NotFoundError, UsageError
from pointwise.evaluation import Evaluation
from pointwise.explorer.listing import ROWS, PageRows, make_listing, read_order, take
from pointwise.explorer.nearest import find_nearest
from pointwise.explorer.records import (
    LETTERS,
    differs,
    fetch,
    find_usual,
    letter,
    list_items,
    own_columns,
    record_columns,
)
from pointwise.explorer.runs import run_trail
from pointwise.explorer.sidecars import Sorted
from pointwise.explorer.site import MissingPageError, Page, Visit
from pointwise.explorer.urls import link, read_key, write_key
from pointwise.inputs.composite import id_columns
from pointwise.pages.grids import Grid, Line, bounded_value
from pointwise.pages.miniatures import Bar, Segment, draw_stack
from pointwise.text.values import format_count, format_metric, format_weight

SIDES = {"ideal": IDEAL, "actual": ACTUAL}

_BAND, _CLUSTERS = "_band", "clusters"
_RANK = "_rank"
_LETTERED = len(LETTERS) - 1  # cells
_CELLS = 50  # that are listed


def side_of(text: str) -> str:
    """Read which clustering an address names.

    Raises:
        MissingPageError: It is neither.
    """
    if text not in SIDES:
        raise MissingPageError(f"Clusters are ideal or actual, not {text!r}.")
    return SIDES[text]


def show_clusters(visit: Visit) -> Page:
    """List the clusters of one side, the costliest first."""
    name, kind = visit.parts
    side = side_of(kind)
    table = visit.sorted_run().clusters(side)
    if visit["where"]:
        table = table.where(visit["where"])
    order = read_order(visit["sort"], table, default=f"-{COST if COST in table.columns else WEIGHT}")
    address = ("run", name, "clusters", kind)
    bars = _histogram(table, lambda band: link(*address, size=band, sort=visit["sort"], where=visit["where"]), visit)
    if visit["size"]:
        table = replace(table, frame=table.frame.filter(band_start(ITEMS) == _read_band(visit["size"])))
    found = take(table, order, side, after=visit["after"])
    kept = {"size": visit["size"], "where": visit["where"]}
    listing = make_listing(
        "clusters",
        f"{kind.capitalize()} clusters",
        table.describe(),
        found.rows,
        links={side: lambda row: link("run", name, "cluster", kind, row[side])},
        order=order,
        sorts=lambda by: link(*address, sort=by, **kept),
    )
    content = {
        "kind": kind,
        "listing": listing,
        "bars": bars,
        "where": visit["where"],
        "kept": {"size": visit["size"], "sort": visit["sort"]},
        "action": link(*address),
        "all": link(*address, sort=visit["sort"], where=visit["where"]) if visit["size"] else "",
        "first": link(*address, sort=visit["sort"], **kept) if visit["after"] else "",
        "next": link(*address, sort=visit["sort"], after=found.after, **kept) if found.after else "",
    }
    facts = {"run": name, "side": kind, "sort": str(order), "after": found.after or None}
    title = f"{kind.capitalize()} clusters"
    return Page(title, "clusters.html", content, run_trail(name), table.columns, found.rows, facts, run=name)


def _read_band(text: str) -> int:
    if not text.isdecimal() or int(text) not in BANDS:
        raise UsageError(f"{text!r} is not where a band of sizes begins: {', '.join(map(str, BANDS))}.")
    return int(text)


def _histogram(table: MetricTable, address: Any, visit: Visit) -> list[Bar]:
    """Count the clusters by size."""
    counted = table.frame.with_columns(band_start(ITEMS).alias(_BAND)).group_by(_BAND).agg(nw.len().alias(_CLUSTERS))
    rows = table.engine.collect(counted.sort(_BAND)).to_pylist()
    most = max((row[_CLUSTERS] for row in rows), default=1)
    return [
        Bar(
            _say_band(row[_BAND]),
            format_count(row[_CLUSTERS], "cluster"),
            row[_CLUSTERS] / most,
            address(row[_BAND]),
            visit["size"] == str(row[_BAND]),
        )
        for row in rows
    ]


def _say_band(start: int) -> str:
    return f"{band_name(start)} {'item' if start == 1 else 'items'}"


def show_cluster(visit: Visit) -> Page:
    """Show one cluster: which clusters of the other side hold its items, and its members with their records."""
    name, kind, key = visit.parts
    side = side_of(kind)
    run = visit.sorted_run()
    evaluation, explained = _explain(name, kind, key, run)
    cells = explained.cells.head(_CELLS).to_dicts()
    other = ACTUAL if side == IDEAL else IDEAL
    lettered = [row[other] for row in cells[:_LETTERED]]
    members = _Members(evaluation, side, other, explained.key, lettered)
    part = members.take(visit["part"], visit["after"])
    address = ("run", name, "cluster", kind, explained.key)
    content = {
        "kind": kind,
        "other": "actual" if kind == "ideal" else "ideal",
        "size": _say_size(explained),
        "outside": _say_outside(evaluation, side, explained.key),
        "numbers": [(m, format_metric(_number(v))) for m, v in explained.metrics.items() if m in explained.shown],
        "cells": _draw_cells(name, kind, explained, cells, other),
        "more_cells": len(explained.cells) > len(cells),
        "members": members.draw(name, part.rows),
        "part": visit["part"],
        "parts": [("All", link(*address), not visit["part"]), *_choices(address, cells, other, visit["part"])],
        "stack": _draw_stack(explained, cells, other),
        "first": link(*address, part=visit["part"]) if visit["after"] else "",
        "next": link(*address, part=visit["part"], after=part.after) if part.after else "",
        "has_records": bool(members.attributes),
    }
    facts = explained.to_dict() | {"run": name, "after": part.after or None}
    trail = run_trail(name, (f"{kind.capitalize()} clusters", link("run", name, "clusters", kind)))
    columns = own_columns(evaluation.evidence.ids.names, [other, WEIGHT, *members.attributes])
    rows = [{**row, **id_columns(row[ITEM])} for row in part.rows]
    return Page(f"{kind.capitalize()} cluster {key}", "cluster.html", content, trail, columns, rows, facts, run=name)


def _number(value: float | None) -> float:
    return float("nan") if value is None else value


def _explain(name: str, kind: str, key: str, run: Sorted) -> tuple[Evaluation, ClusterExplanation]:
    """Find a cluster, and explain it by its own items and cells."""
    side = side_of(kind)
    try:
        evaluation = run.of(side, key)
        given: dict[str, Any] = {side: key}
        return evaluation, evaluation.explain(**given)
    except NotFoundError as error:
        near = find_nearest(run.by(side).evidence.cells, side, key, run.engine)
        raise MissingPageError(
            str(error),
            advice="A run knows the clusters with common items. Check the id, or begin with a cluster of the list.",
            links=[(f"All {kind} clusters", link("run", name, "clusters", kind))],
            nearest=[(str(one), link("run", name, "cluster", kind, one)) for one in near],
        ) from None


def _say_size(explained: ClusterExplanation) -> str:
    other = "actual" if explained.side == "ideal" else "ideal"
    weight = "" if explained.weight == explained.items else f", weight {format_weight(explained.weight)}"
    size = f"{format_count(explained.items, 'item')}{weight}"
    parts = format_count(len(explained.cells), f"{other} cluster")
    come = "It comes from" if explained.items == 1 else "They come from"
    verb = "It lies in" if explained.side == "ideal" else come
    return f"{size}. {verb} {parts}."


def _say_outside(evaluation: Evaluation, side: str, key: Any) -> str:
    """Say how many members that the truth does not list count as wrong in an actual cluster."""
    if side == IDEAL or evaluation.evidence.sample.has_spurious:  # then these are among its items
        return ""
    number = break_down(evaluation.evidence, side, [key], cells=1)[key].outside_items
    does = "lies outside the truth and counts" if number == 1 else "lie outside the truth and count"
    return f"{format_count(number, 'more member')} {does} as wrong, which costs precision." if number else ""


def _draw_cells(
    name: str, kind: str, explained: ClusterExplanation, cells: Sequence[Mapping[str, Any]], other: str
) -> Grid:
    """List the cells, each with its letter, leading to its members and to the cluster on the other side."""
    other_kind = "actual" if kind == "ideal" else "ideal"
    metrics = [Column(m, Kind.METRIC) for m in explained.shown if cells and m in cells[0]]
    columns = [*keys(other), *ITEM_SIZES, *metrics]
    links = {other: lambda row: link("run", name, "cluster", other_kind, row[other])}
    grid = make_listing("cells", "Cells", columns, cells, links=links)
    return replace(grid, rows=[_marked(line, rank) for rank, line in enumerate(grid.rows)])


def _choices(
    address: tuple[Any, ...], cells: Sequence[Mapping[str, Any]], other: str, chosen: str
) -> list[tuple[str, str, bool]]:
    """List the cells whose members can be looked at by themselves."""
    return [
        (
            f"{letter(rank)}: {bounded_value(row[other]).text}",
            link(*address, part=row[other]),
            str(row[other]) == chosen,
        )
        for rank, row in enumerate(cells)
    ]


def _draw_stack(explained: ClusterExplanation, cells: Sequence[Mapping[str, Any]], other: str) -> list[Segment]:
    """Draw how much of the cluster every cell holds, those without a letter of their own together."""
    known = [
        (str(rank), f"{letter(rank)}: {bounded_value(row[other]).text}", row[WEIGHT])
        for rank, row in enumerate(cells[:_LETTERED])
    ]
    rest = explained.weight - sum(weight for _, _, weight in known)
    return draw_stack([*known, (str(_LETTERED), "all others", max(0.0, rest))])


def _marked(line: Line, rank: int) -> Line:
    """Put the letter of a cell before the first value of a line."""
    first, *others = line.values
    return Line([replace(first, mark=letter(rank), tone=str(_tone(rank))), *others])


def _tone(rank: int) -> int:
    return min(rank, _LETTERED)


class _Members:
    """The members of a cluster with their records, those of the heaviest cell first."""

    def __init__(self, evaluation: Evaluation, side: str, other: str, key: Any, lettered: Sequence[Any]) -> None:
        self.evaluation, self.side, self.other, self.key = evaluation, side, other, key
        self.lettered = lettered
        self.attributes = record_columns(evaluation)

    def take(self, part: str, after: str) -> PageRows:
        """Fetch a page of members, of one cell or of all."""
        evidence = self.evaluation.evidence
        members = evidence.weighed_items().filter(nw.col(self.side) == self.key)
        if part:
            members = members.filter(nw.col(self.other) == evidence.key(self.other, part))
        ranked = members.with_columns(self._rank().alias(_RANK))
        if after:
            rank, item = read_key(after, 2)
            if not isinstance(rank, int):
                raise UsageError("The address does not say where the list goes on. Begin at its first page.")
            item = evidence.key(ITEM, item)
            ranked = ranked.filter((nw.col(_RANK) > rank) | ((nw.col(_RANK) == rank) & (nw.col(ITEM) > item)))
        few = evidence.engine.collect(ranked.sort(_RANK, ITEM).head(ROWS + 1))
        found = few.select([ITEM, self.other, WEIGHT, _RANK]).to_pylist()
        known = replace(evidence, found=from_rows(few, evidence.engine))
        records = fetch(known, [row[ITEM] for row in found], self.attributes)
        values = ({a: records.get(row[ITEM], {}).get(a) for a in self.attributes} for row in found)
        rows = [row | own | {ITEM: evidence.ids.read(row[ITEM])} for row, own in zip(found, values, strict=True)]
        last = found[ROWS - 1] if len(found) > ROWS else None
        return PageRows(rows[:ROWS], write_key([last[_RANK], last[ITEM]]) if last else "")

    def _rank(self) -> nw.Expr:
        rank: nw.Expr = nw.lit(len(self.lettered))
        for number, cluster in enumerate(self.lettered):
            rank = nw.when(nw.col(self.other) == cluster).then(nw.lit(number)).otherwise(rank)
        return rank.cast(nw.Int64)

    def draw(self, name: str, rows: Sequence[Mapping[str, Any]]) -> Grid:
        """Lay out the members with their cell, marking what differs from most of them."""
        grid = list_items(
            "members",
            "Members",
            rows,
            self.attributes,
            lambda row: link("run", name, "item", row[ITEM]),
            between=[Column(WEIGHT, Kind.WEIGHT)],
        )
        usual = find_usual(rows, self.attributes)
        lines = []
        for row, line in zip(rows, grid.rows, strict=True):
            marked = _marked(line, row[_RANK])
            first = len(marked.values) - len(self.attributes)
            for number, attribute in enumerate(self.attributes, first):
                if differs(row[attribute], usual.get(attribute)):
                    marked.values[number] = replace(marked.values[number], mark="≠", tone="differs")
            lines.append(marked)
        return replace(grid, rows=lines)
