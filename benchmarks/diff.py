"""How good are estimates from judgements, and how long do diffs and questions take?

First a simulation in which the truth is the judge. Diffs of successive PatentsView releases, and of synthetic
clusterings with skewed sizes and weights, are judged by a truth that knows every answer. Many samples of 100 and of 500
draws are taken, and each time all estimates and their intervals are computed by the code that users run. The exact
values come from a cross-tabulation with the truth. Pairs of the same cells with the same answer count the same, so that
samples are drawn from such kinds of pairs, which takes no look at items; a large sample that the users' sampler draws
is held against them. How often the interval of a rate holds is not simulated but computed, over all numbers of yeses.

    python benchmarks/diff.py [--repeats 1000]

writes `benchmarks/results/diff_needed.*` and `diff_coverage.*`; it takes about ten minutes. With

    python benchmarks/diff.py --repeats 0 --large 100e6 [--folder DIR]

the time of a large diff is measured instead, next to an evaluation of the same files, and written to `diff_large.*`.
"""

from __future__ import annotations

import tempfile
import time
from collections import defaultdict
from contextlib import closing
from dataclasses import dataclass
from itertools import combinations, pairwise
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from scipy.stats import binom

import pointwise as pw
from _measure import Bench, arguments, connect, count, say
from large import write
from pointwise.diffs.estimates import Counted, estimate_all
from pointwise.diffs.questions import Question, allocate
from pointwise.diffs.sampling import Sampler
from pointwise.diffs.strata import MERGE, MINUS, PLUS, SPLIT

SIZES = (100, 500)
HALF_WIDTH = 0.01
SAMPLED = 10_000  # pairs of each diff that the sampler draws
FEW = 100  # samples that tell how wide intervals are
QUESTIONS = 500
ROUNDING = 1e-9
RATES = {SPLIT: ("good_split_rate", "bad_split_rate"), MERGE: ("good_merge_rate", "bad_merge_rate")}
SHOWN = (
    "delta_precision",
    "good_split_rate",
    "bad_split_rate",
    "good_merge_rate",
    "bad_merge_rate",
    "good_distance",
    "symmetric_iq",
)


def exact_values(base, exp, truth, weights):
    """Compute what judges would find if they were asked everything."""
    sums = defaultdict(lambda: defaultdict(float))
    for item in base:
        keys = base[item], exp[item], truth[item]
        for name, part in (("b", (0,)), ("e", (1,)), ("k", (0, 1)), ("bt", (0, 2)), ("et", (1, 2)), ("kt", (0, 1, 2))):
            sums[name][tuple(keys[n] for n in part)] += weights[item]
    total = sum(weights.values())
    found = defaultdict(float)
    for (b_, e_, t_), pk in sums["kt"].items():
        b, e, k = sums["b"][b_,], sums["e"][e_,], sums["k"][b_, e_]
        ps, pm, u = sums["bt"][b_, t_] - pk, sums["et"][e_, t_] - pk, b + e - k
        values = {
            "delta_precision": (pk + pm) / e - (ps + pk) / b,
            "good_split_rate": (b - k - ps) / b,
            "bad_split_rate": ps / b,
            "good_merge_rate": pm / e,
            "bad_merge_rate": (e - k - pm) / e,
            "good_distance": (b - k - ps + pm) / u,
            "bad_distance": (ps + e - k - pm) / u,
            "good": b - k - ps + pm,
            "bad": ps + e - k - pm,
        }
        for name, value in values.items():
            found[name] += pk * value / total
    good, bad = found.pop("good"), found.pop("bad")
    found["symmetric_iq"] = (good - bad) / (good + bad)
    return dict(found)


@dataclass(frozen=True)
class Kinds:
    """The kinds of pairs of a stratum: pairs of one kind have the same answer and count the same in every estimate.

    Args:
        masses: How much the pairs of each kind weigh together: a pair is drawn in proportion to that.
        facts: What estimates need to know of each: the weight of the cluster that holds both items, the unions of
            either, and the answer.
    """

    masses: np.ndarray
    facts: list[tuple[float, tuple[float, float], float]]

    @property
    def share(self):
        """The share of yes."""
        return float(self.masses @ [answer for *_, answer in self.facts] / self.masses.sum())

    def draw(self, generator, number, repeats):
        """Draw samples: for each, the kinds that were drawn, and how often."""
        ends = self.masses.cumsum()
        drawn = np.searchsorted(ends, generator.random((repeats, number)) * ends[-1], side="right")
        return [np.unique(one.clip(max=len(ends) - 1), return_counts=True) for one in drawn]


