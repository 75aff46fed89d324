"""Everyday work: start-up, tiny calls, ten variants, questions to a stored run, and how time grows with size.

    python benchmarks/everyday.py [--items 1000000]

Prints tables and writes them to `benchmarks/results/everyday.*` and `growth.*`. Times are medians of several runs; a
command is a process of its own, from its start to its end.
"""

from __future__ import annotations

import io
import math
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import closing, redirect_stdout
from functools import partial
from pathlib import Path
from typing import Any

from _measure import Bench, arguments, connect, count, median_of, medians_of, say
from large import write

PAPER = {"ideal": [["i1", "i2"], ["i3"]], "actual": [["i1", "i3"], ["i2"]], "weights": {"i1": 1, "i2": 2, "i3": 3}}
POINTWISE = str(Path(sys.executable).with_name("pointwise"))


def command(bench: Bench, *words: str | Path, repeats: int = 5) -> float:
    """Time a command as a process of its own."""
    if bench.is_smoke and words[0] == POINTWISE:
        return median_of(lambda: run_here(*words[1:]), 1)
    return median_of(lambda: subprocess.run(words, check=True, capture_output=True), bench.repeats(repeats))


def run_here(*words: str | Path) -> None:
    """Run a command of pointwise in this process, which is quick and measures nothing."""
    from pointwise.cli import app

    with redirect_stdout(io.StringIO()):
        failed = app([str(word) for word in words], standalone_mode=False)
    if failed:
        sys.exit(f"pointwise {words[0]} ended with {failed}")


def starting(bench: Bench) -> Iterator[dict[str, Any]]:
    """Time what people do first: start the program, and evaluate something small."""
    import pointwise as pw

    data = pw.datasets.patentsview()
    truth, newest = str(data.truth), str(data.releases["2022-06-30"])
    variants = [f"{name}={path}" for name, path in data.releases.items()][: 2 if bench.is_smoke else None]
    yield {"work": "python -c ''", "s": command(bench, sys.executable, "-c", "")}
    seconds = command(bench, sys.executable, "-c", "import pointwise")
    yield {"work": "import pointwise", "s": seconds, "at most": 0.3}
    yield {"work": "pointwise --help", "s": command(bench, POINTWISE, "--help"), "at most": 0.25}
    seconds = command(bench, POINTWISE, "evaluate", truth, newest)
    yield {"work": "pointwise evaluate, PatentsView", "s": seconds, "at most": 1.0}
    seconds = command(bench, POINTWISE, "compare", truth, *variants, repeats=3)
    yield {"work": f"pointwise compare, {len(variants)} releases of PatentsView", "s": seconds, "at most": 3.0}
    pw.evaluate(**PAPER).close()
    seconds = median_of(lambda: pw.evaluate(**PAPER).overall, bench.repeats(21))
    yield {"work": "pw.evaluate, three items", "s": seconds, "at most": 0.05}


def stored_run(bench: Bench, folder: Path, items: int) -> Iterator[dict[str, Any]]:
    """Time questions to a stored run, next to the evaluation that made it."""
    import pointwise as pw

    ideal, actual, run = folder / "ideal.parquet", folder / "actual.parquet", folder / "run"
    attributes = folder / "attributes.parquet"
    with closing(connect(folder / "spill")) as connection:
        write(connection, ideal, items, items, moved=False)
        write(connection, actual, items, items, moved=True)
        connection.execute(f"COPY (SELECT item, item % 50 AS kind FROM '{ideal}') TO '{attributes}'")
        item = connection.execute(f"SELECT min(item) FROM '{ideal}'").fetchone()[0]
    evaluation = pw.evaluate(ideal=ideal, actual=actual)
    calls = {
        "pw.evaluate": lambda: pw.evaluate(ideal=ideal, actual=actual).overall,
        "save": partial(evaluation.save, run, overwrite=True),
        "pw.load": lambda: pw.load(run).overall,
        "load, mistakes": lambda: pw.load(run).mistakes(20),
        "load, explain an item": lambda: pw.load(run).explain(item=item),
        "load, slice by a new attribute": lambda: pw.load(run).with_attributes(attributes).by_slice("kind").to_arrow(),
        "load, worst clusters": lambda: pw.load(run).by_ideal_cluster().worst("recall", 20).to_arrow(),
    }
    for name, call in calls.items():
        yield {"work": f"{name}, {items:,} items", "s": median_of(call, bench.repeats(5))}
    evaluation.close()
    commands = {
        "show": [],
        "slice": ["--attributes", str(attributes), "--slice", "kind"],
        "mistakes": [],
        "explain": ["--item", str(item)],
    }
    for name, words in commands.items():
        seconds = command(bench, POINTWISE, name, run, *words)
        yield {"work": f"pointwise {name}, {items:,} items", "s": seconds}


