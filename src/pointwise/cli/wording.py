"""Wording: what the library says about its parameters, in the options of the command line.

The library's messages write a parameter as Python does: `missing='singleton'`, `item=...`, `overwrite=True`. A
command's own parameters have the same names, so that their options can be looked up.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Mapping
from contextvars import ContextVar
from typing import Any

_commands: ContextVar[tuple[str, Mapping[str, Any]]] = ContextVar("commands", default=("", {}))

_MAKERS = ("evaluate", "compare", "diff")  # have the options that say how a result is made

_OFF = {"header": "--headerless"}
"""The options that switch a flag off for one table."""

_TERMS = re.compile(
    r"""
    (?<![\w=])(?P<quoted>'[^']*'|"[^"]*")  # what a user has written stays as it is
    | \b(?P<name>[a-z_]+)=(?P<value>'[^']*'|\d+|True|False|\.\.\.|\[\.\.\.\]|\{[^{}]*\})
    | ((?P<side>ideal|actual)=)?pw\.Links\(table(?P<links>(,\ \w+=('[^']*'|"[^"]*"|\.\.\.))*)\)
    | (?P<call>load_comparison|load_diff|load)\(\.\.\.\)
    """,
    re.VERBOSE,
)


def speak_of(command: str, commands: Mapping[str, Any]) -> None:
    """Remember which of the commands is running."""
    _commands.set((command, commands))


def translate(message: str) -> str:
    """Write a message with the options that the running command has, or else those of one that makes results."""
    return _TERMS.sub(_translate_term, message)


def _translate_term(term: re.Match[str]) -> str:
    if term["call"]:
        return "pointwise show"
    if term["links"] is not None:
        return _spell_links(term["side"], term["links"])
    running, commands = _commands.get()
    for command in (running, *_MAKERS) if term["name"] else ():
        found = next((p for p in _parameters(commands, command) if p.name == term["name"]), None)
        if found is not None:
            prefix = "" if command == running else f"pointwise {command} "
            return prefix + _spell(found, term["value"])
    return term[0]


def _spell_links(side: str | None, settings: str) -> str:
    """Say how to give links, where a command takes them in the place of a clustering."""
    running, commands = _commands.get()
    if all(p.name != f"{side}_links" for p in _parameters(commands, running)):
        return "the clusters that 'pointwise cluster' makes of them"
    return f"--{side}-links{translate(settings).replace(', ', ' ')}"


def _parameters(commands: Mapping[str, Any], command: str) -> list[Any]:
    return list(commands[command].params) if command in commands else []


def _spell(parameter: Any, value: str) -> str:
    if parameter.param_type_name == "argument":
        return str(parameter.metavar)
    if value == "False" and parameter.secondary_opts:
        return str(parameter.secondary_opts[0])
    option = max(parameter.opts, key=len)
    if value.startswith("{") and parameter.secondary_opts:  # a flag that is off for some tables
        return " ".join(f"{_OFF[parameter.name]} {table}" for table in re.findall(r"'(\w+)': False", value))
    if value.startswith("{"):  # one value per table
        return " ".join(f"{option} {table}=..." for table in re.findall(r"'(\w+)':", value))
    if value[0] == "'" or value.isdigit():
        return f"{option} {shlex.quote(value.strip(chr(39)))}"
    return str(option)
