"""Names of the columns that travel between the steps, and that users see in tables and stored runs."""

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
