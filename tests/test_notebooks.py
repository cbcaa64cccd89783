"""The notebooks run from top to bottom on recorded results, and are kept as they then look."""

from __future__ import annotations

import math
import re
from itertools import zip_longest
from pathlib import Path

import nbformat
import pytest
from nbformat import NotebookNode

from bench.charts.show import WORDS
from bench.publish import LIMIT_S
from bench.publish.execution import execute, stable
from tests.keep_notebooks import NOTEBOOKS, outputs, pictures

EVERY = pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
QUESTIONS = {"234 ms", "31 ms", "95 %", "5 %", "2 ms"}
"""What prose may name: the figures that are asked about, and what the proofs set by hand."""


def said(notebook: NotebookNode) -> list[dict[str, str]]:
    """Return the texts of every output but what it says on stderr, by their kind.

    The dots of pictures depend on fonts: they have tests of their own.
    """
    return [
        {"text": output.text}
        if "text" in output
        else {kind: str(text) for kind, text in output.data.items() if kind != "image/png"}
        for output in outputs(notebook)
        if output.get("name") != "stderr"
    ]


def differences(shown: dict[str, str], kept: dict[str, str]) -> list[str]:
    """Return where two outputs differ by more than the last digit of a figure.

    Resampling ends in the mathematics of the machine, which may round otherwise elsewhere.
    """
    if shown.keys() != kept.keys():
        return [f"shows {sorted(shown)}, is kept as {sorted(kept)}"]
    return [
        f"{kind}: shows …{here}…, is kept as …{there}…"
        for kind in kept
        for here, there in zip_longest(pieces(shown[kind]), pieces(kept[kind]))
        if here != there and as_figure(here) != pytest.approx(as_figure(there), rel=0.02)
    ]


def pieces(text: str) -> list[str]:
    """Return a text cut into its figures and what stands between them."""
    return re.split(r"(\d+(?:[.,]\d+)*)", text)


def as_figure(piece: str | None) -> float:
    """Return the figure that a piece is; no number, equal to none, where it is words."""
    try:
        return float((piece or "").replace(",", ""))
    except ValueError:
        return math.nan


def test_there_are_five_notebooks() -> None:
    assert [path.stem[:2] for path in NOTEBOOKS] == ["01", "02", "03", "04", "05"]


@EVERY
@pytest.mark.filterwarnings("default")
def test_a_notebook_is_kept_as_a_run_from_top_to_bottom_shows_it(path: Path) -> None:
    kept = nbformat.read(path, as_version=4)
    executed = execute(path, limit_s=LIMIT_S)
    assert [o.text for o in outputs(executed) if o.get("name") == "stderr"] == []
    shown, expected = said(executed), said(kept)
    assert len(shown) == len(expected)
    for one, other in zip(shown, expected, strict=True):
        assert differences(one, other) == []
    assert len(pictures(executed)) == len(pictures(kept)) >= 3


@EVERY
def test_every_figure_of_a_notebook_has_words_and_a_source(path: Path) -> None:
    for output in pictures(nbformat.read(path, as_version=4)):
        words = output.metadata[WORDS]
        assert words["title"]
        assert words["alt"] == output.metadata["image/png"]["alt"] != ""
        assert words["caption"].startswith(words["title"])
        assert (path.parent / words["source"]).is_file()


@EVERY
def test_a_notebook_is_kept_without_noise_and_without_paths_of_a_machine(path: Path) -> None:
    text = path.read_text("utf-8")
    notebook = nbformat.read(path, as_version=4)
    code = [cell for cell in notebook.cells if cell.cell_type == "code"]
    assert [cell.execution_count for cell in code] == list(range(1, len(code) + 1))
    assert nbformat.writes(stable(notebook)).strip() == text.strip()
    assert all(len(cell.source.splitlines()) <= 20 for cell in code)
    # Base64 of pictures holds slashes too: only rooted paths of people's folders count.
    assert not re.search(r"(?<![\w+/=])/(?:home|root|work|Users|tmp)/", text)


@EVERY
def test_no_measured_figure_is_typed_into_prose(path: Path) -> None:
    notebook = nbformat.read(path, as_version=4)
    prose = " ".join(cell.source for cell in notebook.cells if cell.cell_type == "markdown")
    typed = set(re.findall(r"\b\d[\d.,]* (?:ns|µs|ms|s|%)(?!\w)", prose))
    assert typed <= QUESTIONS


@EVERY
def test_a_notebook_measures_only_where_it_is_asked_to(path: Path) -> None:
    notebook = nbformat.read(path, as_version=4)
    assert any("MEASURE = False\n" in f"{cell.source}\n" for cell in notebook.cells)
