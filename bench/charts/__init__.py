"""Pictures of results: one file per chart, one style.

Each chart takes a result and an optional matplotlib axis, draws on it and returns it. Nothing here
shows a window, needs a display, or changes matplotlib's global state.
"""

from __future__ import annotations

from bench.charts.amortisation import amortisation
from bench.charts.calls import call_breakdown
from bench.charts.distribution import ecdf
from bench.charts.files import save_all
from bench.charts.ladder import ladder
from bench.charts.setup import waterfall
from bench.charts.side_by_side import side_by_side
from bench.charts.style import style

__all__ = [
    "amortisation",
    "call_breakdown",
    "ecdf",
    "ladder",
    "save_all",
    "side_by_side",
    "style",
    "waterfall",
]