def find_kinds(base, exp, truth, weights):
    """List the kinds of pairs of all strata from two items' cells, and from whether they belong together."""
    cells, squares, total = defaultdict(lambda: defaultdict(float)), defaultdict(float), sum(weights.values())
    sides = {SPLIT: defaultdict(dict), MERGE: defaultdict(dict)}
    for item, weight in weights.items():
        cell = base[item], exp[item]
        cells[cell][truth[item]] += weight
        squares[cell, truth[item]] += weight**2
        sides[SPLIT][base[item]][cell] = sides[MERGE][exp[item]][cell] = None
    sizes = {cell: sum(parts.values()) for cell, parts in cells.items()}
    clusters = {s: {key: sum(sizes[c] for c in own) for key, own in sides[s].items()} for s in sides}
    unions = {c: clusters[SPLIT][c[0]] + clusters[MERGE][c[1]] - size for c, size in sizes.items()}
    found = defaultdict(list)

    def add(stratum, factor, pairs, right, *known):
        found[stratum] += [(factor * right, *known, 1.0), (factor * (pairs - right), *known, 0.0)]

    for stratum, clusters_of in sides.items():
        for key, own in clusters_of.items():
            for one, other in combinations(own, 2):
                right = sum(part * cells[other].get(t, 0.0) for t, part in cells[one].items())
                weight = clusters[stratum][key]
                known = weight, (unions[one], unions[other])
                add(stratum, 2 / (total * weight), sizes[one] * sizes[other], right, *known)
    for cell, parts in cells.items():
        gain = 1 / clusters[MERGE][cell[1]] - 1 / clusters[SPLIT][cell[0]]
        right = sum(part**2 - squares[cell, t] for t, part in parts.items())
        pairs = sizes[cell] ** 2 - sum(squares[cell, t] for t in parts)
        add(PLUS if gain > 0 else MINUS, abs(gain) / total, pairs, right, 0.0, (0.0, 0.0))
    return {s: make_kinds(rows) for s, rows in found.items() if sum(row[0] for row in rows) > ROUNDING}


def make_kinds(rows):
    """Put what is the same together, and leave out what is never drawn."""
    sums = defaultdict(float)
    for mass, *facts in rows:
        sums[tuple(facts)] += mass
    drawn = {facts: mass for facts, mass in sums.items() if mass > ROUNDING**2}
    return Kinds(np.array(list(drawn.values())), list(drawn))


def simulate(kinds, masses, number, repeats, seed):
    """Take many samples and estimate from each what users would."""
    sizes = allocate({s: masses.of(s) for s in kinds}, number, {})
    generator = np.random.default_rng(seed)
    drawn = {s: kinds[s].draw(generator, n, repeats) for s, n in sizes.items()}
    for repeat in range(repeats):
        counted = []
        for stratum, samples in drawn.items():
            for kind, draws in zip(*samples[repeat], strict=True):
                weight, unions, answer = kinds[stratum].facts[kind]
                counted.append(Counted(Question(0, 1, stratum, 0, 1, int(draws), weight, unions), answer, None))
        yield estimate_all(masses, counted, confidence=0.95)


def holds(estimate, value):
    """Tell whether an interval holds a value, up to rounding."""
    return estimate.low - ROUNDING <= value <= estimate.high + ROUNDING


def cover_rates(kinds, masses, number, exact):
    """Compute how often the intervals of rates hold, over every number of yeses that a sample may have."""
    sizes = allocate({s: masses.of(s) for s in kinds}, number, {})
    found = defaultdict(float)
    for stratum, names in RATES.items():
        for yes in range(sizes[stratum] + 1 if stratum in kinds else 0):
            given = [(draws, answer) for draws, answer in ((yes, 1.0), (sizes[stratum] - yes, 0.0)) if draws]
            counted = [Counted(Question(0, 1, stratum, 0, 1, n, 1.0, (1.0, 1.0)), answer, None) for n, answer in given]
            estimates = estimate_all(masses, counted, confidence=0.95)
            chance = float(binom.pmf(yes, sizes[stratum], kinds[stratum].share))
            for name in names:
                found[name] += chance * holds(estimates[name], exact[name])
    return found


