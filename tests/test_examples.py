"""The examples in docstrings are run, and everything public has one."""

from __future__ import annotations

import doctest
import importlib
import inspect
import pkgutil
from collections.abc import Iterator

import pytest

import pointwise as pw

MODULES = sorted(
    found.name for found in pkgutil.walk_packages(pw.__path__, "pointwise.") if not found.name.endswith("__main__")
)
OTHERS = {
    "col",  # narwhals' own, which docs/api.md has an example of
    "Source",  # which engines read for the modules of the package
}
ON_SPARK = {"pointwise.engines.start_spark"}


def examples(module: str) -> list[doctest.DocTest]:
    return doctest.DocTestFinder(exclude_empty=True).find(importlib.import_module(module))


def run(tests: list[doctest.DocTest]) -> None:
    report: list[str] = []
    runner = doctest.DocTestRunner(optionflags=doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE)
    for test in tests:
        runner.run(test, out=report.append)
    assert not report, "".join(report)


@pytest.mark.parametrize(
    "name", [name for name in MODULES if ">>>" in inspect.getsource(importlib.import_module(name))]
)
def test_examples_show_what_happens(name, monkeypatch):
    monkeypatch.setenv("COLUMNS", "120")
    run([test for test in examples(name) if test.name not in ON_SPARK])


@pytest.mark.spark
@pytest.mark.parametrize("name", ON_SPARK)
@pytest.mark.usefixtures("spark")
def test_examples_on_spark_show_what_happens(name):
    run([test for test in examples(name.rpartition(".")[0]) if test.name == name])


def public() -> Iterator[tuple[str, object]]:
    """List the public classes and functions, also those of public modules."""
    modules = {"pw": pw} | {f"pw.{name}": one for name in pw.__all__ if inspect.ismodule(one := getattr(pw, name))}
    for place, module in modules.items():
        for name in getattr(module, "__all__", ()):
            one = getattr(module, name)
            is_made = name.endswith("_score")  # one per metric, of which the module has an example
            if not is_made and name not in OTHERS and (inspect.isclass(one) or inspect.isfunction(one)):
                yield f"{place}.{name}", one


def test_everything_public_has_an_example():
    found = dict(public())
    assert {"pw.evaluate", "pw.charts.venn", "pw.labels.scores", "pw.engines.start_engine"} <= found.keys()
    assert [name for name, one in found.items() if ">>>" not in (inspect.getdoc(one) or "")] == []
