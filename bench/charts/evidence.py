"""The evidence that figures hold: delays that were put in and found, bounds, shares of intervals.

These charts take records of a proof (:mod:`bench.proofs`) instead of a result.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from matplotlib.axes import Axes
from matplotlib.lines import Line2D

from bench.charts import alt, parts
from bench.charts.style import FONT, palette, style
from bench.render import units

Records = Sequence[Mapping[str, Any]]

_RING, _DOT, _CROSS = "o", ".", "x"


def delays(lines: Records, ax: Axes | None = None) -> Axes:
    """Draw the delays that were put into a server, and what was found in the same phase.

    ``lines`` hold ``name``, ``put_in_us`` and ``found_us``; those without a delay are left out.
    """
    title = "Delays put in, and found again"
    rows = [line for line in lines if line.get("put_in_us")]
    with style():
        blue, orange = palette().lines[:2]
        ax = parts.rows_figure(ax, [line["name"] for line in rows])
        if not rows:
            return parts.empty(ax, title, "no delay was put in")
        ends_ns = [1e3 * line[key] for line in rows for key in ("put_in_us", "found_us")]
        low_ns = max(min(ends_ns) / 1.5, 1.0)
        for place, line in enumerate(rows):
            ring, dot = 1e3 * line["put_in_us"], 1e3 * line["found_us"]
            ax.plot([ring], [place], _RING, markersize=10, markerfacecolor="none", color=orange)
            ax.plot([max(dot, low_ns)], [place], _DOT, markersize=8, color=blue)
        parts.time_axis(ax, "delay", max(ends_ns) * 1.2, low_ns)
        parts.name_rows(ax, [line["name"] for line in rows])
        notes = [_delay_note(line) for line in rows]
        parts.note_rows(ax, notes, "put in → found (off by)")
        marks = {"put in": (_RING, orange, 9), "found": (_DOT, blue, 8)}
        _title_and_marks(ax, title, marks)
        words = [f"{line['name']} {note}" for line, note in zip(rows, notes, strict=True)]
        alt.describe(ax, title, "A ring and a dot per delay, which lie on each other", words)
    return ax


def bounds(lines: Records, ax: Axes | None = None) -> Axes:
    """Draw how much of what is allowed each figure takes: 100 % is the bound.

    ``lines`` hold ``what``, ``figure``, ``bound``, ``unit`` and ``sign``; those without a bound
    are left out. Where a figure has to be at least its bound, the bound is taken of the figure.
    """
    title = "Figures against their bounds"
    rows = [line for line in lines if line.get("bound") is not None]
    with style():
        ax = parts.rows_figure(ax, [line["what"] for line in rows])
        if not rows:
            return parts.empty(ax, title, "nothing has a bound")
        shares = [_share(line) for line in rows]
        ax.barh(range(len(rows)), shares, height=0.55, color=palette().lines[0])
        ax.axvline(100, color=palette().ink, linewidth=1.2)
        ax.set_xlim(0, max(110.0, *shares) * 1.02)
        ax.set_xlabel("share of the bound (%); beyond the line it is not met")
        parts.name_rows(ax, [line["what"] for line in rows])
        notes = [
            f"{_number(line['figure'])} {line['unit']} ({line['sign']} {line['bound']:g})"
            for line in rows
        ]
        parts.note_rows(ax, notes, "figure (bound)")
        ax.set_title(title, pad=18)
        words = [f"{line['what']} {note}" for line, note in zip(rows, notes, strict=True)]
        alt.describe(ax, title, "Bars up to a line at the bound", words)
    return ax


def coverage(lines: Records, ax: Axes | None = None) -> Axes:
    """Draw how often intervals held the truth, against the band that is promised.

    ``lines`` hold ``case``, ``figure_of``, ``share_percent``, ``pooled_percent`` and the band
    ``low_percent`` to ``high_percent``; ``verdict`` is None where nothing is promised.
    """
    title = "How often a 95 % interval holds the truth"
    rows = [line for line in lines if line.get("share_percent") is not None]
    with style():
        blue, orange = palette().lines[:2]
        names = [_case_name(line) for line in rows]
        ax = parts.rows_figure(ax, names)
        if not rows:
            return parts.empty(ax, title, "no trial was made")
        ax.axvspan(
            rows[0]["low_percent"], rows[0]["high_percent"], color=palette().grid, linewidth=0
        )
        ax.axvline(95, color=palette().ink, linewidth=0.9)
        for place, line in enumerate(rows):
            ax.plot([line["pooled_percent"]], [place], _CROSS, markersize=6, color=orange)
            ax.plot([line["share_percent"]], [place], _DOT, markersize=10, color=blue)
        lowest = min(line[key] for line in rows for key in ("share_percent", "pooled_percent"))
        ax.set_xlim(max(lowest - 4, 0), 101.5)
        ax.set_xlabel("trials whose interval held the truth (%)")
        parts.name_rows(ax, names)
        notes = [f"{line['share_percent']:.1f} ({line['pooled_percent']:.0f})" for line in rows]
        parts.note_rows(ax, notes, "here (pooled)")
        marks = {"calls as independent": (_CROSS, orange, 6), "here": (_DOT, blue, 10)}
        _title_and_marks(ax, title, marks)
        words = [f"{name} {note} %" for name, note in zip(names, notes, strict=True)]
        alt.describe(
            ax, title, "Dots in a band around 95 %, crosses of pooled calls left of it", words
        )
    return ax


def _title_and_marks(ax: Axes, title: str, marks: Mapping[str, tuple[str, str, int]]) -> None:
    handles = [
        Line2D(
            [], [], linestyle="none", marker=marker, markersize=size, color=colour, label=name,
            markerfacecolor="none" if marker == _RING else colour,
        )
        for name, (marker, colour, size) in marks.items()
    ]  # fmt: skip
    ax.legend(
        handles=handles,
        loc="lower left",
        bbox_to_anchor=(0.0, 1.0),
        borderaxespad=0.2,
        ncols=len(handles),
        handlelength=1.0,
        fontsize=FONT - 0.5,
    )
    ax.set_title(title, pad=24)


def _delay_note(line: Mapping[str, Any]) -> str:
    put_in, found = 1e3 * line["put_in_us"], 1e3 * line["found_us"]
    sign = "+" if found >= put_in else "−"
    off = units.duration(abs(found - put_in))
    return f"{units.duration(put_in)} → {units.duration(found)} ({sign}{off})"


def _number(figure: float) -> str:
    return f"{figure:.0f}" if figure == round(figure) else units.number(figure)


def _share(line: Mapping[str, Any]) -> float:
    """Return how much of the bound a figure takes, in percent; twice of it where it has no end."""
    figure, bound = float(line["figure"]), float(line["bound"])
    part, whole = (bound, figure) if line["sign"] == "≥" else (figure, bound)
    return 100 * part / whole if whole else 200.0 * bool(part)


def _case_name(line: Mapping[str, Any]) -> str:
    promised = "" if line["verdict"] is not None else " *"
    return f"{line['case']}: {line['figure_of']}{promised}"