def check_sampler(diff, truth, kinds):
    """Draw a large sample by the code that users run; say how far its shares of yes are off, in standard errors."""
    sizes = allocate({s: diff.masses.of(s) for s in kinds}, SAMPLED, {})
    answers = defaultdict(list)
    for one in Sampler(diff.evidence, 1).draw(sizes):
        answers[one.stratum].append(truth[one.items[0]] == truth[one.items[1]])
    off = [0.0]
    for stratum, given in answers.items():
        share = kinds[stratum].share
        error = np.sqrt(share * (1 - share) / len(given))
        off.append(abs(np.mean(given) - share) / error if error > ROUNDING else float(np.mean(given) != round(share)))
    return float(max(off))


def summarise(estimates, exact):
    """Say how often intervals hold the exact value, and how far estimates are off in the mean."""
    rows = {}
    for name in SHOWN:
        found = [estimate[name] for estimate in estimates]
        values = np.array([one.value for one in found])
        error = values.std(ddof=1) / np.sqrt(len(values)) if len(values) > 1 else 0.0
        rows[name] = {
            "exact": exact[name],
            "mean": float(values.mean()),
            "bias_in_errors": float((values.mean() - exact[name]) / error) if error > 1e-15 else 0.0,
            "coverage": float(np.mean([holds(one, exact[name]) for one in found])),
            "half_width": float(np.mean([one.half_width for one in found])),
            "samples": len(found),
        }
    return rows


def read(path):
    """Read a clustering as a dictionary."""
    table = pq.read_table(path)
    return dict(zip(table["item"].to_pylist(), table["cluster"].to_pylist(), strict=True))


def as_table(clustering):
    """Make a table of a clustering."""
    return pa.table({"item": list(clustering), "cluster": [str(c) for c in clustering.values()]})


def patentsview(most):
    """Yield the diffs of successive releases; the inventors that the truth knows are complete, all others are alone."""
    data = pw.datasets.patentsview()
    truth = read(data.truth)
    for old, new in list(pairwise(data.releases))[-most:]:
        base, exp = (read(data.releases[name]) for name in (old, new))
        items = [item for item in base if item in exp]
        sides = [{i: side.get(i, i) for i in items} for side in (base, exp, truth)]
        yield f"{old} to {new}", sides, dict.fromkeys(items, 1.0)


