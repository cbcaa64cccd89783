"""Transports side by side: setup on the left, a call on the right, one row per way."""

from __future__ import annotations

import numpy as np
from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure

from bench import breakdown
from bench.charts import style
from bench.phases import Phase
from bench.render import units
from bench.results import CellResult, Result

TITLE = "Side by side (mean phases)"
_START = (Phase.SPAWN, Phase.BOOT)


def side_by_side(result: Result, *, handler: str | None = None) -> Axes:
    """Draw setup (without spawn and boot) and call of each way to reach one handler.

    Rows are sorted by the median call. Returns the axis of the calls; both are in its figure.
    """
    handler = handler or _first_handler(result)
    cells = [c for c in result.cells if handler in (None, c.handler) and c.totals()]
    cells.sort(key=lambda cell: float(np.median(np.concatenate(cell.totals()))))
    with style.style():
        longest = max((len(style.short(cell.reach)) for cell in cells), default=0)
        height_in = 1.7 + style.ROW_IN * max(len(cells), 2)
        size = (style.WIDTH_IN * 1.35 + max(longest - 26, 0) * 0.065, height_in)
        figure = Figure(figsize=size, layout="constrained")
        FigureCanvasAgg(figure)
        left = figure.add_subplot(1, 2, 1)
        right = figure.add_subplot(1, 2, 2, sharey=left)
        if not cells:
            style.empty(left, TITLE, "no call succeeded")
            return style.empty(right, "", "no call succeeded")
        _draw(left, right, cells)
        figure.suptitle(f"{TITLE}: {style.short(cells[0].handler)}", fontweight="bold")
    return right


def _draw(left: Axes, right: Axes, cells: list[CellResult]) -> None:
    setups, calls = [], []
    setup_phases: set[Phase] = set()
    call_phases: set[Phase] = set()
    for row, cell in enumerate(cells):
        bill, phases = breakdown.setup(cell), breakdown.call_phases(cell)
        assert bill is not None
        assert phases is not None
        parts = {phase: part for phase, part in bill.parts.items() if phase not in _START}
        if cell.transport == "stdio" and cell.client != "raw":
            # A library starts the server out of sight: its boot cannot be taken out.
            parts = {}
        style.stack(left, row, parts)
        style.stack(right, row, phases.parts)
        setups.append(sum(part.value for part in parts.values()))
        calls.append(phases.total.value)
        setup_phases |= parts.keys()
        call_phases |= phases.parts.keys()
    style.time_axis(left, "mean time", max(setups))
    style.time_axis(right, "mean time", max(calls))
    style.name_rows(left, [cell.reach for cell in cells])
    right.grid(visible=False, axis="y")
    right.tick_params(axis="y", length=0, labelleft=False)
    style.note_rows(left, [units.duration(ns) if ns else "–" for ns in setups], "setup")
    style.note_rows(right, [units.duration(ns) for ns in calls], "mean call")
    on_left, on_right = _present(setup_phases), _present(call_phases)
    lines = max(style.legend_lines(on_left), style.legend_lines(on_right))
    style.title_and_legend(left, "Setup without the start of the server", on_left, lines)
    style.title_and_legend(right, "A call", on_right, lines)


def _present(phases: set[Phase]) -> list[Phase]:
    return [phase for phase in Phase if phase in phases]


def _first_handler(result: Result) -> str | None:
    handlers = [cell.handler for cell in result.cells if cell.transport != "pipe"]
    return "noop" if "noop" in handlers else next(iter(handlers), None)
