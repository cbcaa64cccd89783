"""The notebooks are kept as executed from recorded results: ``python -m tests.keep_notebooks``."""

from __future__ import annotations

from pathlib import Path

import nbformat

from bench.publish import LIMIT_S
from bench.publish.execution import execute

ROOT = Path(__file__).parent.parent
NOTEBOOKS = sorted((ROOT / "notebooks").glob("*.ipynb"))

if __name__ == "__main__":
    for path in NOTEBOOKS:
        nbformat.write(execute(path, limit_s=LIMIT_S), path)
