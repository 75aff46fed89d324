"""README and guides say what is true: their Python blocks and their commands are run."""

from __future__ import annotations

import contextlib
import doctest
import os
import re
import shlex
import subprocess
import sys
from functools import cache
from pathlib import Path

import pytest
from typer.testing import CliRunner

from pointwise.cli import app

ROOT = Path(__file__).parent.parent
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]
TERMINAL = {"COLUMNS": "120", "NO_COLOR": "1"}
FLAGS = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE
BLOCK = re.compile(r"^```(python|console)\n(.*?)^```$", re.DOTALL | re.MULTILINE)


def blocks(page: Path, kind: str) -> list[str]:
    return [text for language, text in BLOCK.findall(page.read_text(encoding="utf-8")) if language == kind]


def mark_blank_lines(block: str) -> str:
    """Keep blank lines inside an output, where doctest would take them for its end."""
    lines = block.rstrip().split("\n")
    for number, line in enumerate(lines):
        following = next((later for later in lines[number + 1 :] if later), ">>>")
        is_output = not lines[number - 1].startswith((">>>", "..."))
        if not line and is_output and not following.startswith(">>>"):
            lines[number] = "<BLANKLINE>"
    return "\n".join(lines) + "\n"


def run_python(page: Path, folder: Path) -> None:
    source = "\n".join(mark_blank_lines(block) for block in blocks(page, "python"))
    test = doctest.DocTestParser().get_doctest(source, {}, page.name, str(page), 0)
    report: list[str] = []
    with contextlib.chdir(folder):
        failed, _ = doctest.DocTestRunner(optionflags=FLAGS).run(test, out=report.append)
    assert not failed, "".join(report)


def split(command: str) -> list[str]:
    """Split a command into words as a shell does, its operators apart."""
    words = shlex.shlex(command.replace("\\\n", " "), posix=True, punctuation_chars=True)
    words.whitespace_split = True
    return list(words)


def is_plain(command: str) -> bool:
    """Say whether a command is pointwise alone, without anything that only a shell understands."""
    words = split(command)
    return words[:1] == ["pointwise"] and not any(set(word) <= set("|&;<>()") or "$" in word for word in words)


def call_pointwise(command: str, folder: Path, stdin: str | None = None) -> str:
    """Call a command in this process: most of a small one's time goes into starting Python."""
    with contextlib.chdir(folder):
        done = CliRunner().invoke(app, split(command)[1:], input=stdin, env=TERMINAL)
    return done.stdout + done.stderr


def call(command: str, folder: Path) -> str:
    """Call a command, in this process if it is pointwise alone or reads from it what `echo` says."""
    spoken, _, rest = command.partition(" | ")
    if spoken.startswith("echo ") and is_plain(rest):
        return call_pointwise(rest, folder, stdin=" ".join(split(spoken)[1:]) + "\n")
    return call_pointwise(command, folder) if is_plain(command) else call_shell(command, folder)


@cache
def said_by(command: str) -> str:
    """Return what a command says in any folder; several pages ask the same one where the data lies."""
    return call_shell(command, ROOT).rstrip("\n")


def call_shell(command: str, folder: Path) -> str:
    command = re.sub(r"\$\((python -c '[^']*')\)", lambda found: said_by(found[1]), command)
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    environment = os.environ | TERMINAL | {"PATH": path}
    done = subprocess.run(
        ["bash", "-c", command], cwd=folder, env=environment, capture_output=True, text=True, check=False
    )
    return done.stdout + done.stderr


def run_console(page: Path, folder: Path) -> None:
    for block in blocks(page, "console"):
        for command, expected in re.findall(r"^\$ ((?:.*\\\n)*.*)\n((?:(?!\$ ).*\n)*)", block, re.MULTILINE):
            if command.startswith(("pip ", "make ")):
                continue
            shown = call(command, folder)
            checker = doctest.OutputChecker()
            assert checker.check_output(expected, shown, FLAGS), f"$ {command}\n{shown}\n--- the page says\n{expected}"


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_page_shows_what_happens(page: Path, tmp_path: Path, monkeypatch):
    monkeypatch.setenv("COLUMNS", "120")
    run_console(page, tmp_path)
    run_python(page, tmp_path)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_links_lead_somewhere(page: Path):
    targets = re.findall(r"\]\(([^)#:]+)(?:#[^)]*)?\)", page.read_text(encoding="utf-8"))
    missing = [target for target in targets if not (page.parent / target).exists()]
    assert not missing


def test_promises_are_linked_to_tests_that_exist():
    page = ROOT / "docs" / "promises.md"
    links = re.findall(r"\[`(test_\w+)`\]\(([^)]+\.py)\)", page.read_text(encoding="utf-8"))
    assert len(links) > 20
    assert [
        name for name, file in links if f"def {name}(" not in (page.parent / file).read_text(encoding="utf-8")
    ] == []


def test_every_promise_has_a_test():
    text = (ROOT / "docs" / "promises.md").read_text(encoding="utf-8")
    promises = [paragraph for paragraph in text.split("\n\n") if paragraph.startswith("**")]
    assert len(promises) > 20
    assert [promise for promise in promises if "](../tests/" not in promise] == []
