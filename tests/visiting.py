"""A browser without a screen: asks the explorer for pages the way a browser does, in this process."""

from __future__ import annotations

import math
import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import uvicorn
from starlette.testclient import TestClient

from pointwise.explorer import Site, make_application
from pointwise.explorer.guard import Keys

HOST = "http://127.0.0.1:8000"
SAME_ORIGIN = {"origin": HOST, "sec-fetch-site": "same-origin"}
KEYS = Keys(token="the-token", session="the-session")  # noqa: S106


def make_client(top: Path, *, patience: float = 600, **settings: Any) -> TestClient:
    """Make a client that has no cookie yet, and that waits for pages as long as they take."""
    application = make_application(Site(top, **settings), keys=KEYS, patience=patience)
    return TestClient(application, base_url=HOST, raise_server_exceptions=False, follow_redirects=False)


@contextmanager
def visiting(top: Path, **settings: Any) -> Iterator[TestClient]:
    """Open a client that was let in."""
    with make_client(top, **settings) as client:
        assert client.get("/", params={"token": KEYS.token}).status_code == 303
        yield client


@contextmanager
def serving(top: Path, **settings: Any) -> Iterator[str]:
    """Serve a folder on a port of this machine, and return the address that lets a browser in."""
    listener = socket.create_server(("127.0.0.1", 0))
    application = make_application(Site(top, **settings), keys=KEYS, patience=600)
    server = uvicorn.Server(uvicorn.Config(application, log_level="error", http="h11", ws="none"))
    thread = threading.Thread(target=server.run, args=([listener],), daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{listener.getsockname()[1]}/?token={KEYS.token}"
    finally:
        server.should_exit = True
        thread.join()
        listener.close()


def is_alike(found: Any, expected: Any) -> bool:
    """Compare what pages say with what the library says; sums may differ in their last digits."""
    if isinstance(expected, dict):
        return set(found) == set(expected) and all(is_alike(found[name], expected[name]) for name in expected)
    if isinstance(expected, (list, tuple)):
        return len(found) == len(expected) and all(map(is_alike, found, expected))
    if isinstance(expected, float) and isinstance(found, (int, float)):
        return math.isclose(found, expected, rel_tol=1e-9, abs_tol=1e-12)
    return bool(found == expected)
