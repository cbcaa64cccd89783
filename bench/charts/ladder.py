"""The ladder of rungs: what each layer adds to a call."""

from __future__ import annotations

from matplotlib.axes import Axes

from bench import accounts
from bench.accounts import Rung
from bench.charts import alt, parts
from bench.charts.asked import of_a_result
from bench.charts.style import style
from bench.render import units
from bench.results import Result

TITLE = "Ladder: what each layer adds to a call (median)"
_BASE, _ADDED = "#9ecae9", "#0072b2"


@of_a_result
def ladder(result: Result, ax: Axes | None = None) -> Axes:
    """Draw the median call of each rung: what the rung below took, and what this one adds."""
    rungs = accounts.ladder(result)
    with style():
        ax = parts.rows_figure(ax, [rung.label for rung in rungs])
        if not rungs:
            return parts.empty(ax, TITLE, parts.nothing(result, "no layers over one handler"))
        longest_ns = parts.longest(rung.total for rung in rungs)
        below_ns = 0.0
        for row, rung in enumerate(rungs):
            _draw_rung(ax, row, rung, below_ns)
            below_ns = rung.total.value
        parts.time_axis(ax, "median time of a call", longest_ns)
        ax.set_title(TITLE, pad=18)
        parts.name_rows(ax, [rung.label for rung in rungs])
        parts.note_rows(ax, [_note(rung) for rung in rungs], "median (adds [95 % interval])")
        words = [f"{rung.label} {_note(rung)}" for rung in rungs]
        alt.describe(ax, TITLE, "Bars from the lowest rung up, median and what it adds", words)
    return ax


def _draw_rung(ax: Axes, row: int, rung: Rung, below_ns: float) -> None:
    total_ns = rung.total.value
    below_ns = min(below_ns, total_ns)
    ax.barh(row, below_ns, height=0.62, color=_BASE, label="below")
    ax.barh(row, total_ns - below_ns, left=below_ns, height=0.62, color=_ADDED, label="added")
    parts.interval(ax, row, rung.total)


def _note(rung: Rung) -> str:
    text = units.duration(rung.total.value)
    if rung.increment is None:
        return text
    sign = "+" if rung.increment.value >= 0 else "−"
    return f"{text} ({sign}{parts.with_interval(rung.increment).lstrip('-')})"
