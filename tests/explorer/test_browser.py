"""The explorer in a real browser: clicks, keys, widths, colours, and what stands in the way of people."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path

import pyarrow as pa
import pytest
from selenium.webdriver.common.keys import Keys as Press

import pointwise as pw
from browser import Browser, open_browser
from pointwise.diffs.questions import find_questions, read_questions
from pointwise.diffs.sitting import sit_down
from pointwise.explorer.urls import link
from pointwise.text.values import format_metric
from visiting import serving

RUN = "2022-06-30"
EVIL = "<img src=x onerror=alert(1)>/\"'\n👩‍👩‍👧 שלום"


@pytest.fixture(scope="module")
def data() -> pw.datasets.PatentsView:
    return pw.datasets.patentsview()


@pytest.fixture(scope="module")
def evaluation(data: pw.datasets.PatentsView) -> pw.Evaluation:
    return pw.evaluate(
        ideal=data.truth, actual=data.releases[RUN], attributes=data.attributes, slices=["country"], outside="wrong"
    )


@pytest.fixture(scope="module")
def stored(data: pw.datasets.PatentsView, evaluation: pw.Evaluation, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("stored")
    evaluation.save(folder / RUN)
    both = {name: data.releases[name] for name in ("2021-12-30", RUN)}
    pw.compare(ideal=data.truth, variants=both, attributes=data.attributes, slices=["cpc_section"]).save(
        folder / "compared"
    )
    diff = pw.diff(baseline=both["2021-12-30"], experiment=both[RUN], attributes=data.attributes)
    diff.save(folder / "changed")
    diff.questions(30, seed=5).save(find_questions(folder / "changed"))
    disagree(folder / "changed")
    diff.save(folder / "unasked")
    (folder / "damaged").mkdir()
    (folder / "damaged" / "run.json").write_text("{")
    ideal = {f"{EVIL} {n}": EVIL for n in range(3)}
    known = pa.table({"item": list(ideal), EVIL: [EVIL] * 3})
    actual = {item: f"{EVIL} {n // 2}" for n, item in enumerate(ideal)}
    pw.evaluate(ideal=ideal, actual=actual, attributes=known, slices=[EVIL]).save(folder / "hostile")
    return folder


def disagree(folder: Path) -> None:
    """Let two judges answer a question differently."""
    question = read_questions(find_questions(folder))[0].number
    sit_down(folder, "ann").answer(question, "yes", ms=1_000, note="", times=0)
    sit_down(folder, "ben").answer(question, "no", ms=1_000, note="", times=0)


@pytest.fixture(scope="module")
def address(stored: Path, data: pw.datasets.PatentsView) -> Iterator[str]:
    with serving(stored, attributes=str(data.attributes)) as entrance:
        yield entrance


@pytest.fixture(scope="module")
def browser(address: str) -> Iterator[Browser]:
    with open_browser() as opened:
        opened.open(address)
        yield opened


@pytest.fixture(scope="module")
def base(address: str) -> str:
    return address.partition("/?")[0]


def click(browser: Browser, selector: str) -> None:
    browser.find(selector).click()


def test_five_clicks_lead_from_the_overview_to_a_record(browser: Browser, base: str, evaluation: pw.Evaluation):
    browser.open(base)
    click(browser, f'#runs a[href="{link("run", RUN)}"]')
    assert browser.find('[data-metric="recall"]').text == format_metric(evaluation.overall["recall"])
    click(browser, f'.card a[href="{link("run", RUN, "clusters", "ideal")}"]')
    costliest = evaluation.by_ideal_cluster().sort("cost", descending=True).head(1).to_dicts()[0]
    assert browser.texts("#clusters tbody th")[0] == costliest["ideal_cluster"]
    click(browser, "#clusters tbody th a")
    cells = evaluation.explain(ideal_cluster=costliest["ideal_cluster"]).to_dicts()
    assert f"It lies in {len(cells)} actual clusters" in browser.find(".lead").text
    click(browser, "#members tbody tr a")
    assert browser.texts("h2")[0] == "Its record"
    click(browser, "#true_positives tbody tr:last-child a, #false_negatives tbody tr a")
    records = dict(zip(browser.texts("#main dt"), browser.texts("#main dd"), strict=True))
    assert {"country", "organization", "title"} <= set(records)
    assert browser.messages() == []
    hosts = {re.match(r"\w+://([^/]*)", url)[1] for url in browser.requests() if url.startswith("http")}  # type: ignore[index]
    assert hosts == {base.removeprefix("http://")}


def test_rows_are_reached_by_keyboard(browser: Browser, base: str):
    browser.open(base + link("run", RUN, "clusters", "ideal"))
    body = browser.find("body")
    body.send_keys("j")
    first = browser.chrome.switch_to.active_element.text
    browser.chrome.switch_to.active_element.send_keys("j")
    assert browser.chrome.switch_to.active_element.text != first
    browser.chrome.switch_to.active_element.send_keys("k")
    assert browser.chrome.switch_to.active_element.text == first
    browser.chrome.switch_to.active_element.send_keys(Press.ENTER)
    assert browser.find("h1").text == f"Ideal cluster {first}"
    browser.find("body").send_keys("?")
    assert browser.run("return document.getElementById('help').open")
    browser.find("body").send_keys("/")
    browser.chrome.switch_to.active_element.send_keys("inventor-00", Press.ENTER)
    assert browser.texts("#found tbody th")[:2] == ["inventor-001", "inventor-002"]


def test_a_question_is_answered_by_keyboard_undone_and_found_in_the_file(browser: Browser, base: str, stored: Path):
    def asked() -> str:
        return browser.find('[name="question"]').get_attribute("value")

    def lines(judge: str) -> list[dict]:
        path = find_questions(stored / "changed") / "judgements" / f"{judge}.jsonl"
        return [json.loads(line) for line in path.read_text().splitlines()]

    def comes_after(before: str) -> str:
        return browser.wait(lambda: asked() if asked() != before else None)

    for judge in ("ada", "bob"):
        browser.open(base + link("diff", "changed", "judge", judge=judge))
        first = asked()
        assert browser.wait(lambda: browser.run("return ahead.size")) == 2  # the next questions are at hand
        browser.run("window.isSamePage = true")
        browser.find("body").send_keys("m")
        browser.chrome.switch_to.active_element.send_keys("by hand", Press.ENTER)
        browser.find("body").send_keys("y")
        second = comes_after(first)
        assert browser.run("return window.isSamePage")
        browser.find("body").send_keys("z")
        assert comes_after(second) == first
        browser.find("body").send_keys("n")
        comes_after(first)
        browser.chrome.refresh()
        assert asked() == second
        told = [(line["question"], line["answer"], line["note"]) for line in lines(judge) if line["kind"] == "human"]
        assert told == [(int(first), "yes", "by hand"), (int(first), None, ""), (int(first), "no", "")]
        assert 0 < lines(judge)[0]["ms"] < 600_000
    assert "<mark>" in browser.chrome.page_source
    assert browser.messages() == []


PAGES = {
    "overview": "/",
    "run": link("run", RUN),
    "mistakes": link("run", RUN, "mistakes"),
    "slices": link("run", RUN, "slices", by="country"),
    "ideal clusters": link("run", RUN, "clusters", "ideal"),
    "actual clusters": link("run", RUN, "clusters", "actual"),
    "ideal cluster": link("run", RUN, "cluster", "ideal", "inventor-065"),
    "actual cluster": link("run", RUN, "cluster", "actual", "10"),
    "items": link("run", RUN, "items", where="recall < 0.5"),
    "item": link("run", RUN, "item", "US10383030-1"),
    "search": link("search", q="inventor-06", run=RUN),
    "nothing found": link("search", q="zzz", run=RUN),
    "review": link("review"),
    "comparison": link("compare", "compared"),
    "changes": link("compare", "compared", "clusters"),
    "sides": link("compare", "compared", "item", "US10383030-1"),
    "diff": link("diff", "changed"),
    "fates": link("diff", "changed", "clusters", fate="merged"),
    "changed item": link("diff", "changed", "item", "US10383030-1"),
    "changed cluster": link("diff", "changed", "cluster", "baseline", "76"),
    "who judges": link("diff", "changed", "judge"),
    "judge": link("diff", "changed", "judge", judge="eve"),
    "adjudicate": link("diff", "changed", "adjudicate", judge="eve"),
    "estimates": link("diff", "changed", "estimates"),
    "unasked": link("diff", "unasked"),
}
REFUSED = {
    "missing item": link("run", RUN, "item", "nothing"),
    "missing page": link("nothing"),
    "bad condition": link("run", RUN, "items", where="recall <"),
    "no questions": link("diff", "unasked", "judge"),
    "damaged": link("run", "damaged"),
}


def look_at(browser: Browser, page: str) -> None:
    """Look at a page in both schemes and at three widths, and ask whether anything stands in the way of people."""
    browser.open(page, scheme="light")
    browser.run("document.querySelectorAll('details').forEach(d => { d.open = true; })")  # the help, too
    for width in (400, 2000, 1280):
        browser.resize(width)
        for scheme in ("light", "dark"):
            browser.paint(scheme)
            assert browser.overflow() <= 0
            assert browser.overlaps() == []
    assert browser.violations("dark", "light") == []


@pytest.mark.parametrize("name", PAGES)
def test_every_page_fits_every_width_and_stands_in_nobodys_way(browser: Browser, base: str, name: str):
    look_at(browser, base + PAGES[name])
    assert browser.messages() == []
    assert {re.match(r"\w+://([^/]*)", url)[1] for url in browser.requests() if url.startswith("http")} == {  # type: ignore[index]
        base.removeprefix("http://")
    }


@pytest.mark.parametrize("name", REFUSED)
def test_what_is_not_there_is_said_as_well(browser: Browser, base: str, name: str):
    look_at(browser, base + REFUSED[name])
    assert browser.find("h1").text in ("Not found", "This did not work")
    assert all("Failed to load resource" in message for message in browser.messages())


def test_an_empty_folder_says_how_to_fill_it(browser: Browser, tmp_path: Path):
    with serving(tmp_path) as entrance:
        look_at(browser, entrance)
        assert "pointwise evaluate" in browser.find("main").text
        assert browser.messages() == []


def test_every_key_of_a_judge_does_what_it_says(browser: Browser, base: str, stored: Path):
    def asked() -> str:
        return browser.find('[name="question"]').get_attribute("value")

    def press(key: str) -> None:
        before = asked()
        browser.find("body").send_keys(key)
        browser.wait(lambda: asked() != before)

    browser.open(base + link("diff", "changed", "judge", judge="kim"))
    for key in "ynufs":
        press(key)
    browser.find("body").send_keys("c")
    browser.wait(lambda: "Also grouped with the left one" in browser.find("main").text)
    press("z")
    path = find_questions(stored / "changed") / "judgements" / "kim.jsonl"
    answers = [json.loads(line)["answer"] for line in path.read_text().splitlines()]
    assert answers == ["yes", "no", "unsure", "flag", None]
    assert browser.messages() == []


@pytest.mark.parametrize("address_of", [("run", RUN), ("compare", "compared"), ("diff", "changed")])
def test_every_summary_links_to_its_report(browser: Browser, base: str, address_of: tuple[str, str]):
    browser.open(base + link(*address_of))
    href = browser.find('a[href$="/report"]').get_attribute("href")
    fetch = "const r = new XMLHttpRequest(); r.open('GET', arguments[0], false); r.send(); return r.responseText"
    text = browser.run(fetch, href)
    assert "pointwise report" in text
    assert "pointwise explore" in text


def test_hostile_ids_and_attributes_are_read_and_never_obeyed(browser: Browser, base: str):
    item, pages = f"{EVIL} 1", []
    pages += [link("run", "hostile", *parts) for parts in ((), ("mistakes",), ("items",), ("clusters", "ideal"))]
    pages += [link("run", "hostile", "item", item), link("run", "hostile", "cluster", "ideal", EVIL)]
    pages += [link("run", "hostile", "slices", by=EVIL), link("search", q=EVIL)]
    for page in pages:
        browser.open(base + page, width=400)
        assert "This did not work" not in browser.find("h1").text, page
        assert browser.run("return document.querySelectorAll('img').length") == 0
        assert browser.overflow() <= 0, page
        assert browser.messages() == [], page
    browser.open(base + link("run", "hostile", "items"))
    for n in range(3):
        browser.open(base + link("run", "hostile", "items"))
        browser.chrome.find_elements("css selector", "#items tbody th a")[n].click()
        assert browser.find("h1").text.split() == f"Item {EVIL} {n}".split()
