"""What a chart says in words, for readers who do not see it: kept per axis, written into files."""

from __future__ import annotations

from collections.abc import Sequence
from weakref import WeakKeyDictionary

from matplotlib.axes import Axes
from matplotlib.figure import Figure

Drawn = Axes | Figure
"""A chart: an axis, or a figure of several."""

MOST_LINES = 40
_texts: WeakKeyDictionary[Axes, tuple[str, str]] = WeakKeyDictionary()


def describe(ax: Axes, title: str, what: str, lines: Sequence[str] = ()) -> None:
    """Keep the words of a chart: its title, what is drawn how, and one line per thing drawn."""
    shown = [*lines[:MOST_LINES]]
    if len(lines) > MOST_LINES:
        shown.append(f"and {len(lines) - MOST_LINES} more")
    _texts[ax] = (title, what + (": " + "; ".join(shown) if shown else "") + ".")


def alt_text(chart: Drawn) -> str:
    """Return what a chart says in words, or "" for an axis or figure that is no chart of ours."""
    title, text = title_and_text(chart)
    return f"{title}. {text}" if text else ""


def title_and_text(chart: Drawn) -> tuple[str, str]:
    """Return the title and the words of a chart, both "" where it has none."""
    axes = chart.axes if isinstance(chart, Figure) else [chart, *_siblings(chart)]
    return next((_texts[ax] for ax in axes if ax in _texts), ("", ""))


def _siblings(ax: Axes) -> list[Axes]:
    figure = ax.get_figure()
    return [] if figure is None else list(figure.axes)