def ten_variants(bench: Bench, folder: Path, items: int) -> Iterator[dict[str, Any]]:
    """Time a comparison of ten variants next to ten evaluations, in turn."""
    import pointwise as pw

    ideal, actual = folder / "ideal.parquet", folder / "actual.parquet"
    variants = {f"v{n}": actual for n in range(2 if bench.is_smoke else 10)}

    def compare() -> None:
        pw.compare(ideal=ideal, variants=variants).by_variant().to_arrow()

    def evaluate() -> None:
        for variant in variants.values():
            with pw.evaluate(ideal=ideal, actual=variant) as evaluation:
                _ = evaluation.overall

    compared, alone = medians_of(compare, evaluate, repeats=bench.repeats(3))
    yield {"work": f"pw.compare, {len(variants)} variants, {items:,} items", "s": compared}
    yield {"work": f"pw.evaluate, {len(variants)} times, {items:,} items", "s": alone}


def evaluate_size(ideal: str, actual: str, repeats: int) -> float:
    """Time an evaluation."""
    import pointwise as pw

    def work() -> None:
        with pw.evaluate(ideal=ideal, actual=actual) as evaluation:
            _ = evaluation.overall

    return median_of(work, repeats)


def write_size(folder: str, items: int) -> tuple[str, str]:
    """Write two clusterings of a size."""
    paths = [Path(folder) / f"{side}_{items}.parquet" for side in ("ideal", "actual")]
    with closing(connect(Path(folder) / "spill")) as connection:
        for path, moved in zip(paths, (False, True), strict=True):
            write(connection, path, items, items, moved=moved)
    return str(paths[0]), str(paths[1])


def growth(bench: Bench, folder: Path, items: int) -> list[dict[str, Any]]:
    """Time 1, 2, 4 and 8 times a size, and fit the exponent of growth."""
    import numpy as np

    sizes = [items * factor for factor in ((1, 2) if bench.is_smoke else (1, 2, 4, 8))]
    rows = []
    for size in sizes:
        say(f"growth: {size:,} items")
        paths, _ = bench.in_process(write_size, str(folder), size)
        seconds, memory = bench.in_process(evaluate_size, *paths, bench.repeats(5))
        rows.append(
            {"items on each side": f"{size:,}", "s": seconds, "GB": memory, "µs per item": seconds / size * 1e6}
        )
    exponent = np.polyfit([math.log(s) for s in sizes], [math.log(r["s"]) for r in rows], 1)[0]
    return [*rows, {"items on each side": "exponent", "s": float(exponent)}]


def main() -> None:
    """Measure and write the tables."""
    parser = arguments(__doc__)
    parser.add_argument("--items", type=count, default=1_000_000, help="of the stored run; growth starts at twice that")
    options = parser.parse_args()
    bench = Bench.told_by(options)
    with tempfile.TemporaryDirectory() as temporary:
        folder, rows = Path(temporary), []
        for part in (
            starting(bench),
            stored_run(bench, folder, options.items),
            ten_variants(bench, folder, options.items),
        ):
            for row in part:
                say(row["work"])
                rows.append(row)
        bench.save("everyday", "Everyday work", rows)
        bench.save("growth", "Growth", growth(bench, folder, 2 * options.items))


if __name__ == "__main__":
    main()
