"""How the benchmarks measure: best of several runs in one process, memory of a process of its own."""

from __future__ import annotations

import json
import multiprocessing
import os
import platform
import resource
import subprocess
import time
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

RESULTS = Path(__file__).parent / "results"


def best_of(work: Callable[[], object], repeats: int = 3) -> float:
    """Return the least time in seconds of several runs: noise only ever adds."""
    times = []
    for _ in range(repeats):
        start = time.perf_counter()
        work()
        times.append(time.perf_counter() - start)
    return min(times)


def in_process(work: Callable[..., Any], *args: Any) -> tuple[Any, float]:
    """Run work in a fresh process; return its result and the peak of its resident memory in GB."""
    context = multiprocessing.get_context("spawn")
    with context.Pool(1) as pool:
        return pool.apply(_with_peak, (work, args))


def _with_peak(work: Callable[..., Any], args: tuple[Any, ...]) -> tuple[Any, float]:
    result = work(*args)
    return result, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e6


def machine() -> dict[str, Any]:
    """Describe where and when the numbers were taken."""
    import duckdb
    import narwhals
    import numpy as np

    commit = subprocess.run(["git", "rev-parse", "--short", "HEAD"], capture_output=True, text=True, check=False)
    return {
        "cores": os.cpu_count(),
        "memory_gb": round(os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 1e9),
        "python": platform.python_version(),
        "duckdb": duckdb.__version__,
        "narwhals": narwhals.__version__,
        "numpy": np.__version__,
        "commit": commit.stdout.strip(),
        "date": datetime.now(UTC).date().isoformat(),
    }


def save(name: str, title: str, rows: list[dict[str, Any]]) -> None:
    """Print a table of results and write it as JSON and Markdown."""
    RESULTS.mkdir(exist_ok=True)
    where = machine()
    (RESULTS / f"{name}.json").write_text(json.dumps({"machine": where, "rows": rows}, indent=2) + "\n")
    text = f"# {title}\n\n{markdown(rows)}\n\n{', '.join(f'{k} {v}' for k, v in where.items())}\n"
    (RESULTS / f"{name}.md").write_text(text)
    print(text)


def markdown(rows: list[dict[str, Any]]) -> str:
    """Lay rows out as a Markdown table."""
    columns = list(dict.fromkeys(column for row in rows for column in row))
    lines = [columns, ["---"] * len(columns), *([_shown(row.get(c)) for c in columns] for row in rows)]
    return "\n".join("| " + " | ".join(line) + " |" for line in lines)


def _shown(value: Any) -> str:
    if value is None:
        return ""
    return f"{value:.3g}" if isinstance(value, float) else str(value)
