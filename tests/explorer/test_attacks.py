"""Attacks on the explorer: what another site, another program or a stranger must not be able to do."""

from __future__ import annotations

import asyncio
import shutil
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from starlette.testclient import TestClient

import pointwise as pw
from pointwise.errors import NotFoundError, UsageError
from pointwise.explorer import Address, Site, jobs
from pointwise.explorer.guard import MOST_ADDRESS, MOST_BODY
from pointwise.explorer.jobs import MOST_KEPT
from visiting import HOST, KEYS, SAME_ORIGIN, make_client, visiting

OUTSIDE = "what lies outside"


@pytest.fixture(scope="module")
def top(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("outside")
    (folder / "secret.txt").write_text(OUTSIDE)
    evaluation = pw.evaluate(ideal=[["i1", "i2"], ["i3"]], actual=[["i1", "i3"], ["i2"]])
    evaluation.save(folder / "stored" / "toy") if (folder / "stored").mkdir() is None else None
    evaluation.save(folder / "elsewhere")
    return folder / "stored"


@pytest.fixture(scope="module")
def client(top: Path) -> Iterator[TestClient]:
    with visiting(top) as opened:
        yield opened


@pytest.mark.parametrize(
    "host", ["evil.example", "127.0.0.1.evil.example", "evil.example:8000", "", "[::2]", "127.0.0.1@evil.example", "[x"]
)
def test_other_host_names_are_refused(client: TestClient, host: str):
    assert client.get("/", headers={"host": host}).status_code == 421


@pytest.mark.parametrize("host", ["127.0.0.1:8000", "localhost:9", "LOCALHOST", "[::1]:8000"])
def test_names_of_this_machine_are_served(client: TestClient, host: str):
    assert client.get("/", headers={"host": host}).status_code == 200


def test_listening_beyond_this_machine_takes_a_name():
    with pytest.raises(UsageError, match="allowed_host"):
        Address(host="0.0.0.0")  # noqa: S104
    assert Address(host="0.0.0.0", allowed=("lab.example",)).allowed == ("lab.example",)  # noqa: S104
    assert Address(host="::1").host == "::1"


@pytest.mark.parametrize("path", ["/", "/.json", "/run/toy", "/static/style.css", "/run/toy/item/i1", "/nothing"])
@pytest.mark.parametrize("cookie", ["", "pointwise=wrong", "pointwise=the-token", "other=the-session", "=;;=\x7f"])
def test_nobody_gets_in_without_the_token(top: Path, path: str, cookie: str):
    with make_client(top) as stranger:
        answer = stranger.get(path, headers={"cookie": cookie})
        assert answer.status_code == 403
        assert "toy" not in answer.text


@pytest.mark.parametrize("token", ["", "the-toke", "the-token2", "thé-token"])
def test_a_wrong_token_is_refused(top: Path, token: str):
    with make_client(top) as stranger:
        assert stranger.get("/", params={"token": token}).status_code == 403


def test_the_token_becomes_a_cookie_that_scripts_and_other_sites_do_not_get(top: Path):
    with make_client(top) as stranger:
        answer = stranger.get("/run/toy", params={"token": KEYS.token, "a": "b"})
        assert (answer.status_code, answer.headers["location"]) == (303, "/run/toy?a=b")
        cookie = answer.headers["set-cookie"].lower()
        assert "httponly" in cookie
        assert "samesite=strict" in cookie
        assert KEYS.token not in cookie
        assert stranger.get("/run/toy").status_code == 200


def test_the_redirect_after_the_token_never_leaves(top: Path):
    with make_client(top) as stranger:
        answer = stranger.get(f"{HOST}//evil.example/", params={"token": KEYS.token})
        assert answer.headers["location"] == "/evil.example/"


@pytest.mark.parametrize(
    "headers",
    [
        {"sec-fetch-site": "cross-site", "origin": HOST},
        {"sec-fetch-site": "same-site"},
        {"sec-fetch-site": "none"},
        {"origin": "http://evil.example"},
        {"origin": "null"},
        {"origin": "http://127.0.0.1:8001"},
        {},
    ],
)
def test_requests_that_change_something_come_from_our_own_pages(client: TestClient, headers: dict[str, str]):
    assert client.post("/cancel/job", headers=headers).status_code == 403


def test_our_own_pages_may_change_something(client: TestClient):
    assert client.post("/cancel/job", headers=SAME_ORIGIN).status_code == 303
    assert client.post("/cancel/job", headers={"origin": HOST}).status_code == 303


@pytest.mark.parametrize("method", ["PUT", "DELETE", "PATCH", "OPTIONS", "TRACE"])
def test_other_methods_are_refused(client: TestClient, method: str):
    assert client.request(method, "/run/toy", headers=SAME_ORIGIN).status_code == 405


@pytest.mark.parametrize("path", ["/", "/run/toy", "/nothing", "/static/style.css", "/run/toy.json"])
def test_every_answer_forbids_what_browsers_need_not_do(client: TestClient, path: str):
    headers = client.get(path).headers
    policy = headers["content-security-policy"]
    assert "default-src 'none'" in policy
    assert "unsafe" not in policy
    assert "frame-ancestors 'none'" in policy
    assert headers["cache-control"] == "no-store"
    assert headers["x-content-type-options"] == "nosniff"
    assert "server" not in headers


@pytest.mark.parametrize("step", ["..", "%2e%2e", "..%2f", "%2e%2e%2f", "..%5c", "~..", "%00", "..%00/", "....//"])
@pytest.mark.parametrize(
    "place",
    [
        "/run/{}elsewhere",
        "/run/{}%2Felsewhere",
        "/run/{}",
        "/run/toy/clusters/{}",
        "/run/toy/cluster/{}/x",
        "/run/toy/cluster/ideal/{}",
        "/run/toy/item/{}",
        "/compare/{}",
        "/diff/{}",
        "/static/{}secret.txt",
        "/static/{}%2F{}%2Fsecret.txt",
    ],
)
def test_no_part_of_an_address_becomes_a_path(client: TestClient, place: str, step: str):
    answer = client.get(HOST + place.replace("{}", step))
    assert answer.status_code in (404, 200, 400)
    assert OUTSIDE not in answer.text
    assert "root:" not in answer.text


def test_links_out_of_the_folder_are_not_followed(top: Path, tmp_path: Path):
    shutil.copytree(top / "toy", tmp_path / "linked")
    (tmp_path / "linked" / "items.parquet").unlink()
    (tmp_path / "linked" / "items.parquet").symlink_to(top.parent / "elsewhere" / "items.parquet")
    (tmp_path / "folder").symlink_to(top.parent / "elsewhere")
    (tmp_path / "manifest").mkdir()
    (tmp_path / "manifest" / "run.json").symlink_to(top.parent / "elsewhere" / "run.json")
    with visiting(tmp_path) as opened:
        page = opened.get("/")
        assert page.text.count("Damaged:") == 2
        assert "is a link" in page.text
        assert opened.get("/run/linked").status_code == 500
        assert "is a link" in opened.get("/run/linked").text
        assert opened.get("/run/folder").status_code == 404
        assert opened.get("/run/manifest").status_code == 500


@pytest.mark.parametrize("text", ["a\r\nx-evil: 1", "a\nset-cookie: x=1", "%0d%0ax-evil:%201"])
def test_nothing_gets_into_the_headers(client: TestClient, top: Path, text: str):
    for answer in (client.get("/search", params={"q": text}), client.get(f"/run/{'%0d%0ax-evil:1'}")):
        assert "x-evil" not in answer.headers
        assert "x=1" not in answer.headers.get("set-cookie", "")
    with make_client(top) as stranger:
        answer = stranger.get("/search", params={"token": KEYS.token, "q": text})
        assert "x-evil" not in answer.headers
        assert "\n" not in answer.headers["location"]


def test_long_addresses_and_large_bodies_are_refused(client: TestClient):
    sent: list[dict] = []

    async def send(message: dict) -> None:
        sent.append(message)

    scope = {"type": "http", "method": "GET", "headers": [], "raw_path": b"/", "query_string": b"x" * 10_000_000}
    asyncio.run(client.app(scope, None, send))  # no client would send it
    assert sent[0]["status"] == 414
    assert client.get("/" + "x" * MOST_ADDRESS).status_code == 414
    assert client.post("/cancel/x", content=b"x" * (MOST_BODY + 1), headers=SAME_ORIGIN).status_code == 413
    assert client.post("/cancel/x", headers=SAME_ORIGIN | {"content-length": "-1"}).status_code in (400, 413)


def test_hundreds_of_requests_at_once_are_answered_and_forgotten(client: TestClient, monkeypatch: pytest.MonkeyPatch):
    most = 100  # far fewer than are kept otherwise, so that far fewer requests reach that
    assert most < MOST_KEPT
    monkeypatch.setattr(jobs, "MOST_KEPT", most)
    paths = [f"/run/toy/item/i{n}" for n in range(300)]
    with ThreadPoolExecutor(50) as pool:
        found = {answer.status_code for answer in pool.map(client.get, paths)}
    assert found <= {200, 404, 503}
    assert client.get("/run/toy").status_code == 200
    application = client.app.inner  # type: ignore[attr-defined]
    assert len(application.jobs._jobs) <= most + 1


def test_a_folder_that_is_not_there_is_refused(tmp_path: Path):
    with pytest.raises(NotFoundError, match="no folder"):
        Site(tmp_path / "nothing")
