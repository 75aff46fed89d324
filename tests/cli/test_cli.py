"""The command line: what it prints, where, and with which exit code."""

from __future__ import annotations

import csv
import dataclasses
import gzip
import io
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from typer.testing import CliRunner

import forging
import pointwise as pw
from pointwise.cli import app
from pointwise.cli.reference import write_reference

DOCS = Path(__file__).parents[2] / "docs"
IDEAL = "item,cluster\na,p\nb,p\nc,q\n"
ACTUAL = "item,cluster\na,1\nb,2\nc,2\n"
ABOUT = "item,team,year\na,red,1\nb,red,2\nc,blue,3\n"


def call(*arguments, code=0, stdin=None):
    """Run a command in this process and return its standard output and standard error."""
    result = CliRunner().invoke(app, [str(a) for a in arguments], input=stdin)
    assert result.exit_code == code, result.output
    return result.stdout, result.stderr


def call_json(*arguments, **options):
    return json.loads(call(*arguments, "--format", "json", **options)[0])


def call_csv(*arguments, **options):
    return list(csv.DictReader(io.StringIO(call(*arguments, "--format", "csv", **options)[0])))


def start(*arguments, **options):
    """Start the program as a user does."""
    command = [sys.executable, "-c", "from pointwise.cli import main; main()", *map(str, arguments)]
    return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, **options)


