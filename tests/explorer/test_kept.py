"""What is kept between visits: loaded runs and answers, for one version of a run and never for another."""

from __future__ import annotations

import gc
import os
import re
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from starlette.testclient import TestClient

import pointwise as pw
from pointwise.errors import EngineError
from pointwise.explorer import Site, jobs, kept, site
from pointwise.explorer.application import Body
from pointwise.explorer.jobs import CancelledError, Job, Jobs
from pointwise.explorer.sidecars import Sorted
from pointwise.explorer.site import Visit
from pointwise.explorer.urls import link
from visiting import SAME_ORIGIN, is_alike, visiting

TRUTH = {f"item {n}": f"ideal {n // 3}" for n in range(90)}
FOUND = {f"item {n}": f"actual {n // 4}" for n in range(90)}
PAGES = (
    link("run", "run"),
    link("run", "run", "mistakes"),
    link("run", "run", "clusters", "actual"),
    link("run", "run", "item", "item 7"),
    link("run", "run", "cluster", "actual", "actual 1"),
)


@pytest.fixture
def top(tmp_path: Path) -> Path:
    pw.evaluate(ideal=TRUTH, actual=FOUND).save(tmp_path / "run")
    return tmp_path


@pytest.fixture
def loads(monkeypatch: pytest.MonkeyPatch) -> list[Path]:
    """Record which runs are loaded."""
    found: list[Path] = []

    def load(path: Path, **settings: Any) -> pw.Evaluation:
        found.append(path)
        return pw.load(path, **settings)

    monkeypatch.setattr(site, "load", load)
    return found


def ask(client: TestClient, path: str) -> dict[str, Any]:
    answer = client.get(f"{path}.json")
    assert answer.status_code == 200, answer.text
    found: dict[str, Any] = answer.json()
    return found


def test_one_visitor_has_a_run_loaded_once(top: Path, loads: list[Path]):
    with visiting(top) as client:
        for page in PAGES:
            ask(client, page)
        assert client.get(link("run", "run", "item", "nobody")).status_code == 404
        ask(client, link("run", "run", "item", "item 8"))
    assert loads == [top / "run"]


def test_a_run_that_was_replaced_is_loaded_and_answered_anew(top: Path, loads: list[Path]):
    with visiting(top) as client:
        before = [ask(client, page) for page in PAGES]
        pw.evaluate(ideal=TRUTH, actual=FOUND | {"item 7": "actual 9"}).save(top / "run", overwrite=True)
        after = [ask(client, page) for page in PAGES]
    assert all(old != new for old, new in zip(before, after, strict=True))
    assert len(loads) == 2
    with visiting(top) as client:
        assert is_alike([ask(client, page) for page in PAGES], after)


def test_a_manifest_of_the_same_size_and_time_is_another_version(top: Path):
    shelf = Site(top).shelf
    stored = shelf.look()[0]
    path, before = stored.path / stored.kind.file, stored.version
    times = path.stat()
    path.write_text(path.read_text().replace("item", "itex"))
    os.utime(path, ns=(times.st_atime_ns, times.st_mtime_ns))
    assert stored.version != before
    path.unlink()
    assert stored.version is None


def test_a_run_that_nobody_can_open_any_more_is_not_shown_from_memory(top: Path):
    with visiting(top) as client:
        ask(client, PAGES[3])
        (top / "run" / "run.json").write_text("{}")
        assert client.get(PAGES[3]).status_code >= 400


def visit(top: Path, work: Callable[[Visit], Any], explored: Site | None = None) -> Job:
    def run(job: Job) -> Any:
        opened = Visit(explored or Site(top), ("run",), {}, job)
        with opened.opened:
            return work(opened)

    job = Job(run)
    job.run()
    return job


def test_visits_at_the_same_time_have_engines_of_their_own(top: Path, loads: list[Path]):
    explored, both = Site(top), threading.Barrier(2, timeout=60)

    def look(opened: Visit) -> Any:
        engine = opened.sorted_run().engine
        both.wait()
        return engine

    with ThreadPoolExecutor(2) as pool:
        jobs = [pool.submit(visit, top, look, explored) for _ in range(2)]
    first, second = (job.result().future.result() for job in jobs)
    assert first is not second
    assert len(loads) == 2
    explored.kept.close()


def test_an_engine_that_failed_or_was_interrupted_is_not_used_again(top: Path, loads: list[Path]):
    explored = Site(top)

    def fail(opened: Visit) -> None:
        opened.sorted_run()
        raise EngineError("The engine failed.")

    def cancel(opened: Visit) -> None:
        opened.sorted_run()
        opened.job.cancel()

    for number, work in enumerate((fail, cancel, lambda opened: opened.sorted_run()), 1):
        visit(top, work, explored)
        assert len(loads) == number
    visit(top, lambda opened: opened.sorted_run(), explored)
    assert len(loads) == 3
    explored.kept.close()


