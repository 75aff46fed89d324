"""The guard: which requests are let in, and what every answer says to the browser.

Whatever else runs on this machine or is open in the browser must not read the data or change anything: another site
whose name resolves to 127.0.0.1, a form on another site, a program that guesses the port.
"""

from __future__ import annotations

import hmac
import secrets
from collections.abc import Mapping
from dataclasses import dataclass, field
from http.cookies import CookieError, SimpleCookie
from urllib.parse import parse_qsl, urlencode, urlsplit

from starlette.datastructures import Headers, MutableHeaders
from starlette.responses import PlainTextResponse, RedirectResponse, Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

LOOPBACK = ("127.0.0.1", "localhost", "::1")
MOST_ADDRESS = 8_192  # bytes of a path with its query
MOST_BODY = 65_536  # bytes

_TOKEN = "token"  # noqa: S105  # the name of the parameter
_SAFE = ("GET", "HEAD")
_POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; "
    "form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
)
_HEADERS = {
    "content-security-policy": _POLICY,
    "cache-control": "no-store",
    "x-content-type-options": "nosniff",
    "referrer-policy": "same-origin",
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
}


@dataclass(frozen=True)
class Keys:
    """What lets a browser in: a token in the address that is opened first, and a cookie from then on."""

    token: str = field(default_factory=lambda: secrets.token_urlsafe(32))
    session: str = field(default_factory=lambda: secrets.token_urlsafe(32))
    cookie: str = "pointwise"


class Guard:
    """An application that passes on only requests that are allowed."""

    def __init__(self, inner: ASGIApp, *, keys: Keys, hosts: tuple[str, ...] = LOOPBACK) -> None:
        self.inner, self.keys = inner, keys
        self.hosts = frozenset(host.lower() for host in hosts)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request, or refuse it."""
        if scope["type"] == "lifespan":
            await self.inner(scope, receive, send)
            return
        if scope["type"] != "http":
            return
        refused = self._refuse(scope) or self._exchange(scope)
        answer = refused or self.inner
        await answer(scope, _bounded(receive), _with_headers(send))

    def _refuse(self, scope: Scope) -> Response | None:
        headers = Headers(scope=scope)
        if len(scope["query_string"]) + len(scope.get("raw_path") or b"") > MOST_ADDRESS:
            return PlainTextResponse("This address is too long.", 414)
        if not self._is_known_host(headers):
            return PlainTextResponse("This host name is not served here. See --allowed-host.", 421)
        if _length(headers) > MOST_BODY:
            return PlainTextResponse("This request is too large.", 413)
        if scope["method"] not in _SAFE and not _is_same_origin(headers):
            return PlainTextResponse("This request came from another site.", 403)
        return None

    def _is_known_host(self, headers: Headers) -> bool:
        given = headers.getlist("host")
        return len(given) == 1 and _host_name(given[0]) in self.hosts

    def _exchange(self, scope: Scope) -> Response | None:
        """Accept requests with the cookie, set it for those with the token, and refuse all others."""
        query = parse_qsl(scope["query_string"].decode("latin-1"), keep_blank_values=True)
        given = dict(query).get(_TOKEN)
        if given is not None and scope["method"] in _SAFE and _is_equal(given, self.keys.token):
            rest = urlencode([(name, value) for name, value in query if name != _TOKEN])
            path = (scope.get("raw_path") or b"/").decode("ascii", errors="replace")
            place = "/" + path.lstrip("/\\") + (f"?{rest}" if rest else "")  # never another host
            answer = RedirectResponse(place, 303)
            answer.set_cookie(self.keys.cookie, self.keys.session, httponly=True, samesite="strict", path="/")
            return answer
        if _is_equal(_cookies(Headers(scope=scope)).get(self.keys.cookie, ""), self.keys.session):
            return None
        return PlainTextResponse(
            "This page is only for the person who started it: open the address with the token that pointwise printed.",
            403,
        )


def _host_name(host: str) -> str:
    """Take the name from a Host header, without the port."""
    try:
        return (urlsplit(f"//{host}").hostname or "").lower()
    except ValueError:
        return ""


def _is_equal(given: str, wanted: str) -> bool:
    return hmac.compare_digest(given.encode(), wanted.encode())


def _cookies(headers: Headers) -> Mapping[str, str]:
    try:
        return {name: morsel.value for name, morsel in SimpleCookie(headers.get("cookie", "")).items()}
    except CookieError:
        return {}


def _length(headers: Headers) -> int:
    given = headers.get("content-length", "0")
    return int(given) if given.isdecimal() and len(given) < len(str(1 << 63)) else MOST_BODY + 1


def _is_same_origin(headers: Headers) -> bool:
    """Tell whether one of our own pages sent a request, by what the browser's headers say."""
    site = headers.get("sec-fetch-site")
    if site is not None:
        return site == "same-origin"
    return urlsplit(headers.get("origin", "")).netloc.lower() == headers.get("host", "").lower() != ""


def _bounded(receive: Receive) -> Receive:
    """End a request whose body exceeds the limit, whatever its header says."""
    taken = 0

    async def take() -> Message:
        nonlocal taken
        message = await receive()
        taken += len(message.get("body", b""))
        return {"type": "http.disconnect"} if taken > MOST_BODY else message

    return take


def _with_headers(send: Send) -> Send:
    async def put(message: Message) -> None:
        if message["type"] == "http.response.start":
            headers = MutableHeaders(scope=message)
            for name, value in _HEADERS.items():
                headers.setdefault(name, value)
        await send(message)

    return put
