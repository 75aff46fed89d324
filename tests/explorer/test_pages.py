"""Pages of the explorer: what they say is what the library says."""

from __future__ import annotations

import csv
import io
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any
from urllib.parse import unquote

import narwhals.stable.v2 as nw
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from starlette.testclient import TestClient

import pointwise as pw
from pointwise.engines import start_engine
from pointwise.engines.queries import from_rows
from pointwise.explorer import Site, jobs, site
from pointwise.explorer.jobs import COMPUTING, CancelledError, Job, Jobs
from pointwise.explorer.listing import ROWS
from pointwise.explorer.site import Visit
from pointwise.explorer.urls import decode, encode, link, read_path
from pointwise.text.values import format_metric
from visiting import SAME_ORIGIN, is_alike, visiting

RUN = "releases/2021"
ODD = 'it\'s an "odd" name'
HOSTILE = (
    "<img src=x onerror=alert(1)>",
    "</script><script>alert(2)</script>",
    "\"'><svg onload=alert(3)>",
    "{{ 7 * 7 }}",
    "a/b/../c",
    "..",
    ".",
    "~",
    "item.csv",
    "x.json",
    "line\nbreak\ttab",
    "שלום \u202eevil",
    "👩‍👩‍👧",
    "%2e%2e%2f?x=1#y&z",
    "=1+1",
    "c:\\d",
)


@pytest.fixture(scope="module")
def evaluation() -> pw.Evaluation:
    data = pw.datasets.patentsview()
    return pw.evaluate(
        ideal=data.truth,
        actual=data.releases["2021-12-30"],
        attributes=data.attributes,
        weight="num_claims",
        slices=["country"],
        outside="wrong",
    )


