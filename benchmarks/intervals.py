"""How often do intervals hold the true value? A simulation with known populations.

A population of ideal clusters with skewed sizes, as entity resolution has them, is clustered by a noisy algorithm
that tears some clusters apart and merges others. Its values are the truth. Then small truths are drawn from it again
and again, and each time the intervals are computed by the code that users run. Members of actual clusters outside the
drawn truth count as wrong (`outside="wrong"`), so that over-merging is visible. No interval counts as one that does
not hold. The laws of sizes, the noise and the seeds are other ones than those that the method was chosen on. One
population is there to show where intervals fail: in it, only the few largest clusters are torn apart.

Then variants are compared whose true values are exactly the same: how often does a difference get a verdict that is
none? One against one, four against one baseline (p-values adjusted after Holm), and in any of several slices (after
Benjamini and Hochberg).

    python benchmarks/intervals.py [--repeats 1000] [--clusters 1000]

writes benchmarks/results/intervals.json and intervals.md, and the tables of docs/intervals.md. It takes about
three minutes on two cores.
"""

import argparse
import json
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

import narwhals.stable.v2 as nw
import numpy as np
import pyarrow as pa

from _measure import RESULTS, count
from pointwise.columns import HIGH, IDEAL, ITEMS, LOW, WEIGHT
from pointwise.comparison.deltas import VARIANT, VariantPair, find_deltas
from pointwise.core.metrics import find_metrics
from pointwise.core.sample import EXPANSION, REST, STRATUM, Sample
from pointwise.engines import start_engine
from pointwise.engines.queries import from_rows
from pointwise.inputs.options import CONFIDENCE
from pointwise.uncertainty.design import log_miss
from pointwise.uncertainty.intervals import lift_varied, vary_sums
from pointwise.uncertainty.verdict import ENOUGH

METRICS = find_metrics(["precision", "recall", "jaccard_distance"])
NAMES = [m.name for m in METRICS]
PAGE = Path(__file__).parent.parent / "docs" / "intervals.md"
BEGIN, END = "<!-- table: intervals -->\n", "<!-- end -->\n"
REPEAT, PART = "repeat", "part"
SEED = 20_261_116
SIZES = (20, 50, 200, 1_000)
PARTS = (5, 20)  # slices of an A/A test
VARIANTS = 4  # that are compared with one baseline


@dataclass(frozen=True)
class Law:
    """A population: how sizes are spread, and how many clusters are torn or merged."""

    name: str
    clusters: int
    exponent: float
    most: int
    torn: float
    merged: float
    least_torn: int = 1  # only clusters of this size or larger are torn


ORDINARY = Law("ordinary", 60_000, 2.4, 80, 0.25, 0.06)
HEAVY = Law("heavy sizes", 60_000, 1.9, 150, 0.25, 0.06)
NEAR_PERFECT = Law("near-perfect", 60_000, 2.4, 80, 0.01, 0.002)
LARGEST = Law("errors in the largest only", 60_000, 2.1, 1_000, 1.0, 0.0, least_torn=200)
FINITE = Law("400 clusters in all", 400, 2.4, 40, 0.25, 0.1)


@lru_cache
def draw_population(law, variant=0):
    """Draw a population: weight of every ideal cluster, and weight times metric, with unit weights."""
    sizes = np.arange(1, law.most + 1)
    share = sizes**-law.exponent
    weight = np.random.default_rng(SEED).choice(sizes, law.clusters, p=share / share.sum())
    generator = np.random.default_rng((SEED, variant, law.clusters))
    ideal = np.repeat(np.arange(law.clusters), weight)
    torn = (generator.random(law.clusters) < law.torn) & (weight >= law.least_torn)
    leaving = np.where(torn, generator.beta(1, 3, law.clusters), 0.0)
    target = np.arange(law.clusters)
    merged = generator.random(law.clusters) < law.merged
    target[merged] = generator.integers(0, law.clusters, merged.sum())
    actual = np.where(generator.random(len(ideal)) < leaving[ideal], law.clusters + ideal, target[ideal])
    return weight, sum_clusters(ideal, actual, law.clusters)


def sum_clusters(ideal, actual, clusters):
    """Sum the metrics of the items of every ideal cluster."""
    _, cell, shared = np.unique(ideal * (2 * clusters) + actual, return_inverse=True, return_counts=True)
    tp, size, other = shared[cell], np.bincount(ideal)[ideal], np.bincount(actual)[actual]
    values = {"precision": tp / other, "recall": tp / size, "jaccard_distance": 1 - tp / (size + other - tp)}
    return {name: np.bincount(ideal, weights=value, minlength=clusters) for name, value in values.items()}


