"""Columns: the names that steps share and users see, and what kind of value each column holds.

Internally, a user's column goes by another name: `inside` encodes any name (with dots, quotes or capitals, or empty) as
one that every engine accepts and that cannot clash with a column of ours. Engines encode the names when they load a
table, and result tables decode them before they reach the user.
"""

from __future__ import annotations

import re
from collections.abc import Container, Iterable
from dataclasses import dataclass, replace
from enum import StrEnum

ITEM = "item"
CLUSTER = "cluster"
IDEAL = "ideal_cluster"
ACTUAL = "actual_cluster"

NO_CLUSTER = "<none>"  # prefix of the id of an empty cluster, for items that a clustering wrongly lacks

RESERVED = (ITEM, CLUSTER, IDEAL, ACTUAL, "weight")
"""Columns of the items themselves. An attribute of the same name would clash with them."""

ITEMS = "items"  # a count of items
WEIGHT = "weight"  # a sum of item weights
SHARE = "share"  # of the total weight
COST = "cost"  # of a mistake or a cluster: how much of a rate it makes up
SQUARES = "squared_weight"  # a sum of squared item weights
LEAST_WEIGHT = "least_weight"  # of the items of a cell
BAD_WEIGHTS = "bad_weights"  # a count of items whose weight is not a positive finite number

TP = "tp"
FP = "fp"
FN = "fn"
TN = "tn"

IDEAL_WEIGHT = "ideal_weight"
IDEAL_ITEMS = "ideal_items"
ACTUAL_WEIGHT = "actual_weight"
ACTUAL_ITEMS = "actual_items"

UNDEFINED = "_undefined"  # suffix: share of the weight for which a metric has no value

IDEAL_CLUSTERS = "ideal_clusters"  # a count of ideal clusters
LOW = "_low"  # suffix: lower end of a value's interval
HIGH = "_high"  # suffix: upper end of a value's interval

SLICE = "slice"  # which slicing a row belongs to
VALUE = "value"  # which slice of it, as text; or the value of a metric

VARIANT = "variant"
EXPERIMENT = "experiment"
BASELINE = "baseline"
METRIC = "metric"
MEANING = "meaning"
BASELINE_VALUE = f"{BASELINE}_{VALUE}"
EXPERIMENT_VALUE = f"{EXPERIMENT}_{VALUE}"
DELTA = "delta"
P_VALUE = "p_value"
P_ADJUSTED = "p_adjusted"
CONTRIBUTION = "contribution"
UP_CLUSTERS = "up_clusters"  # a count of ideal clusters whose value went up
DOWN_CLUSTERS = "down_clusters"
VERDICT = "verdict"  # whether a change is clear, and for the better

CHANGE = "change"  # what happened to an ideal cluster
MOVED = "moved_items"  # a count of items that left their actual cluster
PIECES = "pieces"  # a count of the actual clusters that hold an ideal cluster

ITEM_SHARES = ("common_share", "missing_share", "outside_share")
WEIGHT_SHARES = ("common_weight_share", "missing_weight_share", "outside_weight_share")
COVERAGE_SHARES = tuple(name for pair in zip(ITEM_SHARES, WEIGHT_SHARES, strict=True) for name in pair)


def name_part(column: str, part: str) -> str:
    """Name the column that holds a part of another, such as the delta of recall or the pieces of the baseline."""
    return f"{column}_{part}"


RESULTS = frozenset(
    {
        *(ITEM, CLUSTER, IDEAL, ACTUAL, ITEMS, WEIGHT, SHARE, COST, SQUARES, BAD_WEIGHTS, TP, FP, FN, TN),
        *(IDEAL_WEIGHT, IDEAL_ITEMS, ACTUAL_WEIGHT, ACTUAL_ITEMS, IDEAL_CLUSTERS),
        *(SLICE, VALUE, METRIC, MEANING, VARIANT, EXPERIMENT, BASELINE, DELTA, P_VALUE, P_ADJUSTED, CONTRIBUTION),
        *(UP_CLUSTERS, DOWN_CLUSTERS, VERDICT, CHANGE, MOVED, *COVERAGE_SHARES),
    }
)
"""Columns of result tables other than metrics. No metric can have one of these names."""

