"""The setup waterfall: what each server costs before its first call, phase by phase."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from matplotlib.axes import Axes

from bench import breakdown
from bench.breakdown import Breakdown
from bench.charts import style
from bench.phases import Phase
from bench.results import CellResult, Result

TITLE = "Setup, once per session (mean phases)"
_START = (Phase.SPAWN, Phase.BOOT)


def waterfall(
    result: Result, ax: Axes | None = None, *, log: bool = False, after_boot: bool = False
) -> Axes:
    """Draw mean setup phases as contiguous bars, one row per server, all on one axis.

    With ``after_boot`` the start of the server is left out: what remains is the transport's and
    the protocol's, whoever has started the server and when.
    With ``log`` the axis is logarithmic and starts below the end of the shortest first phase, so
    that a server of 40 ms and one of 2 s can both be read; lengths of bars are then no times.
    """
    title = f"{TITLE}, server running" if after_boot else TITLE
    groups = breakdown.setup_groups(result)
    bills = [_without_start(bill) if after_boot else bill for bill in _bills(groups)]
    shown = [(group, bill) for group, bill in zip(groups, bills, strict=True) if bill.parts]
    groups, bills = [group for group, _ in shown], [bill for _, bill in shown]
    with style.style():
        ax = style.rows_figure(ax, [group.name for group in groups])
        if not groups:
            return style.empty(ax, title, "no session was finished")
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
        style.title_and_legend(ax, title, there)
    return ax


def _bills(groups: Sequence[CellResult]) -> list[Breakdown]:
    return [bill for group in groups if (bill := breakdown.setup(group)) is not None]


def _without_start(bill: Breakdown) -> Breakdown:
    parts = {phase: part for phase, part in bill.parts.items() if phase not in _START}
    rest_ns = sum(part.value for part in parts.values())
    return Breakdown(parts, replace(bill.total, value=rest_ns, low=None, high=None))
