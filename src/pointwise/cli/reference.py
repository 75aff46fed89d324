"""The page docs/cli-reference.md, written from the commands themselves."""

from __future__ import annotations

import inspect
import sys
from collections.abc import Iterator
from enum import Enum
from pathlib import Path
from typing import Any, get_args

import typer.main

from pointwise.cli import app

_INTRODUCTION = """\
# Command reference

This page is written from the commands' own help: `pointwise COMMAND --help` says the same.
"""


def write_reference() -> str:
    """Write the page."""
    group: Any = typer.main.get_command(app)
    return "\n".join([_INTRODUCTION, *(line for name, command in _commands(group) for line in _command(name, command))])


def _commands(group: Any, prefix: str = "") -> Iterator[tuple[str, Any]]:
    """List all commands, also those of groups inside."""
    for name, command in sorted(group.commands.items()):
        if hasattr(command, "commands"):
            yield from _commands(command, f"{prefix}{name} ")
        else:
            yield prefix + name, command


def _command(name: str, command: Any) -> Iterator[str]:
    arguments = [p for p in command.params if p.param_type_name == "argument"]
    yield f"## `pointwise {' '.join([name, *(a.metavar for a in arguments)])}`\n"
    yield from _help(command.help)
    if not command.params:
        return
    yield "| parameter | meaning |\n|---|---|"
    for argument in arguments:
        yield f"| `{argument.metavar}` | {argument.help} |"
    for option in (p for p in command.params if p.param_type_name == "option"):
        yield f"| {_names(option)} | {_cell(option.help)}{_default(option)} |"
    yield ""


def _help(text: str) -> Iterator[str]:
    for paragraph in inspect.cleandoc(text).split("\n\n"):
        if paragraph.startswith("\b"):
            lines = paragraph.split("\n")[2:]
            yield "\n".join(["```bash", *(line.removeprefix("  ") for line in lines), "```\n"])
        else:
            yield paragraph.replace("\n", " ") + "\n"


def _names(option: Any) -> str:
    value = "" if option.is_flag else f" {_value_name(option)}"
    return _code(", ".join([*sorted(option.opts, key=len), *option.secondary_opts]) + value)


def _code(text: str) -> str:
    """Write code in a cell: a bar would end the cell, and only some readers of Markdown take a backslash for that."""
    return f"<code>{text.replace('|', '&#124;')}</code>" if "|" in text else f"`{text}`"


def _value_name(option: Any) -> str:
    if isinstance(option.default, Enum):
        return "|".join(choice.value for choice in type(option.default))
    choices = get_args(option.type_descriptor.annotation) if option.metavar is None else ()
    return "|".join(map(str, choices)) or str(option.metavar)


def _cell(text: str) -> str:
    return text.replace("|", "\\|")


def _default(option: Any) -> str:
    if isinstance(option.show_default, str):
        return f" Default: `{option.show_default}`."
    if option.default in (None, False, ()) or option.is_flag:
        return ""
    return f" Default: `{getattr(option.default, 'value', option.default)}`."


if __name__ == "__main__":
    Path(sys.argv[1]).write_text(write_reference(), encoding="utf-8")
