"""Metrics of other families (pairs, B-cubed, F-measure, V-measure, purity), from the same cells."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal, get_args

import narwhals.stable.v2 as nw

from pointwise.core.confusion import Confusion
from pointwise.core.metrics import METRICS, Better
from pointwise.engines.base import Hold, apply
from pointwise.errors import UsageError, WeightError
from pointwise.inputs.options import Pairs
from pointwise.related.chance import Sizes, expect_information
from pointwise.related.sums import Collect, Lacking, Sums, count_pairs, sum_cells

SumFormula = Callable[[Sums, float], float]


@dataclass(frozen=True)
class RelatedMetric:
    """A number of another family.

    Args:
        name: Its name.
        formula: Its value, from sums over the cells and the V-measure's beta.
        text: The formula as people write it.
        summary: What it says, in one line.
        relation: How it relates to the pointwise metrics.
        better: Whether higher or lower values are better; None if neither.
        range: Least and greatest possible value.
        pairs: For metrics of pairs, what a pair counts; empty for all others.
    """

    name: str
    formula: SumFormula
    text: str
    summary: str
    relation: str
    better: Better | None = "higher"
    range: tuple[float, float] = (0.0, 1.0)
    pairs: Pairs | Literal[""] = ""


def relate(
    cells: nw.LazyFrame,
    collect: Collect,
    *,
    beta: float = 1.0,
    pairs: Pairs = "counts",
    lacking: Lacking | None = None,
    hold: Hold = apply,
) -> dict[str, float]:
    """Compute the related metrics of cells on any engine; NaN where one is undefined.

    Args:
        cells: Cells, with columns `ideal_cluster`, `actual_cluster`, `items`, `tp` and `squared_weight`.
        collect: Runs a query and returns a `pyarrow.Table`.
        beta: Above 1, completeness counts more in the V-measure; below 1, homogeneity.
        pairs: What a pair of items counts.
        lacking: Items that one of the clusterings lacks, where averages over items count them.
        hold: Keeps what several sums need.

    Raises:
        UsageError: `beta` or `pairs` has a value it cannot have.
    """
    check_options(beta=beta, pairs=pairs)
    return score(sum_cells(cells, collect, lacking=lacking, hold=hold), beta=beta, pairs=pairs)


def score(sums: Sums, *, beta: float = 1.0, pairs: Pairs = "counts") -> dict[str, float]:
    """Compute the related metrics from sums over the cells.

    Raises:
        UsageError: Weights below 1 cannot be numbers of copies.
        WeightError: Weights are too far apart to compute their products.
    """
    if pairs == "replication":
        check_copies(sums.lightest)
    if pairs == "product":
        every = count_pairs(sums.items, sums.weight, sums.squares)
        for product, reach in (
            (every["product"], every["reach"]),
            *((part.product, part.reach) for part in (sums.cells, sums.ideal, sums.actual)),
        ):
            check_products(product, reach)
    return {row.name: float(row.formula(sums, beta)) for row in definitions(pairs)}


def check_copies(lightest: float) -> None:
    """Refuse weights that cannot be numbers of copies, given the least mean weight of the items of a cell.

    Raises:
        UsageError: There are weights below 1.
    """
    if lightest < 1:
        raise UsageError(
            f"There are items with a weight below 1 (a cell has a mean weight of {lightest:g}). "
            "With pairs='replication' a weight is a number of copies: use pairs='product' for other weights."
        )


_LEAST_PRODUCT = 1e-6  # of the squares that it is a difference of: rounding these leaves nine digits


def check_products(product: float, reach: float) -> None:
    """Refuse weights so far apart that their squares drown the products of pairs.

    Args:
        product: The products of the weights of all pairs.
        reach: The squares that they are a difference of.

    Raises:
        WeightError: Rounding would make the products wrong.
    """
    if product < reach * _LEAST_PRODUCT:
        raise WeightError(
            "Single items are so much heavier than those in one cluster with them that floating-point numbers do not "
            "hold the products of their weights. Use pairs='counts'."
        )


def definitions(pairs: Pairs = "counts") -> tuple[RelatedMetric, ...]:
    """List the rows of the table, with the metrics of pairs in one of their meanings."""
    return tuple(row for row in RELATED.values() if row.pairs in ("", pairs))


def check_options(*, beta: float, pairs: str) -> None:
    """Refuse values that the options cannot have."""
    if pairs not in get_args(Pairs):
        raise UsageError(f"`pairs` is {pairs!r}. Choose one of {', '.join(map(repr, get_args(Pairs)))}.")
    if not 0 <= beta < math.inf:
        raise UsageError(f"`beta` is {beta!r}. It must be a number, 0 or more.")


def _within(value: float) -> float:
    """Keep rounding from pushing a value out of its range."""
    return min(max(value, 0.0), 1.0)  # NaN, as the first of two, stays


def _harmonic_mean(a: float, b: float) -> float:
    value: float = METRICS["f1_of_means"].formula(Confusion(*(math.nan,) * 5), a, b)
    return value


def _item_mean(name: str) -> SumFormula:
    def mean(sums: Sums, _: float) -> float:
        lacking = {"bcubed_precision": sums.lacking.spurious_weight, "bcubed_recall": sums.lacking.missing_weight}
        return _within(getattr(sums.cells, name) / (sums.weight + lacking.get(name, 0.0)))

    return mean


def _cluster_mean(name: str) -> SumFormula:
    def mean(sums: Sums, _: float) -> float:
        lacking = sums.lacking.missing_clusters if name == "mean_recall" else 0
        return _within(getattr(sums.ideal, name) / (sums.ideal.clusters + lacking))

    return mean


def _harmonic(mean: Callable[[str], SumFormula], precision: str, recall: str) -> SumFormula:
    return lambda s, beta: _harmonic_mean(mean(precision)(s, beta), mean(recall)(s, beta))


_LEAST_ENTROPY = 1e-9  # per weight: below it, rounding dominates


def _settled(open_: float, entropy: float, s: Sums) -> float:
    """Return the share of an entropy that is explained; undefined if one cluster has practically all the weight."""
    return math.nan if entropy < _LEAST_ENTROPY * s.weight else _within(1 - open_ / entropy)


def _homogeneity(s: Sums, _: float = 1.0) -> float:
    if s.ideal.clusters == 1:  # There is nothing to tell apart.
        return 1.0
    return 0.0 if s.has_single_side else _settled(s.cells.mixed, s.ideal.entropy, s)


def _completeness(s: Sums, _: float = 1.0) -> float:
    if s.actual.clusters == 1:
        return 1.0
    return 0.0 if s.has_single_side else _settled(s.cells.split, s.actual.entropy, s)


def _v_measure(s: Sums, beta: float) -> float:
    homogeneity, completeness = _homogeneity(s), _completeness(s)
    both = beta * homogeneity + completeness
    return _within((1 + beta) * homogeneity * completeness / both) if both else 0.0


def _mutual_information(s: Sums, _: float) -> float:
    return 0.0 if s.has_single_side else max(s.ideal.entropy - s.cells.mixed, 0.0) / s.weight


def _normalized_mutual_information(s: Sums, _: float) -> float:
    if s.has_single_side:
        return float(s.ideal.clusters == s.actual.clusters)
    return _settled(s.cells.mixed + s.cells.split, s.ideal.entropy + s.actual.entropy, s)


def _adjusted_mutual_information(s: Sums, _: float) -> float:
    if s.has_single_side or s.ideal.clusters == s.actual.clusters == s.cells.clusters:
        return float(s.ideal.clusters == s.actual.clusters)
    found = s.cells.information + s.items * math.log(s.items)
    expected = expect_information(s.ideal.sizes, s.actual.sizes, s.items)
    most = (_size_entropy(s.ideal.sizes, s.items) + _size_entropy(s.actual.sizes, s.items)) / 2
    room = most - expected
    return (found - expected) / room if abs(room) > _ROUNDING * s.items else 0.0


def _size_entropy(sizes: Sizes, items: float) -> float:
    return math.fsum(number * size * math.log(items / size) for size, number in sizes)


def _lambda(s: Sums, _: float) -> float:
    if s.ideal.clusters == 1:  # There is nothing to guess.
        return 1.0
    return _within((s.actual.best_weight - s.ideal.heaviest) / (s.weight - s.ideal.heaviest))


def _tau(s: Sums, _: float) -> float:
    if s.ideal.clusters == 1:
        return 1.0
    chance = s.ideal.squared / s.weight
    return _within((s.cells.expected - chance) / (s.weight - chance))


def _exact_f1(s: Sums, _: float) -> float:
    return 2 * s.cells.exact / (s.ideal.clusters + s.actual.clusters)


_ROUNDING = 1e-12


def _of_table(metric: str, *, flawless: float | None = None) -> Callable[[Confusion], Any]:
    """Take a formula of the pointwise table; `flawless` is its value where nothing is wrong, even by 0/0."""
    row = METRICS[metric]
    low, high = row.range

    def formula(c: Confusion) -> Any:
        if flawless is not None and c.fp == c.fn == 0:
            return flawless
        return min(max(row.formula(c), low), high)  # NaN, as the first of two, stays

    return formula


def _of_pairs(formula: Callable[[Confusion], Any], pairs: Pairs) -> SumFormula:
    return lambda s, _: formula(s.pair_confusion(pairs))


def _pair_metric(
    name: str,
    formula: Callable[[Confusion], Any],
    text: str,
    summary: str,
    relation: str,
    *,
    better: Better | None = "higher",
    range: tuple[float, float] = (0.0, 1.0),  # noqa: A002  # the word of the metric table
) -> tuple[RelatedMetric, ...]:
    """Make three rows, one for each meaning of a pair's weight."""
    return tuple(
        RelatedMetric(
            name if pairs == "counts" else f"{pairs}_{name}",
            _of_pairs(formula, pairs),
            text,
            summary + _MEANINGS[pairs],
            relation,
            better,
            range,
            pairs,
        )
        for pairs in get_args(Pairs)
    )


