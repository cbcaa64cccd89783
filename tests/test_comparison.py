"""Ways to reach a handler side by side: the table, the cost of N calls, the charts."""

from __future__ import annotations

import pytest
from matplotlib.collections import PolyCollection
from matplotlib.figure import Figure

from bench import accounts, charts, cost_of_calls
from bench.cost_of_calls import CostLine
from bench.render.tables import comparison_table
from bench.results import CellResult, Result
from tests.make_results import make_cell, make_result, make_session


def ways() -> Result:
    cells = [
        make_cell("minimal", "noop", [make_session(r, scale=1) for r in (1, 2)]),
        make_cell("minimal", "noop", [make_session(r, scale=3) for r in (1, 2)], transport="http"),
        make_cell("minimal", "noop", [make_session(r, scale=2) for r in (1, 2)], transport="sse"),
        make_cell("minimal", "search", [make_session(1, scale=0.5)], transport="sse"),
    ]
    return make_result(*cells)


def line(label: str, setup: float, call: float) -> CostLine:
    return CostLine(label, setup, call)


def test_the_quickest_median_of_each_handler_comes_first() -> None:
    rows = comparison_table(ways()).rows
    assert [row["cell"] for row in rows] == [
        "stdio/minimal/noop", "sse/minimal/noop", "http/minimal/noop", "sse/minimal/search",
    ]  # fmt: skip


def test_a_way_that_counts_no_messages_of_setup_has_none_in_the_table() -> None:
    rows = comparison_table(ways()).rows
    assert [row["call_messages"] for row in rows] == [None] * 4


def test_one_transport_needs_no_comparison() -> None:
    assert not comparison_table(make_result(make_cell())).rows


def test_a_way_is_named_without_its_handler() -> None:
    cell = make_cell("minimal", "noop", marks=False)
    assert (cell.name, cell.reach) == ("stdio/minimal/noop/no-marks", "stdio/minimal")


def test_the_cheapest_changes_where_the_lines_cross() -> None:
    lines = [line("cold", 100.0, 1.0), line("warm", 10.0, 2.0), line("never", 50.0, 9.0)]
    assert [(n, old.label, new.label) for n, old, new in cost_of_calls.crossings(lines)] == [
        (90.0, "warm", "cold")
    ]


def test_a_line_that_is_cheapest_throughout_crosses_none() -> None:
    assert cost_of_calls.crossings([line("a", 1.0, 1.0), line("b", 2.0, 2.0)]) == []
    assert cost_of_calls.crossings([]) == []


def test_a_listening_server_may_be_running_already() -> None:
    lines = {one.label: one for one in cost_of_calls.cost_lines(ways(), "noop", "minimal")}
    assert "stdio/minimal (running)" not in lines
    started, running = lines["http/minimal"], lines["http/minimal (running)"]
    assert started.call_ns == running.call_ns
    assert started.setup_ns - running.setup_ns == pytest.approx(40_500_000)


def test_the_cost_of_calls_has_an_interval_that_holds_it() -> None:
    for one in cost_of_calls.cost_lines(ways(), "noop", "minimal"):
        for n in (1, 1000):
            between = one.between_ns(n)
            assert between is not None
            assert between[0] <= one.cost_ns(n) <= between[1]


def test_one_session_has_no_interval_of_its_cost() -> None:
    assert CostLine("a", 1.0, 1.0, ((1.0, 1.0),)).between_ns(5) is None


def test_the_cost_chart_draws_an_interval_behind_each_line() -> None:
    ax = charts.amortisation(ways())
    bands = [one for one in ax.collections if isinstance(one, PolyCollection)]
    assert len(bands) == len(cost_of_calls.cost_lines(ways(), "noop", "minimal"))


def test_the_cost_chart_names_the_crossings() -> None:
    ax = charts.amortisation(ways())
    legend = ax.get_legend()
    assert legend is not None
    assert legend.get_title().get_text().startswith("cheapest: ")
    assert len(ax.get_lines()) >= 5


def test_setup_after_boot_leaves_the_start_of_the_server_out() -> None:
    ax = charts.waterfall(ways(), after_boot=True)
    labels = {str(patch.get_label()) for patch in ax.patches}
    assert not labels & {"spawn", "boot"}


def test_side_by_side_has_a_row_for_each_way() -> None:
    ax = charts.side_by_side(ways())
    figure = ax.get_figure()
    assert isinstance(figure, Figure)
    left, right = figure.axes
    shown = [text.get_text() for text in left.get_yticklabels()]
    assert shown == ["stdio/minimal", "sse/minimal", "http/minimal"]
    assert right.patches


@pytest.mark.parametrize("draw", [charts.amortisation, charts.side_by_side])
def test_a_run_without_calls_gives_a_labelled_chart(draw: object) -> None:
    empty = CellResult("http/x/noop", make_cell(transport="http").fields, [])
    ax = draw(make_result(empty))  # type: ignore[operator]
    assert any("no call succeeded" in text.get_text() for text in ax.texts)


def test_what_a_library_adds_is_paired_with_the_thin_client() -> None:
    thin = make_cell("minimal", "noop", [make_session(r, scale=1) for r in (1, 2)])
    name, fields = "stdio/minimal/noop/sdk-client", {**thin.fields, "client": "sdk"}
    heavy = CellResult(name, fields, [make_session(r, scale=4) for r in (1, 2)])
    (cost,) = accounts.change_costs(make_result(thin, heavy))
    assert (cost.cell, cost.change) == (name, "sdk-client")
    assert cost.cost.value == pytest.approx(3 * cost.without.value, rel=0.2)
