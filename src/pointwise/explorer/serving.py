"""Serving: the application on an address of this machine, until somebody stops it."""

from __future__ import annotations

import ipaddress
import socket
import webbrowser
from collections.abc import Callable
from dataclasses import dataclass, field

import uvicorn

from pointwise.errors import UsageError
from pointwise.explorer.application import make_application
from pointwise.explorer.guard import LOOPBACK, MOST_ADDRESS, Keys
from pointwise.explorer.site import Site

_AT_ONCE = 200  # connections; more are told to come back


@dataclass(frozen=True)
class Address:
    """Where to listen.

    Args:
        host: The address to listen on.
        port: The port; 0 for any that is free.
        allowed: Names that requests may give for this machine, beside those of the loopback.
        path: The page to open.
    """

    host: str = "127.0.0.1"
    port: int = 0
    allowed: tuple[str, ...] = ()
    path: str = "/"
    keys: Keys = field(default_factory=Keys)

    def __post_init__(self) -> None:
        """Refuse to listen beyond this machine without saying under which name."""
        if not _is_loopback(self.host) and not self.allowed:
            raise UsageError(
                f"host={self.host!r} lets other machines in, in plain text. Say which host name they may use: "
                "allowed_host='...'."
            )


def _is_loopback(host: str) -> bool:
    try:
        return host == "localhost" or ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def serve(site: Site, address: Address, *, say: Callable[[str], None], opens: bool = True) -> None:
    """Show a site until the process is interrupted.

    Args:
        site: What to show.
        address: Where.
        say: Tells people where to look.
        opens: Whether to open a browser.

    Raises:
        UsageError: It is impossible to listen there.
    """
    with _listen(address) as listener:
        host, port = listener.getsockname()[:2]
        keys = Keys(address.keys.token, address.keys.session, f"pointwise-{port}")
        named = address.allowed[0] if address.allowed else f"[{host}]" if ":" in host else host
        url = f"http://{named}:{port}{address.path}{'&' if '?' in address.path else '?'}token={keys.token}"
        application = make_application(site, keys=keys, hosts=(*LOOPBACK, *address.allowed))
        config = uvicorn.Config(
            application,
            log_level="error",
            access_log=False,
            limit_concurrency=_AT_ONCE,
            h11_max_incomplete_event_size=2 * MOST_ADDRESS,
            http="h11",
            ws="none",
            server_header=False,
            timeout_graceful_shutdown=2,
        )
        say(f"Exploring {str(site.top)!r} at {url}")
        say("Stop with Ctrl-C.")
        if opens:
            webbrowser.open(url)
        uvicorn.Server(config).run([listener])


def _listen(address: Address) -> socket.socket:
    try:
        family = socket.AF_INET6 if ":" in address.host else socket.AF_INET
        return socket.create_server((address.host, address.port), family=family, backlog=_AT_ONCE)
    except OSError as error:
        why = error.strerror or str(error)
        raise UsageError(f"Cannot listen on {address.host}, port {address.port}: {why}.") from error
