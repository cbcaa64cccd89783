"""The notebooks are kept as executed from recorded results: ``python -m tests.keep_notebooks``."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import nbformat
from nbformat import NotebookNode

from bench.publish import LIMIT_S
from bench.publish.execution import execute

ROOT = Path(__file__).parent.parent
NOTEBOOKS = sorted((ROOT / "notebooks").glob("*.ipynb"))


def outputs(notebook: NotebookNode) -> list[Any]:
    """Return what all cells show, in order."""
    return [output for cell in notebook.cells for output in cell.get("outputs", [])]


def pictures(notebook: NotebookNode) -> list[Any]:
    """Return the outputs that are figures, in order."""
    return [output for output in outputs(notebook) if "image/png" in output.get("data", {})]


if __name__ == "__main__":
    for path in NOTEBOOKS:
        nbformat.write(execute(path, limit_s=LIMIT_S), path)