def synthetic(number):
    """Make diffs with skewed sizes and weights: a truth, and two noisy clusterings of it."""
    for name, noise, skew in (("rare mistakes", 0.02, 0.5), ("many mistakes", 0.2, 0.5), ("skewed weights", 0.1, 2.0)):
        generator = np.random.default_rng(18)
        truth = np.repeat(np.arange(number), generator.zipf(1.8, number).clip(max=200))[:number]

        def noisy(truth=truth, noise=noise, generator=generator):
            clusters = truth.copy()
            moved = generator.random(number) < noise
            clusters[moved] = generator.integers(0, truth.max() + number // 20, moved.sum())
            return clusters

        sides = [noisy(), noisy(), truth]
        items = [f"i{n}" for n in range(number)]
        weights = dict(zip(items, generator.lognormal(0, skew, number).tolist(), strict=True))
        yield name, [dict(zip(items, side.tolist(), strict=True)) for side in sides], weights


def measure(name, sides, weights, repeats):
    """Simulate one diff at all sizes, and at the size that the target width asks for."""
    base, exp, truth = sides
    if all(base[i] == exp[i] for i in base):
        return None
    diff = pw.diff(baseline=as_table(base), experiment=as_table(exp), weights=weights)
    if not diff.masses.total:
        return None
    exact, kinds = exact_values(base, exp, truth, weights), find_kinds(base, exp, truth, weights)
    for stratum, own in kinds.items():
        assert abs(own.masses.sum() - diff.masses.of(stratum)) < ROUNDING, "the diff knows what there is to draw"
    needed = max(30, int(np.ceil((0.98 * diff.masses.total / HALF_WIDTH) ** 2)))
    samples = {needed: min(repeats, FEW)} | dict.fromkeys(SIZES, repeats)
    sizes = {
        size: summarise(list(simulate(kinds, diff.masses, size, number, size)), exact)
        for size, number in samples.items()
    }
    for size in SIZES:
        for rate, coverage in cover_rates(kinds, diff.masses, size, exact).items():
            sizes[size][rate] |= {"coverage": coverage, "samples": "all"}
    sampler = check_sampler(diff, truth, kinds)
    reached = sizes[needed]["delta_precision"]
    say(f"{name}: {needed:,} draws for a half width of {reached['half_width']:.4f}")
    diff.close()
    return {
        "diff": name,
        "items": len(base),
        "jaccard_distance": diff.masses.jaccard_distance,
        "needed": needed,
        "sampler": sampler,
        "sizes": {str(size): rows for size, rows in sizes.items()},
    }


def tabulate_needed(rows):
    """List what a half width of 0.01 takes."""
    for row in rows:
        found = row["sizes"][str(row["needed"])]["delta_precision"]
        yield {
            "diff": row["diff"],
            "items": row["items"],
            "Jaccard distance": f"{row['jaccard_distance']:.4f}",
            "DeltaPrecision, exact": f"{found['exact']:+.4f}",
            "questions": row["needed"],
            "half width": f"{found['half_width']:.4f}",
            f"{SAMPLED:,} draws off by standard errors": f"{row['sampler']:.1f}",
        }


def tabulate_coverage(rows):
    """List how often intervals hold, over all diffs."""
    for name in SHOWN:
        for size in SIZES:
            found = [row["sizes"][str(size)][name] for row in rows]
            coverage = [one["coverage"] for one in found]
            off = [abs(one["bias_in_errors"]) for one in found]
            yield {
                "estimate": name,
                "questions": size,
                "samples of each diff": found[-1]["samples"],
                "coverage, mean": f"{np.mean(coverage):.1%}",
                "least": f"{min(coverage):.1%}",
                "bias in standard errors, median": f"{np.median(off):.1f}",
                "largest": f"{max(off):.1f}",
            }


def timed(work):
    """Do something; return the result, the time that passed and the time that processors worked, in seconds."""
    passed, worked = time.perf_counter(), time.process_time()
    result = work()
    return result, time.perf_counter() - passed, time.process_time() - worked


def measure_large(baseline, experiment):
    """Time an evaluation, the impact of a diff, and the questions of it."""

    def evaluate():
        with pw.evaluate(ideal=baseline, actual=experiment) as evaluation:
            return evaluation.overall

    def find_diff():
        diff = pw.diff(baseline=baseline, experiment=experiment)
        _ = diff.overall
        return diff

    _, *evaluated = timed(evaluate)
    diff, *changed = timed(find_diff)
    _, *asked = timed(lambda: diff.questions(QUESTIONS))
    diff.close()
    return evaluated, changed, asked


def tabulate_large(bench, number, folder):
    """List the time of a large diff next to that of an evaluation."""
    paths = [Path(folder) / f"{name}.parquet" for name in ("baseline", "experiment")]
    with closing(connect(Path(folder) / "spill")) as connection:
        for path, moved in zip(paths, (False, True), strict=True):
            write(connection, path, number, number, moved=moved)
    (evaluated, changed, asked), memory = bench.in_process(measure_large, *map(str, paths))
    works = {
        "evaluate": (evaluated, None),
        "diff: impact": (changed, 1.2),
        f"{QUESTIONS} questions, on top": (asked, None),
    }
    for name, ((passed, worked), bar) in works.items():
        yield {
            "items on each side": number,
            "work": name,
            "s": passed,
            "processor s": worked,
            "times evaluate": passed / evaluated[0],
            "in processor time": worked / evaluated[1],
            "at most": bar,
            "GB": memory,
        }


def main():
    """Simulate, or measure a large diff, and write the tables."""
    parser = arguments(__doc__)
    parser.add_argument("--repeats", type=count, default=1000, help="samples per diff and size; 0 for none")
    parser.add_argument("--releases", type=count, default=14, help="pairs of successive PatentsView releases")
    parser.add_argument("--items", type=count, default=20_000, help="of a synthetic diff")
    parser.add_argument(
        "--large", type=count, default=0, help="items on each side of a large diff, instead of all that"
    )
    parser.add_argument("--folder", type=Path, help="where to keep the generated files")
    given = parser.parse_args()
    bench = Bench.told_by(given)
    if given.repeats:
        simulate_all(bench, given)
    if given.large:
        with tempfile.TemporaryDirectory() as temporary:
            folder = given.folder or Path(temporary)
            folder.mkdir(parents=True, exist_ok=True)
            bench.save("diff_large", "Large diffs", list(tabulate_large(bench, given.large, folder)))


def simulate_all(bench, given):
    """Simulate all diffs, and write the tables after each, because it takes long."""
    found = []
    for diff in (*patentsview(given.releases), *synthetic(given.items)):
        row = measure(*diff, given.repeats)
        if row is not None:
            found.append(row)
            bench.save("diff_needed", "Questions for a half width of 0.01", list(tabulate_needed(found)), quiet=True)
            bench.save("diff_coverage", "How often intervals hold", list(tabulate_coverage(found)), quiet=True)


if __name__ == "__main__":
    main()
