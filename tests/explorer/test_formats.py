"""Every page for programs: the same address with `.json` or `.csv`."""

from __future__ import annotations

import csv
import io
import json
import re
import time
from collections.abc import Iterator
from pathlib import Path

import narwhals.stable.v2 as nw
import pyarrow as pa
import pytest
from starlette.testclient import TestClient

import pointwise as pw
from pointwise.diffs.questions import find_questions
from pointwise.engines.queries import from_rows
from pointwise.explorer import application
from pointwise.explorer.routes import ROUTES, Route, find_route
from pointwise.explorer.site import Page, Visit
from pointwise.explorer.urls import link, read_path
from pointwise.store.manifest import RUN
from visiting import SAME_ORIGIN, visiting

WORDS = ["<b>/..", 'said "so"', "שלום\u202e", "line\nbreak", "=1+1", *(f"word {n}" for n in range(20))]
TRUTH = {word: f"t/{n // 4}" for n, word in enumerate(WORDS)}
OLD = {word: f"<i>{n // 3}" for n, word in enumerate(WORDS)}
NEW = {word: f"=n{n // 5}" for n, word in enumerate(WORDS)}
RECORDS = pa.table({"item": WORDS, "name": [f"<script>{n % 3}" for n in range(len(WORDS))]})

PAGES = (
    link(),
    link("search", q="word"),
    link("review"),
    link("run", "run"),
    link("run", "run", "slices", by="name"),
    link("run", "run", "clusters", "ideal"),
    link("run", "run", "cluster", "actual", "<i>0"),
    link("run", "run", "items"),
    link("run", "run", "item", WORDS[0]),
    link("run", "run", "item", WORDS[2], "elsewhere"),
    link("run", "run", "mistakes"),
    link("compare", "compared"),
    link("compare", "compared", "clusters"),
    link("compare", "compared", "item", item=WORDS[1]),
    link("compare", "compared", "item", WORDS[1]),
    link("diff", "changed"),
    link("diff", "changed", "clusters"),
    link("diff", "changed", "cluster", "baseline", "<i>0"),
    link("diff", "changed", "item", item=WORDS[3]),
    link("diff", "changed", "item", WORDS[3]),
    link("diff", "changed", "judge", judge="ada"),
    link("diff", "changed", "judge", "ahead", judge="ada"),
    link("diff", "changed", "adjudicate"),
    link("diff", "changed", "estimates"),
)
NO_DATA = {(kind, None, "report") for kind in ("run", "compare", "diff")}  # files of their own


@pytest.fixture(scope="module")
def client(tmp_path_factory: pytest.TempPathFactory) -> Iterator[TestClient]:
    folder = tmp_path_factory.mktemp("stored")
    pw.evaluate(ideal=TRUTH, actual=OLD, attributes=RECORDS, slices=["name"]).save(folder / "run")
    pw.evaluate(ideal=TRUTH, actual=NEW).save(folder / "other")
    pw.compare(ideal=TRUTH, variants={"old": OLD, "new": NEW}).save(folder / "compared")
    diff = pw.diff(baseline=OLD, experiment=NEW, attributes=RECORDS)
    diff.save(folder / "changed")
    diff.questions(20, seed=1).save(find_questions(folder / "changed"))
    with visiting(folder) as opened:
        yield opened


def twin(address: str, ending: str) -> str:
    path, mark, query = address.partition("?")
    return f"{path}.{ending}{mark}{query}"


def test_the_pages_below_are_all_there_are():
    tried = {find_route(read_path(page.partition("?")[0].encode()).parts)[0].parts for page in PAGES}
    assert {route.parts for route in ROUTES} - tried == NO_DATA


@pytest.mark.parametrize("page", PAGES)
def test_every_page_has_its_data_as_json_and_csv(client: TestClient, page: str):
    drawn, told, listed = client.get(page), client.get(twin(page, "json")), client.get(twin(page, "csv"))
    assert [drawn.status_code, told.status_code, listed.status_code] == [200] * 3, told.text
    assert drawn.headers["content-type"].startswith("text/html")
    assert told.headers["content-type"].startswith("application/json")
    assert listed.headers["content-type"].startswith("text/csv")
    assert "<script>0" not in drawn.text
    content = json.loads(told.text, parse_constant=lambda text: pytest.fail(f"{text} is not JSON"))
    assert content["title"]
    rows = list(csv.DictReader(io.StringIO(listed.text)))
    assert len(rows) == len(content["rows"])
    for row in rows:
        assert None not in row  # a value without a column
        assert not any(value and value.startswith("=") for value in row.values())


def test_a_page_in_work_is_cancelled_by_its_button(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    pw.evaluate(ideal=TRUTH, actual=OLD).save(tmp_path / "run")
    looked = []

    def show(visit: Visit) -> Page:
        looked.append(1)
        engine = visit.sorted_run().engine
        numbers = from_rows([{"n": n} for n in range(100_000)], engine).with_columns(nw.lit(1).alias("one"))
        pairs = numbers.join(numbers, on="one").select((nw.col("n") * nw.col("n_right")).sum())
        engine.collect(numbers.join(pairs.with_columns(nw.lit(1).alias("one")), on="one"))
        raise AssertionError("It was not cancelled.")

    route = Route(("run", None), show, RUN)
    monkeypatch.setattr(application, "find_route", lambda parts: (route, (parts[1],)))
    with visiting(tmp_path, patience=0.2) as client:
        working = client.get("/run/run")
        assert working.status_code == 202
        found = re.search(r'action="(/cancel/\w+)"', working.text)
        assert found
        client.post("/cancel/0000", headers=SAME_ORIGIN)  # somebody else's, or one that is over
        assert client.get("/run/run").status_code == 202
        assert len(looked) == 1
        while (client.post(found[1], headers=SAME_ORIGIN).status_code == 303) and _is_running(client, found[1]):
            time.sleep(0.05)
        monkeypatch.undo()
        assert client.get("/run/run.json").status_code == 200


def _is_running(client: TestClient, address: str) -> bool:
    inner = client.app.inner  # type: ignore[attr-defined]
    return inner.jobs.find(address.rpartition("/")[2]) is not None