def test_cancelling_a_visit_that_is_over_does_not_interrupt_the_next(top: Path):
    explored, interrupted = Site(top), []
    over = visit(top, lambda opened: opened.sorted_run(), explored)
    engine = over.future.result().engine
    engine.cancel = lambda: interrupted.append(engine)
    over.cancel()
    assert interrupted == []
    explored.kept.close()


def test_few_runs_are_kept_open(top: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(kept, "MOST_KEPT", 1)
    pw.evaluate(ideal=TRUTH, actual=TRUTH).save(top / "other")
    explored = Site(top)
    opened = [visit(top, lambda v, n=name: v.sorted_run(n), explored).future.result() for name in ("run", "other")]
    with pytest.raises(EngineError, match="closed"), opened[0].engine.turn():
        pass
    with opened[1].engine.turn():
        pass
    explored.kept.close()
    with pytest.raises(EngineError, match="closed"), opened[1].engine.turn():
        pass


def test_what_visits_checkpoint_is_released(top: Path):
    explored = Site(top)
    for _ in range(3):
        run = visit(top, lambda opened: (opened.evaluation().mistakes(), opened.sorted_run())[1], explored)
        assert run.future.result().engine._held == []
    explored.kept.close()


def test_an_answer_is_kept_for_what_the_page_reads_until_it_is_reloaded_by_force(
    top: Path, monkeypatch: pytest.MonkeyPatch
):
    opened: list[str] = []
    open_run = Visit.sorted_run

    def count(self: Visit, name: str | None = None) -> Sorted:
        opened.append(self["kind"])
        return open_run(self, name)

    monkeypatch.setattr(Visit, "sorted_run", count)
    with visiting(top) as client:
        pages = [client.get(f"/run/run/mistakes{query}").text for query in ("", "?again=1", "?kind=&again=2")]
        assert opened == [""]
        assert len(set(pages)) == 1
        client.get("/run/run/mistakes?again=1&kind=over-merge")
        text = client.get("/run/run/mistakes?kind=over-merge&kind=under-merge&all=1&x=2").text
        assert opened == ["", "over-merge", "under-merge"]
        assert "/run/run/mistakes.json?kind=under-merge&amp;all=1" in text
        assert client.get("/run/run/mistakes", headers={"cache-control": "no-cache"}).text == pages[0]
        assert opened == ["", "over-merge", "under-merge", ""]
        client.get("/run/run/mistakes", headers={"cache-control": "max-age=0"})
        assert len(opened) == 4


def test_the_same_question_at_the_same_time_is_computed_once():
    working, asked, go = Jobs(), [], threading.Event()

    def work(_: Job) -> str:
        asked.append(1)
        assert go.wait(60)
        return "answer"

    found = [working.start("question", work) for _ in range(20)]
    go.set()
    assert {job.future.result(60) for job in found} == {"answer"}
    assert len(asked) == 1
    working.close()


def test_answers_are_kept_by_size_and_those_in_use_the_longest(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(jobs, "MOST_CHARACTERS", 100)
    working, made = Jobs(), []

    def ask_for(key: str, size: int) -> None:
        def work(_: Job) -> Body:
            made.append(key)
            return Body("x" * size, "text/plain")

        working.start(key, work).future.result(60)
        working._pool.submit(int).result(60)

    for key, size in (("a", 40), ("b", 40), ("a", 40), ("c", 40), ("a", 40), ("b", 40), ("huge", 1_000), ("huge", 1)):
        ask_for(key, size)
    working.close()
    assert made[:4] == ["a", "b", "c", "b"]  # b was not asked for the longest when c came
    assert made[4:] in (["huge"], ["huge", "huge"])  # by itself too large to be kept
    assert sum(job.size for job in working._jobs.values()) <= 100


def test_an_answer_that_was_cancelled_is_not_kept():
    working = Jobs()
    job = working.start("key", lambda job: job.cancel() or job.check())
    with pytest.raises(CancelledError):
        job.future.result(60)
    assert working.start("key", lambda _: "anew").future.result(60) == "anew"
    working.close()


def test_a_visit_that_is_cancelled_while_nobody_waits_leaves_nothing_in_the_log(
    top: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
):
    is_cancelled = threading.Event()

    def load(path: Path, **settings: Any) -> pw.Evaluation:
        assert is_cancelled.wait(60)
        return pw.load(path, **settings)

    monkeypatch.setattr(site, "load", load)
    with visiting(top, patience=0) as client:
        found = re.search(r'action="(/cancel/\w+)"', client.get("/run/run").text)
        assert found
        assert client.post(found[1], headers=SAME_ORIGIN).status_code == 303
        is_cancelled.set()
    gc.collect()  # an exception that nobody took is logged when its future goes
    assert [record.message for record in caplog.records if record.name == "asyncio"] == []
