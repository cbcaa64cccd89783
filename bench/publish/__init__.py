"""Notebooks as articles: executed, as one HTML page each, every figure as SVG, PNG and PDF.

The figures are those of the cells, not pictures of the page. A kernel shows a figure in the formats
that its inline backend is set to (:data:`FORMATS`), so each output of an executed notebook holds
all of them, with the words that ``bench.charts.show`` puts beside them. Executing and writing need
nothing else from each other: what a notebook shows in Jupyter is what is published.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Final

from bench.errors import PublishError

LIMIT_S: Final = 600.0
"""A notebook that is not done after this is given up, unless the user allows more."""
FORMATS: Final = ("svg", "retina", "pdf")
"""What figures are drawn in, in the words of the inline backend; retina is a PNG of 200 dpi."""
ALL: Final = "all"
FOLDER: Final = Path("notebooks")
"""Where ``all`` are, and where one is looked for whose path is not whole."""


def publish(
    names: Sequence[str], folder: Path, *, limit_s: float = LIMIT_S
) -> Iterator[tuple[Path, Sequence[str]]]:
    """Execute notebooks and write them into a folder; yield each page with what was noticed.

    ``names`` are paths of notebooks, or ``all`` for those of the folder ``notebooks``. Each
    notebook is written when it is done. Raises PublishError naming what cannot be done.
    """
    try:
        from bench.publish import execution, files
    except ImportError as error:
        raise PublishError(
            f"publish: needs the package {error.name}: pip install 'mcp-latency[notebook]'"
        ) from None
    paths = notebooks(names)
    files.prepare(folder)
    for path in paths:
        notebook = execution.execute(path, limit_s=limit_s, formats=FORMATS)
        yield files.write(notebook, path, folder)


def notebooks(names: Sequence[str]) -> list[Path]:
    """Return the notebooks that names stand for. Raises PublishError where there is none."""
    paths: dict[Path, None] = {}
    for name in names:
        found = sorted(FOLDER.glob("*.ipynb")) if name == ALL else [Path(name)]
        if not found:
            raise PublishError("notebooks: no *.ipynb is here; name the files of the notebooks")
        paths |= dict.fromkeys(found)
    for path in paths:
        if not path.is_file():
            raise PublishError(f"{path}: no such notebook{_meant(path)}")
    stems = [path.stem for path in paths]
    for path in paths:
        if stems.count(path.stem) > 1:
            raise PublishError(f"{path}: another notebook has this name; publish them apart")
    return list(paths)


def _meant(path: Path) -> str:
    """Return a hint to the notebook that a name without its folder or ending may stand for."""
    named = Path(f"{path}.ipynb")
    likely = (named, FOLDER / named, FOLDER / path)
    found = (other for other in likely if other.suffix == ".ipynb" and other.is_file())
    return next((f"; did you mean {other}?" for other in found), "")
