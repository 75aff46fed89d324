"""The examples in docstrings are run, and everything public has one."""

from __future__ import annotations

import ast
import doctest
import importlib
import inspect
import pkgutil
import re
from collections.abc import Iterable, Iterator
from functools import cache, cached_property
from pathlib import Path

import pytest

import pointwise as pw
from pointwise.engines.turns import LateProperty

MODULES = sorted(
    found.name for found in pkgutil.walk_packages(pw.__path__, "pointwise.") if not found.name.endswith("__main__")
)
OTHERS = {
    "col",  # narwhals' own, which docs/api.md has an example of
    "Source",  # which engines read for the modules of the package
}
ON_SPARK = {"pointwise.engines.start_spark"}
ROOT = Path(__file__).parent.parent
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]  # which test_docs.py runs
BLOCK = re.compile(r"^```python\n(.*?)^```$", re.DOTALL | re.MULTILINE)
LEFT_OUT = re.compile(r'^::: pointwise\.(\w+)\n    options:\n      filters: \["!\^_", "!\^\((.*)\)\$"\]$', re.MULTILINE)


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


KINDS = list(dict.fromkeys(one for _, one in public() if inspect.isclass(one)))


def own(kind: type) -> list[type]:
    """List a class and those that it inherits from, as far as they are ours."""
    return [one for one in kind.__mro__ if one.__module__.startswith("pointwise")]


def members(kind: type) -> set[str]:
    """Name the public methods and properties of a class."""
    kinds = (property, cached_property, LateProperty, classmethod, staticmethod)
    found = [(name, member) for one in own(kind) for name, member in vars(one).items() if not name.startswith("_")]
    return {name for name, member in found if inspect.isroutine(member) or isinstance(member, kinds)}


def left_out(kind: type) -> set[str]:
    """Name the members that the reference leaves out, because only modules of the package use them."""
    found = dict(LEFT_OUT.findall((ROOT / "docs" / "api.md").read_text(encoding="utf-8")))
    return {name for one in own(kind) for name in found.get(one.__name__, "").split("|")} - {""}


def mentioned(found: Iterable[doctest.Example]) -> set[str]:
    """List the names after a dot in examples."""
    nodes = [node for example in found for node in ast.walk(ast.parse(example.source))]
    return {node.attr for node in nodes if isinstance(node, ast.Attribute)}


@cache
def mentioned_on_pages() -> frozenset[str]:
    blocks = [block for page in PAGES for block in BLOCK.findall(page.read_text(encoding="utf-8"))]
    parser = doctest.DocTestParser()
    return frozenset(name for block in blocks for name in mentioned(parser.get_examples(block)))


@cache
def mentioned_in(kind: type) -> frozenset[str]:
    """List what the examples of a class and of its methods mention, as far as they are run."""
    place = f"{kind.__module__}.{kind.__qualname__}"
    tests = [test for test in examples(kind.__module__) if f"{test.name}.".startswith(f"{place}.")]
    return frozenset(name for test in tests for name in mentioned(test.examples))


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.__name__)
def test_every_public_member_has_an_example(kind):
    known = mentioned_on_pages().union(*map(mentioned_in, own(kind)))
    assert sorted(members(kind) - left_out(kind) - known) == []
    assert sorted(left_out(kind) - members(kind)) == []


def test_members_are_found():
    assert {"by_item", "coverage", "engine"} <= members(pw.Evaluation)  # a method and two kinds of properties
    assert {"actual_clusters", "to_pandas"} <= members(pw.Coverage)  # one computed late and one inherited
    assert left_out(pw.Related) == {"by_parts", "drawn_keys", "notes_on"}  # inherited too
