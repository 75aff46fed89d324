"""The pages of a comparison: is one variant better than another, for whom, and what happened to which cluster."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any

from pointwise.answers.tables import MetricTable
from pointwise.columns import ACTUAL, BASELINE, EXPERIMENT, IDEAL, ITEM, VARIANT, WEIGHT, Column, Kind, keys
from pointwise.comparison.comparison import Comparison
from pointwise.errors import NotFoundError
from pointwise.explorer.listing import make_listing, read_order, say_notes, take
from pointwise.explorer.site import MissingPageError, Page, Visit
from pointwise.explorer.urls import link
from pointwise.pages.grids import Grid
from pointwise.pages.miniatures import Trend, draw_trends
from pointwise.pages.sentences import without_parameters
from pointwise.pages.verdicts import describe_verdict, summarise, tabulate_changes
from pointwise.text.values import format_confidence

_MOST_SLICINGS = 4
_FEW = 2


def _trail(name: str, *more: tuple[str, str]) -> list[tuple[str, str]]:
    return [("Overview", "/"), (name, link("compare", name)), *more]


def _pair(visit: Visit, comparison: Comparison) -> dict[str, str]:
    """Choose which two variants to look at: those that the address names, or the last one and the baseline."""
    baseline = visit[BASELINE] or comparison.baseline or comparison.variants[0]
    others = [name for name in comparison.variants if name != baseline]
    if not others:
        raise MissingPageError("This comparison has a single variant, so nothing to compare it with.")
    return {EXPERIMENT: visit[EXPERIMENT] or others[-1], BASELINE: baseline}


def show_comparison(visit: Visit) -> Page:
    """Show how two variants differ, overall and by slice, and what happened to the clusters."""
    name, comparison = visit.parts[0], visit.comparison()
    pair = _pair(visit, comparison)
    variants, deltas = comparison.by_variant(), comparison.deltas(**pair)
    changes = comparison.count_changes(**pair)
    run_links = {VARIANT: lambda row: link("run", f"{name}/{row[VARIANT]}")}
    change_links = {"change": lambda row: link("compare", name, "clusters", change=row["change"], **pair)}
    rows = deltas.to_dicts()
    verdicts = [describe_verdict(row, pair, comparison.confidence) for row in rows]
    content = {
        **pair,
        "notes": list(map(without_parameters, comparison.notes)),
        "variants": make_listing("variants", "Variants", variants.describe(), variants.to_dicts(), links=run_links),
        "summary": summarise(verdicts, pair[EXPERIMENT], pair[BASELINE]),
        "verdicts": verdicts,
        "metrics": list(comparison.metrics),
        "level": format_confidence(1 - comparison.confidence),
        "trends": _trends(comparison, variants),
        "deltas": make_listing("deltas", deltas.title, deltas.describe(), rows, note=say_notes(deltas, rows)),
        "changes": make_listing(
            "changes", "What happened to the ideal clusters", changes.describe(), changes.to_dicts(), links=change_links
        ),
        "slices": list(_slices(comparison, pair)),
        "clusters": link("compare", name, "clusters", **pair),
        "pairs": _pairs(name, comparison, pair),
        "action": link("compare", name, "item"),
        "report": link("compare", name, "report"),
    }
    facts = {"comparison": name, **pair, "variants": variants.to_dicts()}
    title = f"Is {pair[EXPERIMENT]} better than {pair[BASELINE]}?"
    return Page(
        title,
        "comparison.html",
        content,
        [("Overview", "/"), (name, link("compare", name))],
        deltas.columns,
        rows,
        facts,
    )


def _pairs(name: str, comparison: Comparison, pair: Mapping[str, str]) -> list[tuple[str, str]]:
    """List the other pairs of variants to look at."""
    baseline = pair[BASELINE]
    others = [one for one in comparison.variants if one not in pair.values()]
    swapped = (f"{baseline} against {pair[EXPERIMENT]}", {EXPERIMENT: baseline, BASELINE: pair[EXPERIMENT]})
    found = [(f"{one} against {baseline}", {EXPERIMENT: one, BASELINE: baseline}) for one in others]
    return [(text, link("compare", name, **chosen)) for text, chosen in (*found, swapped)]


def _trends(comparison: Comparison, variants: MetricTable) -> list[Trend]:
    """Draw the metrics of several variants in their order; for two, the verdicts suffice."""
    if len(comparison.variants) <= _FEW:
        return []
    return list(draw_trends(variants.describe(), variants.to_dicts(), key=VARIANT, noun="variants, in their order"))


def _slices(comparison: Comparison, pair: Mapping[str, str]) -> Iterator[tuple[str, Grid]]:
    """Show how much the metrics of every slice changed, in a row."""
    first = next(iter(comparison.evaluations.values()))
    for number, spec in enumerate(first.options.slices[:_MOST_SLICINGS]):
        table = comparison.by_slice(spec, **pair)
        name = ", ".join(table.drawn_keys)
        grid = tabulate_changes(f"slices-{number}", f"Slices by {name}", table, table.drawn_keys, comparison.metrics)
        yield name, replace(grid, is_sortable=False, is_searchable=False)


def show_changes(visit: Visit) -> Page:
    """List what happened to every ideal cluster between two variants."""
    name, comparison = visit.parts[0], visit.comparison()
    pair = _pair(visit, comparison)
    table = comparison.changes(**pair)
    kinds = sorted({row["change"] for row in comparison.count_changes(**pair).to_dicts()})
    if visit["change"]:
        quoted = visit["change"].replace("'", "''")
        table = table.where(f"change = '{quoted}'")
    order = read_order(visit["sort"], table, default="-moved_items")
    address, kept = ("compare", name, "clusters"), {**pair, "change": visit["change"]}
    found = take(table, order, IDEAL, after=visit["after"])
    experiment = f"{name}/{pair[EXPERIMENT]}"
    listing = make_listing(
        "clusters",
        table.title,
        table.describe(),
        found.rows,
        links={IDEAL: lambda row: link("run", experiment, "cluster", "ideal", row[IDEAL])},
        order=order,
        sorts=lambda by: link(*address, sort=by, **kept),
    )
    content = {
        **pair,
        "listing": listing,
        "kinds": [
            ("all", link(*address, **pair), not visit["change"]),
            *((kind, link(*address, change=kind, **pair), kind == visit["change"]) for kind in kinds),
        ],
        "first": link(*address, sort=visit["sort"], **kept) if visit["after"] else "",
        "next": link(*address, sort=visit["sort"], after=found.after, **kept) if found.after else "",
    }
    facts = {"comparison": name, **pair, "after": found.after or None}
    title = "What happened to the ideal clusters"
    return Page(title, "changes.html", content, _trail(name), table.columns, found.rows, facts)


def show_compared_item(visit: Visit) -> Page:
    """Show one item in all variants, side by side."""
    name, key = visit.parts
    comparison = visit.comparison()
    rows = [row for variant in comparison.variants if (row := _look_up(comparison, variant, key))]
    if not rows:
        raise MissingPageError(f"Item {key!r} is in none of the variants.")
    counts = [Column(count, Kind.COUNT) for count in ("together_rightly", "together_wrongly", "apart_wrongly")]
    metrics = [Column(m.name, Kind.METRIC) for m in comparison.metrics if not m.means]
    columns = [*keys(VARIANT), Column(IDEAL), Column(ACTUAL), Column(WEIGHT, Kind.WEIGHT), *counts, *metrics]
    links = {
        VARIANT: lambda row: link("run", f"{name}/{row[VARIANT]}", "item", key),
        ACTUAL: lambda row: link("run", f"{name}/{row[VARIANT]}", "cluster", "actual", row[ACTUAL]),
    }
    grid = make_listing("sides", f"Item {key}", columns, rows, links=links)
    facts = {"comparison": name, "item": key}
    return Page(f"Item {key}", "sides.html", {"grid": grid}, _trail(name), [c.name for c in columns], rows, facts)


def _look_up(comparison: Comparison, variant: str, key: str) -> dict[str, Any] | None:
    try:
        seen = comparison[variant].explain(item=key)
    except NotFoundError:
        return None
    return {
        VARIANT: variant,
        IDEAL: seen.ideal_cluster,
        ACTUAL: seen.actual_cluster,
        WEIGHT: seen.weight,
        "together_rightly": seen.true_positives.count,
        "together_wrongly": seen.false_positives.count,
        "apart_wrongly": seen.false_negatives.count,
        **{m.name: seen.metrics[m.name] for m in comparison.metrics if not m.means},
    }


def find_compared_item(visit: Visit) -> Page:
    """Redirect from the id in a form to the item's page."""
    return show_compared_item(visit.with_parts(visit.parts[0], visit[ITEM].strip()))
