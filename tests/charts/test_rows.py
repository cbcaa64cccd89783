"""Charts of one row per cell: bars that sum, intervals at their ends, units that are said."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from bench import accounts, charts, comparison
from bench.comparison import THRESHOLD
from bench.phases import CALL, Phase
from bench.results import CellResult
from bench.stats import Estimate
from tests.charts.drawn import VERDICTS, Ratio, bars, cells
from tests.make_results import STDIO_SETUP, make_cell, make_result, make_session


def ends(ax: Axes) -> list[list[float]]:
    """Return the ends of the intervals that are drawn."""
    return [list(map(float, line.get_xdata())) for line in ax.get_lines()]  # type: ignore[arg-type]


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


def test_a_waterfall_can_have_a_log_axis() -> None:
    assert charts.waterfall(make_result(), log=True).get_xscale() == "log"


def test_marked_calls_have_seven_parts_and_plain_ones_three() -> None:
    result = make_result(make_cell(), make_cell(marks=False))
    ax = charts.call_breakdown(result)
    assert len(bars(ax)) == len(CALL) + 3
    total = np.concatenate(result.cells[0].totals()).mean()
    assert sum(bar.get_width() for bar in bars(ax)[:7]) == pytest.approx(total)


def test_totals_carry_their_intervals_and_one_session_none() -> None:
    result = make_result(make_cell())
    calls = accounts.calls(result.cells[0])
    assert calls is not None
    total = calls.breakdown.total
    assert ends(charts.call_breakdown(result)) == [[total.low, total.high]]
    assert ends(charts.call_breakdown(make_result(make_cell(sessions=[make_session(1)])))) == []


def test_shares_make_every_row_a_hundred_percent() -> None:
    ax = charts.call_breakdown(cells(4, spread=20), share=True)
    for row in range(4):
        widths = [bar.get_width() for bar in bars(ax) if round(bar.get_y() + 0.31) == row]
        assert sum(widths) == pytest.approx(100)
    assert "%" in ax.get_xlabel()


def test_the_ladder_stacks_each_rung_on_the_one_below() -> None:
    ax = charts.ladder(cells(3, spread=4))
    below, added = bars(ax)[0::2], bars(ax)[1::2]
    totals = [b.get_width() + a.get_width() for b, a in zip(below, added, strict=True)]
    assert below[0].get_width() == 0
    assert [bar.get_width() for bar in below[1:]] == pytest.approx(totals[:-1])


def test_the_words_of_bars_name_the_largest_part() -> None:
    text = charts.alt_text(charts.waterfall(make_result()))
    assert "stdio/minimal 41.6 ms [41.6 – 41.6], mostly boot (96%)" in text


def test_a_ratio_stands_in_its_row_with_its_interval_against_the_band() -> None:
    ax = charts.compare(VERDICTS)
    band, (one, *drawn) = bars(ax)[0], ends(ax)
    assert band.get_x() == pytest.approx(1 - THRESHOLD)
    assert band.get_width() == pytest.approx(2 * THRESHOLD)
    assert one == [1, 1]
    expected = []
    for ratio in (row.ratio for row in VERDICTS if row.ratio is not None):
        if ratio.low is not None:
            expected.append([ratio.low, ratio.high])
        expected.append([ratio.value])
    assert drawn == expected
    assert [label.get_text() for label in ax.get_yticklabels()] == [row.label for row in VERDICTS]


def test_verdicts_differ_in_shape_and_are_said_in_words() -> None:
    ax = charts.compare(VERDICTS)
    points = [line for line in ax.get_lines() if len(line.get_xdata()) == 1]  # type: ignore[arg-type]
    rows = [row for row in VERDICTS if row.ratio is not None]
    shapes = {row.verdict: line.get_marker() for row, line in zip(rows, points, strict=True)}
    assert len(set(shapes.values())) == len(shapes) == 4
    texts = [text.get_text() for text in ax.texts]
    assert "0.910 [0.880 – 0.940] faster" in texts
    assert "not comparable" in texts


def test_the_rows_of_a_comparison_are_drawn_as_they_are() -> None:
    result = make_result(make_cell(), make_cell(marks=False))
    rows = comparison.compare(result, result).rows
    ax = charts.compare(rows)
    assert [label.get_text() for label in ax.get_yticklabels()] == [row.label for row in rows]
    assert any("no difference shown" in text.get_text() for text in ax.texts)


def test_ratios_far_apart_get_a_log_axis_that_says_so() -> None:
    far = [
        Ratio("near", Estimate(1.0, 0.9, 1.1, 10, 2000), "no difference shown"),
        Ratio("far", Estimate(9.0, 8.0, 10.0, 10, 2000), "slower"),
    ]
    ax = charts.compare(far)
    assert ax.get_xscale() == "log"
    assert "log axis" in ax.get_xlabel()


def test_without_the_start_of_the_server_setup_still_has_its_interval() -> None:
    sessions = [make_session(r, setup={**STDIO_SETUP, Phase.INITIALIZE: 10**6 * r}) for r in (1, 2)]
    ax = charts.waterfall(make_result(make_cell(sessions=sessions)), after_boot=True)
    ((low, high),) = ends(ax)
    assert sum(bar.get_width() for bar in bars(ax)) == pytest.approx(1_860_000)
    assert low < 1_860_000 < high


def test_a_library_that_starts_its_server_out_of_sight_has_no_setup_after_boot() -> None:
    cell = make_cell()
    hidden = CellResult("stdio/minimal/noop/sdk-client", {**cell.fields, "client": "sdk"},
                        cell.sessions)  # fmt: skip
    ax = charts.waterfall(make_result(cell, hidden), after_boot=True)
    assert [label.get_text() for label in ax.get_yticklabels()] == ["stdio/minimal"]
    figure = charts.side_by_side(make_result(cell, hidden)).get_figure()
    assert isinstance(figure, Figure)
    assert "–" in [text.get_text() for text in figure.axes[0].texts]
