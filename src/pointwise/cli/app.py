"""The application: its name, its version, and how its errors look."""

from __future__ import annotations

import io
import sys
from typing import Annotated, Any

import typer
from typer.core import TyperGroup

from pointwise.cli.streams import put_text, say
from pointwise.cli.wording import speak_of, translate
from pointwise.errors import PointwiseError

USAGE_ERROR = 2
INTERRUPTED = 130


_ORDER = (
    "demo",
    "evaluate",
    "sample",
    "cluster",
    "sweep",
    "show",
    "explain",
    "mistakes",
    "changes",
    "slice",
    "slices",
    "coverage",
    "compare",
    "distance",
    "plan",
    "diff",
    "judge",
    "ask",
    "serve",
    "status",
    "estimate",
    "export",
    "import",
    "gate",
    "report",
    "explore",
    "runs",
    "metrics",
)


class _Commands(TyperGroup):
    """Commands whose errors are one line on standard error, and an exit code."""

    def list_commands(self, ctx: Any) -> list[str]:
        """List the commands in the order in which people need them."""
        names = super().list_commands(ctx)
        return sorted(names, key=lambda name: _ORDER.index(name) if name in _ORDER else len(_ORDER))

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        name, command, rest = super().resolve_command(ctx, args)
        above = ctx.parent.command.commands if ctx.parent is not None else {}
        speak_of(name or "", {**above, **self.commands})
        return name, command, rest

    def invoke(self, ctx: Any) -> Any:
        try:
            return super().invoke(ctx)
        except PointwiseError as error:
            say(f"Error: {translate(str(error))}")
            raise typer.Exit(USAGE_ERROR) from error
        except KeyboardInterrupt:
            say("Interrupted.")
            raise typer.Exit(INTERRUPTED) from None


def make_group() -> typer.Typer:
    """Make a group of commands, with the same look and errors as all others."""
    return typer.Typer(
        cls=_Commands,
        no_args_is_help=True,
        rich_markup_mode="rich",
        context_settings={"help_option_names": ["-h", "--help"]},
        pretty_exceptions_enable=False,
    )


app = make_group()


def _show_version(is_asked: bool) -> None:  # noqa: FBT001  # Typer calls it so
    if is_asked:
        from pointwise.version import __version__

        put_text(f"pointwise {__version__}")
        raise typer.Exit


@app.callback()
def root(
    *,
    version: Annotated[  # its callback does the work
        bool, typer.Option("--version", help="Show the version and exit.", callback=_show_version, is_eager=True)
    ] = False,
) -> None:
    """Judge a clustering against a ground truth.

    Evaluate once and keep the run (--save), then ask questions of it: show, explain, mistakes, slice, gate.
    """


def main() -> None:
    """Run the command line."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")
    try:
        app()
    except KeyboardInterrupt:  # outside of a command, while modules are loaded
        sys.exit(INTERRUPTED)