@lru_cache
def draw_equal_variants(law):
    """Draw variants whose true values are exactly the same: every cluster is there once in each order of their noise.

    Two populations with different noise differ a little, which a large sample would rightly find.
    """
    weight, runs = draw_population(law)[0], [draw_population(law, 1 + n)[1] for n in range(VARIANTS + 1)]
    turned = [runs[n:] + runs[:n] for n in range(len(runs))]
    variants = [{m: np.concatenate([order[n][m] for order in turned]) for m in NAMES} for n in range(len(runs))]
    return np.tile(weight, len(runs)), variants


def draw_uniformly(generator, weight, number, repeats):
    """Draw ideal clusters, each as likely; return the clusters of every repeat and what each stands for."""
    drawn = [generator.choice(len(weight), number, replace=False) for _ in range(repeats)]
    share = number / len(weight)
    return drawn, [np.full(number, 1 / share)] * repeats, [np.full(number, 1 - share)] * repeats


def draw_by_items(generator, weight, number, repeats):
    """Draw items and keep their clusters, each once; their probabilities are known exactly."""
    owner, items = np.repeat(np.arange(len(weight)), weight), int(weight.sum())
    log = np.array([log_miss(int(size), items, number) for size in range(1, int(weight.max()) + 1)])
    drawn = [np.unique(owner[generator.choice(items, number, replace=False)]) for _ in range(repeats)]
    chances = [log[weight[clusters] - 1] for clusters in drawn]
    return drawn, [-1 / np.expm1(chance) for chance in chances], [np.exp(chance) for chance in chances]


def as_frame(engine, variants, weight, drawn, expansions, *, parts=1):
    """Lay out drawn ideal clusters as the package's own steps do, one variant below the other."""
    flat, expansion = np.concatenate(drawn), np.concatenate(expansions)
    columns = {
        REPEAT: np.repeat(np.arange(len(drawn)), [len(clusters) for clusters in drawn]),
        PART: np.concatenate([np.arange(len(clusters)) % parts for clusters in drawn]),
        IDEAL: np.arange(len(flat)),
        ITEMS: weight[flat].astype(np.int64),
        WEIGHT: weight[flat] * expansion,
    }
    tables = [
        pa.table({VARIANT: [str(n)] * len(flat), **columns, **{m: sums[m][flat] * expansion for m in NAMES}})
        for n, sums in enumerate(variants)
    ]
    table = pa.concat_tables(tables)
    return engine.checkpoint(from_rows(table, engine))


def as_sample(engine, expansions, rests):
    """Tell the package's steps how the clusters were drawn."""
    number = sum(map(len, expansions))
    columns = {EXPANSION: np.concatenate(expansions), REST: np.concatenate(rests), STRATUM: [""] * number}
    table = pa.table({IDEAL: np.arange(number), **columns})
    clusters = engine.checkpoint(from_rows(table, engine))
    return Sample(sees_outside=True, clusters=clusters)


def cover_values(law, draw, number, repeats, *, is_designed, label=""):
    """Count how often the intervals of values hold the truth, and how wide they are."""
    generator, engine = np.random.default_rng((SEED, number)), start_engine()
    weight, sums = draw_population(law)
    drawn, expansions, rests = draw(generator, weight, number, repeats)
    sample = as_sample(engine, expansions, rests) if is_designed else Sample(sees_outside=True)
    if not is_designed:
        expansions = [np.ones(len(clusters)) for clusters in drawn]
    frame = as_frame(engine, [sums], weight, drawn, expansions)
    varied = vary_sums(frame, (REPEAT,), METRICS, sample=sample)
    how = {"total_weight": 1.0, "sample": sample, "confidence": CONFIDENCE}
    found = engine.collect(lift_varied(varied, (REPEAT,), metrics=METRICS, **how))
    engine.close()
    row = {"population": law.name, "drawn": label, "clusters": number}
    for name in NAMES:
        truth = sums[name].sum() / weight.sum()
        low, high = (np.array(found[name + end].to_pylist(), float) for end in (LOW, HIGH))
        row[name] = float(np.mean((low <= truth) & (truth <= high)))
    return row