@pytest.fixture(scope="module")
def top(evaluation: pw.Evaluation, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("stored")
    (folder / "releases").mkdir()
    evaluation.save(folder / RUN)
    ideal = {item: f"ideal {item}" for item in HOSTILE} | {f"{item} 2": f"ideal {item}" for item in HOSTILE}
    actual = dict.fromkeys(ideal, "one </td>") | {f"{item} 2": f"actual {item}" for item in HOSTILE}
    known = pa.table({"item": list(ideal), ODD: [f"{item}!" for item in ideal]})
    pw.evaluate(ideal=ideal, actual=actual, attributes=known, slices=[ODD]).save(folder / "hostile")
    return folder


@pytest.fixture(scope="module")
def client(top: Path) -> Iterator[TestClient]:
    with visiting(top) as opened:
        yield opened


def page(client: TestClient, *parts: object, **query: object) -> str:
    answer = client.get(link(*parts, **query))
    assert answer.status_code == 200, answer.text
    assert answer.headers["content-type"] == "text/html; charset=utf-8"
    return str(answer.text)


def data(client: TestClient, *parts: object, **query: object) -> dict:
    path, _, rest = link(*parts, **query).partition("?")
    answer = client.get(f"{path}.json?{rest}")
    assert answer.status_code == 200, answer.text
    return answer.json()


@pytest.mark.parametrize("part", [*HOSTILE, "", "~~", "plain", "..." * 3])
def test_any_text_is_one_part_of_an_address(part: str):
    path = link("run", part, "item", part)
    assert read_path(path.encode()).parts == ("run", part, "item", part)
    assert decode(encode(part)) == part
    assert read_path(f"{path}.csv".encode()).format == "csv"
    assert unquote(encode(part)).removeprefix("~") in (part, part.removeprefix("~"))


def test_the_overview_lists_what_is_stored(client: TestClient, evaluation: pw.Evaluation):
    rows = {row["run"]: row for row in data(client)["rows"]}
    assert set(rows) == {RUN, "hostile"}
    assert rows[RUN]["recall"] == evaluation.overall["recall"]
    assert format_metric(evaluation.overall["recall"]) in page(client)


def test_an_empty_folder_says_what_to_do(tmp_path: Path):
    with visiting(tmp_path) as opened:
        assert "pointwise evaluate TRUTH CLUSTERING --save" in opened.get("/").text


def test_a_damaged_run_is_named_with_the_reason(tmp_path: Path):
    (tmp_path / "bad").mkdir()
    (tmp_path / "bad" / "run.json").write_text("{")
    with visiting(tmp_path) as opened:
        text = opened.get("/").text
        assert "Damaged:" in text
        assert "run.json" in text
        assert 'class="tabs"' not in opened.get("/run/nothing/mistakes").text
        answer = opened.get("/run/bad")
        assert answer.status_code == 500
        assert "Traceback" not in answer.text
        assert "run.json is not as it was written" in answer.text


def test_only_what_works_of_something_damaged_is_offered(tmp_path: Path):
    pw.compare(ideal={"a": 1, "b": 1}, variants={"one": {"a": 1, "b": 2}, "two": {"a": 3, "b": 3}}).save(tmp_path / "c")
    with visiting(tmp_path) as opened:
        assert opened.get("/compare/c").status_code == 200
        sorted((tmp_path / "c").glob("*/items.parquet"))[1].unlink()
        assert page(opened, "run", "c/one").count('class="tabs"') == 1
        for address in ("/run/c%2Ftwo/mistakes", "/compare/c/clusters"):
            answer = opened.get(address)
            assert answer.status_code == 500
            assert 'class="tabs"' not in answer.text
            assert "items.parquet is missing" in answer.text
            assert "Restore its folder from a copy, or move it away" in answer.text
        assert link("run", "c/one") in answer.text
        assert link("run", "c/two") not in answer.text


def test_a_run_shows_the_numbers_of_the_library(client: TestClient, evaluation: pw.Evaluation):
    text, found = page(client, "run", RUN), data(client, "run", RUN)
    assert is_alike([row["value"] for row in found["rows"]], list(evaluation.overall.values.values()))
    for name, value in evaluation.overall.values.items():
        assert f'data-metric="{name}">{format_metric(value)}<' in text
    assert link("run", RUN, "clusters", "ideal") in text


@pytest.mark.parametrize("side", ["ideal", "actual"])
def test_all_clusters_come_page_by_page_and_once(client: TestClient, evaluation: pw.Evaluation, side: str):
    table = evaluation.by_ideal_cluster() if side == "ideal" else evaluation.by_actual_cluster()
    key = f"{side}_cluster"
    expected = {row[key]: row for row in table.to_dicts()}
    seen: list[dict] = []
    after: str | None = ""
    while after is not None:
        found = data(client, "run", RUN, "clusters", side, sort="recall", after=after)
        seen += found["rows"]
        after = found["after"]
    assert [row[key] for row in seen] == sorted(expected, key=lambda one: (expected[one]["recall"], one))
    assert all(row["recall"] == pytest.approx(expected[row[key]]["recall"], rel=1e-12) for row in seen)


def test_clusters_are_filtered_by_size_and_condition(client: TestClient):
    found = data(client, "run", RUN, "clusters", "ideal", size="3", where="recall < 1")
    sizes = [row["items"] for row in found["rows"]]
    assert sizes
    assert all(3 <= size <= 5 for size in sizes)
    assert all(row["recall"] < 1 for row in found["rows"])


@pytest.mark.parametrize(
    "query", [{"sort": "nothing"}, {"size": "4"}, {"where": "recall <"}, {"after": "[1]"}, {"after": "["}]
)
def test_a_wrong_address_is_answered_with_our_message(client: TestClient, query: dict[str, str]):
    answer = client.get(link("run", RUN, "clusters", "ideal", **query))
    assert answer.status_code == 400
    assert "This did not work" in answer.text
    assert f'href="{link("run", RUN, "mistakes")}"' in answer.text  # the way back


def test_members_come_with_their_records_the_heaviest_cell_first(client: TestClient, top: Path):
    evaluation = pw.load(top / RUN)
    worst = evaluation.by_ideal_cluster().worst("recall", 1).to_dicts()[0]["ideal_cluster"]
    explained = evaluation.explain(ideal_cluster=worst)
    found = data(client, "run", RUN, "cluster", "ideal", worst)
    assert is_alike(found["cells"], explained.to_dict()["cells"])
    members = evaluation.by_item().where(f"ideal_cluster = '{worst}'").to_dicts()
    assert {row["item"] for row in found["rows"]} == {row["item"] for row in members}
    order = [row["actual_cluster"] for row in explained.to_dicts()]
    shown = list(dict.fromkeys(row["actual_cluster"] for row in found["rows"]))
    assert shown == order
    assert "country" in found["rows"][0]
    one = data(client, "run", RUN, "cluster", "ideal", worst, part=order[1])
    assert {row["actual_cluster"] for row in one["rows"]} == {order[1]}


def test_long_clusters_come_page_by_page(client: TestClient, evaluation: pw.Evaluation):
    long = evaluation.by_ideal_cluster().where(f"items > {2 * ROWS}").sort("items").head(1).to_dicts()[0]
    seen: list[str] = []
    after: str | None = ""
    while after is not None:
        found = data(client, "run", RUN, "cluster", "ideal", long["ideal_cluster"], after=after)
        seen += [row["item"] for row in found["rows"]]
        after = found["after"]
    assert len(seen) == len(set(seen)) == long["items"]


def test_an_item_shows_its_four_sets(client: TestClient, evaluation: pw.Evaluation):
    item = evaluation.by_item().worst("recall", 1).to_dicts()[0]["item"]
    explained, found = evaluation.explain(item=item), data(client, "run", RUN, "item", item)
    for kind, count in ((name, one.count) for name, one in explained.sets.items()):
        assert found[kind]["count"] == count
    assert is_alike(found["metrics"], dict(explained.metrics))
    text = page(client, "run", RUN, "item", item)
    assert "Apart, wrongly" in text
    assert "Its record" in text


def test_members_outside_the_truth_are_counted_and_said_to_be(client: TestClient, evaluation: pw.Evaluation):
    mixed = evaluation.mistakes(1, kind="outside")[0]
    item = mixed.first.examples[0]
    outside = evaluation.explain(item=item).false_positives.count
    assert f"{outside:,} items outside the truth" in page(client, "run", RUN, "item", item)


def test_an_unknown_item_is_said_to_be_dropped_or_outside_the_truth_or_in_neither(tmp_path: Path):
    ideal, actual = {"a": "x", "b": "x", "lost": "z"}, {"a": "y", "b": "y", "new": "y"}
    pw.evaluate(ideal=ideal, actual=actual).save(tmp_path / "run")
    pw.evaluate(ideal=ideal, actual={"a": "y", "b": "y"}).save(tmp_path / "same")
    numbers = {1: 1, 2: 1, 3: 1}, {1: 1, 2: 1}
    pw.evaluate(ideal=numbers[0], actual=numbers[1]).save(tmp_path / "numbers")
    pw.load(tmp_path / "run").save(tmp_path / "again")

    def say(run: str, item: str) -> str:
        answer = opened.get(link("run", run, "item", item))
        assert answer.status_code == 404
        return answer.text

    with visiting(tmp_path) as opened:
        for run in ("run", "again"):
            assert "lists it in ideal cluster &#39;z&#39;, but the actual clustering lacks it" in say(run, "lost")
            assert "The truth does not list it. The actual clustering has 1 item that" in say(run, "new")
        assert "Neither clustering has it" in say("same", "new")
        assert "lists it in ideal cluster 1, but" in say("numbers", "3")
        assert "Neither clustering has it" in say("numbers", "text")


def test_an_unknown_item_of_a_comparison_on_shared_items_may_be_one_that_another_variant_lacks(tmp_path: Path):
    ideal = dict.fromkeys("abc", "x")
    variants = {"one": dict.fromkeys("abc", "y"), "two": dict.fromkeys("ab", "y")}
    pw.compare(ideal=ideal, variants=variants, on="shared").save(tmp_path / "both")
    with visiting(tmp_path) as opened:
        answer = opened.get(link("run", "both/one", "item", "c"))
        assert "those that another variant of the comparison lacks" in answer.text


def test_the_overview_shows_the_intervals_that_runs_store(client: TestClient, evaluation: pw.Evaluation):
    rows = {row["run"]: row for row in data(client)["rows"]}
    interval = evaluation.overall.interval("recall")
    assert (rows[RUN]["recall_low"], rows[RUN]["recall_high"]) == (interval.low, interval.high)
    assert f"{format_metric(interval.low)} to {format_metric(interval.high)}" in page(client)


def test_an_unknown_item_gets_the_nearest_ids(client: TestClient, evaluation: pw.Evaluation):
    known = evaluation.by_item().sort("item").head(3).to_dicts()
    answer = client.get(link("run", RUN, "item", known[1]["item"] + "x"))
    assert answer.status_code == 404
    assert "The truth does not list it." in answer.text
    assert link("run", RUN, "item", known[1]["item"]) in answer.text


def test_an_unknown_cluster_gets_the_nearest_ids_and_where_all_are(client: TestClient, tmp_path: Path):
    answer = client.get(link("run", RUN, "cluster", "ideal", "inventor-0"))
    assert answer.status_code == 404
    assert link("run", RUN, "cluster", "ideal", "inventor-001") in answer.text
    assert link("run", RUN, "clusters", "ideal") in answer.text.partition("<main")[2]
    pw.evaluate(ideal={1: 10, 2: 10}, actual={1: 20, 2: 30}).save(tmp_path / "numbers")
    with visiting(tmp_path) as opened:
        assert link("run", "numbers", "cluster", "actual", 30) in opened.get("/run/numbers/cluster/actual/25").text
        answer = opened.get("/run/numbers/cluster/actual/none")
        assert answer.status_code == 404
        assert "ids are integers here" in answer.text
        assert link("run", "numbers", "clusters", "actual") in answer.text.partition("<main")[2]


def test_members_outside_the_truth_explain_a_lost_precision(tmp_path: Path):
    actual = {"a": 1, "b": 1, "c": 2, "x": 1, "y": 1}
    pw.evaluate(ideal={"a": 1, "b": 1, "c": 2}, actual=actual, outside="wrong").save(tmp_path / "run")
    pw.evaluate(ideal={"a": 1, "b": 1, "c": 2}, actual=actual, outside="spurious").save(tmp_path / "spurious")
    sentence = "2 more members lie outside the truth and count as wrong"
    with visiting(tmp_path) as opened:
        assert sentence in page(opened, "run", "run", "cluster", "actual", 1)
        assert sentence not in page(opened, "run", "run", "cluster", "actual", 2)
        assert sentence not in page(opened, "run", "run", "cluster", "ideal", 1)
        assert sentence not in page(opened, "run", "spurious", "cluster", "actual", 1)


def test_every_metric_without_an_interval_has_its_own_reason(tmp_path: Path):
    truth = {f"i{n}": n // 2 for n in range(6)}
    split = {item: n for n, item in enumerate(truth)}
    pw.evaluate(ideal=truth, actual=split, metrics=["precision", "recall"]).save(tmp_path / "run")
    with visiting(tmp_path) as opened:
        text = page(opened, "run", "run")
    assert "No interval for precision: no error was seen" in text
    assert "No interval for recall: the value does not vary" in text


def test_a_column_of_any_name_is_shown_beside_its_part(tmp_path: Path):
    known = pa.table({"item": ["a", "b"], "part": ["first", "second"]})
    pw.evaluate(ideal={"a": 1, "b": 1}, actual={"a": 2, "b": 3}, attributes=known, slices=["part"]).save(
        tmp_path / "run"
    )
    with visiting(tmp_path) as opened:
        assert "second" in page(opened, "run", "run", "mistakes")


def test_items_are_filtered_by_what_is_known_and_by_metrics(client: TestClient, evaluation: pw.Evaluation):
    found = data(client, "run", RUN, "items", where="country = 'DE' and recall < 1", sort="recall")
    table = evaluation.by_item().where("recall < 1").to_dicts()
    assert 0 < len(found["rows"]) <= len(table)
    assert [row["recall"] for row in found["rows"]] == sorted(row["recall"] for row in found["rows"])


def test_slices_have_intervals_and_lead_to_their_items(client: TestClient, evaluation: pw.Evaluation):
    found = data(client, "run", RUN, "slices", by="country")
    expected = evaluation.by_slice("country").to_dicts()
    assert [row["country"] for row in found["rows"]] == [row["country"] for row in expected]
    assert found["rows"][0]["recall_low"] == pytest.approx(expected[0]["recall_low"], rel=1e-9)
    assert link("run", RUN, "items", where="country == 'US'").replace("&", "&amp;") in page(
        client, "run", RUN, "slices"
    )
    assert client.get(link("run", RUN, "slices", by="nothing")).status_code == 400


def test_search_finds_the_exact_id_first_then_what_begins_so(client: TestClient):
    found = data(client, "search", q="inventor-00", run=RUN)["rows"]
    assert [row["id"] for row in found][:2] == ["inventor-001", "inventor-002"]
    assert data(client, "search", q="inventor-002")["rows"][0]["id"] == "inventor-002"
    assert data(client, "search", q="nothing at all")["rows"] == []
    assert "No item and no cluster" in page(client, "search", q="nothing at all")


@pytest.mark.parametrize("item", HOSTILE)
def test_hostile_ids_are_shown_and_never_obeyed(client: TestClient, item: str):
    for parts in (("item", item), ("cluster", "ideal", f"ideal {item}"), ("cluster", "actual", f"actual {item}")):
        text = page(client, "run", "hostile", *parts)
        assert "<img src=x" not in text
        assert "<script>alert" not in text
        assert "<svg onload" not in text
        assert ">49<" not in text
    assert data(client, "run", "hostile", "item", item)["item"] == item
    assert data(client, "search", q=item.strip())["rows"][0]["id"] == item
    twin = client.get(link("run", "hostile", "item", item) + ".csv")
    rows = list(csv.DictReader(io.StringIO(twin.text)))
    guarded = f"'{item}" if item.startswith("=") else item
    assert guarded in {row["item"] for row in rows}


def test_hostile_slices_lead_to_their_items(client: TestClient):
    found = data(client, "run", "hostile", "slices")["rows"]
    text = page(client, "run", "hostile", "slices")
    assert len(found) == 2 * len(HOSTILE)
    links = [part.split('"')[0].replace("&amp;", "&") for part in text.split('href="')[1:]]
    leads = [one for one in links if "/items?" in one]
    assert len(leads) == len(found)
    for one in leads:
        path, _, query = one.partition("?")
        assert len(client.get(f"{path}.json?{query}").json()["rows"]) == 1


def test_the_same_item_is_found_in_other_runs(tmp_path: Path):
    for name in ("one", "two"):
        pw.evaluate(ideal={"a": "x", "b": "x"}, actual={"a": "y", "b": name}).save(tmp_path / name)
    with visiting(tmp_path) as opened:
        found = data(opened, "run", "one", "item", "a", "elsewhere")
        assert [row["run"] for row in found["rows"]] == ["two"]


def test_a_replaced_run_is_shown_anew(tmp_path: Path):
    with visiting(tmp_path) as opened:
        pw.evaluate(ideal={"a": "x", "b": "x"}, actual={"a": "y", "b": "z"}).save(tmp_path / "run")
        before = data(opened, "run", "run")["rows"]
        pw.evaluate(ideal={"a": "x", "b": "x"}, actual={"a": "y", "b": "y"}).save(tmp_path / "run", overwrite=True)
        after = data(opened, "run", "run")["rows"]
    assert [row["value"] for row in before] != [row["value"] for row in after]


def test_attributes_that_were_given_show_up_beside_items(tmp_path: Path):
    pw.evaluate(ideal={"a": "x", "b": "x"}, actual={"a": "y", "b": "z"}).save(tmp_path / "run")
    (tmp_path / "known.csv").write_text("item,name\na,Ada\nb,Bob\n")
    with visiting(tmp_path, attributes=str(tmp_path / "known.csv")) as opened:
        assert data(opened, "run", "run", "item", "a")["record"] == {"name": "Ada"}
        assert "Ada" in page(opened, "run", "run", "cluster", "ideal", "x")
    with visiting(tmp_path) as opened:
        assert "--attributes FILE" in page(opened, "run", "run", "item", "a")


def test_attributes_about_other_items_are_left_out_and_said_to_be(tmp_path: Path):
    pw.evaluate(ideal={"a": "x", "b": "x"}, actual={"a": "y", "b": "z"}).save(tmp_path / "run")
    pw.evaluate(ideal={"c": "x", "d": "x"}, actual={"c": "y", "d": "z"}).save(tmp_path / "other")
    pw.evaluate(ideal={1: "x", 2: "x"}, actual={1: "y", 2: "z"}).save(tmp_path / "numbers")
    pq.write_table(pa.table({"item": ["a", "b"], "name": ["Ada", "Bob"]}), tmp_path / "known.parquet")
    with visiting(tmp_path, attributes=str(tmp_path / "known.parquet")) as opened:
        for _ in range(2):
            assert "Ada" in page(opened, "run", "run", "mistakes")
            assert "attributes contain none of the items" in page(opened, "run", "other", "mistakes")
            assert "text in the attributes" in page(opened, "run", "numbers", "item", 1)


def test_a_page_that_takes_long_tells_of_the_work_and_comes_by_itself(tmp_path: Path):
    pw.evaluate(ideal={"a": "x", "b": "x"}, actual={"a": "y", "b": "z"}).save(tmp_path / "run")
    with visiting(tmp_path, patience=0) as opened:
        answer = opened.get("/run/run")
        assert answer.status_code == 202
        assert answer.headers["refresh"] == "1"
        assert "/cancel/" in answer.text
        for _ in range(600):
            answer = opened.get("/run/run")
            if answer.status_code == 200:
                break
            time.sleep(0.1)
        assert "How good is it?" in answer.text


def test_a_page_that_takes_long_says_what_is_being_done(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    pw.evaluate(ideal={"a": "x", "b": "x"}, actual={"a": "y", "b": "z"}).save(tmp_path / "run")
    has_loaded, may_go_on = threading.Event(), threading.Event()

    def load_slowly(path: Path, **settings: Any) -> pw.Evaluation:
        loaded = pw.load(path, **settings)
        has_loaded.set()
        assert may_go_on.wait(60)
        return loaded

    monkeypatch.setattr(site, "load", load_slowly)
    monkeypatch.setattr(jobs, "AT_ONCE", 1)
    with visiting(tmp_path, patience=0) as opened:
        opened.get("/run/run/mistakes?kind=over-merge&x=1")
        assert has_loaded.wait(60)
        text = opened.get("/run/run/mistakes?kind=over-merge&x=1").text
        assert "Reading: " in text
        assert '<a href="/run/run/mistakes?kind=over-merge">Look again now</a>' in text
        assert '<a href="/run/run">' in text
        assert "Waiting for other pages: " in opened.get("/run/run/slices").text
        may_go_on.set()


def test_a_job_computes_unless_it_reads(tmp_path: Path):
    pw.evaluate(ideal={"a": "x", "b": "x"}, actual={"a": "y", "b": "z"}).save(tmp_path / "run")
    pw.diff(baseline={"a": "x", "b": "x"}, experiment={"a": "y", "b": "z"}).save(tmp_path / "diff")
    for name, opens in (("run", Visit.evaluation), ("diff", Visit.diff)):
        job = Job(lambda job, name=name, opens=opens: _phases(Visit(Site(tmp_path), (name,), {}, job), opens))
        job.run()
        assert job.future.result() == (COMPUTING, COMPUTING)


def _phases(visit: Visit, opens: Callable[[Visit], Any]) -> tuple[str, str]:
    before = visit.job.phase
    with visit.opened:
        opens(visit)
        return before, visit.job.phase


def test_work_that_was_cancelled_says_so_and_starts_anew():
    working, started = Jobs(), threading.Event()

    def work(job: Job) -> str:
        engine = start_engine()
        try:
            job.uses(engine)
            started.set()
            numbers = from_rows([{"n": n} for n in range(2_000)], engine).with_columns(nw.lit(1).alias("one"))
            pairs = numbers.join(numbers, on="one").join(numbers, on="one", suffix="_third")
            return str(engine.collect(pairs.select((nw.col("n") * nw.col("n_right") * nw.col("n_third")).sum())))
        finally:
            engine.close()

    job = working.start("key", work)
    assert started.wait(60)
    while not job.future.done():
        job.cancel()
        time.sleep(0.01)
    assert isinstance(job.future.exception(), CancelledError)
    assert working.start("key", lambda _: "anew").future.result(60) == "anew"
    working.close()


def test_a_wrong_truth_is_noted_for_review(tmp_path: Path):
    pw.evaluate(ideal={"a": "<x>", "b": "<x>"}, actual={"a": "y", "b": "z"}).save(tmp_path / "run")
    with visiting(tmp_path) as opened:
        assert "Is the truth wrong here?" in page(opened, "run", "run", "mistakes")
        form = {"side": "ideal", "cluster": "<x>", "note": "two people\nof one name"}
        answer = opened.post("/run/run/review", data=form, headers=SAME_ORIGIN)
        assert (answer.status_code, answer.headers["location"]) == (303, "/review")
        (row,) = data(opened, "review")["rows"]
        assert {name: row[name] for name in form} == form
        assert link("run", "run", "cluster", "ideal", "<x>") in page(opened, "review")
        assert opened.post("/run/run/review", data={"side": "up"}, headers=SAME_ORIGIN).status_code == 404
        assert opened.post("/run/none/review", data=form, headers=SAME_ORIGIN).status_code == 404
        assert "1 noted" in page(opened)
    assert len((tmp_path / "review.jsonl").read_text().splitlines()) == 1


def test_the_report_of_a_run_is_handed_out_as_a_file(client: TestClient):
    answer = client.get(link("run", RUN, "report"))
    assert answer.status_code == 200
    assert answer.headers["content-disposition"] == 'attachment; filename="report.html"'
    assert "pointwise report" in answer.text


def test_search_finds_integers_by_their_first_digits(tmp_path: Path):
    ids = [0, 7, 70, 71, 712, 80, 700_000, -7, -71, -8, 2**63 - 1, 922]
    pw.evaluate(ideal=dict.fromkeys(ids, 1), actual={one: one for one in ids}).save(tmp_path / "run")
    with visiting(tmp_path) as opened:
        for wanted in ("7", "71", "0", "-7", "9", "922", "9223372036854775807", "x", "-"):
            rows = data(opened, "search", q=wanted, run="run")["rows"]
            found = {row["id"] for row in rows if row["what"] == "item"}
            assert found == {one for one in ids if str(one).startswith(wanted) and wanted != "-"}
