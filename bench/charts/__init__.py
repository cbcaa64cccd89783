"""Pictures of results: one file per chart, one style.

Each chart takes a result and an optional matplotlib axis, draws on it and returns it. Nothing here
shows a window, needs a display, or changes matplotlib's global state.
"""

from __future__ import annotations

from bench.charts.alt import alt_text
from bench.charts.amortisation import amortisation
from bench.charts.calls import call_breakdown
from bench.charts.compare import compare
from bench.charts.distribution import ecdf
from bench.charts.evidence import bounds, coverage, delays
from bench.charts.files import save, save_all
from bench.charts.ladder import ladder
from bench.charts.percentiles import percentiles
from bench.charts.sequence import sequence
from bench.charts.setup import waterfall
from bench.charts.show import show
from bench.charts.side_by_side import side_by_side
from bench.charts.small_multiples import small_multiples
from bench.charts.style import style
from bench.charts.timeline import timeline

__all__ = [
    "alt_text",
    "amortisation",
    "bounds",
    "call_breakdown",
    "compare",
    "coverage",
    "delays",
    "ecdf",
    "ladder",
    "percentiles",
    "save",
    "save_all",
    "sequence",
    "show",
    "side_by_side",
    "small_multiples",
    "style",
    "timeline",
    "waterfall",
]
