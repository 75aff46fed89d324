"""How the benchmarks measure: medians of several runs, memory of a process of its own, tables with their machine."""

from __future__ import annotations

import argparse
import json
import multiprocessing
import os
import platform
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from importlib import metadata
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parent.parent
RESULTS = Path(__file__).parent / "results"
PACKAGES = ("pointwise", "duckdb", "narwhals", "numpy", "polars", "pyarrow")


def arguments(description: str) -> argparse.ArgumentParser:
    """Start a command line with what all benchmarks take."""
    parser = argparse.ArgumentParser(description=description, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--results", type=Path, default=RESULTS, help="folder to write the tables to")
    parser.add_argument("--smoke", action="store_true", help="run all once and in one process, to see that it works")
    return parser


def count(text: str) -> int:
    """Read a number of items, such as 100e6."""
    return int(float(text))


@dataclass(frozen=True)
class Bench:
    """What a run was told: where its tables go, and whether it is only tried out."""

    results: Path
    is_smoke: bool = False

    @classmethod
    def told_by(cls, options: argparse.Namespace) -> Bench:
        """Take what is said on the command line."""
        return cls(options.results, options.smoke)

    def repeats(self, number: int) -> int:
        """Return how often to run something that is usually run so often."""
        return 1 if self.is_smoke else number

    def in_process(self, work: Callable[..., Any], *args: Any) -> tuple[Any, float]:
        """Run work in a fresh process; return its result and the peak of its resident memory in GB."""
        if self.is_smoke:
            return work(*args), peak_memory()
        with multiprocessing.get_context("spawn").Pool(1) as pool:
            return pool.apply(_with_peak, (work, args))

    def save(
        self,
        name: str,
        title: str,
        rows: list[dict[str, Any]],
        *,
        packages: Iterable[str] = (),
        quiet: bool = False,
    ) -> None:
        """Print a table of results and write it as JSON and Markdown.

        Args:
            name: What to call the files.
            title: What to call the table.
            rows: The table, one mapping from column to value per row.
            packages: Packages to name with their versions, beside those that every benchmark runs on.
            quiet: Whether to leave out the printing, because more rows will come.
        """
        self.results.mkdir(parents=True, exist_ok=True)
        found = {"title": title, "machine": machine(packages), "rows": rows}
        (self.results / f"{name}.json").write_text(json.dumps(found, indent=2) + "\n", encoding="utf-8")
        text = f"# {title}\n\n{draw(found)}\n"
        (self.results / f"{name}.md").write_text(text, encoding="utf-8")
        if not quiet:
            print(text, flush=True)


def say(text: str) -> None:
    """Tell at once what a long run is at."""
    print(text, file=sys.stderr, flush=True)


def median_of(work: Callable[[], object], repeats: int = 3) -> float:
    """Return the median time in seconds of several runs."""
    return medians_of(work, repeats=repeats)[0]


def medians_of(*works: Callable[[], object], repeats: int = 3, most: int = 0, seconds: float = 0.0) -> list[float]:
    """Return the median times in seconds of several works that are run in turn.

    In turn, so that what slows the machine down for a while slows all of them down.

    Args:
        works: What to run.
        repeats: How often to run each at least.
        most: How often to run each at most, while there is time.
        seconds: How much time there is.
    """
    times: list[list[float]] = [[] for _ in works]
    end = time.perf_counter() + seconds
    while len(times[0]) < repeats or (len(times[0]) < most and time.perf_counter() < end):
        for work, taken in zip(works, times, strict=True):
            start = time.perf_counter()
            work()
            taken.append(time.perf_counter() - start)
    return [statistics.median(taken) for taken in times]


def peak_memory() -> float:
    """Return the peak of this process's resident memory in GB.

    Linux hands `ru_maxrss` down from the process that starts another, so that a small child of a large parent looks
    large. The kernel's own high-water mark starts anew with every program.
    """
    return _told_by_kernel("VmHWM")


def memory_now() -> float:
    """Return this process's resident memory in GB; where the kernel does not tell, its peak so far."""
    return _told_by_kernel("VmRSS")


def _told_by_kernel(number: str) -> float:
    try:
        status = Path("/proc/self/status").read_text(encoding="utf-8")
        return int(status.split(f"{number}:")[1].split()[0]) * 1024 / 1e9
    except (OSError, IndexError):
        import resource

        unit = 1 if sys.platform == "darwin" else 1024
        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit / 1e9


def _with_peak(work: Callable[..., Any], args: tuple[Any, ...]) -> tuple[Any, float]:
    return work(*args), peak_memory()


def run_command(words: Sequence[str | Path], environment: Mapping[str, str] | None = None) -> tuple[str, float, float]:
    """Run a command; return what it printed, its time in seconds and the peak of its memory in GB.

    `wait4` speaks of this one child, where `RUSAGE_CHILDREN` gives the largest of all children so far. A child starts
    with the peak of its parent, so the caller had better be small.
    """
    with tempfile.TemporaryFile() as output, tempfile.TemporaryFile() as errors:
        start = time.perf_counter()
        child = subprocess.Popen(words, stdout=output, stderr=errors, env=os.environ | (environment or {}))
        _, status, usage = os.wait4(child.pid, 0)
        seconds = time.perf_counter() - start
        child.returncode = os.waitstatus_to_exitcode(status)
        output.seek(0)
        errors.seek(0)
        if child.returncode:
            sys.exit(f"{' '.join(map(str, words))} ended with {child.returncode}:\n{errors.read().decode()}")
        unit = 1 if sys.platform == "darwin" else 1024
        return output.read().decode(), seconds, usage.ru_maxrss * unit / 1e9


def connect(spill: Path | str | None = None, **config: Any) -> Any:
    """Open a DuckDB database that draws no progress bar, and that spills where it is told."""
    import duckdb

    folder = spill or Path(tempfile.gettempdir()) / f"benchmark-{os.getpid()}"  # not the current folder
    settings = {"preserve_insertion_order": False, "temp_directory": str(folder), **config}
    connection = duckdb.connect(config=settings)
    connection.execute("SET enable_progress_bar = false")
    return connection


def machine(packages: Iterable[str] = ()) -> dict[str, Any]:
    """Describe where and when the numbers were taken, and with which versions."""
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 1e9
    processor = _processor()
    return {
        **({"processor": processor} if processor else {}),
        "cores": os.cpu_count(),
        "memory": f"{memory:.0f} GB",
        "python": platform.python_version(),
        **versions((*PACKAGES, *packages)),
        "commit": _commit(),
        "date": datetime.now(UTC).date().isoformat(),
    }


def versions(packages: Iterable[str]) -> dict[str, str]:
    """Look up the versions of the packages that are installed."""
    found = {}
    for package in packages:
        try:
            found[package] = metadata.version(package)
        except metadata.PackageNotFoundError:
            continue
    return found


def _processor() -> str | None:
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
    except OSError:
        return None
    return next((line.split(":", 1)[1].strip() for line in lines if line.startswith("model name")), None)


def _commit() -> str:
    def git(*words: str) -> str:
        done = subprocess.run(["git", *words], cwd=ROOT, capture_output=True, text=True, check=False)
        return done.stdout.strip()

    is_changed = git("status", "--porcelain", "--", "src")
    return git("rev-parse", "--short", "HEAD") + (" + changes" if is_changed else "")


def draw(found: Mapping[str, Any]) -> str:
    """Lay a saved table out as Markdown, with its machine below."""
    where = ", ".join(f"{key.replace('_', ' ')} {value}" for key, value in found["machine"].items())
    notes = [found["note"]] if "note" in found else []
    return "\n\n".join([markdown(found["rows"]), *notes, f"<sub>{where}</sub>"])


def markdown(rows: Sequence[Mapping[str, Any]]) -> str:
    """Lay rows out as a Markdown table."""
    columns = list(dict.fromkeys(column for row in rows for column in row))
    lines = [columns, ["---"] * len(columns), *([show(row.get(c)) for c in columns] for row in rows)]
    return "\n".join("| " + " | ".join(line) + " |" for line in lines)


def show(value: Any) -> str:
    """Write a value for people: three digits that mean something, and separators between thousands."""
    if value is None:
        return ""
    if isinstance(value, int):
        return f"{value:,}"
    if not isinstance(value, float):
        return str(value)
    rounded = float(f"{value:.3g}")
    return f"{rounded:,.0f}" if 1000 <= abs(rounded) < 1e15 else f"{rounded:.3g}"
