"""Names of the columns that travel between the steps, and that users see in tables and stored runs.

A user's column has another name inside: `inside` encloses any name in one that no column of ours begins with, and that
every engine takes, whatever the name holds (dots, quotes, capitals, nothing at all). So names cannot meet. Engines
enclose the names when they load a table, and tables of results release them when they are handed out.
"""

import re

ITEM = "item"
CLUSTER = "cluster"
IDEAL = "ideal_cluster"
ACTUAL = "actual_cluster"

RESERVED = (ITEM, CLUSTER, IDEAL, ACTUAL, "weight")
"""Columns of the items themselves. An attribute of the same name would be mixed up with them."""

ITEMS = "items"  # a count of items
WEIGHT = "weight"  # a sum of item weights
SHARE = "share"  # of the total weight
SQUARES = "squared_weight"  # a sum of squared item weights
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
LOW = "_low"  # suffix: lower end of a metric's interval
HIGH = "_high"  # suffix: upper end of a metric's interval


RESULTS = frozenset(
    {
        *(ITEM, CLUSTER, IDEAL, ACTUAL, ITEMS, WEIGHT, SHARE, SQUARES, BAD_WEIGHTS, TP, FP, FN, TN),
        *(IDEAL_WEIGHT, IDEAL_ITEMS, ACTUAL_WEIGHT, ACTUAL_ITEMS, IDEAL_CLUSTERS),
        *("slice", "value", "metric", "variant", "experiment", "baseline", "delta", "p_value", "p_adjusted"),
        *("contribution", "change", "moved_items", "common_share", "missing_share", "outside_share"),
    }
)
"""Columns that tables of results have beside the metrics, so that no metric can be called like them."""

RESULT_ENDINGS = (UNDEFINED, LOW, HIGH, "_value", "_baseline", "_experiment", "_delta", "_contribution")
"""What tables of results put behind a metric's name, so that no metric's name can end in it."""


PREFIX = "__pw_"
"""What the names of a user's columns begin with inside."""

_PLAIN = re.compile(r"[^a-z0-9]")
_CODED = re.compile(r"_([0-9a-f]+)_")


def inside(name: str) -> str:
    """Enclose the name of a user's column.

    Small letters and digits stay, everything else becomes its number between underscores: engines may take capitals
    for small letters, and a dot for a path.

    Example:
        >>> inside("geo.Country")
        '__pw_geo_2e__43_ountry'
    """
    return PREFIX + _PLAIN.sub(lambda found: f"_{ord(found[0]):x}_", name)


def given_name(column: str) -> str:
    """Return the name that a user gave to a column; a name of ours stays as it is.

    Example:
        >>> given_name("__pw_geo_2e__43_ountry"), given_name("weight")
        ('geo.Country', 'weight')
    """
    if not column.startswith(PREFIX):
        return column
    return _CODED.sub(lambda found: chr(int(found[1], 16)), column.removeprefix(PREFIX))
