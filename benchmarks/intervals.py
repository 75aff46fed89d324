"""How often do intervals hold the true value? A simulation with a known population.

A population of ideal clusters with skewed sizes, as entity resolution has them, is clustered by a noisy algorithm
that tears some clusters apart and merges others. Its values are the truth. Then a small truth is drawn from it, 200
ideal clusters at a time, 2,000 times, and each time the intervals are computed by the code that users run. Members
of actual clusters outside the drawn truth count as wrong (`outside="wrong"`), so that over-merging is visible.

    python benchmarks/intervals.py [--repeats 2000] [--clusters 200]

writes benchmarks/results/intervals.json and intervals.md. It takes about a minute.
"""

import argparse
import json
from pathlib import Path

import narwhals.stable.v2 as nw
import numpy as np
import pyarrow as pa

from _measure import RESULTS, count
from pointwise.columns import HIGH, IDEAL, ITEMS, LOW, WEIGHT
from pointwise.comparison.deltas import VARIANT, Pair, spread_pairs
from pointwise.core.metrics import find_metrics
from pointwise.core.sample import Sample
from pointwise.engines import start_engine
from pointwise.uncertainty.bootstrap import find_ends
from pointwise.uncertainty.intervals import ERROR, FREEDOM, REACH, find_influences, lift_with_intervals, spread
from pointwise.uncertainty.student_t import critical_value

METRICS = find_metrics(["precision", "recall", "jaccard_distance"])
NAMES = [m.name for m in METRICS]
POPULATION, RESAMPLES = 100_000, 400
REPEAT = "repeat"
SAMPLE = Sample(sees_outside=True)


def draw_sizes(generator, exponent, most):
    """Draw sizes with a power law: P(k) is proportional to k ** -exponent."""
    sizes = np.arange(1, most + 1)
    probability = sizes ** -float(exponent)
    return generator.choice(sizes, POPULATION, p=probability / probability.sum())


def cluster_with_noise(generator, ideal, *, split):
    """Let a share of some clusters leave, and merge some clusters into others."""
    leaving = np.where(generator.random(POPULATION) < split, generator.beta(1, 3, POPULATION), 0.0)
    has_left = generator.random(len(ideal)) < leaving[ideal]
    target = np.arange(POPULATION)
    merged = generator.random(POPULATION) < 0.05
    target[merged] = generator.integers(0, POPULATION, merged.sum())
    return np.where(has_left, POPULATION + ideal, target[ideal])


def sum_clusters(ideal, actual):
    """Sum weight times metric over the items of every ideal cluster, with unit weights."""
    _, cell, shared = np.unique(ideal * (2 * POPULATION) + actual, return_inverse=True, return_counts=True)
    tp, size, other = shared[cell], np.bincount(ideal)[ideal], np.bincount(actual)[actual]
    values = {"precision": tp / other, "recall": tp / size, "jaccard_distance": 1 - tp / (size + other - tp)}
    return {name: np.bincount(ideal, weights=value) for name, value in values.items()}


def as_frame(engine, sums, weight, drawn, variant):
    """Lay out drawn ideal clusters as the package's own steps do."""
    flat = drawn.ravel()
    columns = {
        VARIANT: [variant] * len(flat),
        REPEAT: np.repeat(np.arange(len(drawn)), drawn.shape[1]),
        IDEAL: np.tile(np.arange(drawn.shape[1]), len(drawn)),
        ITEMS: weight[flat].astype(np.int64),
        WEIGHT: weight[flat],
        **{name: sums[name][flat] for name in NAMES},
    }
    table = pa.table(columns)
    return engine.checkpoint(engine.read(table).load(table.column_names))


def simple_interval(sums, weight, drawn):
    """Compute the textbook interval: linearised error, 1.96 times to either side."""
    b = weight[drawn]
    total = b.sum(axis=1, keepdims=True)
    for name in NAMES:
        a = sums[name][drawn]
        value = a.sum(axis=1, keepdims=True) / total
        error = np.sqrt(((a - value * b) ** 2).sum(axis=1)) / total[:, 0]
        yield name, value[:, 0] - 1.96 * error, value[:, 0] + 1.96 * error


def bootstrap_errors(generator, sums, weight, drawn):
    """Return the bootstrap's standard error of every metric for each drawn truth."""
    errors = {name: np.empty(len(drawn)) for name in sums}
    for n, clusters in enumerate(drawn):
        choices = generator.integers(0, len(clusters), (RESAMPLES, len(clusters)))
        offsets = np.arange(RESAMPLES)[:, None] * len(clusters)
        counts = np.bincount((choices + offsets).ravel(), minlength=choices.size).reshape(choices.shape)
        total = counts @ weight[clusters]
        for name, column in sums.items():
            errors[name][n] = np.std(counts @ column[clusters] / total)
    return errors


def hold(low, high, truth):
    """Return the share of intervals that hold the truth; none at all holds nothing."""
    return float(np.mean((low <= truth) & (truth <= high)))


