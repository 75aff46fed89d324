"""The report: read in a real browser."""

from __future__ import annotations

import re
from pathlib import Path

import pyarrow as pa
import pytest
from typer.testing import CliRunner

import pointwise as pw
from browser import Browser, open_browser
from pointwise.cli import app
from pointwise.comparison.comparing import compare
from pointwise.comparison.comparison import Comparison
from pointwise.pages import sentences
from pointwise.pages.grids import MOST_TEXT, bounded_value
from pointwise.text.values import format_difference, format_metric, format_weight

EVIL = "<img src=x onerror=alert(1)>"
EVIL_SCRIPT = "</script><script>alert(2)</script>"
HOSTILE = (
    EVIL,
    EVIL_SCRIPT,
    "\"'><svg onload=alert(3)>",
    "{{ 7 * 7 }}{% raw %}",
    "שלום \u202eevil",
    "👩‍👩‍👧 emoji",
    "line\nbreak\ttab\x0b\x1b",
    "&lt;b&gt; &amp;",
    "long " * 4_000,
)


PAGES = ("report", "compared", "hostile", "hostile_compared")


@pytest.fixture(scope="module")
def browser():
    with open_browser() as opened:
        yield opened


@pytest.fixture(scope="module")
def evaluation() -> pw.Evaluation:
    data = pw.datasets.patentsview()
    return pw.evaluate(
        ideal=data.truth,
        actual=data.releases["2018-05-28"],
        weight="num_claims",
        weights=data.attributes,
        attributes=data.attributes,
        slices=["country", "patent_year >= 2015", "cpc_section"],
        outside="wrong",
    )


