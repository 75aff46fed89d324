"""Layouts: what the columns of other tools' tables are called, and what they hold.

One table says it for all of them. A layout is recognised by its columns, or asked for by its name. Columns that a user
names always win, and a table that could be read in two ways is refused: a guess could give a wrong number.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from pointwise.columns import CLUSTER, ITEM
from pointwise.engines.base import Source
from pointwise.errors import InputError, MissingColumnError, UsageError
from pointwise.inputs.options import LayoutName, check_choice
from pointwise.text.values import listed

NOISE = -1
"""What many tools call the cluster of items that they gave none."""


@dataclass(frozen=True)
class Layout:
    """The columns of what a tool writes: clusters, or links.

    Args:
        name: What a user calls it.
        title: What messages call it.
        item: Column that identifies an item; None if the tool keeps whatever its users have.
        cluster: Columns that may hold the cluster, best first.
        within: Column that identifies an item together with the other, where the table has it.
        is_local: Whether clusters, too, are told apart by that column.
        ends: What is added to the columns of an item to name those of the two items of a link.
        score: Columns that may hold the score of a link, best first.
        beside: Other columns that it is recognised by.
        noise: The label of items without a cluster.
    """

    name: LayoutName
    title: str
    item: str | None = None
    cluster: tuple[str, ...] = ()
    within: str | None = None
    is_local: bool = False
    ends: tuple[str, str] | None = None
    score: tuple[str, ...] = ()
    beside: tuple[str, ...] = ()
    noise: int | None = None


LAYOUTS = (
    Layout("splink", "Splink's clusters", "unique_id", ("cluster_id",), within="source_dataset"),
    Layout("splink", "Splink's labelled records", "unique_id", ("cluster",), within="source_dataset"),
    Layout(
        "splink",
        "Splink's predictions",
        "unique_id",
        within="source_dataset",
        ends=("_l", "_r"),
        score=("match_probability", "match_weight"),
    ),
    Layout("dedupe", "dedupe's clusters", cluster=("Cluster ID",), beside=("confidence_score",)),
    Layout("zingg", "Zingg's clusters", cluster=("z_cluster", "Z_CLUSTER")),
    Layout("recordlinkage", "recordlinkage's pairs", "rec_id", ends=("_1", "_2")),
    Layout("scikit-learn", "labels of scikit-learn", noise=NOISE),
    Layout("cami", "CAMI's bins", "SEQUENCEID", ("BINID", "TAXID"), within="SAMPLEID", is_local=True),
    Layout("conll", "CoNLL's coreference", "mention", ("chain",), beside=("document", "words")),
)


@dataclass(frozen=True)
class Fit:
    """A layout with the columns that a table has of it."""

    layout: Layout
    item: tuple[str, ...] = ()
    cluster: tuple[str, ...] = ()
    left: tuple[str, ...] = ()
    right: tuple[str, ...] = ()
    score: str | None = None

    def __str__(self) -> str:
        """Say how the table is read."""
        parts = {"item": self.item, "cluster": self.cluster}
        if self.layout.ends:
            parts = {"left": self.left, "right": self.right, "score": (self.score,) if self.score else ()}
        told = [f"{part} = {', '.join(columns)}" for part, columns in parts.items() if columns]
        if self.layout.noise is not None:
            told.append(f"{self.layout.noise} stands for no cluster")
        return f"Read as {self.layout.title}: {'; '.join(told)}"


def find_clusters(source: Source, name: LayoutName | None, role: str) -> Fit | None:
    """Find the layout of a table of clusters: the one that was asked for, or one that its columns show.

    Raises:
        MissingColumnError: The table is not in the layout that was asked for.
    """
    return _find(source, name, role, has_links=False)


def find_links(source: Source, name: LayoutName | None, role: str) -> Fit | None:
    """Do the same for a table of links."""
    return _find(source, name, role, has_links=True)


def _find(source: Source, name: LayoutName | None, role: str, *, has_links: bool) -> Fit | None:
    known = [layout for layout in LAYOUTS if name in (None, layout.name) and bool(layout.ends) == has_links]
    if name is None:
        known = [layout for layout in known if layout.noise is None]  # which no column shows
    else:
        check_choice("layout", name, LayoutName)
    fits = (_fit(layout, source.columns) for layout in known)
    found = next((fit for fit in fits if fit is not None), None)
    if found is None and name is not None:
        raise _misfit(source, name, role, known)
    return found


def _misfit(source: Source, name: LayoutName, role: str, known: Sequence[Layout]) -> Exception:
    if not known:
        title = next(layout.title for layout in LAYOUTS if layout.name == name)
        hint = "Give them as pw.Links(table, layout=...)." if "pairs" in title else "They are clusters, not links."
        return UsageError(f"layout={name!r} does not apply to the {role}: these are {title}. {hint}")
    wanted = " or ".join(listed(_required(layout)) for layout in known)
    return MissingColumnError(
        f"The {role} ({source.name}) is not in the layout {name!r}, which has {wanted}. It has "
        f"{listed(source.columns)}."
    )


def _required(layout: Layout) -> tuple[str, ...]:
    items = (layout.item,) if layout.item else ()
    ends = layout.ends or ("",)
    return (*(f"{column}{end}" for end in ends for column in items), *layout.cluster[:1], *layout.beside)


def _fit(layout: Layout, columns: Sequence[str]) -> Fit | None:
    """Return the columns that a table has of a layout; None if it lacks some."""
    if layout.ends:
        left, right = (_identifying(layout, columns, end) for end in layout.ends)
        score = next((column for column in layout.score if column in columns), None)
        item = tuple(column.removesuffix(layout.ends[0]) for column in left)
        is_whole = left and [f"{column}{layout.ends[1]}" for column in item] == list(right)
        return Fit(layout, item, left=left, right=right, score=score) if is_whole else None
    if layout.noise is not None:
        return Fit(layout)
    cluster = next((column for column in layout.cluster if column in columns), None)
    item = _identifying(layout, columns)
    if cluster is None or not set(layout.beside) <= set(columns) or (layout.item and not item):
        return None
    local = item[:-1] if layout.is_local else ()
    return Fit(layout, item, (*local, cluster))


def _identifying(layout: Layout, columns: Sequence[str], end: str = "") -> tuple[str, ...]:
    """Return the columns that identify an item; of a tool that keeps its users' own ones, the one called `id`."""
    if layout.item is None:
        called = [column for column in columns if column.lower() == "id"]
        return tuple(called) if len(called) == 1 else ()
    if layout.item + end not in columns:
        return ()
    within = () if layout.within is None or layout.within + end not in columns else (layout.within + end,)
    return (*within, layout.item + end)


def check_unambiguous(fit: Fit, source: Source, role: str, parameter: str) -> None:
    """Refuse a table that has the columns of a layout, and also a column of the name that pointwise looks for.

    Raises:
        InputError: The message says how to choose.
    """
    own = {"item": ITEM, "cluster": CLUSTER}[parameter]
    found: tuple[str, ...] = getattr(fit, parameter)
    if own in source.columns and own not in found:
        raise InputError(
            f"The {role} ({source.name}) looks like {fit.layout.title}, with the {parameter} in {listed(found)}, and "
            f"has a column {own!r} too. Say which is meant: {parameter}={own!r}, or layout={fit.layout.name!r}."
        )
