"""Transports side by side: setup on the left, a call on the right, one row per way."""

from __future__ import annotations

import numpy as np
from matplotlib.axes import Axes

from bench import accounts
from bench.charts import alt, parts
from bench.charts.asked import of_a_result, one_of
from bench.charts.style import WIDTH_IN, style
from bench.phases import Phase
from bench.render import units
from bench.results import CellResult, Result
from bench.stats import Estimate

TITLE = "Side by side (mean phases)"


@of_a_result
def side_by_side(result: Result, *, handler: str | None = None) -> Axes:
    """Draw setup (without spawn and boot) and call of each way to reach one handler.

    Rows are sorted by the median call. Returns the axis of the calls; both are in its figure.
    """
    one_of("handler", handler, (cell.handler for cell in result.cells))
    handler = handler or _first_handler(result)
    cells = [c for c in result.cells if handler in (None, c.handler) and c.totals()]
    cells.sort(key=lambda cell: float(np.median(np.concatenate(cell.totals()))))
    with style():
        longest = max((len(parts.short(cell.reach)) for cell in cells), default=0)
        height_in = 1.7 + parts.ROW_IN * max(len(cells), 2)
        width_in = WIDTH_IN * 1.35 + max(longest - 26, 0) * 0.065
        figure = parts.new_figure(height_in, width_in)
        left = parts.styled(figure.add_subplot(1, 2, 1))
        right = parts.styled(figure.add_subplot(1, 2, 2, sharey=left))
        if not cells:
            parts.empty(left, TITLE, "no call succeeded")
            return parts.empty(right, "", "no call succeeded")
        title = f"{TITLE}: {parts.short(cells[0].handler)}"
        _draw(left, right, cells, title)
        figure.suptitle(title, fontweight="bold")
    return right


def _draw(left: Axes, right: Axes, cells: list[CellResult], title: str) -> None:
    setups: list[Estimate | None] = []
    calls: list[Estimate] = []
    setup_phases: set[Phase] = set()
    call_phases: set[Phase] = set()
    for row, cell in enumerate(cells):
        bill, phases = accounts.setup(accounts.without_start(cell)), accounts.call_phases(cell)
        assert bill is not None
        assert phases is not None
        parts.stack(left, row, bill.parts)
        parts.stack(right, row, phases.parts)
        parts.interval(right, row, phases.total)
        if bill.parts:
            parts.interval(left, row, bill.total)
        setups.append(bill.total if bill.parts else None)
        calls.append(phases.total)
        setup_phases |= bill.parts.keys()
        call_phases |= phases.parts.keys()
    parts.time_axis(left, "mean time", parts.longest(one for one in setups if one is not None))
    parts.time_axis(right, "mean time", parts.longest(calls))
    parts.name_rows(left, [cell.reach for cell in cells])
    right.grid(visible=False, axis="y")
    right.tick_params(axis="y", length=0, labelleft=False)
    parts.note_rows(left, [units.duration(one.value) if one else "–" for one in setups], "setup")
    parts.note_rows(right, [units.duration(call.value) for call in calls], "mean call")
    on_left, on_right = _present(setup_phases), _present(call_phases)
    lines = max(parts.legend_lines(on_left), parts.legend_lines(on_right))
    parts.title_and_legend(left, "Setup without the start of the server", on_left, lines)
    parts.title_and_legend(right, "A call", on_right, lines)
    words = [
        f"{cell.reach} setup {parts.with_interval(setup) if setup else 'unknown'}, call "
        f"{parts.with_interval(call)}"
        for cell, setup, call in zip(cells, setups, calls, strict=True)
    ]
    drawn = "Two columns of stacked bars, one row per way; setup without the start of the server"
    alt.describe(right, title, drawn, words)


def _present(phases: set[Phase]) -> list[Phase]:
    return [phase for phase in Phase if phase in phases]


def _first_handler(result: Result) -> str | None:
    handlers = [cell.handler for cell in result.cells if cell.transport != "pipe"]
    return "noop" if "noop" in handlers else next(iter(handlers), None)
