"""The examples in docstrings are run, and everything public has one."""

from __future__ import annotations

import doctest
import importlib
import inspect
import pkgutil

import pytest

import pointwise as pw

MODULES = sorted(
    found.name for found in pkgutil.walk_packages(pw.__path__, "pointwise.") if not found.name.endswith("__main__")
)
OTHERS = {"col", "start_spark"}  # narwhals' own, and one that takes a cluster


@pytest.mark.parametrize(
    "name", [name for name in MODULES if ">>>" in inspect.getsource(importlib.import_module(name))]
)
def test_examples_show_what_happens(name, monkeypatch):
    monkeypatch.setenv("COLUMNS", "120")
    metrics = dict(pw.METRICS)
    report: list[str] = []
    runner = doctest.DocTestRunner(optionflags=doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE)
    try:
        for test in doctest.DocTestFinder(exclude_empty=True).find(importlib.import_module(name)):
            runner.run(test, out=report.append)
    finally:
        for own in pw.METRICS.keys() - metrics.keys():  # that an example registered
            del pw.METRICS[own]
    assert not report, "".join(report)


def test_everything_public_has_an_example():
    public = {name: getattr(pw, name) for name in pw.__all__ if name not in OTHERS}
    documented = {name: one for name, one in public.items() if inspect.isclass(one) or inspect.isfunction(one)}
    assert [name for name, one in documented.items() if ">>>" not in (inspect.getdoc(one) or "")] == []
