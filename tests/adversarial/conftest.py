"""An adversary in two sizes: a few examples of every test in `make test`, and as many as fit an hour in `make fuzz`.

With POINTWISE_FUZZ_SECONDS, the tests of this folder that hypothesis drives share that time. Each is run round after
round, every round with a seed of its own. A summary says how many cases there were; POINTWISE_FUZZ_SEED repeats a run.
"""

from __future__ import annotations

import os
import secrets
import time
import zlib
from collections import Counter
from pathlib import Path

import hypothesis
import pytest

SECONDS = float(os.environ.get("POINTWISE_FUZZ_SECONDS", "0"))
SEED = int(os.environ.setdefault("POINTWISE_FUZZ_SEED", str(secrets.randbelow(2**32))))  # workers inherit it
WORKERS = int(os.environ.get("PYTEST_XDIST_WORKER_COUNT", "1"))
HERE = Path(__file__).parent


def is_driven(item) -> bool:
    return HERE in item.path.parents and hypothesis.is_hypothesis_test(getattr(item, "obj", None))


def pytest_collection_modifyitems(config, items) -> None:
    config.stash[DRIVEN] = sum(map(is_driven, items))


DRIVEN = pytest.StashKey[int]()


@pytest.hookimpl(tryfirst=True)
def pytest_pyfunc_call(pyfuncitem) -> bool | None:
    """Repeat a test with new seeds until its share of the time is over."""
    if not SECONDS or not is_driven(pyfuncitem):
        return None
    end = time.monotonic() + SECONDS * WORKERS / pyfuncitem.config.stash[DRIVEN]
    given = {name: pyfuncitem.funcargs[name] for name in pyfuncitem._fixtureinfo.argnames}
    cases = count_cases(pyfuncitem)
    rounds = 0
    while time.monotonic() < end:
        seed = SEED + zlib.crc32(f"{pyfuncitem.nodeid} {rounds}".encode())
        pyfuncitem.add_report_section("call", "seed", f"POINTWISE_FUZZ_SEED={SEED}, round {rounds} with seed {seed}")
        hypothesis.seed(seed)(pyfuncitem.obj)(**given)
        pyfuncitem._report_sections.pop()
        rounds += 1
    pyfuncitem.user_properties.append(("cases", cases["cases"]))
    return True


def count_cases(item) -> Counter:
    """Count how often the body of a test is run."""
    cases: Counter = Counter()
    body = item.obj.hypothesis.inner_test

    def counted(*args, **settings):
        cases["cases"] += 1
        return body(*args, **settings)

    item.obj.hypothesis.inner_test = counted
    return cases


def pytest_terminal_summary(terminalreporter) -> None:
    if not SECONDS:
        return
    totals: Counter = Counter()
    for report in terminalreporter.stats.get("passed", []):
        for name, cases in getattr(report, "user_properties", ()):
            if name == "cases":
                totals[Path(report.nodeid.split("::")[0]).stem.removeprefix("test_")] += cases
    terminalreporter.section(f"adversary, POINTWISE_FUZZ_SEED={SEED}")
    for section, cases in sorted(totals.items()):
        terminalreporter.write_line(f"{section:20} {cases:>10,} cases")