def study(name, exponent, most, *, repeats, clusters, seed=0):
    """Run the simulation for one law of sizes."""
    generator, engine = np.random.default_rng(seed), start_engine()
    ideal = np.repeat(np.arange(POPULATION), draw_sizes(generator, exponent, most))
    weight = np.bincount(ideal).astype(float)
    runs = {
        variant: sum_clusters(ideal, cluster_with_noise(generator, ideal, split=split))
        for variant, split in (("baseline", 0.3), ("again", 0.3), ("experiment", 0.18))
    }
    truth = {v: {n: s[n].sum() / weight.sum() for n in NAMES} for v, s in runs.items()}
    drawn = generator.integers(0, POPULATION, (repeats, clusters))
    frames = {v: as_frame(engine, s, weight, drawn, v) for v, s in runs.items()}
    rows = [*cover_values(generator, engine, frames["baseline"], runs["baseline"], weight, drawn, truth["baseline"])]
    rows += cover_deltas(generator, engine, frames, runs, weight, drawn, truth)
    heavy = weight[drawn] / weight[drawn].sum(axis=1, keepdims=True)
    effective = float(np.median(1 / (heavy**2).sum(axis=1)))
    facts = {"sizes": name, "mean_size": float(weight.mean()), "effective_clusters": effective}
    return [facts | row for row in rows]


def cover_values(generator, engine, frame, sums, weight, drawn, truth):  # noqa: PLR0917
    """Count how often intervals of values hold the truth."""
    lifted = lift_with_intervals(frame, (REPEAT,), metrics=METRICS, total_weight=1.0, sample=SAMPLE).sort(REPEAT)
    found = engine.collect(lifted)
    freedom = engine.collect(
        spread(find_influences(frame, (REPEAT,), METRICS), (REPEAT,), NAMES, confidence=0.95, sample=SAMPLE).sort(
            REPEAT
        )
    )
    errors = bootstrap_errors(generator, sums, weight, drawn)
    simple = {name: (low, high) for name, low, high in simple_interval(sums, weight, drawn)}
    for metric in METRICS:
        name = metric.name
        ends = [np.array(found[name + end].to_pylist(), float) for end in (LOW, HIGH)]
        reach = errors[name] * [critical_value(0.95, df or 1.0) for df in freedom[name + FREEDOM].to_pylist()]
        lightness = (weight[drawn] ** 2).sum(axis=1) / weight[drawn].sum(axis=1) ** 2
        values = found[name].to_pylist()
        drawn_ends = find_ends(metric, values, reach, lightness, engine=engine, confidence=0.95, sample=SAMPLE)
        drawn_ends = [np.array(end, float) for end in drawn_ends]
        yield {
            "value": name,
            "truth": float(truth[name]),
            "closed_form": hold(*ends, truth[name]),
            "bootstrap": hold(*drawn_ends, truth[name]),
            "textbook": hold(*simple[name], truth[name]),
        }


def cover_deltas(generator, engine, frames, runs, weight, drawn, truth):  # noqa: PLR0917
    """Count how often intervals of differences hold the truth, and how often they leave out a null difference."""
    total = weight[drawn].sum(axis=1)
    for experiment, kind in (("experiment", "delta"), ("again", "null delta")):
        stacked = nw.concat([frames["baseline"], frames[experiment]])
        pair = [Pair("baseline", experiment)]
        paired = spread_pairs(stacked, (REPEAT,), pair, metrics=METRICS, engine=engine, sample=SAMPLE)
        found = engine.collect(paired.sort(REPEAT))
        differences = {n: runs[experiment][n] - runs["baseline"][n] for n in NAMES}
        errors = bootstrap_errors(generator, differences, weight, drawn)
        for name in NAMES:
            true = truth[experiment][name] - truth["baseline"][name] if kind == "delta" else 0.0
            away = np.abs(differences[name][drawn].sum(axis=1) / total - true)
            reach = np.array(found[name + REACH].to_pylist(), float)
            critical = np.array([critical_value(0.95, df or 1.0) for df in found[name + FREEDOM].to_pylist()])
            simple = 1.96 * np.array(found[name + ERROR].to_pylist(), float)
            yield {
                "value": f"{kind} of {name}",
                "truth": float(true),
                "closed_form": float(np.mean(away <= reach)),
                "bootstrap": float(np.mean(away <= critical * errors[name])),
                "textbook": float(np.mean(away <= simple)),
            }


def draw(rows):
    """Lay the results out as Markdown."""
    lines = [
        "| sizes | value | true value | closed form | bootstrap | value ± 1.96 errors |",
        "|---|---|---:|---:|---:|---:|",
    ]
    for row in rows:
        shares = " | ".join(f"{row[c]:.1%}" for c in ("closed_form", "bootstrap", "textbook"))
        lines.append(f"| {row['sizes']} | {row['value']} | {row['truth']:+.4f} | {shares} |")
    return "\n".join(lines) + "\n"


def main():
    """Run all studies and write the results."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--repeats", type=count, default=2_000, help="how many truths to draw")
    parser.add_argument("--clusters", type=count, default=200, help="ideal clusters of each")
    parser.add_argument("--results", type=Path, default=RESULTS, help="folder to write the tables to")
    options = parser.parse_args()
    sizes = {"repeats": options.repeats, "clusters": options.clusters}
    laws = (("power law 2.5, at most 100", 2.5, 100), ("power law 2, at most 100", 2.0, 100))
    rows = [row for name, exponent, most in laws for row in study(name, exponent, most, **sizes)]
    options.results.mkdir(parents=True, exist_ok=True)
    (options.results / "intervals.json").write_text(json.dumps(rows, indent=2) + "\n", encoding="utf-8")
    (options.results / "intervals.md").write_text(draw(rows), encoding="utf-8")
    print(draw(rows))


if __name__ == "__main__":
    main()