@pytest.fixture
def toy(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("truth.csv").write_text(IDEAL)
    Path("clusters.csv").write_text(ACTUAL)
    Path("about.csv").write_text(ABOUT)
    return tmp_path


@pytest.fixture(scope="module")
def stored(tmp_path_factory):
    folder = tmp_path_factory.mktemp("stored")
    (folder / "truth.csv").write_text(IDEAL)
    (folder / "clusters.csv").write_text(ACTUAL)
    call("evaluate", folder / "truth.csv", folder / "clusters.csv", "--save", folder / "run")
    return folder / "run"


@pytest.fixture
def run(toy, stored):
    return shutil.copytree(stored, toy / "run")


def as_text(row):
    """Write a row of the library as CSV does: floats with all digits, nothing for what is undefined."""
    return {k: "" if v is None else str(v).lower() if isinstance(v, bool) else str(v) for k, v in row.items()}


@pytest.fixture(scope="module")
def releases(tmp_path_factory):
    """Evaluate PatentsView release by release."""
    folder = tmp_path_factory.mktemp("patentsview") / "runs"
    data = pw.datasets.patentsview()
    for name, release in data.releases.items():
        output, _ = call("evaluate", data.truth, release, "--save", folder / name, "--threads", 1, "--format", "json")
        assert json.loads(output)["overall"]["items"] == pw.load(folder / name).overall.items
    return folder


def test_transcript_runs(releases):
    expected = pw.history(releases).to_dicts()
    assert [row["run"] for row in expected] == list(pw.datasets.patentsview().releases)
    assert call_json("runs", releases) == expected
    assert call_csv("runs", releases) == [as_text(row) for row in expected]
    table, _ = call("runs", releases)
    assert all(row["run"] in table for row in expected)
    assert [row["run"] for row in call_json("runs", releases, "--sort", "recall", "-n", 1)] == [
        min(expected, key=lambda row: row["recall"])["run"]
    ]


def test_transcript_show(releases):
    run = releases / "2022-06-30"
    stored = pw.load(run, threads=1)
    shown = call_json("show", run, "--threads", 1)
    assert shown["overall"] == stored.overall.to_dict()
    assert shown["coverage"] == stored.coverage.to_dict()
    assert shown["warnings"] == stored.warnings
    assert call_csv("show", run, "--threads", 1) == [as_text(stored.overall.to_dict())]
    assert repr(stored.overall) in call("show", run)[0]
    worst = stored.by_ideal_cluster().worst("recall", 5).to_dicts()
    options = ("show", run, "--by", "ideal-cluster", "--worst", "recall", "-n", 5, "--threads", 1)
    assert call_json(*options) == worst
    assert call_csv(*options) == [as_text(row) for row in worst]
    assert worst[0]["ideal_cluster"] in call(*options)[0]
    few = ("show", run, "--by", "item", "--where", "recall < 0.5", "--metric", "matthews", "--metric", "recall")
    expected = stored.with_metrics("matthews", "recall").by_item().where("recall < 0.5").to_dicts()
    assert sorted(call_json(*few), key=str) == sorted(expected, key=str)
    assert "20 of" in call("show", run, "--by", "actual-cluster")[0]


def test_transcript_slice_by_an_attribute_not_given_at_first(releases):
    run, about = releases / "2022-06-30", pw.datasets.patentsview().attributes
    options = ("slice", run, "--attributes", about, "--slice", "country", "--threads", 1)
    expected = pw.load(run, threads=1).with_attributes(about).by_slice("country").to_dicts()
    assert call_json(*options) == expected
    assert call_csv(*options) == [as_text(row) for row in expected]
    assert "Slices by country" in call(*options)[0]
    assert call_json(*options, "--worst", "recall", "-n", 1)[0]["recall"] == min(row["recall"] for row in expected)
    two = call_json("slice", run, "--attributes", about, "-s", "patent_year >= 2015", "-s", "country,patent_type")
    assert {row["slice"] for row in two} == {"patent_year >= 2015", "country,patent_type"}


def test_transcript_explain(releases):
    run = releases / "2022-06-30"
    stored = pw.load(run)
    item = call_json("explain", run, "--item", "US10000128-1")
    assert item["true_positives"]["weight"] == stored.explain(item="US10000128-1").matrix["tp"]
    rows = call_csv("explain", run, "--item", "US10000128-1")
    assert [row["set"] for row in rows] == ["true_positives", "false_positives", "false_negatives", "true_negatives"]
    assert json.loads(rows[0]["items"]) == item["true_positives"]["items"]
    assert "Item US10000128-1" in call("explain", run, "--item", "US10000128-1")[0]
    cells = stored.explain(ideal_cluster="inventor-065").cells.to_dicts()
    assert call_json("explain", run, "--ideal-cluster", "inventor-065")["cells"] == cells
    assert call_csv("explain", run, "--ideal-cluster", "inventor-065") == [as_text(row) for row in cells]
    assert "inventor-065" in call("explain", run, "--ideal-cluster", "inventor-065")[0]


def test_transcript_mistakes(releases):
    run = releases / "2022-06-30"
    stored = pw.load(run, threads=1).mistakes(7)
    found = call_json("mistakes", run, "-n", 7, "--threads", 1)
    assert found["mistakes"] == stored.to_dicts()
    assert found["rates"] == dict(stored.rates)
    rows = call_csv("mistakes", run, "-n", 7, "--threads", 1)
    assert sum(float(row["cost"]) for row in rows) == pytest.approx(sum(stored.rates.values()), rel=1e-12)
    assert "is split into" in call("mistakes", run, "-n", 7)[0]
    assert call_json("mistakes", run, "--kind", "over-merge")["mistakes"] == []


def test_transcript_coverage(releases):
    run = releases / "2017-08-08"
    numbers = pw.load(run).coverage.to_dict()
    assert call_json("coverage", run) == numbers
    assert {row["name"]: row["value"] for row in call_csv("coverage", run)} == as_text(numbers)
    assert "72.4%" in call("coverage", run)[0]


def test_transcript_gate_both_ways(releases):
    run = releases / "2022-06-30"
    good = ("gate", run, "--min", "recall=0.97", "--max", "under_merge_rate=0.1", "--min-coverage", 0.99)
    table, _ = call(*good)
    assert "all checks held" in table
    assert call_json(*good)["held"] is True
    bad = (*good, "--min", "f1=0.99", "--baseline", releases / "2021-12-30", "--max-drop", "recall=0.001")
    table, _ = call(*bad, code=1)
    assert "1 of 5 checks failed" in table
    found = call_json(*bad, code=1)
    assert [c["what"] for c in found["checks"] if not c["held"]] == ["f1"]
    f1 = pw.load(run, threads=1).overall["f1"]
    assert [float(r["value"]) for r in call_csv(*bad, code=1) if r["held"] == "false"] == pytest.approx([f1], rel=1e-15)


@pytest.mark.usefixtures("toy")
def test_evaluate_in_every_format():
    options = ("evaluate", "truth.csv", "clusters.csv", "--attributes", "about.csv", "-s", "team", "-s", "year >= 2")
    live = pw.evaluate(
        ideal="truth.csv", actual="clusters.csv", attributes="about.csv", slices=["team", "year >= 2"], threads=1
    )
    found = call_json(*options, "--threads", 1)
    assert found["overall"] == live.overall.to_dict()
    assert found["slices"] == live.by_slice().to_dicts()
    rows = call_csv(*options, "--threads", 1)
    expected = {"slice": "overall", "value": ""} | as_text(live.overall.to_dict())
    assert {column: rows[0][column] for column in expected} == expected
    assert rows[0]["recall_low"] == as_text({"low": live.overall.interval("recall").low})["low"]
    assert rows[1:] == [as_text(row) for row in live.by_slice().to_dicts()]
    assert "| team | red |" in call(*options, "--format", "markdown")[0]
    table, messages = call(*options, "--save", "run")
    assert "Overall" in table
    assert messages == "Stored the run in run.\n"


@pytest.mark.usefixtures("toy")
def test_columns_policies_and_weights_reach_the_library():
    Path("t.csv").write_text("doc,part,label\na,1,x\na,2,x\nb,1,y\nz,1,y\n")
    Path("c.csv").write_text("id,nr,group,size\na,1,1,2\na,2,-1,3\nb,1,1,4\nb,9,1,5\n")
    found = call_json(
        "evaluate", "t.csv", "c.csv", "--item", "ideal=doc", "--item", "ideal=part", "--item", "actual=id",
        "--item", "actual=nr", "--cluster", "ideal=label", "--cluster", "actual=group",
        "--unassigned", "actual=singleton", "--unassigned-label", "-1", "--metric", "recall",
    )  # fmt: skip
    live = pw.evaluate(
        ideal="t.csv",
        actual="c.csv",
        item={"ideal": ["doc", "part"], "actual": ["id", "nr"]},
        cluster={"ideal": "label", "actual": "group"},
        unassigned={"actual": "singleton"},
        unassigned_labels=[-1],
        metrics="recall",
    )
    assert found["overall"] == live.overall.to_dict()
    Path("w.csv").write_text("item,weight\na,1\nb,2\nc,5\n")
    weighted = call_json("evaluate", "truth.csv", "clusters.csv", "--weights", "w.csv", "--missing", "singleton")
    assert weighted["overall"]["weight"] == 8
    assert weighted["policies"]["missing"] == "singleton"
    complete = call_json("evaluate", "truth.csv", "clusters.csv", "--outside", "wrong")
    assert complete["policies"]["outside"] == "wrong"


@pytest.mark.usefixtures("toy")
@pytest.mark.parametrize("name", ['it\'s a "truth".csv', "🦆 [1] a;b & c.csv"])
def test_paths_and_ids_with_odd_characters(name):
    ids = ["it's", 'say "hi"', "🦆", "a,b"]
    with Path(name).open("w", newline="") as file:
        csv.writer(file).writerows([["item", "cluster"], *([i, i] for i in ids)])
    run = f"runs/{name}.run"
    call("evaluate", name, name, "--save", run)
    for item in ids:
        assert call_json("explain", run, "--item", item)["item"] == item
    assert {row["item"] for row in call_csv("show", run, "--by", "item")} == set(ids)


def parquet(text):
    buffer = io.BytesIO()
    rows = list(csv.DictReader(io.StringIO(text)))
    pq.write_table(pa.Table.from_pylist(rows), buffer)
    return buffer.getvalue()


def json_lines(text):
    return "\n".join(json.dumps(row) for row in csv.DictReader(io.StringIO(text))).encode()


@pytest.mark.parametrize(
    "content",
    [
        ACTUAL.encode(),
        ACTUAL.replace(",", "\t").encode(),
        parquet(ACTUAL),
        json_lines(ACTUAL),
        gzip.compress(ACTUAL.encode()),
    ],
    ids=["csv", "tsv", "parquet", "json", "gzip"],
)
@pytest.mark.usefixtures("toy")
def test_standard_input_is_read_in_every_format(content):
    found = call_json("evaluate", "truth.csv", "-", stdin=content)
    assert found["overall"]["items"] == 3


def test_attributes_come_from_standard_input_too(run):
    rows = call_json("slice", run, "--attributes", "-", "--slice", "team", stdin=ABOUT)
    assert {row["team"]: row["items"] for row in rows} == {"red": 2, "blue": 1}


WRONG = {
    "no such file": ("evaluate", "nothing.csv", "clusters.csv"),
    "a metric that does not exist": ("evaluate", "truth.csv", "clusters.csv", "--metric", "precison"),
    "standard input twice": ("evaluate", "-", "-"),
    "columns of one table only": ("evaluate", "truth.csv", "clusters.csv", "--item", "ideal=item", "--item", "item"),
    "no such run": ("show", "nothing"),
    "an unknown option": ("show", "run", "--colour"),
    "an unknown level": ("show", "run", "--by", "planet"),
    "a filter of one row": ("show", "run", "--worst", "recall"),
    "slices elsewhere": ("show", "run", "--by", "item", "--slice", "team"),
    "no such item": ("explain", "run", "--item", "zz"),
    "nothing to explain": ("explain", "run"),
    "two things to explain": ("explain", "run", "--item", "a", "--item", "b"),
    "an item and a cluster to explain": ("explain", "run", "--item", "a", "--ideal-cluster", "p"),
    "nothing to slice by": ("slice", "run"),
    "no such column": ("slice", "run", "--slice", "team"),
    "no rule": ("gate", "run"),
    "half a rule": ("gate", "run", "--min", "precision"),
    "a baseline without a rule": ("gate", "run", "--min", "recall=0", "--baseline", "run"),
    "no such folder": ("runs", "nothing"),
    "a run that is there": ("evaluate", "truth.csv", "clusters.csv", "--save", "run"),
    "no such command": ("evaluat",),
}


@pytest.mark.usefixtures("run")
@pytest.mark.parametrize("case", WRONG)
def test_wrong_usage_is_one_message_and_exit_code_2(case):
    stdout, stderr = call(*WRONG[case], code=2)
    assert stdout == ""
    assert stderr.strip()
    assert "Traceback" not in stderr


SAID = {
    ("evaluate", "truth.csv", "gaps.csv"): "--unassigned singleton (each alone), --unassigned one-cluster or",
    ("distance", "truth.csv", "gaps.csv"): "Give each of them a cluster, or drop these rows.",
    ("evaluate", "truth.csv", "few.csv", "--missing", "error"): "--missing drop leaves them out",
    ("evaluate", "truth.csv", "ids.csv"): "identifies an item with --item: 'id'",
    ("evaluate", "ids.csv", "truth.csv", "--item", "id"): "pass --item ideal=... --item actual=....",
    ("evaluate", "twice.csv", "truth.csv"): "together identify an item with --item.",
    ("evaluate", "truth.csv", "clusters.csv", "--weights", "ids.csv"): "weigh by with --weight: 'id'",
    ("evaluate", "truth.csv", "clusters.csv", "--memory-limit", "much"): "with --memory-limit much:",
    ("evaluate", "truth.csv", "clusters.csv", "--save", "run"): "replace it with --overwrite.",
    ("compare", "run", "few.csv"): "IDEAL is missing",
    ("distance", "truth.csv", "other.csv"): "--missing singleton keeps all items",
    ("explain", "run"): "one of --item, --ideal-cluster and --actual-cluster.",
    ("explain", "run", "--item", "a", "--item", "b"): "--item was given 2 times",
    ("gate", "run"): "Give --min, --max, --max-drop or --min-coverage.",
    ("slice", "run"): "'ideal_cluster_size', 'actual_cluster_size'. More columns come from --attributes",
    ("show", "run", "--by", "slice"): "More columns come from --attributes",
    ("slice", "run", "--attributes", "about.csv", "-s", "weight='5'"): "'weight'",
}


@pytest.mark.usefixtures("run")
@pytest.mark.parametrize("command", SAID, ids=" ".join)
def test_messages_speak_of_options(command):
    Path("gaps.csv").write_text("item,cluster\na,1\nb,\nc,2\n")
    Path("few.csv").write_text("item,cluster\na,1\n")
    Path("ids.csv").write_text("id,cluster,x\na,1,1\nb,1,1\nc,1,1\n")
    Path("twice.csv").write_text("item,cluster\na,1\na,2\n")
    Path("other.csv").write_text("item,cluster\nx,1\n")
    _, said = call(*command, code=2)
    assert SAID[command] in said
    assert not re.search(r"\b[a-z_]+=(\.\.\.|\[|\{|True)", said.replace("ideal=...", "").replace("actual=...", ""))


@pytest.mark.usefixtures("toy")
def test_warnings_speak_of_options_that_there_are():
    Path("truth.csv").write_text("item,cluster\na,p\nb,p\nc,q\n")
    Path("clusters.csv").write_text("item,cluster\na,1\nb,2\nd,2\n")
    said = " ".join(call("evaluate", "truth.csv", "clusters.csv", "--save", "few")[0].split())
    assert "left out. --missing singleton counts each as alone, --missing wrong as in no cluster." in said
    assert "complete, --outside wrong counts such" in said
    for command in (("show", "few"), ("evaluate", "truth.csv", "clusters.csv", "--format", "markdown")):
        said = " ".join(call(*command)[0].split())
        prefix = "pointwise evaluate " if command[0] == "show" else ""
        assert f"left out. {prefix}--missing singleton counts each as alone, {prefix}--missing wrong as" in said


def test_what_a_user_writes_is_not_translated(run):
    _, said = call("slice", run, "--slice", "missing='singleton'", code=2)
    assert "missing='singleton'" in said
    _, said = call("explain", run, "--item", "item=...", code=2)
    assert "'item=...'" in said


@pytest.mark.usefixtures("run")
def test_a_stored_comparison_is_not_taken_for_runs():
    call("compare", "truth.csv", "old=clusters.csv", "new=truth.csv", "--save", "both")
    assert [row["run"] for row in call_json("runs", ".")] == ["run"]
    shown, _ = call("show", "both")
    assert "Differences: new against old" in shown
    assert call_json("show", "both")["overall"][0]["variant"] == "old"
    for command in (
        "coverage",
        "mistakes",
        "slice",
        ("show", "--by", "item"),
        ("gate", "--min", "recall=0"),
    ):
        name, *options = [command] if isinstance(command, str) else command
        _, said = call(name, "both", *options, code=2)
        assert "is a stored comparison, not a run. Look at it with pointwise show" in said
        assert "both/001" in said
    _, said = call("show", "both", "--worst", "recall", code=2)
    assert "is a stored comparison" in said
    _, said = call("compare", "both", "clusters.csv", code=2)
    assert "is a stored comparison" in said
    with pytest.raises(pw.RunError, match="load_comparison"):
        pw.load("both")


def test_a_gate_looks_into_slices(run):
    options = ("gate", run, "--attributes", "about.csv", "--min", "precision=0.5")
    assert call_json(*options, "--slice", "team")["held"]
    found = call_json(*options, "--slice", "team", "--max", "recall=0.6", code=1)
    assert {c["where"] for c in found["checks"]} == {"overall", "team=red", "team=blue"}
    assert call_json(*options, "-s", "year >= 2")["checks"][1]["where"] == "year >= 2"
    assert len(call_json(*options, "--slice", "team", "--min-items", 2)["checks"]) == 2


@pytest.mark.usefixtures("run")
def test_damaged_runs_are_reported_beside_the_others():
    call("evaluate", "truth.csv", "clusters.csv", "--save", "bad")
    Path("bad/items.parquet").unlink()
    table, messages = call("runs", ".")
    assert "run" in table
    assert "items.parquet is missing" in messages
    assert {row["run"]: bool(row["problem"]) for row in call_json("runs", ".")} == {"run": False, "bad": True}


def test_metrics_are_listed_from_the_table():
    assert [row["name"] for row in call_json("metrics")] == list(pw.METRICS)
    assert "share of the item's actual cluster" in " ".join(call("metrics")[0].split())


def test_the_demonstration_runs(tmp_path, monkeypatch):
    data = pw.datasets.patentsview()
    few = {name: data.releases[name] for name in ("2020-09-29", "2021-12-30", "2022-06-30")}
    # Its report compares all fifteen releases, each as the next.
    monkeypatch.setattr("pointwise.cli.demo.patentsview", lambda: dataclasses.replace(data, releases=few))
    monkeypatch.chdir(tmp_path)
    assert "PatentsView" in call("demo")[0]
    assert all(name in (tmp_path / "pointwise-demo.html").read_text(encoding="utf-8") for name in few)


def test_unregistered_metrics_are_warned_of(run):
    manifest = forging.read(run)
    manifest["metrics"].append("only_there")
    manifest["overall"]["only_there"] = 1.0
    forging.write(run, manifest)
    stdout, stderr = call("show", run, "--format", "json")
    assert "only_there" in stderr
    assert "only_there" not in json.loads(stdout)["overall"]


def test_every_command_has_help_with_an_example():
    help_text, _ = call("--help")
    for command in ("evaluate", "show", "explain", "mistakes", "coverage", "slice", "runs", "metrics", "gate", "demo"):
        assert re.search(rf"\b{command}\b", help_text)
        text, _ = call(command, "--help")
        assert "Example:" in text
        assert f"pointwise {command}" in text


def test_help_lists_commands_in_the_order_of_their_use():
    text, _ = call("--help")
    places = [text.index(f"│ {command} ") for command in ("demo", "evaluate", "show", "compare", "gate", "metrics")]
    assert places == sorted(places)


def test_the_reference_page_says_what_the_help_says():
    page = DOCS / "cli-reference.md"
    assert page.read_text(encoding="utf-8") == write_reference(), (
        "run python -m pointwise.cli.reference docs/cli-reference.md"
    )


def test_narrow_terminals_keep_numbers_whole(run, monkeypatch):
    for width in (30, 60, 200):
        monkeypatch.setenv("COLUMNS", str(width))
        table, _ = call("show", run, "--by", "ideal-cluster")
        assert max(map(len, table.splitlines())) <= max(width, 30)
        assert "0.5000" in table


@pytest.mark.usefixtures("toy")
def test_the_program_itself():
    environment = os.environ | {"NO_COLOR": "1"}
    with start("evaluate", "truth.csv", "clusters.csv", "--save", "a b", env=environment) as process:
        stdout, stderr = process.communicate()
    assert process.returncode == 0
    assert b"\x1b" not in stdout + stderr  # neither colours nor a progress bar
    assert stderr == b"Stored the run in a b.\n"
    with start("gate", "a b", "--min", "precision=1") as process:
        process.communicate()
    assert process.returncode == 1


def test_completion_offers_commands():
    environment = os.environ | {
        "_POINTWISE_COMPLETE": "complete_bash",
        "COMP_WORDS": "pointwise ev",
        "COMP_CWORD": "1",
    }
    code = "import sys; sys.argv[0] = 'pointwise'; from pointwise.cli import app; app(prog_name='pointwise')"
    done = subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=False)
    assert "evaluate" in done.stdout


