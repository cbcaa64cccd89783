"""No figure stands in a page that no committed result file holds."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.readme_tables import BLOCK, PAGES, ROOT, refreshed


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_the_tables_of_a_page_are_those_of_the_recorded_results(page: Path) -> None:
    text = page.read_text("utf-8")
    assert BLOCK.search(text)
    assert refreshed(text) == text


def test_every_local_link_of_the_readme_leads_somewhere() -> None:
    text = (ROOT / "README.md").read_text("utf-8")
    for target in re.findall(r"\]\(([^)#:]+)\)", text):
        assert (ROOT / target).exists(), target
