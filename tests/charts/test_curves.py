"""Charts of every call: curves that keep their ends, a run whose stalls are not lost."""

from __future__ import annotations

import matplotlib as mpl
import numpy as np
import pytest
from matplotlib.axes import Axes
from numpy.typing import NDArray

from bench import charts, stats
from bench.charts.distribution import POINTS, thinned
from bench.charts.percentiles import tail_curve
from bench.charts.timeline import extremes, placed
from bench.results import Result, Session
from tests.charts.drawn import cells
from tests.make_results import make_cell, make_result, make_session


def test_the_ecdf_rises_to_one_and_keeps_its_ends() -> None:
    values = np.sort(np.random.default_rng(1).integers(1, 10**9, 100_000))
    x, y = thinned(values, 1, 10**9)
    assert len(x) <= 2 * POINTS + 2
    assert (x[0], x[-1], y[-1]) == (values[0], values[-1], 1.0)
    assert (np.diff(x) >= 0).all()
    assert (np.diff(y) > 0).all()


@pytest.mark.parametrize("log", [False, True])
def test_a_thinned_curve_is_the_same_to_the_eye(log: bool) -> None:
    random = np.random.default_rng(2)
    parts = (random.lognormal(10, 0.1, 60_000), random.lognormal(13, 0.5, 40_000))
    values = np.sort(np.concatenate(parts).astype(np.int64))
    low, high = float(values[0]), float(values[-1])
    x, y = thinned(values, low, high, log=log)
    whole = np.arange(1, len(values) + 1) / len(values)
    drawn = y[np.searchsorted(x, values, side="right") - 1]
    # A dot of the print is 1 / 740 of the height; the step of a time may be missed by one dot.
    scale = np.log if log else np.asarray
    spot = (scale(values) - scale(low)) / (scale(high) - scale(low))
    apart = np.abs(drawn - whole) > 1.5 / POINTS
    assert np.ptp(spot[apart]) <= 1 / POINTS if apart.any() else True


def test_a_wide_spread_gets_a_log_axis_that_says_so() -> None:
    ax = charts.ecdf(cells(2, spread=1000))
    assert ax.get_xscale() == "log"
    assert "log axis" in ax.get_xlabel()
    assert charts.ecdf(make_result()).get_xscale() == "linear"


def test_a_curve_of_percentiles_is_that_of_numpy() -> None:
    values = np.sort(np.random.default_rng(3).integers(1, 10**6, 5_000))
    tail, ns = tail_curve(values)
    assert (tail[0], tail[-1]) == (1.0, pytest.approx(1000))
    assert ns == pytest.approx(np.quantile(values, 1 - 1 / tail))


@pytest.mark.parametrize(("n", "last"), [(1, 1), (2, 2), (50, 50), (100_000, 1000)])
def test_percentiles_end_where_the_samples_do(n: int, last: float) -> None:
    tail, ns = tail_curve(np.arange(n))
    assert tail[-1] == pytest.approx(last)
    assert len(ns) == len(tail) <= POINTS


def test_percentiles_carry_the_intervals_that_the_samples_allow() -> None:
    sessions = [make_session(r, calls=60) for r in (1, 2, 3)]
    ax = charts.percentiles(make_result(make_cell(sessions=sessions)))
    upright = [line for line in ax.get_lines() if len(line.get_xdata()) == 2]  # type: ignore[arg-type]
    totals = [session.total_ns for session in sessions]
    expected = [stats.quantile(totals, q) for q in (0.5, 0.9, 0.99, 0.999)]
    assert expected[-1] is None
    assert [list(line.get_ydata()) for line in upright] == [
        [e.low, e.high] for e in expected if e is not None
    ]
    assert [label.get_text() for label in ax.get_xticklabels()][:3] == ["p0", "p50", "p90"]


def stalled() -> tuple[Result, int]:
    """Return a run of many calls, one of which stalls, and how long it takes in ns."""
    sessions = [make_session(r, calls=20_000, position=r) for r in (1, 2)]
    calls = sessions[1].calls
    calls[next(iter(calls))][12_345] = 10**9
    return make_result(make_cell(sessions=sessions)), int(sessions[1].total_ns[12_345])


def dots(ax: Axes) -> list[NDArray[np.float64]]:
    return [np.asarray(line.get_xydata()) for line in ax.get_lines()]


@pytest.mark.parametrize("relative", [False, True])
def test_a_single_stall_among_thousands_is_drawn(relative: bool) -> None:
    result, stall_ns = stalled()
    ax = charts.timeline(result, relative=relative)
    (drawn,) = dots(ax)
    unit_ns = np.median(np.concatenate(result.cells[0].totals())) if relative else 1
    assert drawn[:, 1].max() == pytest.approx(stall_ns / unit_ns)
    assert len(drawn) <= 4_000


def test_extremes_keep_few_values_whole() -> None:
    assert extremes(np.array([3, 1, 2]), 2).tolist() == [0, 1, 2]
    kept = extremes(np.arange(1000), 10)
    assert len(kept) == 20
    assert (kept[0], kept[-1]) == (0, 999)


def session_ns(session: Session) -> int:
    return int(session.gap_ns.sum() + session.total_ns.sum()) + (session.close_ns or 0)


def test_sessions_follow_each_other_in_the_order_of_the_plan() -> None:
    late, early = make_session(1, calls=3, position=1), make_session(2, calls=3, position=0)
    # The first gap holds setup and warm-ups: what lies before the first call.
    for session in (late, early):
        session.gap_ns[0] += session.setup_ns
    first, second = placed(make_result(make_cell(sessions=[late, early])))
    assert (first.round, second.round) == (2, 1)
    assert (first.start_ns, first.end_ns) == (0, session_ns(early))
    assert second.start_ns == first.end_ns
    gaps, totals = early.gap_ns, early.total_ns
    assert first.calls_at_ns.tolist() == [
        gaps[0], gaps[0] + totals[0] + gaps[1], gaps.sum() + totals[:2].sum(),
    ]  # fmt: skip


def test_with_calls_only_neither_setup_nor_closing_takes_room() -> None:
    session = make_session(1, calls=3)
    (one,) = placed(make_result(make_cell(sessions=[session])), calls_only=True)
    assert one.calls_at_ns[0] == 0
    assert one.end_ns == int(session.total_ns.sum() + session.gap_ns[1:].sum())


def test_a_session_without_calls_takes_its_setup_and_closing() -> None:
    session = make_session(1, calls=0)
    (one,) = placed(make_result(make_cell(sessions=[session])))
    assert one.end_ns == session.setup_ns + (session.close_ns or 0)


def test_many_cells_are_compared_with_themselves_and_the_slowest_are_named() -> None:
    ax = charts.timeline(cells(12))
    assert ax.get_legend() is None
    assert "median of its cell" in ax.get_ylabel()
    assert any(text.get_text().startswith("stdio/a-server") for text in ax.texts)
    few = charts.timeline(cells(3))
    assert few.get_legend() is not None
    assert len({mpl.colors.to_hex(line.get_color()) for line in few.get_lines()}) == 3
    assert len({line.get_marker() for line in few.get_lines()}) == 3
