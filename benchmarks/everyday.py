"""Everyday work: start-up, tiny calls, ten variants, questions to a stored run, and how time grows with size.

    python benchmarks/everyday.py [--items 1000000]

Prints tables and writes them to `benchmarks/results/everyday.*` and `growth.*`.
"""

from __future__ import annotations

import argparse
import math
import subprocess
import sys
import tempfile
from functools import partial
from pathlib import Path
from typing import Any

import duckdb
import numpy as np

import pointwise as pw
from _measure import best_of, in_process, save
from large import write

PAPER = {"ideal": [["i1", "i2"], ["i3"]], "actual": [["i1", "i3"], ["i2"]], "weights": {"i1": 1, "i2": 2, "i3": 3}}


def command(*words: str, repeats: int = 5) -> float:
    """Time a command as a process of its own."""
    return best_of(lambda: subprocess.run(words, check=True, capture_output=True), repeats)


def everyday(folder: Path, items: int) -> list[dict[str, Any]]:
    """Time what people do most."""
    pointwise = str(Path(sys.executable).with_name("pointwise"))
    data = pw.datasets.patentsview()
    truth, newest = str(data.truth), str(data.releases["2022-06-30"])
    bare = command(sys.executable, "-c", "")
    rows = [
        {"work": "python -c ''", "s": bare},
        {"work": "import pointwise", "s": command(sys.executable, "-c", "import pointwise"), "bar s": 0.3},
        {"work": "pointwise --help", "s": command(pointwise, "--help"), "bar s": 0.4},
        {"work": "pointwise evaluate, PatentsView", "s": command(pointwise, "evaluate", truth, newest), "bar s": 2.0},
    ]
    variants = [f"{name}={path}" for name, path in data.releases.items()]
    rows.append(
        {
            "work": "pointwise compare, fifteen releases",
            "s": command(pointwise, "compare", truth, *variants, repeats=2),
            "bar s": 5.0,
        }
    )
    pw.evaluate(**PAPER).close()
    rows.append(
        {"work": "pw.evaluate, three items", "s": best_of(lambda: pw.evaluate(**PAPER).overall, 20), "bar s": 0.1}
    )
    return rows + stored_run(folder, items) + ten_variants(folder, items)


def stored_run(folder: Path, items: int) -> list[dict[str, Any]]:
    """Time questions to a stored run, next to the evaluation that made it."""
    connection = duckdb.connect()
    ideal, actual, run = folder / "ideal.parquet", folder / "actual.parquet", folder / "run"
    write(connection, ideal, items, items, moved=False)
    write(connection, actual, items, items, moved=True)
    evaluation = pw.evaluate(ideal=ideal, actual=actual)
    attributes = folder / "attributes.parquet"
    connection.execute(f"COPY (SELECT item, item % 50 AS kind FROM '{ideal}') TO '{attributes}'")
    item = connection.execute(f"SELECT item FROM '{ideal}' LIMIT 1").fetchone()[0]
    work = {
        "evaluate": lambda: pw.evaluate(ideal=ideal, actual=actual).overall,
        "save": partial(evaluation.save, run, overwrite=True),
        "load": lambda: pw.load(run).overall,
        "mistakes": lambda: pw.load(run).mistakes(20),
        "explain an item": lambda: pw.load(run).explain(item=item),
        "slice by a new attribute": lambda: pw.load(run).with_attributes(attributes).by_slice("kind").to_arrow(),
        "worst clusters": lambda: pw.load(run).by_ideal_cluster().worst("recall", 20).to_arrow(),
    }
    return [{"work": f"{name}, {items:,} items", "s": best_of(call, 3)} for name, call in work.items()]


def ten_variants(folder: Path, items: int) -> list[dict[str, Any]]:
    """Time a comparison of ten variants next to ten evaluations."""
    ideal, actual = folder / "ideal.parquet", folder / "actual.parquet"
    variants = {f"v{n}": actual for n in range(10)}

    def compare() -> None:
        pw.compare(ideal=ideal, variants=variants).overall.to_arrow()

    compared = best_of(compare, 1)
    alone = best_of(lambda: [pw.evaluate(ideal=ideal, actual=actual).overall for _ in variants], 1)
    return [
        {"work": f"compare ten variants, {items:,} items", "s": compared},
        {"work": f"ten evaluations, {items:,} items", "s": alone},
    ]


def evaluate_size(folder: str, items: int) -> float:
    """Time an evaluation of a size."""
    connection = duckdb.connect()
    paths = [Path(folder) / f"{side}_{items}.parquet" for side in ("ideal", "actual")]
    for path, moved in zip(paths, (False, True), strict=True):
        write(connection, path, items, items, moved=moved)
    return best_of(lambda: pw.evaluate(ideal=paths[0], actual=paths[1]).overall, 3)


def growth(folder: Path, items: int) -> list[dict[str, Any]]:
    """Time 1, 2, 4 and 8 times a size, and fit the exponent of growth."""
    sizes = [items * factor for factor in (1, 2, 4, 8)]
    rows = []
    for size in sizes:
        seconds, memory = in_process(evaluate_size, str(folder), size)
        rows.append(
            {"items on each side": f"{size:,}", "s": seconds, "GB": memory, "µs per item": seconds / size * 1e6}
        )
    exponent = np.polyfit([math.log(s) for s in sizes], [math.log(r["s"]) for r in rows], 1)[0]
    return [*rows, {"items on each side": "exponent", "s": float(exponent)}]


def main() -> None:
    """Measure and write the tables."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--items", type=lambda text: int(float(text)), default=1_000_000)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as temporary:
        save("everyday", "Everyday work", everyday(Path(temporary), options.items))
        save("growth", "Growth", growth(Path(temporary), 2 * options.items))


if __name__ == "__main__":
    main()
