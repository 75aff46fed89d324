"""A process that stores runs without end, to be killed. `test_faults.py` starts it.

For every line on standard input, a child is forked that stores runs: below new names ("new"), or again and again below
one name ("same"). It writes its process id when it begins.
"""

from __future__ import annotations

import itertools
import os
import sys
import time
from pathlib import Path

import pointwise as pw

CLUSTERINGS = ({"a": 1, "b": 1, "c": 1}, {"a": 1, "b": 2, "c": 2})
RECALLS = (1.0, 5 / 9)
IDEAL = {"a": 1, "b": 1, "c": 1}


def save_without_end(evaluations: list[pw.Evaluation], folder: Path, mode: str) -> None:
    """Store the two evaluations in turn until someone kills this process."""
    os.write(1, f"{os.getpid()}\n".encode())
    for n in itertools.count():
        path = folder / ("same" if mode == "same" else f"new-{n}")
        evaluations[n % 2].save(path, overwrite=mode == "same")


def main() -> None:
    """Say how long storing takes, then fork a child for every line."""
    # With one thread of its own, the engine survives the fork.
    evaluations = [pw.evaluate(ideal=IDEAL, actual=actual, threads=1) for actual in CLUSTERINGS]
    folder = Path(sys.argv[1])
    evaluations[0].save(folder / "new-0")
    start = time.perf_counter()
    evaluations[1].save(folder / "new-1")
    os.write(1, f"{time.perf_counter() - start}\n".encode())
    for line in sys.stdin:
        child = os.fork()
        if child == 0:
            save_without_end(evaluations, folder, line.strip())
        os.waitpid(child, 0)
        os.write(1, b"dead\n")


if __name__ == "__main__":
    main()
