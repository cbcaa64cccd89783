"""The cost of N calls: setup once, then N calls, for each way to reach the same server."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

import numpy as np
from matplotlib.axes import Axes
from matplotlib.typing import ColorType

from bench import cost_of_calls
from bench.charts import alt, parts
from bench.charts.asked import of_a_result, one_of
from bench.charts.style import palette, style
from bench.cost_of_calls import CostLine
from bench.render import units
from bench.results import Result

MOST_CALLS = 100_000
_HEIGHT_IN = 4.6
_LEGEND_ROW_IN = 0.19


@of_a_result
def amortisation(
    result: Result,
    ax: Axes | None = None,
    *,
    handler: str | None = None,
    server: str | None = None,
) -> Axes:
    """Draw ``setup + N × call`` over N, both axes logarithmic, and name where the cheapest changes.

    Behind each line is its interval.

    ``handler`` is ``noop`` where there is one; ``server`` the one that can be reached in most ways.
    """
    one_of("handler", handler, (cell.handler for cell in result.cells))
    one_of("server", server, (cell.server for cell in result.cells))
    handler = handler or _handler(result)
    server = server or _server(result, handler)
    lines = cost_of_calls.cost_lines(result, handler, server)
    what = ", ".join(parts.short(name) for name in (server or "no server", handler))
    title = f"Cost of N calls in one session: {what}"
    with style():
        ax = parts.axis_for(ax, _HEIGHT_IN + _LEGEND_ROW_IN * len(lines))
        if not lines:
            return parts.empty(
                ax, title, parts.nothing(result, "no session of the raw client over a wire")
            )
        _draw(ax, lines)
        crossings = cost_of_calls.crossings(lines)
        change = _in_words(lines, crossings)
        for n, _, following in crossings:
            if 1 <= n <= MOST_CALLS:
                ax.plot([n], [following.cost_ns(n)], "o", color=palette().ink, markersize=4)
        ax.set_title(title.replace(": ", "\n"))
        ax.set_xlabel("calls in the session (log axis)")
        ax.set_xscale("log")
        ax.set_xlim(1, MOST_CALLS)
        ax.xaxis.set_major_formatter(lambda n, _: f"{n:,.0f}")
        high_ns = max(line.cost_ns(MOST_CALLS) for line in lines)
        low_ns = max(min(line.cost_ns(1) for line in lines), 1.0)
        quantity = "time, setup and calls" + (" [95 % interval]" if ax.collections else "")
        parts.time_axis(ax, quantity, high_ns, low_ns * 0.8, axis="y")
        ax.legend(
            loc="upper left",
            bbox_to_anchor=(0.0, -0.12),
            ncols=parts.legend_columns([line.label for line in lines]),
            borderaxespad=0,
            title=change,
            alignment="left",
        )
        how = "Lines of time over the number of calls; " + change.replace("\n", ", ")
        alt.describe(ax, title, how, _words(lines))
    return ax


def _draw(ax: Axes, lines: Sequence[CostLine]) -> None:
    calls = np.geomspace(1, MOST_CALLS, 120)
    for place, line in enumerate(lines):
        cost_ns = line.setup_ns + calls * line.call_ns
        (curve,) = ax.plot(calls, cost_ns, label=parts.short(line.label), **palette().line(place))
        _draw_interval(ax, line, curve.get_color())


def _draw_interval(ax: Axes, line: CostLine, color: ColorType) -> None:
    calls = np.geomspace(1, MOST_CALLS, 25)
    between = [line.between_ns(n) for n in calls]
    known = [bounds for bounds in between if bounds is not None]
    if len(known) == len(calls):
        low_ns, high_ns = zip(*known, strict=True)
        ax.fill_between(calls, low_ns, high_ns, color=color, alpha=0.2, linewidth=0)


def _words(lines: Sequence[CostLine]) -> list[str]:
    return [
        f"{line.label} {units.duration(line.setup_ns)} + N × {units.duration(line.call_ns)}"
        for line in lines
    ]


def _in_words(
    lines: Sequence[CostLine], crossings: Sequence[tuple[float, CostLine, CostLine]]
) -> str:
    first = crossings[0][1] if crossings else min(lines, key=lambda line: line.cost_ns(1))
    text = f"cheapest: {parts.short(first.label)}"
    for n, before, following in crossings:
        text += f"\nfrom {max(round(n + 0.5), 1):,} calls on: {parts.short(following.label)}"
        if not following.told_from(before, MOST_CALLS):
            text += " (intervals overlap)"
    return text


def _handler(result: Result) -> str:
    handlers = [cell.handler for cell in result.cells if cell.transport != "pipe"]
    return "noop" if "noop" in handlers or not handlers else handlers[0]


def _server(result: Result, handler: str) -> str | None:
    # A dict, not a set: which of two servers with as many ways is drawn must not be chance.
    pairs = dict.fromkeys(
        (cell.server, cell.reach)
        for cell in result.cells
        if cell.handler == handler and cost_of_calls.session_by_wire(cell)
    )
    ways = Counter(server for server, _ in pairs)
    return ways.most_common(1)[0][0] if ways else None
