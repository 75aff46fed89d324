"""Search for slices: how long it takes, and how often one is found where nothing differs.

python benchmarks/slices.py [--items 1e6] [--repeats 200]
"""

from __future__ import annotations

import numpy as np
import pyarrow as pa

import pointwise as pw
from _measure import Bench, arguments, count, median_of


def draw(seed: int, *, clusters: int, size: int, attributes: int) -> dict[str, pa.Table]:
    """Draw clusters whose items fall off at random, whatever their attributes are."""
    rng = np.random.default_rng(seed)
    n = clusters * size
    items, ideal = np.arange(n), np.arange(n) // size
    known = {f"text_{k}": rng.choice([f"v{v}" for v in range(2 + 3 * k)], n) for k in range(attributes // 2)}
    known |= {f"number_{k}": rng.lognormal(0, 1, n).round(3) for k in range(attributes - len(known))}
    actual = np.where(rng.random(n) < rng.beta(1, 9, clusters)[ideal], clusters + items, ideal)
    return {
        "ideal": pa.table({"item": items, "cluster": ideal}),
        "actual": pa.table({"item": items, "cluster": actual}),
        "attributes": pa.table({"item": items} | known),
    }


def search(items: int, repeats: int) -> dict[str, object]:
    """Search among many items with ten attributes."""
    evaluation = pw.evaluate(**draw(1, clusters=items // 5, size=5, attributes=10), metrics="recall", keep_items=True)
    seconds = median_of(lambda: pw.find_slices(evaluation, "recall"), repeats)
    tried = pw.find_slices(evaluation, "recall").tried
    return {
        "what": f"{items:,} items, ten attributes, {tried} slices tried",
        "found": f"{seconds:.1f} s",
        "bar": "15 s",
    }


def search_noise(repeats: int) -> dict[str, object]:
    """Count how often a slice is found where none is worse."""
    found = 0
    for seed in range(repeats):
        evaluation = pw.evaluate(**draw(seed, clusters=300, size=5, attributes=6), metrics="recall")
        found += bool(pw.find_slices(evaluation, "recall").rows)
    share = f"{found} ({found / repeats:.1%})"
    return {"what": f"{repeats} data sets without any effect: those with a finding", "found": share, "bar": "5.0%"}


def main() -> None:
    """Measure both."""
    parser = arguments(__doc__)
    parser.add_argument("--items", type=count, default=1_000_000, help="how many items to search")
    parser.add_argument("--repeats", type=int, default=200, help="how many data sets without any effect to search")
    options = parser.parse_args()
    bench = Bench.told_by(options)
    rows = [search(options.items, bench.repeats(3)), search_noise(options.repeats)]
    bench.save("slices", "Slices that are found", rows)


if __name__ == "__main__":
    main()
