"""No figure stands in a page that no committed result file holds."""

from __future__ import annotations

import re
from pathlib import Path
from xml.etree import ElementTree

import nbformat
import pytest

from bench.charts.show import WORDS
from tests.keep_notebooks import pictures
from tests.readme_tables import BLOCK, PAGES, ROOT, refreshed

SVG = "{http://www.w3.org/2000/svg}"


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_the_tables_of_a_page_are_those_of_the_recorded_results(page: Path) -> None:
    text = page.read_text("utf-8")
    assert BLOCK.search(text)
    assert refreshed(text) == text


def test_the_pictures_of_the_readme_are_figures_of_the_notebooks() -> None:
    shown = re.findall(r"!\[[^]]+\]\(([^)]+)\)", (ROOT / "README.md").read_text("utf-8"))
    assert len(shown) >= 5
    for picture in map(Path, shown):
        notebook, _, number = picture.stem.rpartition("-")
        kept = nbformat.read(ROOT / "notebooks" / f"{notebook}.ipynb", as_version=4)
        figure = pictures(kept)[int(number) - 1]
        described = ElementTree.parse(ROOT / picture).getroot().findtext(f"{SVG}desc")
        assert described == figure.metadata[WORDS]["alt"]


def test_every_local_link_of_the_readme_leads_somewhere() -> None:
    text = (ROOT / "README.md").read_text("utf-8")
    for target in re.findall(r"\]\(([^)#:]+)\)", text):
        assert (ROOT / target).exists(), target
