"""Slices that are found: how long a search takes, and how often one is reported where nothing differs.

python benchmarks/slices.py time      # a million items with ten attributes
python benchmarks/slices.py chance    # 200 data sets without any effect
"""

from __future__ import annotations

import sys
import time

import numpy as np
import pyarrow as pa

import pointwise as pw


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


def measure_time() -> None:
    """Search among a million items with ten attributes."""
    evaluation = pw.evaluate(**draw(1, clusters=200_000, size=5, attributes=10), metrics="recall", keep_items=True)
    start = time.perf_counter()
    found = pw.find_slices(evaluation, "recall")
    print(f"{found.tried} slices of 1,000,000 items tried in {time.perf_counter() - start:.1f} s")


def measure_chance(runs: int = 200) -> None:
    """Count how often a slice is reported where none is worse."""
    reports = 0
    for seed in range(runs):
        evaluation = pw.evaluate(**draw(seed, clusters=300, size=5, attributes=6), metrics="recall")
        reports += bool(pw.find_slices(evaluation, "recall").rows)
    print(f"{reports} of {runs} data sets without an effect report a slice ({reports / runs:.1%})")


if __name__ == "__main__":
    {"time": measure_time, "chance": measure_chance}[sys.argv[1]]()
