"""The distribution of call totals: one step curve per cell."""

from __future__ import annotations

import numpy as np
from matplotlib.axes import Axes
from numpy.typing import NDArray

from bench.charts import alt, parts
from bench.charts.asked import of_a_result
from bench.charts.style import palette, style
from bench.render import units
from bench.results import Result

TITLE = "Distribution of calls (ECDF of totals)"
POINTS = 1000
"""Of one curve, along each axis: finer than a dot of a print at 200 dots per inch."""
LOG_FROM = 20.0
"""Above this ratio of largest to smallest a linear axis would flatten the quicker cells."""


@of_a_result
def ecdf(result: Result, ax: Axes | None = None) -> Axes:
    """Draw the empirical distribution of the call totals of each cell.

    Curves of many calls are thinned to what can be seen; their ends are always kept.
    """
    curves = sorted_totals(result)
    with style():
        names = [name for name, _ in curves]
        ax = parts.axis_for(ax, 3.7 + parts.legend_height(names))
        if not curves:
            return parts.empty(ax, TITLE, "no call succeeded")
        low_ns, high_ns = ends(curves)
        log = high_ns / low_ns > LOG_FROM
        for place, (name, values) in enumerate(curves):
            x, y = thinned(values, low_ns, high_ns, log=log)
            # A single call makes no step.
            marker = "o" if len(x) == 1 else ""
            ax.step(x, y, where="post", label=name, marker=marker, **palette().line(place))
        parts.time_axis(ax, "time of a call", high_ns, low_ns * 0.9 if log else None)
        if not log:
            margin_ns = max((high_ns - low_ns) * 0.03, high_ns * 0.001, 1.0)
            ax.set_xlim(max(low_ns - margin_ns, 0), high_ns + margin_ns)
        ax.set_ylim(0, 1.02)
        ax.set_ylabel("share of calls at or below")
        ax.set_title(TITLE)
        parts.legend_below(ax, names, [len(values) for _, values in curves])
        words = [f"{name} {_in_words(values)}" for name, values in curves]
        alt.describe(ax, TITLE, "Rising step curves, one per cell, by their median", words)
    return ax


def sorted_totals(result: Result) -> list[tuple[str, NDArray[np.int64]]]:
    """Return name and sorted call totals in ns of each cell with calls, the lowest median first."""
    curves = [
        (cell.name, np.sort(np.concatenate(cell.totals()))) for cell in result.cells if cell.n_calls
    ]
    return sorted(curves, key=lambda curve: int(curve[1][len(curve[1]) // 2]))


def ends(curves: list[tuple[str, NDArray[np.int64]]]) -> tuple[float, float]:
    """Return the smallest and the largest total in ns, 1 at the least."""
    low_ns = max(float(min(values[0] for _, values in curves)), 1.0)
    return low_ns, max(float(max(values[-1] for _, values in curves)), low_ns)


def thinned(
    values: NDArray[np.int64], low_ns: float, high_ns: float, *, log: bool = False
) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    """Return the points of the ECDF of sorted values in ns that can be told apart.

    Points are 1,000 in each direction at the most: along the shares, and along the axis of time
    from ``low_ns`` to ``high_ns``. First and last are always kept.
    """
    n = len(values)
    ranks = np.arange(n)
    if n > 2 * POINTS:
        steps = np.geomspace if log else np.linspace
        along_time = np.searchsorted(values, steps(low_ns, high_ns, POINTS), side="right") - 1
        along_shares = np.linspace(0, n - 1, POINTS).astype(int)
        ranks = np.unique(np.concatenate(([0, n - 1], along_shares, along_time.clip(0))))
    return values[ranks], (ranks + 1) / n


def _in_words(values: NDArray[np.int64]) -> str:
    low, middle, high = (units.duration(float(np.quantile(values, q))) for q in (0.1, 0.5, 0.9))
    return f"median {middle}, four fifths between {low} and {high}"
