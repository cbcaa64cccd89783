"""Charts by what they contain: bars that sum, labels that fit, units that are said."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path

import matplotlib as mpl
import numpy as np
import pytest
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import Rectangle
from matplotlib.text import Text
from matplotlib.transforms import Bbox

from bench import charts
from bench.charts.distribution import POINTS, thinned
from bench.charts.style import COLOURS, style
from bench.phases import CALL, SETUP, Phase
from bench.results import Result
from tests.make_results import STDIO_SETUP, make_cell, make_result, make_session

Chart = Callable[[Result], Axes]
CHARTS: list[Chart] = [
    charts.waterfall, charts.call_breakdown, charts.ecdf, charts.ladder,
]  # fmt: skip


def cells(count: int, spread: float = 1.2) -> Result:
    return make_result(
        *[
            make_cell(
                f"a-server-with-a-name-{index}",
                "search_tickets",
                [
                    make_session(r, seed=index, scale=spread**index, marked=index % 3 != 0)
                    for r in (1, 2)
                ],
                marks=index % 3 != 0,
            )
            for index in range(count)
        ]
    )


def bars(ax: Axes) -> list[Rectangle]:
    return [patch for patch in ax.patches if isinstance(patch, Rectangle)]


def test_the_waterfall_is_contiguous_and_sums_to_the_total() -> None:
    ax = charts.waterfall(make_result(make_cell()))
    drawn = bars(ax)
    assert len(drawn) == len(STDIO_SETUP)
    for left, right in pairwise(drawn):
        assert left.get_x() + left.get_width() == pytest.approx(right.get_x())
    assert sum(bar.get_width() for bar in drawn) == pytest.approx(sum(STDIO_SETUP.values()))
    assert "(ms)" in ax.get_xlabel()


def test_a_session_without_a_seen_boot_does_not_break_the_sum() -> None:
    hidden = {Phase.SPAWN: 400_000, Phase.INITIALIZE: 40_000_000, Phase.TOOLS_LIST: 300_000}
    sessions = [make_session(1), make_session(2), make_session(3, setup=hidden)]
    drawn = bars(charts.waterfall(make_result(make_cell(sessions=sessions))))
    assert sum(bar.get_width() for bar in drawn) == pytest.approx(sum(STDIO_SETUP.values()))


def test_marked_calls_have_seven_parts_and_plain_ones_three() -> None:
    result = make_result(make_cell(), make_cell(marks=False))
    ax = charts.call_breakdown(result)
    assert len(bars(ax)) == len(CALL) + 3
    total = np.concatenate(result.cells[0].totals()).mean()
    assert sum(bar.get_width() for bar in bars(ax)[:7]) == pytest.approx(total)


def test_shares_make_every_row_a_hundred_percent() -> None:
    ax = charts.call_breakdown(cells(4, spread=20), share=True)
    for row in range(4):
        widths = [bar.get_width() for bar in bars(ax) if round(bar.get_y() + 0.31) == row]
        assert sum(widths) == pytest.approx(100)
    assert "%" in ax.get_xlabel()


def test_the_ecdf_rises_to_one_and_keeps_its_ends() -> None:
    values = np.sort(np.random.default_rng(1).integers(1, 10**9, 100_000))
    x, y = thinned(values)
    assert len(x) <= POINTS
    assert (x[0], x[-1], y[-1]) == (values[0], values[-1], 1.0)
    assert (np.diff(x) >= 0).all()
    assert (np.diff(y) > 0).all()


def test_a_wide_spread_gets_a_log_axis_that_says_so() -> None:
    ax = charts.ecdf(cells(2, spread=1000))
    assert ax.get_xscale() == "log"
    assert "log axis" in ax.get_xlabel()
    assert charts.ecdf(make_result()).get_xscale() == "linear"
    assert charts.waterfall(make_result(), log=True).get_xscale() == "log"


def test_the_ladder_stacks_each_rung_on_the_one_below() -> None:
    ax = charts.ladder(cells(3, spread=4))
    below, added = bars(ax)[0::2], bars(ax)[1::2]
    totals = [b.get_width() + a.get_width() for b, a in zip(below, added, strict=True)]
    assert below[0].get_width() == 0
    assert [bar.get_width() for bar in below[1:]] == pytest.approx(totals[:-1])


@pytest.mark.parametrize("chart", CHARTS)
@pytest.mark.parametrize("result", [make_result(make_cell(sessions=[])), Result([], {}, {})])
def test_without_data_a_chart_says_why_it_is_empty(chart: Chart, result: Result) -> None:
    ax = chart(result)
    texts = [text.get_text() for text in ax.texts]
    assert any("no call succeeded" in text or "no session" in text for text in texts)


@pytest.mark.parametrize("chart", CHARTS)
def test_equal_and_zero_calls_are_drawn(chart: Chart) -> None:
    session = make_session(1, calls=5, marked=False)
    for column in session.calls.values():
        column[:] = 0
    axis = chart(make_result(make_cell(sessions=[session], marks=False)))
    figure = axis.get_figure()
    assert isinstance(figure, Figure)
    figure.canvas.draw()


def extents(ax: Axes) -> tuple[Figure, list[tuple[str, Bbox]]]:
    figure = ax.get_figure()
    assert isinstance(figure, Figure)
    with style():
        figure.canvas.draw()
    renderer = figure.canvas.get_renderer()  # type: ignore[attr-defined]
    legend = ax.get_legend()
    texts: list[Text] = [*ax.texts, *ax.get_yticklabels(), *ax.get_xticklabels(), ax.title]
    texts += [ax.xaxis.label, *(legend.get_texts() if legend else [])]
    # matplotlib makes labels for ticks beyond the ends of an axis and does not draw them.
    for axis, (low, high) in ((ax.xaxis, ax.get_xlim()), (ax.yaxis, sorted(ax.get_ylim()))):
        for tick in axis.get_major_ticks():
            if not low <= tick.get_loc() <= high and tick.label1 in texts:
                texts.remove(tick.label1)
    shown = [text for text in texts if text.get_visible() and text.get_text().strip()]
    return figure, [(text.get_text(), text.get_window_extent(renderer)) for text in shown]


@pytest.mark.parametrize("chart", CHARTS)
@pytest.mark.parametrize("count", [1, 9, 20, 24])
def test_no_label_is_cut_off_or_lies_on_another(chart: Chart, count: int) -> None:
    figure, found = extents(chart(cells(count)))
    width, height = figure.canvas.get_width_height()
    for text, box in found:
        assert box.x0 >= -1, text
        assert box.y0 >= -1, text
        assert box.x1 <= width + 1, text
        assert box.y1 <= height + 1, text
    for index, (text, box) in enumerate(found):
        for other, against in found[index + 1 :]:
            across = min(box.x1, against.x1) - max(box.x0, against.x0)
            down = min(box.y1, against.y1) - max(box.y0, against.y0)
            assert across <= 1 or down <= 1, (text, other)


def test_every_phase_has_its_colour_and_neighbours_differ_in_grey() -> None:
    assert set(COLOURS) == set(Phase)

    def grey(phase: Phase) -> float:
        red, green, blue = mpl.colors.to_rgb(COLOURS[phase])
        return 0.299 * red + 0.587 * green + 0.114 * blue

    seen = [p for p in SETUP if p in STDIO_SETUP]
    for phases in (CALL, tuple(seen)):
        for left, right in pairwise(phases):
            assert abs(grey(left) - grey(right)) > 0.12, (left, right)


def test_charts_leave_the_global_style_alone() -> None:
    before = dict(mpl.rcParams)
    charts.waterfall(make_result())
    assert dict(mpl.rcParams) == before


@pytest.mark.parametrize("format_", ["svg", "png", "pdf"])
def test_files_hold_the_charts_with_their_provenance(tmp_path: Path, format_: str) -> None:
    files = charts.save_all(cells(3), tmp_path, format_=format_)
    names = ["setup", "calls", "calls-share", "ecdf", "ladder"]
    assert [path.name for path in files] == [f"{name}.{format_}" for name in names]
    assert all(path.stat().st_size > 1000 for path in files)
    if format_ == "svg":
        text = files[0].read_text("utf-8")
        assert "host host" in text
        assert "3 sessions × 20 calls" in text


def test_a_ladder_of_one_rung_is_not_written(tmp_path: Path) -> None:
    files = charts.save_all(make_result(make_cell()), tmp_path)
    assert "ladder.svg" not in [path.name for path in files]


def test_drawing_needs_no_pyplot_and_no_display() -> None:
    program = "import sys; from bench import charts; print('matplotlib.pyplot' in sys.modules)"
    done = subprocess.run(
        [sys.executable, "-P", "-c", program],
        capture_output=True,
        text=True,
        timeout=60,
        check=True,
    )
    assert done.stdout.strip() == "False"
