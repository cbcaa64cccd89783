"""The bill of a call: mean phases stacked, with the boundary and the handler in numbers."""

from __future__ import annotations

from matplotlib.axes import Axes

from bench import accounts
from bench.accounts import Calls
from bench.charts import alt, parts
from bench.charts.asked import of_a_result
from bench.charts.style import style
from bench.phases import CALL, Phase
from bench.render import units
from bench.results import CellResult, Result

TITLE = "Where a call goes (mean phases)"


@of_a_result
def call_breakdown(result: Result, ax: Axes | None = None, *, share: bool = False) -> Axes:
    """Draw the mean phases of a call as one stacked bar per cell.

    With ``share`` each bar is 100 % of its own cell, so that cells of 40 µs and of 40 ms can be
    read side by side. The numbers at the end of a row are the mean total, boundary and handler.
    """
    found = [(cell, calls) for cell in result.cells if (calls := accounts.calls(cell))]
    with style():
        ax = parts.rows_figure(ax, [cell.name for cell, _ in found])
        if not found:
            return parts.empty(ax, TITLE, "no call succeeded")
        for row, (_, calls) in enumerate(found):
            phases = calls.breakdown
            # On a coarse clock every call may take 0 ns: its bar is then empty.
            size_ns = (phases.total.value or 1.0) / 100 if share else 1.0
            parts.stack(ax, row, phases.parts, size_ns)
            if not share:
                parts.interval(ax, row, phases.total)
        if share:
            ax.set_xlim(0, 102)
            ax.set_xlabel("share of the mean call (%)")
        else:
            longest_ns = parts.longest(calls.breakdown.total for _, calls in found)
            parts.time_axis(ax, "mean time of a call", longest_ns)
        parts.name_rows(ax, [cell.name for cell, _ in found])
        notes = [_numbers(calls) for _, calls in found]
        parts.note_rows(ax, notes, "mean = boundary + handler")
        parts.title_and_legend(ax, TITLE, _phases(found))
        how = "Stacked bars, one per cell" + (", each its own 100 %" if share else "")
        alt.describe(ax, TITLE, how, [_in_words(cell.name, calls) for cell, calls in found])
    return ax


def _numbers(calls: Calls) -> str:
    total = units.duration(calls.breakdown.total.value)
    if calls.boundary is None or calls.handler is None:
        return total
    boundary = units.duration(calls.boundary.value)
    return f"{total} = {boundary} + {units.duration(calls.handler.value)}"


def _in_words(name: str, calls: Calls) -> str:
    text = f"{name} {parts.with_interval(calls.breakdown.total)}, {parts.mostly(calls.breakdown)}"
    if calls.boundary is None or calls.handler is None:
        return text
    boundary, handler = (units.duration(e.value) for e in (calls.boundary, calls.handler))
    return f"{text}, boundary {boundary}, handler {handler}"


def _phases(found: list[tuple[CellResult, Calls]]) -> list[Phase]:
    there = {phase for _, calls in found for phase in calls.breakdown.parts}
    order = [Phase.REOPEN, *CALL[:-1], Phase.SERVER, CALL[-1]]
    return [phase for phase in order if phase in there]
