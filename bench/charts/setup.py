"""The setup waterfall: what each server costs before its first call, phase by phase."""

from __future__ import annotations

from matplotlib.axes import Axes

from bench import accounts
from bench.charts import alt, parts
from bench.charts.asked import of_a_result
from bench.charts.style import style
from bench.phases import Phase
from bench.results import Result

TITLE = "Setup, once per session (mean phases)"


@of_a_result
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
    all_groups = accounts.setup_groups(result)
    if after_boot:
        all_groups = [accounts.without_start(group) for group in all_groups]
    found = [(group, accounts.setup(group)) for group in all_groups]
    shown = [(group, bill) for group, bill in found if bill is not None and bill.parts]
    groups, bills = [group for group, _ in shown], [bill for _, bill in shown]
    with style():
        ax = parts.rows_figure(ax, [group.name for group in groups])
        if not groups:
            return parts.empty(ax, title, parts.nothing(result, "no setup was seen"))
        for row, bill in enumerate(bills):
            parts.stack(ax, row, bill.parts)
            parts.interval(ax, row, bill.total)
        first_ns = min(next(iter(bill.parts.values())).value for bill in bills)
        longest_ns = parts.longest(bill.total for bill in bills)
        text = "time since the start of the session"
        parts.time_axis(ax, text, longest_ns, first_ns / 2 if log else None)
        parts.name_rows(ax, [group.name for group in groups])
        notes = [parts.with_interval(bill.total) for bill in bills]
        parts.note_rows(ax, notes, "mean [95 % interval]")
        there = [phase for phase in Phase if any(phase in bill.parts for bill in bills)]
        parts.title_and_legend(ax, title, there)
        words = [
            f"{group.name} {parts.with_interval(bill.total)}, {parts.mostly(bill)}"
            for group, bill in zip(groups, bills, strict=True)
        ]
        alt.describe(ax, title, "Bars of contiguous phases, one row per server", words)
    return ax
