"""Streams: the one place where text leaves the program.

On a terminal, control characters that come from data are made visible. Into a file or a pipe, text goes as it is.
"""

from __future__ import annotations

import contextlib
import errno
import os
import sys
from typing import TextIO

import typer

from pointwise.text.escaping import escape_controls

FAILED_TO_WRITE = 2


def put_text(text: str) -> None:
    """Write a result to standard output.

    Raises:
        typer.Exit: It cannot be written there. If a pipe was closed, nothing is said.
    """
    try:
        _write(sys.stdout, text)
    except OSError as error:
        _silence(sys.stdout)
        if error.errno != errno.EPIPE:
            say(f"Error: the result cannot be written to standard output: {error.strerror or error}.")
        raise typer.Exit(FAILED_TO_WRITE) from error


def say(message: str) -> None:
    """Tell the user something that is not the result; if it cannot be shown, that is not worth failing for."""
    try:
        _write(sys.stderr, message)
    except OSError:
        _silence(sys.stderr)


def _write(stream: TextIO | None, text: str) -> None:
    if stream is None or stream.closed:
        raise OSError(errno.EBADF, "it is closed")
    stream.write((escape_controls(text, keep="\n\t") if stream.isatty() else text) + "\n")
    stream.flush()


def _silence(stream: TextIO | None) -> None:
    """Discard what a stream still holds, or the interpreter would fail on it when it ends."""
    if stream is None:
        return
    with contextlib.suppress(OSError, ValueError):
        os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())