def test_help_loads_no_engine():
    code = (
        "import sys; from typer.testing import CliRunner; from pointwise.cli import app; "
        "CliRunner().invoke(app, ['--help']); print({'duckdb', 'pyarrow', 'numpy', 'pandas'} & set(sys.modules))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "set()"


@pytest.mark.skipif(os.name == "nt", reason="signals of Unix")
def test_an_interrupt_stops_soon_and_leaves_nothing(tmp_path):
    items = 3_000_000
    column = pa.array(range(items))
    for name, divisor in (("truth", 3), ("clusters", 4)):
        cluster = pa.compute.floor(pa.compute.divide(column, divisor)).cast(pa.int64())
        pq.write_table(pa.table({"item": column, "cluster": cluster}), tmp_path / f"{name}.parquet")
    with start(
        "evaluate", tmp_path / "truth.parquet", tmp_path / "clusters.parquet", "--save", tmp_path / "run"
    ) as process:
        while not list(tmp_path.glob(".pointwise-*")):
            assert process.poll() is None
            time.sleep(0.02)
        asked = time.perf_counter()
        process.send_signal(signal.SIGINT)
        _, stderr = process.communicate()
        taken = time.perf_counter() - asked
    assert (process.returncode, stderr) == (130, b"Interrupted.\n")
    assert taken < 10  # two seconds, where nothing else keeps the machine busy
    assert sorted(p.name for p in tmp_path.iterdir()) == ["clusters.parquet", "truth.parquet"]
