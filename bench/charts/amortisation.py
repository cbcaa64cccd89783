"""The cost of N calls: setup once, then N calls, for each way to reach the same server."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

import numpy as np
from matplotlib.axes import Axes

from bench import breakdown
from bench.breakdown import CostLine
from bench.charts import style
from bench.render import units
from bench.results import Result

MOST_CALLS = 100_000
_HEIGHT_IN = 4.6
_LEGEND_ROW_IN = 0.19
_LONG_LABEL = 45
"""Above this many letters two columns of the legend would not fit."""


def amortisation(
    result: Result,
    ax: Axes | None = None,
    *,
    handler: str | None = None,
    server: str | None = None,
) -> Axes:
    """Draw ``setup + N × call`` over N, both axes logarithmic, and name where the cheapest changes.

    ``handler`` is ``noop`` where there is one; ``server`` the one that can be reached in most ways.
    """
    handler = handler or _handler(result)
    server = server or _server(result, handler)
    lines = breakdown.cost_lines(result, handler, server)
    what = ", ".join(style.short(name) for name in (server or "no server", handler))
    title = f"Cost of N calls in one session ({what}, thin client)"
    with style.style():
        ax = style.axis_for(ax, _HEIGHT_IN + _LEGEND_ROW_IN * len(lines))
        if not lines:
            return style.empty(ax, title, "no call succeeded")
        calls = np.geomspace(1, MOST_CALLS, 120)
        for place, line in enumerate(lines):
            ax.plot(
                calls,
                line.setup_ns + calls * line.call_ns,
                color=style.LINES[place % len(style.LINES)],
                linestyle=style.DASHES[place // len(style.LINES) % len(style.DASHES)],
                linewidth=1.4,
                label=style.short(line.label),
            )
        crossings = breakdown.crossings(lines)
        for n, _, following in crossings:
            if 1 <= n <= MOST_CALLS:
                ax.plot([n], [following.cost_ns(n)], "o", color=style.INK, markersize=4)
        ax.set_title(title)
        ax.set_xlabel("calls in the session (log axis)")
        ax.set_xscale("log")
        ax.xaxis.set_major_formatter(lambda n, _: f"{n:,.0f}")
        ax.set_xlim(1, MOST_CALLS)
        _cost_axis(ax)
        ax.legend(
            loc="upper left",
            bbox_to_anchor=(0.0, -0.12),
            ncols=2 if max(len(line.label) for line in lines) <= _LONG_LABEL else 1,
            borderaxespad=0,
            title=_in_words(lines, crossings),
            alignment="left",
        )
    return ax


def _cost_axis(ax: Axes) -> None:
    ax.set_yscale("log")
    ax.yaxis.set_major_formatter(lambda ns, _: units.duration(ns) if ns > 0 else "0")
    ax.set_ylabel("time, setup and calls (log axis)")


def _in_words(
    lines: Sequence[CostLine], crossings: Sequence[tuple[float, CostLine, CostLine]]
) -> str:
    first = crossings[0][1] if crossings else min(lines, key=lambda line: line.cost_ns(1))
    text = f"cheapest: {style.short(first.label)}"
    for n, _, following in crossings:
        text += f"\nfrom {max(round(n + 0.5), 1):,} calls on: {style.short(following.label)}"
    return text


def _handler(result: Result) -> str:
    handlers = [cell.handler for cell in result.cells if cell.transport != "pipe"]
    return "noop" if "noop" in handlers or not handlers else handlers[0]


def _server(result: Result, handler: str) -> str | None:
    ways = Counter(
        server
        for server, _ in {
            (cell.server, cell.reach)
            for cell in result.cells
            if cell.handler == handler and breakdown.session_by_wire(cell)
        }
    )
    return ways.most_common(1)[0][0] if ways else None