_MEANINGS = {
    "counts": "",
    "product": "; a pair counts the product of its weights",
    "replication": "; weights are numbers of copies of an item",
}

_SQUARED = "Singletons have no pair and large clusters have quadratically many; pointwise, weight alone decides."

_ROWS = (
    *_pair_metric(
        "true_positive_pairs",
        lambda c: c.tp,
        "TP",
        "pairs of items that are together in both clusterings",
        "Half the sum of the items' TP - 1 (an item is in its own TP), with unit weights.",
        better=None,
        range=(0.0, math.inf),
    ),
    *_pair_metric(
        "false_positive_pairs",
        lambda c: c.fp,
        "FP",
        "pairs of items that are together in the actual clustering only",
        "Half the sum of the items' FP, with unit weights.",
        better="lower",
        range=(0.0, math.inf),
    ),
    *_pair_metric(
        "false_negative_pairs",
        lambda c: c.fn,
        "FN",
        "pairs of items that are together in the ideal clustering only",
        "Half the sum of the items' FN, with unit weights.",
        better="lower",
        range=(0.0, math.inf),
    ),
    *_pair_metric(
        "true_negative_pairs",
        lambda c: c.tn,
        "TN",
        "pairs of items that are apart in both clusterings",
        "Half the sum of the items' TN, with unit weights.",
        better=None,
        range=(0.0, math.inf),
    ),
    *_pair_metric(
        "pair_precision",
        _of_table("precision"),
        "TP / (TP + FP), of pairs",
        "share of the pairs put together that belong together",
        f"The formula of precision on one matrix of pairs. {_SQUARED}",
    ),
    *_pair_metric(
        "pair_recall",
        _of_table("recall"),
        "TP / (TP + FN), of pairs",
        "share of the pairs that belong together that were put together",
        f"The formula of recall on one matrix of pairs. {_SQUARED}",
    ),
    *_pair_metric(
        "pair_f1",
        _of_table("f1"),
        "2 TP / (2 TP + FP + FN), of pairs",
        "harmonic mean of pair precision and pair recall",
        f"The formula of f1 on one matrix of pairs. {_SQUARED}",
    ),
    *_pair_metric(
        "pair_jaccard",
        _of_table("jaccard_index"),
        "TP / (TP + FP + FN), of pairs",
        "share of the pairs together in either clustering that are together in both",
        f"The formula of jaccard_index on one matrix of pairs. {_SQUARED}",
    ),
    *_pair_metric(
        "pair_rand",
        _of_table("accuracy", flawless=1.0),
        "(TP + TN) / all, of pairs",
        "share of all pairs on which the clusterings agree",
        "The formula of accuracy on one matrix of pairs. Near 1 if clusters are many, whatever they hold.",
    ),
    *_pair_metric(
        "pair_adjusted_rand",
        _of_table("adjusted_rand", flawless=1.0),
        "2 (TP TN - FN FP) / ((TP+FN)(FN+TN) + (TP+FP)(FP+TN)), of pairs",
        "agreement of pairs beyond chance (ARI)",
        "The pointwise adjusted_rand applies the same formula to each item's matrix and averages.",
        range=(-1.0, 1.0),
    ),
    *_pair_metric(
        "pair_fowlkes_mallows",
        lambda c: _of_table("fowlkes_mallows")(c) if c.tp else 0.0,
        "sqrt(pair precision * pair recall)",
        "geometric mean of pair precision and pair recall; 0 if no pair is together in both",
        f"The formula of fowlkes_mallows on one matrix of pairs. {_SQUARED}",
    ),
    RelatedMetric(
        "bcubed_precision",
        _item_mean("bcubed_precision"),
        "average over items of |ideal and actual cluster| / |actual cluster|",
        "precision of items by counts, weights in the average only",
        "Equal to precision if all items weigh the same; pointwise, weights count inside the ratio too.",
    ),
    RelatedMetric(
        "bcubed_recall",
        _item_mean("bcubed_recall"),
        "average over items of |ideal and actual cluster| / |ideal cluster|",
        "recall of items by counts, weights in the average only",
        "Equal to recall if all items weigh the same; pointwise, weights count inside the ratio too.",
    ),
    RelatedMetric(
        "bcubed_f1",
        _harmonic(_item_mean, "bcubed_precision", "bcubed_recall"),
        "2 P R / (P + R), of B-cubed precision and recall",
        "harmonic mean of B-cubed precision and recall",
        "Equal to f1_of_means if all items weigh the same; f1 averages the F1 of items instead.",
    ),
    RelatedMetric(
        "bcubed_cluster_precision",
        _cluster_mean("mean_precision"),
        "average over ideal clusters of their items' mean B-cubed precision",
        "B-cubed precision in which every ideal cluster counts the same",
        "The plain mean of precision by ideal cluster if all items weigh the same; small clusters dominate.",
    ),
    RelatedMetric(
        "bcubed_cluster_recall",
        _cluster_mean("mean_recall"),
        "average over ideal clusters of their items' mean B-cubed recall",
        "B-cubed recall in which every ideal cluster counts the same",
        "The plain mean of recall by ideal cluster if all items weigh the same; small clusters dominate.",
    ),
    RelatedMetric(
        "bcubed_cluster_f1",
        _harmonic(_cluster_mean, "mean_precision", "mean_recall"),
        "2 P R / (P + R), of the two averages over ideal clusters",
        "harmonic mean of the two averages over ideal clusters",
        "As bcubed_f1, but every ideal cluster counts the same.",
    ),
    RelatedMetric(
        "f_measure",
        lambda s, _: _within(s.ideal.best_f1 / s.weight),
        "average over ideal clusters, by weight, of the best F1 of their cells",
        "how well each ideal cluster is matched by the one actual cluster that fits it best",
        "The same F1 of a cell; but only the best cell counts, so the fate of other items stays unseen.",
    ),
    RelatedMetric(
        "homogeneity",
        _homogeneity,
        "1 - H(ideal | actual) / H(ideal)",
        "how much the actual cluster tells about the ideal one",
        "The counterpart of precision in information theory; it has no value for an item.",
    ),
    RelatedMetric(
        "completeness",
        _completeness,
        "1 - H(actual | ideal) / H(actual)",
        "how much the ideal cluster tells about the actual one",
        "The counterpart of recall in information theory; it has no value for an item.",
    ),
    RelatedMetric(
        "v_measure",
        _v_measure,
        "(1 + beta) h c / (beta h + c), of homogeneity h and completeness c",
        "harmonic mean of homogeneity and completeness",
        "The counterpart of f1_of_means. High for many small clusters, even at random.",
    ),
    RelatedMetric(
        "mutual_information",
        _mutual_information,
        "H(ideal) - H(ideal | actual), in nats",
        "how much either clustering tells about the other",
        "No pointwise counterpart: it grows with the number of clusters.",
        range=(0.0, math.inf),
    ),
    RelatedMetric(
        "normalized_mutual_information",
        _normalized_mutual_information,
        "mutual information / ((H(ideal) + H(actual)) / 2)",
        "mutual information, as a share of the mean entropy",
        "Equal to v_measure with beta 1.",
    ),
    RelatedMetric(
        "adjusted_mutual_information",
        _adjusted_mutual_information,
        "(I - E) / ((H(ideal) + H(actual)) / 2 - E), of the mutual information I and its expectation E",
        "mutual information beyond chance, by counts of items (AMI)",
        "The counterpart of adjusted_rand in information theory; 0 on average for random clusterings.",
        range=(-1.0, 1.0),
    ),
    RelatedMetric(
        "variation_of_information",
        lambda s, _: (s.cells.mixed + s.cells.split) / s.weight,
        "H(ideal | actual) + H(actual | ideal), in nats",
        "what either clustering leaves unknown about the other",
        "A true distance like jaccard_distance, but without an upper bound and without values for items.",
        better="lower",
        range=(0.0, math.inf),
    ),
    RelatedMetric(
        "purity",
        lambda s, _: _within(s.actual.best_weight / s.weight),
        "sum over actual clusters of their heaviest cell / weight of all items",
        "share of the weight that agrees with the majority of its actual cluster",
        "At least precision: only the majority counts, minorities are entirely wrong.",
    ),
    RelatedMetric(
        "inverse_purity",
        lambda s, _: _within(s.ideal.best_weight / s.weight),
        "sum over ideal clusters of their heaviest cell / weight of all items",
        "share of the weight that is with the majority of its ideal cluster",
        "At least recall: only the largest piece counts, the others are entirely lost.",
    ),
    RelatedMetric(
        "goodman_kruskal_lambda",
        _lambda,
        "(purity - p) / (1 - p), of the share p of the heaviest ideal cluster",
        "how many errors in guessing the ideal cluster the actual one saves",
        "Purity beyond always guessing the heaviest ideal cluster.",
    ),
    RelatedMetric(
        "goodman_kruskal_tau",
        _tau,
        "(precision - e) / (1 - e), of the sum e of the squared shares of the ideal clusters",
        "the same, where guesses are in proportion to the shares",
        "Precision beyond what an actual clustering of one cluster has.",
    ),
    RelatedMetric(
        "exact_match_precision",
        lambda s, _: s.cells.exact / s.actual.clusters,
        "exact matches / actual clusters",
        "share of the actual clusters that are exactly an ideal cluster",
        "Counts clusters; one item too many spoils a cluster, while precision falls only a little.",
    ),
    RelatedMetric(
        "exact_match_recall",
        lambda s, _: s.cells.exact / s.ideal.clusters,
        "exact matches / ideal clusters",
        "share of the ideal clusters that are exactly an actual cluster",
        "Counts clusters; one missing item spoils a cluster, while recall falls only a little.",
    ),
    RelatedMetric(
        "exact_match_f1",
        _exact_f1,
        "2 exact matches / (actual clusters + ideal clusters)",
        "harmonic mean of exact-match precision and recall",
        "As f1_of_means, of whole clusters.",
    ),
    RelatedMetric(
        "edit_distance",
        lambda s, _: float(2 * s.cells.clusters - s.ideal.clusters - s.actual.clusters),
        "2 cells - ideal clusters - actual clusters",
        "how many splits in two and then merges of two turn the actual clusters into the ideal ones",
        "Counts what has to be done to clusters of any size; jaccard_distance weighs what items see of it.",
        better="lower",
        range=(0.0, math.inf),
    ),
    RelatedMetric(
        "element_similarity",
        _item_mean("element_similarity"),
        "average over items of min(precision, recall)",
        "element-centric similarity of two partitions",
        "The pointwise element_similarity itself.",
    ),
)

RELATED: dict[str, RelatedMetric] = {row.name: row for row in _ROWS}
"""The table of related metrics. Documentation and tests derive from it."""
