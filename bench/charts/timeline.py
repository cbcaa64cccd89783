"""The run over time: every call where it happened, so that drift and stalls can be seen."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from matplotlib.axes import Axes
from matplotlib.ticker import FuncFormatter, LogLocator, NullFormatter
from numpy.typing import NDArray

from bench.charts import alt, parts
from bench.charts.asked import of_a_result
from bench.charts.distribution import LOG_FROM
from bench.charts.style import palette, style
from bench.render import units
from bench.results import Result, Session

TITLE = "The run over time"
POINTS = 4000
"""Of the whole chart: more would lie on each other, and make a file of many megabytes."""
MOST_CELLS = 8
"""Above this number colours cannot tell cells apart, and each is compared with itself."""
NAMED = 3
"""So many of the slowest calls are named where colours do not tell whose they are."""
_MARKERS = ("o", "s", "^", "D", "v", "P", "X", "<")


@dataclass(frozen=True)
class Placed:
    """One session on the axis of the run, in ns: from its start to its end, and its calls."""

    cell: str
    round: int
    start_ns: int
    end_ns: int
    calls_at_ns: NDArray[np.int64]
    totals_ns: NDArray[np.int64]


@of_a_result
def timeline(
    result: Result,
    ax: Axes | None = None,
    *,
    calls_only: bool = False,
    relative: bool | None = None,
) -> Axes:
    """Draw each call at its place in the run: sessions in their order, end to end.

    The time between sessions is not recorded and not drawn; with ``calls_only`` setup and closing
    are left out too. A short bar is the median of a session, bands are rounds. With ``relative``
    (the default with more than 8 cells) calls are multiples of the median of their cell. Of many
    calls the extremes of neighbours are kept, so that no stall is lost.
    """
    sessions = placed(result, calls_only=calls_only)
    with_calls = [session for session in sessions if len(session.totals_ns)]
    own = {
        cell.name: [session for session in with_calls if session.cell == cell.name]
        for cell in result.cells
        if cell.totals()
    }
    relative = len(own) > MOST_CELLS if relative is None else relative
    counts = [sum(len(session.totals_ns) for session in own[name]) for name in own]
    with style():
        ax = parts.axis_for(ax, 3.7 + (0 if relative else parts.legend_height(list(own))))
        if not own:
            return parts.empty(ax, TITLE, "no call succeeded")
        _rounds(ax, sessions)
        unit_ns = {name: _median(own[name]) if relative else 1.0 for name in own}
        for place, name in enumerate(own):
            _cell(ax, 0 if relative else place, name, own[name], unit_ns[name], len(with_calls))
        if relative:
            _relative_axis(ax, with_calls, unit_ns)
        else:
            totals = np.concatenate([session.totals_ns for session in with_calls])
            low_ns, high_ns = max(float(totals.min()), 1.0), max(float(totals.max()), 1.0)
            log_from_ns = low_ns * 0.9 if high_ns / low_ns > LOG_FROM else None
            parts.time_axis(ax, "time of a call", high_ns, log_from_ns, axis="y")
            parts.legend_below(ax, list(own), counts)
        _run_axis(ax, max(session.end_ns for session in sessions), calls_only=calls_only)
        ax.set_title(f"{TITLE} ({sum(counts):,} calls)", pad=16)
        words = [_in_words(name, own[name]) for name in own]
        how = "Dots of calls over the time of the run"
        alt.describe(ax, TITLE, f"{how}, as multiples of medians" if relative else how, words)
    return ax


def placed(result: Result, *, calls_only: bool = False) -> list[Placed]:
    """Return the sessions of a run in their order, each beginning where the one before ended."""
    ordered = sorted(
        ((session, cell.name) for cell in result.cells for session in cell.sessions),
        key=lambda pair: pair[0].position,
    )
    found: list[Placed] = []
    start_ns = 0
    for session, name in ordered:
        one = _placed(session, name, start_ns, calls_only=calls_only)
        found.append(one)
        start_ns = one.end_ns
    return found


def _placed(session: Session, name: str, start_ns: int, *, calls_only: bool) -> Placed:
    totals, gaps = session.total_ns, session.gap_ns.copy()
    if len(gaps) and calls_only:
        gaps[0] = 0
    # A call begins after all gaps up to its own and all calls before it.
    at_ns = start_ns + np.cumsum(gaps) + np.cumsum(totals) - totals
    last_ns = int(at_ns[-1] + totals[-1]) if len(totals) else start_ns
    if not calls_only:
        last_ns = max(last_ns, start_ns + session.setup_ns) + (session.close_ns or 0)
    return Placed(name, session.round, start_ns, last_ns, at_ns, totals)


def extremes(values: NDArray[np.int64], buckets: int) -> NDArray[np.int64]:
    """Return the places of lowest and highest value in each of so many runs of neighbours."""
    n = len(values)
    if n <= 2 * buckets:
        return np.arange(n)
    edges = np.linspace(0, n, buckets + 1).astype(int)
    kept = [
        start + place
        for start, end in pairwise(edges)
        for place in (values[start:end].argmin(), values[start:end].argmax())
    ]
    return np.unique(np.array(kept))


def _median(sessions: Sequence[Placed]) -> float:
    return max(float(np.median(np.concatenate([one.totals_ns for one in sessions]))), 1.0)


def _rounds(ax: Axes, sessions: Sequence[Placed]) -> None:
    """Shade every other round, and name them where there is room."""
    end_ns = max(session.end_ns for session in sessions) or 1
    spans: dict[int, list[int]] = {}
    for session in sessions:
        spans.setdefault(session.round, [session.start_ns, 0])[1] = session.end_ns
    narrowest = min(end - start for start, end in spans.values()) / end_ns
    for number, (round_, (start, end)) in enumerate(spans.items()):
        if number % 2:
            ax.axvspan(start, end, color=palette().grid, alpha=0.45, linewidth=0)
        if narrowest > 0.03:
            ax.annotate(
                f"round {round_}" if narrowest > 0.1 or number == 0 else str(round_),
                ((start + end) / 2, 1.0),
                xycoords=("data", "axes fraction"),
                xytext=(0, 3),
                textcoords="offset points",
                ha="center",
                color=palette().muted,
                annotation_clip=False,
            )


def _cell(
    ax: Axes, place: int, name: str, sessions: Sequence[Placed], unit_ns: float, of: int
) -> None:
    """Draw the calls of one cell, in units of ``unit_ns``; ``of`` sessions share the points."""
    kept = [extremes(session.totals_ns, max(POINTS // of // 2, 1)) for session in sessions]
    pairs = list(zip(sessions, kept, strict=True))
    ax.plot(
        np.concatenate([session.calls_at_ns[rows] for session, rows in pairs]),
        np.concatenate([session.totals_ns[rows] for session, rows in pairs]) / unit_ns,
        _MARKERS[place % len(_MARKERS)],
        color=palette().lines[place % len(palette().lines)],
        markersize=2.4,
        markeredgewidth=0,
        alpha=0.65,
        label=name,
    )
    ax.hlines(
        [float(np.median(session.totals_ns)) / unit_ns for session in sessions],
        [session.calls_at_ns[0] for session in sessions],
        [session.calls_at_ns[-1] + session.totals_ns[-1] for session in sessions],
        color=palette().ink,
        linewidth=1.6,
    )


def _relative_axis(ax: Axes, sessions: Sequence[Placed], unit_ns: Mapping[str, float]) -> None:
    """Make y an axis of multiples, and name the slowest calls at the side that has room."""
    slowest = sorted(
        (
            (float(one.totals_ns[row]) / unit_ns[one.cell], float(one.calls_at_ns[row]), one.cell)
            for one in sessions
            for row in (one.totals_ns.argmax(),)
        ),
        reverse=True,
    )
    end_ns = max(session.end_ns for session in sessions)
    least = min(float(one.totals_ns.min()) / unit_ns[one.cell] for one in sessions)
    ax.set_yscale("log")
    ax.set_ylim(max(least, 1e-3) * 0.9, max(slowest[0][0], 1.0) * 1.6)
    ax.yaxis.set_major_locator(LogLocator(10, subs=(1.0, 2.0, 5.0)))
    ax.yaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g} ×"))
    ax.yaxis.set_minor_formatter(NullFormatter())
    ax.set_ylabel("call / median of its cell (log axis)")
    named: list[float] = []
    for ratio, at_ns, name in slowest:
        if len(named) < NAMED and all(abs(np.log(ratio / other)) > 0.12 for other in named):
            named.append(ratio)
            left = at_ns > end_ns / 2
            ax.annotate(
                name,
                (at_ns, ratio),
                xytext=(-5 if left else 5, 0),
                textcoords="offset points",
                ha="right" if left else "left",
                va="center",
                fontsize="small",
            )


def _run_axis(ax: Axes, end_ns: int, *, calls_only: bool) -> None:
    name, unit_ns = units.choose(max(end_ns, 1))
    ax.set_xlim(0, max(end_ns, 1))
    ax.xaxis.set_major_formatter(FuncFormatter(lambda ns, _: f"{ns / unit_ns:g}"))
    what = "calls of all sessions" if calls_only else "sessions"
    ax.set_xlabel(f"time in the run, {what} end to end ({name})")
    ax.grid(visible=False, axis="x")


def _in_words(name: str, sessions: Sequence[Placed]) -> str:
    medians = [float(np.median(session.totals_ns)) for session in sessions]
    slowest = max(int(session.totals_ns.max()) for session in sessions)
    low, high = units.duration(min(medians)), units.duration(max(medians))
    return f"{name} session medians {low} to {high}, slowest call {units.duration(slowest)}"