RESULT_ENDINGS = (UNDEFINED, LOW, HIGH, *(f"_{part}" for part in (VALUE, BASELINE, EXPERIMENT, DELTA, CONTRIBUTION)))
"""Suffixes that result tables add to the names of metrics. No metric's name can end in one."""


PREFIX = "__pw_"
"""Prefix of the encoded names of users' columns."""

_PLAIN = re.compile(r"[^a-z0-9]")
_CODED = re.compile(r"_([0-9a-f]+)_")


def inside(name: str) -> str:
    """Encode the name of a user's column.

    Lowercase letters and digits stay. Everything else becomes its code point between underscores, because engines may
    ignore case and take a dot for a path.

    Examples:
        >>> inside("geo.Country")
        '__pw_geo_2e__43_ountry'
    """
    return PREFIX + _PLAIN.sub(lambda found: f"_{ord(found[0]):x}_", name)


def given_name(column: str) -> str:
    """Return the name that a user gave to a column; our own names stay as they are.

    Examples:
        >>> given_name("__pw_geo_2e__43_ountry"), given_name("weight")
        ('geo.Country', 'weight')
    """
    if not column.startswith(PREFIX):
        return column
    return _CODED.sub(lambda found: chr(int(found[1], 16)), column.removeprefix(PREFIX))


class Kind(StrEnum):
    """What a column holds, which decides how its values are written.

    Examples:
        >>> import pointwise as pw
        >>> evaluation = pw.evaluate(ideal=[["i1", "i2"], ["i3"]], actual=[["i1", "i3"], ["i2"]])
        >>> [column.kind.value for column in evaluation.by_item(metrics="recall").describe()][3:6]
        ['weight', 'share', 'weight']
    """

    KEY = "key"  # says what a row is about; null stands for items without a value
    TEXT = "text"  # written as is
    COUNT = "count"
    WEIGHT = "weight"
    SHARE = "share"
    METRIC = "metric"
    DELTA = "delta"
    P_VALUE = "p-value"
    END = "end of an interval"


NUMBERS = frozenset({Kind.COUNT, Kind.WEIGHT, Kind.SHARE, Kind.METRIC, Kind.DELTA, Kind.P_VALUE, Kind.END})
"""Kinds whose values are numbers."""


@dataclass(frozen=True)
class Column:
    """A column of a table that people look at.

    Args:
        name: Its name.
        kind: What it holds.
        low: The column with the lower end of the value's interval, if there is one.
        high: The column with the upper end.
        is_drawn: Whether drawings show it. Columns that are only in the data keep drawings narrow.
        is_given: Whether a user named it, so that its name is encoded internally.
        is_spare: Whether a terminal shows it only if it fits without breaking lines.
        longest: How many characters of a text a drawing shows; None for all of it, as of ids, which people copy.

    Examples:
        >>> import pointwise as pw
        >>> evaluation = pw.evaluate(ideal=[["i1", "i2"], ["i3"]], actual=[["i1", "i3"], ["i2"]])
        >>> [column.name for column in evaluation.by_item(metrics="recall").describe()][:3]
        ['item', 'ideal_cluster', 'actual_cluster']
    """

    name: str
    kind: Kind = Kind.TEXT
    low: str = ""
    high: str = ""
    is_drawn: bool = True
    is_given: bool = False
    is_spare: bool = False
    longest: int | None = None

    @property
    def own(self) -> str:
        """Its name in frames, before results reach the user."""
        return inside(self.name) if self.is_given else self.name


ITEM_SIZES = (Column(ITEMS, Kind.COUNT), Column(WEIGHT, Kind.WEIGHT), Column(SHARE, Kind.SHARE))
"""How large a group of items is."""


def keys(*names: str, is_given: bool = False, longest: int | None = None) -> tuple[Column, ...]:
    """Describe columns that say what a row is about."""
    return tuple(Column(name, Kind.KEY, is_given=is_given, longest=longest) for name in names)


def with_ends(column: Column) -> tuple[Column, Column, Column]:
    """Describe a column of values together with the two ends of their intervals."""
    low, high = column.name + LOW, column.name + HIGH
    return replace(column, low=low, high=high), Column(low, Kind.END), Column(high, Kind.END)


def undrawn(columns: Iterable[Column], names: Container[str]) -> tuple[Column, ...]:
    """Leave some columns out of the drawing."""
    return tuple(replace(c, is_drawn=c.is_drawn and c.name not in names) for c in columns)
