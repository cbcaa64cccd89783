"""From result files to the file of their page."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from bench.atomic import write_in_one_step
from bench.errors import BenchError
from bench.page.html import as_html
from bench.results import Result
from bench.storage import load

SUFFIXES = (".html", ".htm")
"""What the name of a page may end in; the first is that of a page without a name."""


def write_page(files: Sequence[Path], output: Path | None = None) -> tuple[Path, list[Result]]:
    """Write the page of some result files; return where, and what was read.

    Without ``output`` it stands beside the first file. An older page is replaced in one step.
    Raises BenchError where a file cannot be read, where ``output`` is no name of a page, or where
    the page cannot be written.
    """
    target = output or _beside(files[0])
    _check(target, files)
    results = [load(file) for file in files]
    html = as_html(list(zip(_names(files), results, strict=True)))
    try:
        write_in_one_step(target, html.encode())
    except OSError as error:
        raise BenchError(f"{target}: cannot be written: {error.strerror}") from None
    return target, results


def _beside(file: Path) -> Path:
    return file.with_name(file.name.removesuffix(".gz").removesuffix(".json") + SUFFIXES[0])


def _check(target: Path, files: Sequence[Path]) -> None:
    """Find out before the work whether its page can be kept."""
    if not target.parent.is_dir():
        raise BenchError(f"{target}: the folder {target.parent} does not exist")
    if target.is_dir():
        raise BenchError(f"{target}: is a folder; expected the name of a file")
    if any(target.resolve() == file.resolve() for file in files):
        raise BenchError(f"{target}: is one of the results; expected another name for the page")
    # An older page is replaced without asking: what is none must not be taken for one.
    if target.suffix.lower() not in SUFFIXES:
        raise BenchError(
            f"{target}: is no name of a page; expected one that ends in {' or '.join(SUFFIXES)}"
        )


def _names(files: Sequence[Path]) -> list[str]:
    """Return the files as the page calls them: without folders, where that tells them apart."""
    names = [file.name for file in files]
    return names if len(set(names)) == len(names) else [str(file) for file in files]