@pytest.fixture(scope="module")
def report(evaluation: pw.Evaluation, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return evaluation.report(tmp_path_factory.mktemp("report") / "report.html")


@pytest.fixture(scope="module")
def comparison() -> Comparison:
    data = pw.datasets.patentsview()
    return compare(
        ideal=data.truth,
        variants={name: data.releases[name] for name in ("2020-09-29", "2020-12-29", "2022-06-30")},
        baseline="2020-09-29",
        weight="num_claims",
        weights=data.attributes,
        attributes=data.attributes,
        slices=["country"],
        outside="wrong",
        on="shared",
    )


@pytest.fixture(scope="module")
def compared(comparison: Comparison, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return comparison.report(tmp_path_factory.mktemp("compared") / "report.html")


@pytest.fixture(scope="module")
def hostile_compared(tmp_path_factory: pytest.TempPathFactory) -> Path:
    ideal = {item: f"ideal {item}" for item in HOSTILE} | {f"{item} 2": f"ideal {item}" for item in HOSTILE}
    other = dict.fromkeys(ideal, "one")
    other |= {f"{item} 2": f"actual {item}" for item in HOSTILE}
    made = compare(ideal=ideal, variants={EVIL: other, EVIL_SCRIPT: ideal}, slices=["ideal_cluster_size"])
    return made.report(tmp_path_factory.mktemp("hostile") / "report.html")


@pytest.fixture(scope="module")
def hostile(tmp_path_factory: pytest.TempPathFactory) -> Path:
    ideal = {item: f"ideal {item}" for item in HOSTILE} | {f"{item} 2": f"ideal {item}" for item in HOSTILE}
    actual = dict.fromkeys(ideal, EVIL_SCRIPT) | {f"{item} 2": f"actual {item}" for item in HOSTILE}
    items = list(ideal)
    column = "<b onclick=alert(4)>column</b>"
    attributes = pa.table({"item": items, column: [f"{item} value" for item in items]})
    evaluation = pw.evaluate(ideal=ideal, actual=actual, attributes=attributes, slices=[(column,)])
    return evaluation.report(tmp_path_factory.mktemp("hostile") / "report.html", title=EVIL)


@pytest.mark.parametrize("page", PAGES)
def test_opens_without_errors_and_without_a_network(browser: Browser, page: str, request: pytest.FixtureRequest):
    path = request.getfixturevalue(page)
    browser.open(path)
    assert browser.messages() == []
    assert browser.requests() == [path.as_uri()]
    assert path.stat().st_size < 2_000_000


def test_headline_numbers_are_those_of_the_evaluation(browser: Browser, report: Path, evaluation: pw.Evaluation):
    browser.open(report)
    for metric, value in evaluation.overall.values.items():
        assert browser.texts(f"[data-metric={metric}]") == [format_metric(value)]


def test_cluster_rows_are_those_of_the_evaluation(browser: Browser, report: Path, evaluation: pw.Evaluation):
    browser.open(report)
    rows = browser.run(
        "return Array.from(document.querySelectorAll('#ideal-clusters .sortable > tbody'))"
        ".map(b => Array.from(b.rows[0].cells).map(c => c.innerText.trim()))"
    )
    assert len(rows) == 100
    known = {row["ideal_cluster"]: row for row in evaluation.by_ideal_cluster().to_dicts()}
    for name, _, items, weight, _, *metrics in rows:
        row = known[name]
        assert (items, weight) == (str(row["items"]), format_weight(row["weight"]))
        assert metrics == [format_metric(row[m]) for m in evaluation.overall.values]


def test_says_how_many_clusters_there_are(report: Path, evaluation: pw.Evaluation):
    total = evaluation.coverage.ideal_clusters_touched
    assert f"100 of {total:,} ideal clusters" in report.read_text()


def column(browser: Browser, grid: str, number: int) -> list[str]:
    return browser.run(
        "return Array.from(document.querySelectorAll(arguments[0])).filter(b => !b.hidden)"
        ".map(b => b.rows[0].cells[arguments[1]].innerText.trim().split('\\n')[0])",
        f"#{grid} .sortable > tbody",
        number,
    )


def test_sorts_by_any_column(browser: Browser, report: Path):
    browser.open(report)
    head = browser.find("#ideal-clusters [data-sorts='2']")
    head.click()
    items = [int(text.replace(",", "")) for text in column(browser, "ideal-clusters", 2)]
    assert items == sorted(items, reverse=True)
    head.click()
    items = [int(text.replace(",", "")) for text in column(browser, "ideal-clusters", 2)]
    assert items == sorted(items)
    assert browser.find("#ideal-clusters th[aria-sort]").get_attribute("aria-sort") == "ascending"


def test_sorts_text_and_leaves_missing_values_at_the_end(browser: Browser, report: Path):
    browser.open(report)
    browser.find("#slices-2 [data-sorts='0']").send_keys("\n")
    names = column(browser, "slices-2", 0)
    assert names[-1] == "(missing)"
    assert names[:-1] == sorted(names[:-1])


def test_searches(browser: Browser, report: Path):
    browser.open(report)
    browser.find("#ideal-clusters input").send_keys("inventor-042")
    assert column(browser, "ideal-clusters", 0) == ["inventor-042"]
    assert browser.texts("[data-found=ideal-clusters]") == ["1 of 100 rows"]


def test_drills_down_by_keyboard_to_cells_and_items(browser: Browser, report: Path, evaluation: pw.Evaluation):
    browser.open(report)
    browser.find("#ideal-clusters .opens").send_keys("\n")
    cluster = column(browser, "ideal-clusters", 0)[0]
    cells = evaluation.explain(ideal_cluster=cluster).cells.to_dicts()
    shown = browser.texts("#ideal-clusters-1 .cell > p")
    assert len(shown) == min(6, len(cells))
    assert shown[0].startswith(f"actual {cells[0]['actual_cluster']}: ")
    assert f"({cells[0]['items']:,} items, weight {format_weight(cells[0]['weight'])})" in shown[0]
    items = {row["item"] for row in evaluation.by_item().where(f"ideal_cluster == '{cluster}'").to_dicts()}
    examples = browser.texts("#ideal-clusters-1 .cell tbody td:first-child")
    assert examples
    assert set(examples) <= items
    browser.find("#ideal-clusters .opens").click()
    assert browser.texts("#ideal-clusters-1") == []


@pytest.mark.parametrize("page", PAGES)
def test_nothing_overlaps(browser: Browser, page: str, request: pytest.FixtureRequest):
    browser.open(request.getfixturevalue(page))
    browser.run("document.querySelectorAll('.opens').forEach((b, n) => { if (n % 40 === 0) b.click(); })")
    for width in (1280, 400):
        browser.resize(width)
        assert browser.overflow() <= 0
        assert browser.overlaps() == []


@pytest.mark.parametrize("page", ["report", "compared"])
def test_the_last_column_shows_in_a_window_of_usual_width(browser: Browser, page: str, request: pytest.FixtureRequest):
    browser.open(request.getfixturevalue(page), width=1280)
    boxes = browser.run("return [...document.querySelectorAll('.scroll')].map(b => [b.scrollWidth, b.clientWidth])")
    assert boxes
    assert [box for box in boxes if box[0] > box[1]] == []


@pytest.mark.parametrize("page", ["report", "compared"])
def test_charts_shrink_with_a_narrow_window(browser: Browser, page: str, request: pytest.FixtureRequest):
    browser.open(request.getfixturevalue(page), width=420)
    ends = browser.run(
        "return [...document.querySelectorAll('figure svg text')].map(t => t.getBoundingClientRect())"
        ".map(r => [r.left, r.right])"
    )
    assert ends
    assert [end for end in ends if end[0] < 0 or end[1] > 420] == []


@pytest.mark.parametrize("page", PAGES)
def test_is_accessible(browser: Browser, page: str, request: pytest.FixtureRequest):
    browser.open(request.getfixturevalue(page))
    browser.run("document.querySelector('.opens').click()")
    assert browser.violations("light", "dark") == []


def test_the_checks_see_what_they_look_for(browser: Browser, tmp_path: Path):
    page = tmp_path / "bad.html"
    page.write_text(
        "<title>bad</title><main><p>one</p><p style='margin-top:-1.5em;width:200vw'>two</p>"
        "<img src='missing.png'></main>"
    )
    browser.open(page)
    assert browser.overlaps() == ["one / two"]
    assert browser.overflow() > 0
    assert any(found.startswith("image-alt") for found in browser.violations())
    assert any("missing.png" in address for address in browser.requests())
    assert browser.messages()


def test_every_chart_has_a_description(browser: Browser, report: Path):
    browser.open(report)
    described = browser.run("return Array.from(document.querySelectorAll('svg[role=img]'), s => s.ariaLabel)")
    assert len(described) == len(browser.run("return document.querySelectorAll('figure')"))
    assert all(len(text) > 20 for text in described)


def test_hostile_names_show_as_text(browser: Browser, hostile: Path):
    browser.open(hostile)
    assert browser.messages() == []
    assert browser.requests() == [hostile.as_uri()]
    assert browser.run("return document.querySelectorAll('img, iframe, script[src], [onclick], [onload]').length") == 0
    assert browser.run("return document.scripts.length") == 1
    assert browser.texts("h1") == [EVIL]
    assert f"ideal {EVIL}" in column(browser, "ideal-clusters", 0)
    assert EVIL_SCRIPT in column(browser, "actual-clusters", 0)
    browser.run("document.querySelectorAll('.opens').forEach(b => b.click())")
    assert EVIL in browser.texts(".cell tbody td:first-child")
    assert "{{ 7 * 7 }}{% raw %}" in browser.texts(".cell tbody td:first-child")


def test_a_policy_forbids_everything_from_elsewhere(report: Path):
    policy = re.search(r'http-equiv="Content-Security-Policy" content="([^"]*)"', report.read_text())
    assert policy
    assert "default-src &#39;none&#39;" in policy[1]
    assert "script-src &#39;sha256-" in policy[1]
    assert "http" not in policy[1]


def test_the_policy_refuses_a_script_that_got_in_anyway(browser: Browser, report: Path, tmp_path: Path):
    broken = tmp_path / "broken.html"
    broken.write_text(report.read_text().replace("</main>", "<script>document.title='bad'</script></main>"))
    browser.open(broken)
    assert browser.chrome.title != "bad"
    assert any("Content Security Policy" in message for message in browser.messages())


def test_verdicts_are_those_of_the_comparison(browser: Browser, compared: Path, comparison: Comparison):
    browser.open(compared)
    words = {"better": "▲ better", "worse": "▼ worse"}
    for row in comparison.deltas(experiment="2022-06-30").to_dicts():
        assert browser.texts(f"[data-metric={row['metric']}]") == [format_difference(row["delta"])]
        is_clear = row["delta_low"] > 0 or row["delta_high"] < 0
        is_better = (row["delta"] > 0) == (pw.METRICS[row["metric"]].better == "higher")
        word = words["better" if is_better else "worse"] if is_clear else "– no clear difference"
        assert browser.texts(f"[data-metric={row['metric']}] + p") == [word]
    assert "2022-06-30 is clearly better than 2020-09-29 on recall" in browser.texts("p.lead")[0]


def test_tables_of_differences_count_the_clusters_that_changed(compared: Path, comparison: Comparison):
    page = compared.read_text(encoding="utf-8")
    for row in comparison.by_slice("country", metrics="recall", experiment="2022-06-30").head(5).to_dicts():
        begin = "roughly " if row["verdict"] == "too few changed" and row["delta_low"] is not None else ""
        assert f"{row['up_clusters']:,} up, {row['down_clusters']:,} down</span>" in page
        assert not begin or f'<span class="aside">{begin}' in page


def test_all_variants_are_listed_with_their_values(browser: Browser, compared: Path, comparison: Comparison):
    browser.open(compared)
    assert column(browser, "variants", 0) == comparison.variants
    places = {text.split("\u00a0")[0]: n for n, text in enumerate(browser.texts("#variants thead th"))}
    recalls = [format_metric(comparison[name].overall["recall"]) for name in comparison.variants]
    assert column(browser, "variants", places["recall"]) == recalls
    assert column(browser, "differences", 0) == ["2020-12-29", "2022-06-30"]


def test_drills_down_to_cells_before_and_after(browser: Browser, compared: Path, comparison: Comparison):
    browser.open(compared)
    row = comparison.changes(experiment="2022-06-30").head(1).to_dicts()[0]
    browser.find("#clusters-changed .opens").click()
    notes = browser.texts("#clusters-changed-1 .opened > p")
    assert notes[0].startswith(f"In 2020-09-29 it lies in {row['pieces_baseline']} actual cluster")
    assert notes[1].startswith(f"In 2022-06-30 it lies in {row['pieces_experiment']} actual cluster")


def test_hostile_variants_show_as_text(browser: Browser, hostile_compared: Path):
    browser.open(hostile_compared)
    assert browser.texts("h1") == [f"Is {EVIL_SCRIPT} better than {EVIL}?"]
    assert browser.run("return document.querySelectorAll('img, iframe, script[src]').length") == 0
    assert browser.run("return document.scripts.length") == 1


def test_long_values_are_cut():
    value = bounded_value("x" * 10_000)
    assert len(value.text) == MOST_TEXT
    assert value.full == "10,000 characters"


def test_a_perfect_clustering_has_no_mistakes(tmp_path: Path):
    same = {"a": 1, "b": 1, "c": 2}
    page = pw.evaluate(ideal=same, actual=same).report(tmp_path / "same.html").read_text()
    assert "agree on all common items" in page
    assert "The two clusterings are the same on the common items." in page


def test_single_item(tmp_path: Path):
    page = pw.evaluate(ideal={"a": 1}, actual={"a": 2}).report(tmp_path / "one.html").read_text()
    assert "all 1 ideal clusters" in page


def test_the_file_appears_whole_or_not_at_all(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    evaluation = pw.evaluate(ideal={"a": 1}, actual={"a": 2})
    (tmp_path / "report.html").write_text("old")
    monkeypatch.setattr(Path, "write_text", lambda *_, **__: (_ for _ in ()).throw(OSError("disk full")))
    with pytest.raises(OSError, match="disk full"):
        evaluation.report(tmp_path / "report.html")
    assert (tmp_path / "report.html").read_bytes() == b"old"


def run_command(*arguments: str) -> str:
    found = CliRunner().invoke(app, list(arguments))
    assert found.exit_code == 0, found.output
    return found.stderr


def test_commands_write_reports(tmp_path: Path):
    (tmp_path / "truth.csv").write_text("item,cluster\na,1\nb,1\nc,2\n")
    (tmp_path / "old.csv").write_text("item,cluster\na,1\nb,2\nc,3\n")
    (tmp_path / "new.csv").write_text("item,cluster\na,1\nb,1\nc,1\n")
    truth, old, new = (str(tmp_path / f"{name}.csv") for name in ("truth", "old", "new"))
    run, page = str(tmp_path / "run"), tmp_path / "page.html"
    said = run_command("evaluate", truth, old, "--save", run, "--html", str(page))
    assert f"Wrote the report to {page}." in said
    assert "<h1>How good is run?</h1>" in page.read_text()
    run_command("evaluate", truth, old, "--html", str(page))
    assert "<h1>How good is old.csv?</h1>" in page.read_text()
    run_command("report", run, "-o", str(page))
    assert "<title>How good is run? – pointwise report</title>" in page.read_text()
    run_command("report", run, "-o", str(page), "--title", "Monday & Tuesday")
    assert "<h1>Monday &amp; Tuesday</h1>" in page.read_text()
    run_command("compare", truth, old, new, "--save", f"{run}-2", "--html", str(page))
    assert "Is new better than old?" in page.read_text()
    page.unlink()
    run_command("report", f"{run}-2", "-o", str(page))
    assert "Is new better than old?" in page.read_text()


def test_a_report_of_objects_has_a_general_title_and_speaks_of_no_parameters(tmp_path: Path):
    ideal, half = [[1, 2], [3, 4, 5, 6]], [[1, 3], [2]]
    settings = {"unassigned": {"actual": "singleton"}, "outside": "wrong", "missing": "drop"}
    pages = [
        pw.evaluate(ideal=ideal, actual=half, **settings).report(tmp_path / "one.html"),
        pw.compare(ideal=ideal, variants={"half": half, "whole": ideal}).report(tmp_path / "two.html"),
        pw.diff(baseline=ideal, experiment=half, on="union").report(tmp_path / "three.html"),
    ]
    assert "<h1>How good is this clustering?</h1>" in pages[0].read_text()
    assert "those of the ideal clustering are refused; those of the actual clustering count as alone" in (
        pages[0].read_text()
    )
    for page in pages:
        seen = re.sub(r"<(style|script|svg).*?</\1>|<[^>]*>", " ", page.read_text(), flags=re.DOTALL)
        assert not re.findall(r"\b(?:outside|missing|unassigned|on)=\S*", seen)


@pytest.mark.parametrize(
    ("metric", "value", "words"),
    [
        ("precision", 0.931, "Of the weight in an average item's actual cluster, 93.1% belongs there."),
        ("recall", 1.0, "Of the weight that belongs with an average item, 100.0% is with it."),
        ("f1", 0.5, "Harmonic mean of the item's precision and recall."),
        ("specificity", None, "specificity is undefined for every item."),
    ],
)
def test_says_values_in_words(metric: str, value: float | None, words: str):
    assert sentences.explain_value(metric, value) == words


@pytest.mark.parametrize(
    ("precision", "recall", "words"),
    [
        (1.0, 1.0, "are the same"),
        (1.0, 0.9, "wrong splits: nothing was merged"),
        (0.9, 1.0, "wrong merges: nothing was split"),
        (0.9, 0.91, "about as much"),
        (0.9, 0.6, "Wrong splits cost 4.0 times as much as wrong merges."),
        (0.6, 0.9, "Wrong merges cost 4.0 times as much as wrong splits."),
    ],
)
def test_says_which_mistake_costs_more(precision: float, recall: float, words: str):
    assert words in sentences.say_balance({"precision": precision, "recall": recall})
