"""The command line: a thin twin of the library."""

from __future__ import annotations

import typer

app = typer.Typer(no_args_is_help=True, help="Judge a clustering against a ground truth.")


@app.callback()
def root() -> None:
    """Judge a clustering against a ground truth."""


@app.command()
def demo() -> None:
    """Show what pointwise does, on real data that comes with it."""
    from pointwise.demo import run_demo

    for part in run_demo():
        typer.echo(part)


def main() -> None:
    """Run the command line."""
    app()
