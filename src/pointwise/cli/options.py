"""Options that several commands share."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from enum import StrEnum
from typing import Annotated, Any, get_args

import typer

from pointwise.engines import MOST_THREADS, Engine, EngineName, start_spark
from pointwise.errors import UsageError
from pointwise.inputs.options import (
    CompareOn,
    Contradictions,
    DiffOn,
    DistanceMissing,
    LayoutName,
    Missing,
    Outside,
    Pairs,
)

MOST_ROWS = 10**9
"""How many rows can be requested: more than anybody reads, and few enough for every engine."""

TABLES = ("ideal", "actual", "weights", "attributes")
DIFF_TABLES = ("baseline", "experiment", "weights", "attributes")


class Format(StrEnum):
    """How to write results."""

    table = "table"
    json = "json"
    csv = "csv"
    guarded_csv = "guarded-csv"  # no spreadsheet takes a cell for a formula
    markdown = "markdown"

    @property
    def is_csv(self) -> bool:
        """Whether it is CSV, guarded or not."""
        return self in (Format.csv, Format.guarded_csv)


_OUTPUT, _LIMITS, _READING = "Output", "Resources", "Reading the tables"

_POLICIES = "Policies"

Weight = Annotated[
    str | None,
    typer.Option(metavar="COLUMN", help="Column with the weight of an item, in any table.", rich_help_panel=_READING),
]
Weights = Annotated[
    str | None, typer.Option(metavar="FILE", help="A table of items and their weights.", rich_help_panel=_READING)
]
OutsidePolicy = Annotated[
    Outside | None,
    typer.Option(
        show_default="ignore",
        help="Members of an actual cluster that the truth does not list: ignored, wrong there, or items that should "
        "not exist.",
        rich_help_panel=_POLICIES,
    ),
]
MissingPolicy = Annotated[
    Missing | None,
    typer.Option(
        show_default="drop",
        help="Ideal items that the actual clustering lacks: dropped, each alone, each in no cluster, or an error.",
        rich_help_panel=_POLICIES,
    ),
]
OnItems = Annotated[
    CompareOn,
    typer.Option("--on", help="Evaluate each variant on its own common items, or all on those that all share."),
]
DistanceMissingPolicy = Annotated[
    DistanceMissing,
    typer.Option(help="Items that some clusterings lack: dropped, or each alone where it is missing."),
]
Unassigned = Annotated[
    list[str] | None,
    typer.Option(
        metavar="POLICY",
        help="Items without a cluster: error, singleton, one-cluster or drop. With ideal= or actual= before it, "
        "for that clustering only.",
        rich_help_panel=_POLICIES,
        show_default="error",
    ),
]
UnassignedLabels = Annotated[
    list[str] | None,
    typer.Option(
        "--unassigned-label",
        metavar="LABEL",
        help="A cluster label that means no cluster, such as -1.",
        rich_help_panel=_POLICIES,
    ),
]
Header = Annotated[
    bool,
    typer.Option(
        "--header/--no-header",
        help="Whether CSV files begin with the names of their columns.",
        rich_help_panel=_READING,
    ),
]
Headerless = Annotated[
    list[str] | None,
    typer.Option(
        "--headerless",
        metavar="TABLE",
        help="A table, such as actual or weights, whose CSV files do not begin with the names of their columns; "
        "repeatable. --no-header says so of all.",
        rich_help_panel=_READING,
    ),
]
Run = Annotated[str, typer.Argument(metavar="RUN", help="A stored run: the folder that --save made.")]
Stored = Annotated[
    str, typer.Argument(metavar="RUN", help="A stored run, diff or comparison: the folder that --save made.")
]
FormatOption = Annotated[
    Format,
    typer.Option(
        "--format",
        "-f",
        help="How to write the result to standard output. In guarded-csv an apostrophe comes before text that a "
        "spreadsheet would take for a formula.",
        rich_help_panel=_OUTPUT,
    ),
]
GuardFormulas = Annotated[
    bool,
    typer.Option(
        "--guard-formulas", help="In CSV, put an apostrophe before text that a spreadsheet would take for a formula."
    ),
]
Metrics = Annotated[
    list[str] | None,
    typer.Option(
        "--metric", "-m", metavar="NAME", help="A metric to show; repeat for several.", rich_help_panel=_OUTPUT
    ),
]
Related = Annotated[
    bool,
    typer.Option(
        "--related", help="Show the metrics of other families too: pairs, B-cubed, V-measure.", rich_help_panel=_OUTPUT
    ),
]
PairsOption = Annotated[
    Pairs,
    typer.Option(
        "--pairs",
        help="What a pair of items counts in related metrics: one, the product of its weights, or as if weights were "
        "numbers of copies.",
        rich_help_panel=_OUTPUT,
    ),
]
Slices = Annotated[
    list[str] | None,
    typer.Option(
        "--slice",
        "-s",
        metavar="SLICE",
        help='A column (country), several crossed (country,year), a condition ("year >= 2015"), '
        "ideal_cluster_size or actual_cluster_size; repeat for several slices.",
    ),
]
Html = Annotated[
    str | None,
    typer.Option("--html", metavar="FILE", help="Write a report: one HTML file.", rich_help_panel=_OUTPUT),
]
Intervals = Annotated[
    bool,
    typer.Option("--intervals/--no-intervals", help="Show confidence intervals.", rich_help_panel=_OUTPUT),
]
Confidence = Annotated[
    float,
    typer.Option(metavar="SHARE", help="How often intervals should contain the true value.", rich_help_panel=_OUTPUT),
]
_SAMPLED = "How the truth was drawn"

Sampling = Annotated[
    str | None,
    typer.Option(
        metavar="HOW",
        help="Estimate values for all items: ideal clusters were drawn uniformly (clusters), by drawing items "
        "(items), or with the probabilities in a column of the truth or in a file; or the truth is complete.",
        rich_help_panel=_SAMPLED,
    ),
]
Drawn = Annotated[
    int | None,
    typer.Option(metavar="N", help="Number of items drawn (with --sampling items).", rich_help_panel=_SAMPLED),
]
Population = Annotated[
    list[str] | None,
    typer.Option(
        metavar="[STRATUM=]N",
        help="Number of items (--sampling items) or ideal clusters (--sampling clusters) that were drawn from.",
        rich_help_panel=_SAMPLED,
    ),
]
Strata = Annotated[
    str | None,
    typer.Option(
        metavar="COLUMN",
        help="Column of the truth; clusters were drawn separately for each of its values.",
        rich_help_panel=_SAMPLED,
    ),
]
Limit = Annotated[
    int | None,
    typer.Option(
        "--limit", "-n", min=1, max=MOST_ROWS, metavar="ROWS", help="How many rows to show.", rich_help_panel=_OUTPUT
    ),
]
MemoryLimit = Annotated[
    str | None,
    typer.Option(
        "--memory-limit", metavar="SIZE", help="Memory to use before spilling to disk: 4GB.", rich_help_panel=_LIMITS
    ),
]
Threads = Annotated[
    int | None,
    typer.Option("--threads", min=1, max=MOST_THREADS, metavar="N", help="Cores to use.", rich_help_panel=_LIMITS),
]
EngineOption = Annotated[
    EngineName,
    typer.Option(
        "--engine",
        help="Where to compute: in this process, or on Spark, which also reads the paths.",
        rich_help_panel=_LIMITS,
    ),
]
Master = Annotated[
    str | None,
    typer.Option("--master", metavar="URL", help="The Spark cluster to run on: yarn.", rich_help_panel=_LIMITS),
]
Conf = Annotated[
    list[str] | None,
    typer.Option(
        "--conf", metavar="KEY=VALUE", help="A setting for Spark; repeat for several.", rich_help_panel=_LIMITS
    ),
]
Attributes = Annotated[
    str | None,
    typer.Option(
        "--attributes", metavar="FILE", help="Items and what is known about them, to slice by. - is standard input."
    ),
]
Item = Annotated[
    list[str] | None,
    typer.Option(
        "--item",
        metavar="[TABLE=]COLUMN",
        help="Column that identifies an item; repeat if several do so together. With ideal=, actual=, weights= or "
        "attributes= before it, for that table only.",
        rich_help_panel=_READING,
    ),
]
AttributeItem = Annotated[
    list[str] | None,
    typer.Option(
        "--item",
        metavar="COLUMN",
        help="Column of the attributes that identifies an item; repeat if several do so together.",
        rich_help_panel=_READING,
    ),
]
Show = Annotated[
    str | None,
    typer.Option(
        "--show",
        metavar="COLUMNS",
        help="What to show beside the ids of items: name,city.",
        show_default="the first few columns of text",
        rich_help_panel=_OUTPUT,
    ),
]
Keep = Annotated[
    bool,
    typer.Option(
        "--keep",
        help="Also store the columns shown beside items. They may be personal data, so this is not the default.",
    ),
]
Cluster = Annotated[
    list[str] | None,
    typer.Option(
        "--cluster", metavar="[TABLE=]COLUMN", help="The same for the cluster of an item.", rich_help_panel=_READING
    ),
]
DiffItem = Annotated[
    list[str] | None,
    typer.Option(
        "--item",
        metavar="[TABLE=]COLUMN",
        help="Column that identifies an item; repeat if several do so together. With baseline=, experiment=, weights= "
        "or attributes= before it, for that table only.",
        rich_help_panel=_READING,
    ),
]
DiffUnassigned = Annotated[
    list[str] | None,
    typer.Option(
        "--unassigned",
        metavar="POLICY",
        help="Items without a cluster: error, singleton, one-cluster or drop. With baseline= or experiment= before it, "
        "for that clustering only.",
        rich_help_panel=_POLICIES,
        show_default="error",
    ),
]
DiffItems = Annotated[
    DiffOn,
    typer.Option(
        "--on",
        help="Look at the items that both clusterings have, or at all, each alone where it is missing.",
        rich_help_panel=_POLICIES,
    ),
]
StoredDiff = Annotated[
    str, typer.Argument(metavar="DIFF", help="A stored diff: the folder that pointwise diff --save made.")
]

_TOOLS = ", ".join(get_args(LayoutName))

Layout = Annotated[
    list[str] | None,
    typer.Option(
        "--layout",
        metavar="[TABLE=]TOOL",
        help=f"What wrote the clustering or the links: {_TOOLS}. With ideal= before it, what wrote the truth.",
        show_default="recognised by its columns",
        rich_help_panel=_READING,
    ),
]
LinksLayout = Annotated[
    LayoutName | None,
    typer.Option(
        "--layout",
        metavar="TOOL",
        help="What wrote the links: splink or recordlinkage.",
        show_default="recognised by its columns",
        rich_help_panel=_READING,
    ),
]

_LINKS = "Links: pairs of items instead of clusters"

Left = Annotated[
    list[str] | None,
    typer.Option(
        "--left",
        metavar="[TABLE=]COLUMN",
        help="Column with one item of a link; repeat if several identify it together. With ideal= or actual= "
        "before it, for these links only.",
        show_default="left, or the first of two",
        rich_help_panel=_LINKS,
    ),
]
Right = Annotated[
    list[str] | None,
    typer.Option(
        "--right", metavar="[TABLE=]COLUMN", help="The same for the other item of a link.", rich_help_panel=_LINKS
    ),
]
Score = Annotated[
    str | None,
    typer.Option(
        "--score",
        metavar="COLUMN",
        help="Column with the score of a link.",
        show_default="score",
        rich_help_panel=_LINKS,
    ),
]
Threshold = Annotated[
    float | None,
    typer.Option(
        "--threshold", metavar="NUMBER", help="The least score of a link that counts.", rich_help_panel=_LINKS
    ),
]
Answer = Annotated[
    str | None,
    typer.Option(
        "--answer",
        metavar="COLUMN",
        help="Column with what people answered about a pair: yes, which links, or no.",
        rich_help_panel=_LINKS,
    ),
]
ContradictionsPolicy = Annotated[
    Contradictions,
    typer.Option(
        "--contradictions",
        help="Items linked by a chain of yeses despite a no: an error, or dropped with all linked items.",
        rich_help_panel=_LINKS,
    ),
]
LinkItems = Annotated[
    str | None,
    typer.Option(
        "--items",
        metavar="FILE",
        help="Items to add that have no link: each is a cluster of its own.",
        rich_help_panel=_LINKS,
    ),
]
IdealLinks = Annotated[
    bool,
    typer.Option(
        "--ideal-links", help="The truth holds links: their components are its clusters.", rich_help_panel=_LINKS
    ),
]
ActualLinks = Annotated[
    bool,
    typer.Option("--actual-links", help="The same for the clusterings to evaluate.", rich_help_panel=_LINKS),
]


def links_from_options(path: Any, side: str, given: Mapping[str, Any]) -> Any:
    """Read a path as links if the options say so, and leave it as it is otherwise.

    A score belongs to the actual clustering and answers to the truth, where both are links.

    Args:
        path: The table.
        side: "ideal" or "actual".
        given: All that a command was given, by name.
    """
    if not (given["ideal_links"] or given["actual_links"]):
        for name in (n for n in ("left", "right", "score", "threshold", "answer") if given[n] is not None):
            raise UsageError(f"--{name} is for links: add --actual-links or --ideal-links.")
    if not given[f"{side}_links"]:
        return path
    chosen: dict[str, Any] = {name: given[name] for name in ("score", "threshold", "answer", "contradictions")}
    if given["ideal_links"] and given["actual_links"] and given["answer"] is not None:
        chosen |= {"score": None, "threshold": None} if side == "ideal" else {"answer": None}
    for end in ("left", "right"):
        columns = read_columns(given[end])
        chosen[end] = columns.get(side) if isinstance(columns, dict) else columns
    layout = read_choice(given["layout"])
    chosen["layout"] = layout.get(side) if isinstance(layout, dict) else layout if side == "actual" else None
    from pointwise.inputs.links import Links  # loads NumPy, which help does not need

    return Links(path, **chosen)


def read_columns(
    given: Sequence[str] | None, tables: Sequence[str] = TABLES
) -> str | list[str] | dict[str, list[str]] | None:
    """Read `--item` or `--cluster` as `evaluate` takes it: columns for all tables, or by table."""
    if not given:
        return None
    by_table: dict[str, list[str]] = {}
    for text in given:
        table, separator, column = text.partition("=")
        if separator and table in tables:
            by_table.setdefault(table, []).append(column)
    if not by_table:
        return given[0] if len(given) == 1 else list(given)
    if sum(map(len, by_table.values())) < len(given):
        other = next(text for text in given if text.partition("=")[0] not in by_table)
        raise UsageError(
            f"{other!r} does not begin with the name of a table, as the others do: {', '.join(tables)}. Name the table "
            f"of each column ({tables[0]}=COLUMN), or of none."
        )
    return by_table


def read_names(given: str) -> list[str]:
    """Read names with commas between them."""
    return [name.strip() for name in given.split(",") if name.strip()]


def read_plain(given: Sequence[str] | None, option: str) -> str | list[str] | None:
    """Read columns of a command whose tables all use the same names."""
    columns = read_columns(given)
    if isinstance(columns, dict):
        raise UsageError(f"{option} takes plain columns here, without a table before them.")
    return columns


def read_settings(given: Mapping[str, Any], tables: Sequence[str] = TABLES) -> dict[str, Any]:
    """Read the options that say how to evaluate, as `evaluate`, `compare` and `diff` of the library take them.

    Args:
        given: All that a command was given, by name. What the command has no option for is left to the library.
        tables: What may come before a column to name its table.
    """
    settings = {name: read(given[name]) for name, read in _SETTINGS.items() if name in given}
    settings |= {name: read(given[name], tables) for name, read in _BY_TABLE.items() if name in given}
    if given.get("headerless"):
        settings["header"] = _read_headerless(given["headerless"], tables, is_all=not given["header"])
    return {name: value for name, value in settings.items() if value is not None}


def _read_headerless(given: Sequence[str], tables: Sequence[str], *, is_all: bool) -> dict[str, bool]:
    for table in given:
        if table not in tables:
            raise UsageError(f"--headerless {table!r} is not a table: it is one of {', '.join(tables)}.")
    if is_all:
        raise UsageError("--no-header says that no table has a header, so --headerless says nothing more.")
    return dict.fromkeys(given, False)


def _as_given(value: Any) -> Any:
    return value


def _all(values: Sequence[str] | None) -> Sequence[str]:
    return values or ()


def _read_population(given: Sequence[str] | None) -> int | dict[str, int] | None:
    """Read one number, or one per stratum: `US=1000`."""
    if not given:
        return None
    try:
        if len(given) == 1 and "=" not in given[0]:
            return int(given[0])
        return {name: int(number) for name, _, number in (text.rpartition("=") for text in given)}
    except ValueError:
        raise UsageError(f"--population {' '.join(given)!r} is not a number, or STRATUM=NUMBER for each.") from None


def engine_from_options(name: EngineName, master: str | None, conf: Sequence[str] | None) -> Engine | None:
    """Start Spark if requested; None stands for the embedded engine."""
    if name == "duckdb":
        if master or conf:
            raise UsageError("--master and --conf are for Spark: add --engine spark.")
        return None
    settings = dict(text.partition("=")[::2] for text in conf or ())
    wrong = [key for key, value in settings.items() if not value]
    if wrong:
        raise UsageError(f"--conf {wrong[0]!r} is not a setting and its value, such as spark.executor.memory=4g.")
    return start_spark(master=master, conf=settings)


def read_limits(given: Sequence[str] | None, option: str) -> dict[str, float]:
    """Read limits such as `precision=0.95`."""
    limits = {}
    for text in given or ():
        metric, _, number = text.partition("=")
        try:
            limits[metric.strip()] = float(number)
        except ValueError:
            raise UsageError(f"{option} {text!r} is not a metric and a number, such as precision=0.95.") from None
    return limits


def read_choice(given: Sequence[str] | None, tables: Sequence[str] = TABLES) -> Any:
    """Read `--unassigned` or `--layout` as `evaluate` takes it: one choice, or one by clustering."""
    choices = read_columns(given, tables)
    if isinstance(choices, dict):
        return {side: names[-1] for side, names in choices.items()}
    return choices


_BY_TABLE: dict[str, Callable[[Any, Sequence[str]], Any]] = {
    "item": read_columns,
    "cluster": read_columns,
    "unassigned": read_choice,
    "layout": read_choice,
}
_SETTINGS: dict[str, Callable[[Any], Any]] = {
    "weight": _as_given,
    "weights": _as_given,
    "attributes": _as_given,
    "slices": _all,
    "show": lambda names: None if names is None else read_names(names),
    "metrics": lambda names: names or None,
    "outside": _as_given,
    "missing": _as_given,
    "unassigned_labels": lambda labels: labels or None,
    "header": lambda header: None if header else False,
    "sampling": _as_given,
    "drawn": _as_given,
    "population": _read_population,
    "strata": _as_given,
    "intervals": _as_given,
    "confidence": _as_given,
    "memory_limit": _as_given,
    "threads": _as_given,
}

Port = Annotated[
    int, typer.Option("--port", min=0, max=65_535, metavar="N", help="The port to listen on.", show_default="any")
]
NoOpen = Annotated[bool, typer.Option("--no-open", help="Only print the address; do not open a browser.")]
Host = Annotated[str, typer.Option("--host", metavar="ADDRESS", help="The address of this machine to listen on.")]
AllowedHost = Annotated[
    list[str] | None,
    typer.Option(
        "--allowed-host",
        metavar="NAME",
        help="A name that browsers may use for this machine beside localhost, repeatable; --host beyond the machine "
        "itself needs one.",
    ),
]
