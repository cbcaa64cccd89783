"""Charts inside a page: own ids, text as text, nothing that acts beyond the chart."""

from __future__ import annotations

import re
from xml.etree import ElementTree

import pytest

from bench.charts.files import drawings
from bench.charts.inline import inline_svg
from bench.results import Result
from tests.make_results import make_cell, make_result

NAMES = ["plain", "a$b$c", r"a$\frac$", "<script>&\"'", "日本語"]


def result(name: str = "plain") -> Result:
    return make_result(make_cell(name), make_cell(name, transport="http"))


def setup_svg(name: str = "plain") -> str:
    return inline_svg(drawings(result(name))["setup"](), "setup-", "about setup")


@pytest.fixture(scope="module")
def svgs() -> dict[str, str]:
    drawn = drawings(result())
    return {key: inline_svg(draw(), f"{key}-", f"about {key}") for key, draw in drawn.items()}


@pytest.mark.parametrize("name", NAMES)
def test_a_name_is_shown_as_it_stands(name: str) -> None:
    root = ElementTree.fromstring(setup_svg(name))
    texts = {element.text for element in root.iter() if element.tag.endswith("text")}
    assert f"stdio/{name}" in texts


def test_a_name_that_would_leave_no_room_is_shown_by_its_ends() -> None:
    svg = setup_svg("n" * 300)
    assert re.search(r">stdio/n{25}…n{31}<", svg)


def test_ids_of_charts_do_not_meet_and_every_reference_is_met(
    svgs: dict[str, str],
) -> None:
    seen: set[str] = set()
    for svg in svgs.values():
        ids = re.findall(r' id="([^"]+)"', svg)
        references = re.findall(r'url\(#([^)]+)\)|href="#([^"]+)"', svg)
        assert {first or second for first, second in references} == set(ids)
        assert len(set(ids)) == len(ids)
        assert seen.isdisjoint(ids)
        seen.update(ids)
    assert seen


def test_a_chart_says_what_it_is_and_styles_nothing_but_itself(svgs: dict[str, str]) -> None:
    for name, svg in svgs.items():
        root = ElementTree.fromstring(svg)
        assert (root.get("role"), root.get("aria-label")) == ("img", f"about {name}")
        assert not {"style", "metadata", "script"} & {element.tag for element in root.iter()}


def test_the_same_chart_is_the_same_text() -> None:
    assert setup_svg() == setup_svg()
