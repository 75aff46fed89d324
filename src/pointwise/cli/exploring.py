"""The command that opens stored folders in a browser: explore."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from pointwise.cli import options, output, stdin
from pointwise.cli.app import app


@app.command()
def explore(
    folder: Annotated[str, typer.Argument(metavar="DIR", help="A folder of stored runs, comparisons and diffs.")],
    *,
    port: options.Port = 0,
    no_open: options.NoOpen = False,
    host: options.Host = "127.0.0.1",
    allowed_host: options.AllowedHost = None,
    attributes: options.Attributes = None,
    prepare: Annotated[
        bool,
        typer.Option(
            "--prepare",
            help="First write sorted copies of all runs to the hidden folder .pointwise-explorer in DIR, for quick "
            "look-ups among many millions of items. It can be removed at any time.",
        ),
    ] = False,
) -> None:
    """Open everything that is stored below a folder in a browser: from a number down to the records behind it.

    It runs on this machine until you stop it with Ctrl-C, and only people with the printed address get in. It needs the
    extra explore.

    \b
    Example:
      pointwise explore runs
      pointwise explore runs --attributes patents.parquet --port 8000 --no-open
    """
    from pointwise.explorer import Address, Site, prepare_runs, serve

    address = Address(host, port, tuple(allowed_host or ()))
    with stdin.files(attributes) as (known,):
        site = Site(Path(folder), known)
        if prepare:
            for name in prepare_runs(site):
                output.say(f"Prepared {name}.")
        serve(site, address, say=output.say, opens=not no_open)
