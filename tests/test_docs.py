"""README and guides say what is true: their Python blocks and their commands are run."""

from __future__ import annotations

import doctest
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]
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
    before = Path.cwd()
    os.chdir(folder)
    try:
        failed, _ = doctest.DocTestRunner(optionflags=FLAGS).run(test, out=report.append)
    finally:
        os.chdir(before)
    assert not failed, "".join(report)


def run_console(page: Path, folder: Path) -> None:
    environment = os.environ | {
        "PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}",
        "COLUMNS": "120",
        "NO_COLOR": "1",
    }
    for block in blocks(page, "console"):
        for command, expected in re.findall(r"^\$ ((?:.*\\\n)*.*)\n((?:(?!\$ ).*\n)*)", block, re.MULTILINE):
            if command.startswith(("pip ", "make ")):
                continue
            done = subprocess.run(
                ["bash", "-c", command], cwd=folder, env=environment, capture_output=True, text=True, check=False
            )
            shown = done.stdout + done.stderr
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
