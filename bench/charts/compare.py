"""A forest plot of ratios: right side over left, with intervals and verdicts."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from matplotlib.axes import Axes
from matplotlib.ticker import FuncFormatter, MaxNLocator

from bench.charts import alt, parts
from bench.charts.style import palette, style
from bench.comparison import THRESHOLD, Comparison
from bench.stats import LEVEL, Estimate

TITLE = "Ratios, right side / left side"
_LOOK = {
    "faster": ("v", "#00795a", "#2fae89"),
    "slower": ("^", "#d55e00", "#f07f35"),
    "no difference shown": ("o", "#666666", "#a6a6a6"),
}
"""Marker and its fill on a light and on a dark ground; any other verdict has an empty diamond."""
_OTHER = ("D", "none", "none")


class Row(Protocol):
    """What is drawn of a comparison; :class:`bench.comparison.Row` is one."""

    @property
    def label(self) -> str:
        """What is compared."""

    @property
    def ratio(self) -> Estimate | None:
        """Right over left, with its interval; None where there is no such ratio."""

    @property
    def verdict(self) -> object:
        """The outcome; its ``str()`` is the word."""


def compare(
    found: Comparison | Sequence[Row],
    ax: Axes | None = None,
    *,
    threshold: float | None = None,
    title: str | None = None,
) -> Axes:
    """Draw one ratio per row with its interval, against 1 and a band of ± ``threshold``.

    Title and threshold are those of the comparison, where ``found`` is one, unless given.
    Below 1 the right side is faster. Marks tell the verdict by shape and colour, and the words at
    the end of each row say it; a row without a ratio has its words alone.
    """
    rows: Sequence[Row]
    if isinstance(found, Comparison):
        rows, named, least = found.rows, f"{found.right} / {found.left}", found.threshold
    else:
        rows, named, least = found, TITLE, THRESHOLD
    title = named if title is None else title
    threshold = least if threshold is None else threshold
    with style():
        labels = [row.label for row in rows]
        ax = parts.rows_figure(ax, labels)
        if not rows:
            return parts.empty(ax, title, "nothing to compare")
        ax.axvspan(1 - threshold, 1 + threshold, color=palette().grid, linewidth=0)
        ax.axvline(1, color=palette().ink, linewidth=0.9)
        for place, row in enumerate(rows):
            _draw(ax, place, row)
        _ratio_axis(ax, [row.ratio for row in rows if row.ratio is not None], threshold)
        parts.name_rows(ax, labels)
        level = next((row.ratio.level for row in rows if row.ratio is not None), LEVEL)
        heading = f"ratio [{100 * level:.3g} % interval] verdict"
        parts.note_rows(ax, [_note(row) for row in rows], heading)
        ax.set_title(title, pad=18)
        words = [f"{row.label} {_note(row)}" for row in rows]
        alt.describe(ax, title, f"Ratios with intervals, band of ±{threshold:.0%} around 1", words)
    return ax


def _draw(ax: Axes, place: int, row: Row) -> None:
    if row.ratio is None:
        return
    marker, light, dark = _LOOK.get(str(row.verdict), _OTHER)
    fill = light if palette().ground == "#ffffff" else dark
    edge = palette().ink if fill == "none" else fill
    low, high = row.ratio.low, row.ratio.high
    if low is not None and high is not None:
        ax.plot([low, high], [place, place], color=edge, linewidth=1.4, solid_capstyle="butt")
    face = palette().ground if fill == "none" else fill
    ax.plot(
        [row.ratio.value], [place], marker, markersize=6, markerfacecolor=face, markeredgecolor=edge
    )


def _ratio_axis(ax: Axes, ratios: Sequence[Estimate], threshold: float) -> None:
    ends = [1 - threshold, 1 + threshold]
    for ratio in ratios:
        ends += [end for end in (ratio.value, ratio.low, ratio.high) if end is not None]
    low, high = min(ends), max(ends)
    if low > 0 and high / low > 4:
        ax.set_xscale("log", base=2)
        ax.set_xlim(low / 1.15, high * 1.15)
        ax.set_xlabel("ratio (log axis); below 1 the right side is faster")
    else:
        margin = (high - low) * 0.06
        ax.set_xlim(low - margin, high + margin)
        ax.xaxis.set_major_locator(MaxNLocator(6, steps=[1, 2, 5, 10]))
        ax.set_xlabel("ratio; below 1 the right side is faster")
    ax.xaxis.set_major_formatter(FuncFormatter(lambda ratio, _: f"{ratio:g}"))


def _note(row: Row) -> str:
    if row.ratio is None:
        return str(row.verdict)
    text = _number(row.ratio.value)
    if row.ratio.low is not None and row.ratio.high is not None:
        text += f" [{_number(row.ratio.low)} – {_number(row.ratio.high)}]"
    return f"{text} {row.verdict}"


def _number(ratio: float) -> str:
    """Return a ratio with a digit more than the threshold has, and of large ones three digits."""
    return f"{ratio:.3f}" if abs(ratio) < 2 else f"{ratio:.3g}"
