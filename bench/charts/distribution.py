"""The distribution of call totals: one step curve per cell."""

from __future__ import annotations

import numpy as np
from matplotlib.axes import Axes
from numpy.typing import NDArray

from bench.charts import style
from bench.results import Result

TITLE = "Distribution of calls (ECDF of totals)"
POINTS = 2000
LOG_FROM = 20.0
"""Above this ratio of largest to smallest a linear axis would flatten the quicker cells."""
LONG_NAME = 30
"""Above this many letters two columns of the legend would not fit."""


def ecdf(result: Result, ax: Axes | None = None) -> Axes:
    """Draw the empirical distribution of the call totals of each cell.

    Curves of more than 2,000 calls are thinned by rank; their ends are always kept.
    """
    curves = [
        (style.short(cell.name), np.sort(np.concatenate(cell.totals())))
        for cell in result.cells
        if cell.n_calls
    ]
    curves.sort(key=lambda curve: float(np.median(curve[1])))
    with style.style():
        columns = 2 if max((len(name) for name, _ in curves), default=0) <= LONG_NAME else 1
        ax = style.axis_for(ax, 3.7 + 0.21 * -(-len(curves) // columns))
        if not curves:
            return style.empty(ax, TITLE, "no call succeeded")
        for place, (name, values) in enumerate(curves):
            x, y = thinned(values)
            ax.step(
                x,
                y,
                where="post",
                color=style.LINES[place % len(style.LINES)],
                linestyle=style.DASHES[place // len(style.LINES) % len(style.DASHES)],
                linewidth=1.4,
                label=f"{name}  (n = {len(values):,})",
            )
        low_ns = max(float(min(values[0] for _, values in curves)), 1.0)
        high_ns = float(max(values[-1] for _, values in curves))
        log = high_ns / low_ns > LOG_FROM
        style.time_axis(ax, "time of a call", high_ns, low_ns * 0.9 if log else None)
        if not log:
            margin_ns = max((high_ns - low_ns) * 0.03, high_ns * 0.001, 1.0)
            ax.set_xlim(max(low_ns - margin_ns, 0), high_ns + margin_ns)
        ax.set_ylim(0, 1.02)
        ax.set_ylabel("share of calls at or below")
        ax.set_title(TITLE)
        # Below the axis label: the distance is in font sizes, whatever the height of the axis.
        ax.legend(
            loc="upper center",
            bbox_to_anchor=(0.5, 0.0),
            borderaxespad=4.5,
            ncols=columns,
            handlelength=2.2,
        )
    return ax


def thinned(values: NDArray[np.int64]) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    """Return at most 2,000 points of the ECDF of sorted values in ns, the first and last kept."""
    n = len(values)
    ranks = np.arange(n) if n <= POINTS else np.unique(np.linspace(0, n - 1, POINTS).astype(int))
    return values[ranks], (ranks + 1) / n
