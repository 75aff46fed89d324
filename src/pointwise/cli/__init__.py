"""The command line: a thin twin of the library.

To add a command, write a function in one of these modules (or a new one, imported below) and decorate it with
`@app.command()`. Its docstring is the help: a first line, then an `Example:` after a line with only a backspace. Take
options that several commands share from `cli.options`, pass what the library returns to `cli.output`, and import the
library inside the function, so that `pointwise --help` stays quick. Then `python -m pointwise.cli.reference PATH`
rewrites the page docs/cli-reference.md.
"""

from pointwise.cli import (
    comparing,
    diffing,
    evaluating,
    exploring,
    gating,
    judging,
    linking,
    looking,
    planning,
    reporting,
)
from pointwise.cli.app import app, main

__all__ = [
    "app",
    "comparing",
    "diffing",
    "evaluating",
    "exploring",
    "gating",
    "judging",
    "linking",
    "looking",
    "main",
    "planning",
    "reporting",
]
