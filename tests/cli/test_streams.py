"""Streams: what leaves the program, on a terminal, into files and pipes, and where nothing can be written."""

from __future__ import annotations

import csv
import gzip
import io
import os
import pty
import subprocess
import sys

import pytest

import pointwise as pw
from pointwise.cli import app
from pointwise.cli.options import Format
from pointwise.cli.output import draw_csv

ESCAPE = "\x1b[31mred\x07"


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    """Store a run whose ids would steer a terminal."""
    folder = tmp_path_factory.mktemp("streams")
    ideal, actual = {ESCAPE: "x", "b\rc": "x", "=1+1": "y"}, {ESCAPE: ESCAPE, "b\rc": "q", "=1+1": "q"}
    pw.evaluate(ideal=ideal, actual=actual).save(folder / "run")
    return folder / "run"


def call(arguments, **options):
    command = [sys.executable, "-c", "from pointwise.cli import main; main()", *map(str, arguments)]
    return subprocess.run(command, capture_output=True, check=False, timeout=120, **options)


def on_a_terminal(arguments):
    """Run a command whose output is a terminal, and return all that it writes there."""
    reader, writer = pty.openpty()
    command = [sys.executable, "-c", "from pointwise.cli import main; main()", *map(str, arguments)]
    with subprocess.Popen(command, stdout=writer, stderr=writer, stdin=writer) as process:
        os.close(writer)
        written = b""
        while True:
            try:
                part = os.read(reader, 65536)
            except OSError:
                break
            if not part:
                break
            written += part
        process.wait(timeout=60)
    os.close(reader)
    return written.decode()


@pytest.mark.parametrize("kind", ["csv", "table"])
def test_data_does_not_steer_a_terminal(run, kind):
    written = on_a_terminal(["show", run, "--by", "item", "--format", kind])
    assert "\\x1b[31mred\\x07" in written
    assert "\x1b[31m" not in written
    assert "\x07" not in written


def test_errors_do_not_steer_a_terminal(tmp_path):
    path = tmp_path / "bad.csv"
    path.write_text(f"item,cluster\n{ESCAPE},1,2,3\n", encoding="utf-8")
    written = on_a_terminal(["evaluate", path, path])
    assert "Error:" in written
    assert "\x1b[31m" not in written


def test_a_pipe_gets_the_data_as_it_is(run, capsys):
    app(["show", str(run), "--by", "item", "--format", "csv"], standalone_mode=False)
    rows = list(csv.DictReader(io.StringIO(capsys.readouterr().out, newline="")))
    assert {row["item"] for row in rows} == {ESCAPE, "b\rc", "=1+1"}


def test_csv_quotes_whatever_ends_a_line():
    rows = [{"id": text} for text in ("a\rb", "a\nb", "a\r\nb", 'a"b', "a,b", " a")]
    written = draw_csv(rows, ["id"], Format.csv)
    assert [row["id"] for row in csv.DictReader(io.StringIO(written, newline=""))] == [row["id"] for row in rows]
    assert "\r" not in draw_csv([{"id": "plain"}], ["id"], Format.csv)


def test_a_full_disk_is_one_clear_line():
    with open("/dev/full", "wb") as full:  # noqa: PTH123
        command = [sys.executable, "-c", "from pointwise.cli import main; main()", "metrics"]
        done = subprocess.run(command, stdout=full, stderr=subprocess.PIPE, check=False, timeout=60)
    assert done.returncode == 2
    assert done.stderr.decode().splitlines() == [
        "Error: the result cannot be written to standard output: No space left on device."
    ]


@pytest.mark.parametrize("closed", ["<&-", ">&-", "2>&-"])
def test_closed_streams_give_no_traceback(closed, tmp_path):
    path = tmp_path / "t.csv"
    path.write_text("item,cluster\na,1\n", encoding="utf-8")
    code = "from pointwise.cli import main; main()"
    script = f'exec "$0" -c "{code}" evaluate {"-" if closed == "<&-" else path} {path} {closed}'
    done = subprocess.run(["bash", "-c", script, sys.executable], capture_output=True, check=False, timeout=60)
    assert b"Traceback" not in done.stderr
    assert done.returncode == (0 if closed == "2>&-" else 2)


def test_truncated_gzip_from_standard_input(tmp_path):
    path = tmp_path / "t.csv"
    path.write_text("item,cluster\na,1\n", encoding="utf-8")
    for cut in (2, 12, 25):
        done = call(["evaluate", "-", path], input=gzip.compress(path.read_bytes())[:cut])
        assert done.returncode == 2
        assert b"Traceback" not in done.stderr
        assert done.stderr.startswith(b"Error:")


def test_a_named_pipe_is_refused_rather_than_waited_for(tmp_path):
    path = tmp_path / "pipe.csv"
    os.mkfifo(path)
    with pytest.raises(pw.PointwiseError, match="is a pipe"):
        pw.evaluate(ideal=path, actual={"a": 1})
