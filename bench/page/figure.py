"""A chart on the page: its picture as markup, its words, and an id that no other has."""

from __future__ import annotations

from dataclasses import dataclass

from bench.charts.alt import Drawn, alt_text
from bench.charts.inline import inline_svg


@dataclass(frozen=True)
class Chart:
    """A chart as an ``<svg>`` element, the only markup that the template does not escape."""

    id: str
    label: str
    svg: str


def chart(chart_id: str, drawn: Drawn) -> Chart:
    """Return a drawn chart for the page."""
    label = alt_text(drawn)
    return Chart(chart_id, label, inline_svg(drawn, f"{chart_id}-", label))
