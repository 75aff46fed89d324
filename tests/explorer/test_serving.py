"""The explorer as a process of its own: it prints its address, survives attacks, and loses nothing when killed."""

from __future__ import annotations

import json
import re
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import httpx2 as httpx
import pytest
from typer.testing import CliRunner

import pointwise as pw
from pointwise.cli import app
from pointwise.diffs.questions import find_questions


@contextmanager
def started(*arguments: str) -> Iterator[tuple[httpx.Client, subprocess.Popen[str]]]:
    command = [sys.executable, "-c", "from pointwise.cli import main; main()", *arguments, "--no-open"]
    process = subprocess.Popen(command, stderr=subprocess.PIPE, text=True)
    try:
        line = process.stderr.readline()  # type: ignore[union-attr]
        found = re.search(r"(http://127\.0\.0\.1:\d+)(/\S*token=\S+)", line)
        assert found, line + (process.stderr.read() if process.poll() is not None else "")  # type: ignore[union-attr]
        with httpx.Client(base_url=found[1], timeout=60, trust_env=False) as client:
            client.first = found[2]  # type: ignore[attr-defined]
            yield client, process
    finally:
        process.kill()
        process.wait()
        process.stderr.close()  # type: ignore[union-attr]


def enter(client: httpx.Client) -> httpx.Response:
    answer = client.get(client.first)  # type: ignore[attr-defined]
    assert answer.status_code == 303
    return client.get(answer.headers["location"])


@pytest.fixture(scope="module")
def top(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("stored")
    items = [f"item {n}" for n in range(60)]
    before, after = ({item: f"c{n // size}" for n, item in enumerate(items)} for size in (3, 4))
    diff = pw.diff(baseline=before, experiment=after)
    diff.save(folder / "changed")
    diff.questions(60, seed=1).save(find_questions(folder / "changed"))
    return folder


def test_killed_while_judging_nothing_acknowledged_is_lost_and_it_goes_on(top: Path):
    acknowledged: list[int] = []
    for _ in range(2):
        with started("judge", "serve", str(top / "changed"), "--judge", "ada") as (client, process):
            origin = {"origin": str(client.base_url).rstrip("/")}
            page = enter(client)
            for _ in range(4):
                number = re.search(r'name="question" value="(\d+)"', page.text)
                assert number
                form = {"judge": "ada", "press": "yes", "times": "0", "since": "0", "question": number[1]}
                answer = client.post("/diff/changed/judge", data=form, headers=origin)
                assert answer.status_code == 303
                acknowledged.append(int(number[1]))
                page = client.get(answer.headers["location"])
            process.send_signal(signal.SIGKILL)
    path = find_questions(top / "changed") / "judgements" / "ada.jsonl"
    written = [json.loads(line) for line in path.read_text().splitlines()]
    assert [line["question"] for line in written if line["kind"] == "human"] == acknowledged
    assert len(set(acknowledged)) == 8


def test_what_no_browser_would_send_is_refused_and_the_server_stays_up(top: Path):
    with started("explore", str(top)) as (client, process):
        assert enter(client).status_code == 200
        host, port = client.base_url.host, client.base_url.port
        assert port is not None
        for request in (
            b"GET /search?q=" + b"x" * 10_000_000 + b" HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n",
            b"GET / HTTP/1.1\r\nHost: 127.0.0.1\r\nHost: evil.example\r\n\r\n",
            b"GET / HTTP/1.1\r\nHost: 127.0.0.1\r\nX: " + b"x" * 1_000_000 + b"\r\n\r\n",
            b"POST /cancel/x HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: 99999999999\r\n\r\n",
            b"GET http://evil.example/ HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n",
            b"\x00\x01\x02\r\n\r\n",
        ):
            assert b" 200 " not in _send(host, port, request)
        assert client.get("/").status_code == 200
        assert process.poll() is None


def _send(host: str, port: int, request: bytes) -> bytes:
    with socket.create_connection((host, port), timeout=60) as connection:
        try:
            connection.sendall(request)
            return connection.recv(65_536)
        except OSError:
            return b""  # it hung up, as it should


def test_refusals_of_the_commands_are_one_line(tmp_path: Path):
    done = CliRunner().invoke(app, ["explore", str(tmp_path / "nothing"), "--no-open"])
    assert done.exit_code == 2
    assert "There is no folder" in done.stderr
    done = CliRunner().invoke(app, ["explore", str(tmp_path), "--no-open", "--host", "0.0.0.0"])  # noqa: S104
    assert done.exit_code == 2
    assert "--allowed-host" in done.stderr
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = str(taken.getsockname()[1])
        done = CliRunner().invoke(app, ["explore", str(tmp_path), "--no-open", "--port", port])
        assert done.exit_code == 2
        assert "Cannot listen" in done.stderr
