"""Percentiles of calls, the tail stretched: an axis of 1 / (1 − q), as HdrHistogram draws it."""

from __future__ import annotations

import numpy as np
from matplotlib.axes import Axes
from matplotlib.ticker import FixedFormatter, FixedLocator, NullLocator
from numpy.typing import NDArray

from bench import stats
from bench.charts import alt, parts
from bench.charts.asked import of_a_result
from bench.charts.distribution import LOG_FROM, ends, sorted_totals
from bench.charts.style import palette, style
from bench.render import units
from bench.results import Result
from bench.stats import Estimate

TITLE = "Percentiles of calls"
SHOWN = (0.5, 0.9, 0.99, 0.999)
"""Where intervals are drawn; the last is where the axis ends."""
POINTS = 600


@of_a_result
def percentiles(result: Result, ax: Axes | None = None) -> Axes:
    """Draw the call at each percentile, one line per cell, from the quickest up to p99.9.

    A line ends where its samples do: at the percentile with one sample beyond it. Upright bars
    are the 95 % intervals of p50, p90, p99 and p99.9, side by side where lines share a percentile.
    """
    curves = sorted_totals(result)
    with style():
        names = [name for name, _ in curves]
        ax = parts.axis_for(ax, 3.9 + parts.legend_height(names))
        if not curves:
            return parts.empty(ax, TITLE, "no call succeeded")
        tops_ns: list[float] = []
        known = {name: _estimates(result, name) for name in names}
        for place, (name, values) in enumerate(curves):
            tail, ns = tail_curve(values)
            look = palette().line(place)
            marker = "o" if len(values) == 1 else None
            ax.plot(tail, ns, label=name, marker=marker, markersize=4, **look)
            _intervals(ax, known[name], (place + 0.5) / len(curves) - 0.5, str(look["color"]))
            tops_ns += [ns[-1], parts.longest(known[name].values())]
        _axes(ax, ends(curves)[0], max(tops_ns))
        ax.set_title(TITLE)
        parts.legend_below(ax, names, [len(values) for _, values in curves])
        words = [f"{name} {_in_words(found)}" for name, found in known.items()]
        alt.describe(ax, TITLE, "Rising lines, one per cell, over an axis stretched", words)
    return ax


def tail_curve(values: NDArray[np.int64]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return ``1 / (1 - q)`` and the ``q`` quantile in ns of sorted values, at 600 places.

    Places are apart alike on the logarithmic axis; the last has one sample beyond it on average.
    """
    tail = np.geomspace(1.0, min(float(len(values)), 1 / (1 - SHOWN[-1])), POINTS)
    ranks = (1 - 1 / tail) * (len(values) - 1)
    return tail, np.interp(ranks, np.arange(len(values)), values)


def _estimates(result: Result, name: str) -> dict[float, Estimate]:
    totals = result.cell(name).totals()
    found = {q: stats.quantile(totals, q) for q in SHOWN}
    return {q: estimate for q, estimate in found.items() if estimate is not None}


def _intervals(ax: Axes, found: dict[float, Estimate], shift: float, color: str) -> None:
    """Draw the intervals, moved by up to a sixteenth of a decade so that they are told apart."""
    for q, estimate in found.items():
        if estimate.low is None or estimate.high is None:
            continue
        at = 1 / (1 - q) * 10 ** (shift / 8)
        ends_ns = [estimate.low, estimate.high]
        ax.plot([at, at], ends_ns, color=color, linewidth=1.1, marker="_", markersize=3.5)


def _axes(ax: Axes, low_ns: float, high_ns: float) -> None:
    log = high_ns / low_ns > LOG_FROM
    parts.time_axis(ax, "time of a call", high_ns, low_ns * 0.9 if log else None, axis="y")
    ax.set_xscale("log")
    ax.set_xlim(1, 1 / (1 - SHOWN[-1]) * 1.2)
    ticks = (0.0, *SHOWN)
    ax.xaxis.set_major_locator(FixedLocator([1 / (1 - q) for q in ticks]))
    ax.xaxis.set_major_formatter(FixedFormatter([f"p{100 * q:g}" for q in ticks]))
    ax.xaxis.set_minor_locator(NullLocator())
    ax.set_xlabel("percentile (axis of 1 / (1 − q), logarithmic)")


def _in_words(found: dict[float, Estimate]) -> str:
    return ", ".join(f"p{100 * q:g} {units.duration(one.value)}" for q, one in found.items())
