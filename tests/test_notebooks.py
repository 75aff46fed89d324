"""The notebooks in examples/ run, and show what is stored in them."""

from __future__ import annotations

import json
from importlib.util import find_spec
from pathlib import Path

import pytest

from browser import require

NOTEBOOKS = sorted((Path(__file__).parent.parent / "examples").glob("*.ipynb"))


def shown(cell) -> list[str]:
    return ["".join(output["data"]["text/plain"]) for output in cell["outputs"]]


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_notebook_shows_what_is_stored(path, monkeypatch):
    require(find_spec("nbclient") and find_spec("ipykernel"), "nbclient with ipykernel")
    import nbformat
    from nbclient import NotebookClient

    monkeypatch.setenv("COLUMNS", "120")
    stored = [c for c in json.loads(path.read_text(encoding="utf-8"))["cells"] if c["cell_type"] == "code"]
    book = nbformat.read(path, as_version=4)
    NotebookClient(book, timeout=300).execute()
    run = [cell for cell in book.cells if cell.cell_type == "code"]
    for cell, before in zip(run, stored, strict=True):
        assert shown(cell) == shown(before), cell.source
        assert len(cell.outputs) == 1  # a table is shown once: as HTML, with its text beside
