"""The setup waterfall: what each server costs before its first call, phase by phase."""

from __future__ import annotations

from matplotlib.axes import Axes

from bench import breakdown
from bench.charts import style
from bench.phases import Phase
from bench.results import Result

TITLE = "Setup, once per session (mean phases)"


def waterfall(result: Result, ax: Axes | None = None, *, log: bool = False) -> Axes:
    """Draw mean setup phases as contiguous bars, one row per server, all on one axis.

    With ``log`` the axis is logarithmic and starts below the end of the shortest first phase, so
    that a server of 40 ms and one of 2 s can both be read; lengths of bars are then no times.
    """
    groups = breakdown.setup_groups(result)
    with style.style():
        ax = style.rows_figure(ax, [group.name for group in groups])
        if not groups:
            return style.empty(ax, TITLE, "no session was finished")
        bills = [bill for group in groups if (bill := breakdown.setup(group)) is not None]
        for row, bill in enumerate(bills):
            style.stack(ax, row, bill.parts)
        first_ns = min(next(iter(bill.parts.values())).value for bill in bills)
        longest_ns = max(bill.total.value for bill in bills)
        text = "time since the start of the session"
        style.time_axis(ax, text, longest_ns, first_ns / 2 if log else None)
        style.name_rows(ax, [group.name for group in groups])
        notes = [style.with_interval(bill.total) for bill in bills]
        style.note_rows(ax, notes, "mean [95 % interval]")
        there = [phase for phase in Phase if any(phase in bill.parts for bill in bills)]
        style.title_and_legend(ax, TITLE, there)
    return ax