def test_nothing(law, number, repeats):
    """Count how often equally good variants are told apart: one of one, any of several, and in any of many slices."""
    generator, engine = np.random.default_rng((SEED, number, 2)), start_engine()
    weight, runs = draw_equal_variants(law)
    drawn, expansions, _ = draw_uniformly(generator, weight, number, repeats)
    ones = [np.ones(len(clusters)) for clusters in expansions]
    settings = {"metrics": METRICS, "engine": engine, "confidence": 0.95, "sample": Sample(sees_outside=True)}
    pairs = [VariantPair("0", str(n + 1)) for n in range(VARIANTS)]
    found = find_deltas(as_frame(engine, runs[:2], weight, drawn, ones), (REPEAT,), pairs[:1], **settings)
    shares = {"one against one": [is_told_apart(row, row["p_value"]) for row in found]}
    drawn_by_items, expansions, rests = draw_by_items(generator, weight, number, repeats)
    frame, sample = as_frame(engine, runs[:2], weight, drawn_by_items, expansions), as_sample(engine, expansions, rests)
    found = find_deltas(frame, (REPEAT,), pairs[:1], **settings | {"sample": sample})
    shares["one against one, drawn by items"] = [is_told_apart(row, row["p_value"]) for row in found]
    # Each repeat is a family of tests, and asks the engine anew.
    some = range(max(1, repeats // 10))
    frames = {
        parts: as_frame(engine, runs, weight, drawn[: len(some)], ones[: len(some)], parts=parts) for parts in PARTS
    }
    families = [(f"any of {VARIANTS} variants", PARTS[0], (), pairs)]
    families += [(f"any of {parts} slices", parts, (PART,), pairs[:1]) for parts in PARTS]
    for name, parts, by, tested in families:
        shares[name] = []
        for repeat in some:
            own = engine.checkpoint(frames[parts].filter(nw.col(REPEAT) == repeat))
            rows = find_deltas(own, by, tested, **settings)
            shares[name] += [any(is_told_apart(r, r["p_adjusted"]) for r in rows if r["metric"] == m) for m in NAMES]
    engine.close()
    return [{"told apart": kind, "clusters": number, "share": float(np.mean(n))} for kind, n in shares.items()]


def is_told_apart(row, p):
    """Tell whether a difference would get a verdict."""
    return p is not None and p <= 0.05 and row["up_clusters"] + row["down_clusters"] >= ENOUGH


def study(repeats, largest):
    """Run all designs."""
    sizes = [size for size in SIZES if size <= largest]
    rows = []
    for law in (ORDINARY, HEAVY, NEAR_PERFECT):
        for size in sizes:
            rows.append(cover_values(law, draw_uniformly, size, repeats, is_designed=False, label="clusters"))
            rows.append(cover_values(law, draw_by_items, size, repeats, is_designed=True, label="items"))
    rows += [
        cover_values(ORDINARY, draw_uniformly, size, repeats, is_designed=False, label="a slice") for size in (3, 5, 10)
    ]
    known = "clusters, population known"
    rows += [
        cover_values(FINITE, draw_uniformly, size, repeats, is_designed=True, label=known) for size in (100, 200, 320)
    ]
    for size in sizes:
        rows.append(cover_values(LARGEST, draw_uniformly, size, repeats, is_designed=False, label="clusters"))
        rows.append(cover_values(LARGEST, draw_by_items, size, repeats, is_designed=True, label="items"))
    return rows


def draw(rows, nulls):
    """Lay the results out as Markdown."""
    heads = " | ".join(name.replace("_", " ") for name in NAMES)
    lines = [f"| population | drawn | clusters or items | {heads} |", "|---|---|---:|---:|---:|---:|"]
    for row in rows:
        shares = " | ".join(f"{row[name]:.1%}" for name in NAMES)
        lines.append(f"| {row['population']} | {row['drawn']} | {row['clusters']:,} | {shares} |")
    lines += ["", "| equally good variants told apart | clusters | share of runs |", "|---|---:|---:|"]
    lines += [f"| {row['told apart']} | {row['clusters']:,} | {row['share']:.1%} |" for row in nulls]
    return "\n".join(lines) + "\n"


def main():
    """Run all studies and write the results."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--repeats", type=count, default=1_000, help="how many truths to draw")
    parser.add_argument("--clusters", type=count, default=1_000, help="ideal clusters of the largest")
    parser.add_argument("--results", type=Path, default=RESULTS, help="folder to write the tables to")
    options = parser.parse_args()
    rows = study(options.repeats, options.clusters)
    sizes = [size for size in (200, 1_000, 5_000) if size <= 5 * options.clusters]
    nulls = [row for size in sizes for row in test_nothing(ORDINARY, size, options.repeats)]
    options.results.mkdir(parents=True, exist_ok=True)
    found = {"coverage": rows, "nothing": nulls}
    (options.results / "intervals.json").write_text(json.dumps(found, indent=2) + "\n", encoding="utf-8")
    (options.results / "intervals.md").write_text(draw(rows, nulls), encoding="utf-8")
    if options.results == RESULTS:
        show_on_page(draw(rows, nulls))
    print(draw(rows, nulls))


def show_on_page(text):
    """Put the tables into the page that explains intervals."""
    before, rest = PAGE.read_text(encoding="utf-8").split(BEGIN)
    PAGE.write_text(before + BEGIN + text + END + rest.split(END)[1], encoding="utf-8")


if __name__ == "__main__":
    main()
