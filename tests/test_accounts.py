"""Who is charged: parts sum to totals, the boundary is signed, absent stays absent."""

from __future__ import annotations

import numpy as np
import pytest

from bench import accounts
from bench.phases import CALL, CALL_UNMARKED, Phase
from bench.render import formats, tables
from tests.make_results import STDIO_SETUP, make_cell, make_result, make_session


def test_the_mean_phases_of_calls_sum_to_the_mean_total() -> None:
    for marked in (True, False):
        cell = make_cell(sessions=[make_session(r, marked=marked) for r in (1, 2)], marks=marked)
        calls = accounts.calls(cell)
        assert calls is not None
        parts = calls.breakdown.parts
        assert tuple(parts) == (CALL if marked else CALL_UNMARKED)
        assert sum(part.value for part in parts.values()) == pytest.approx(
            calls.breakdown.total.value
        )


def test_boundary_and_handler_sum_to_the_total() -> None:
    calls = accounts.calls(make_cell())
    assert calls is not None
    assert calls.boundary is not None
    assert calls.handler is not None
    assert calls.boundary.value + calls.handler.value == pytest.approx(calls.breakdown.total.value)


def test_calls_without_marks_do_not_enter_the_phases_of_those_with_marks() -> None:
    session = make_session(1, calls=6, absent=[0, 1])
    calls = accounts.calls(make_cell(sessions=[session]))
    assert calls is not None
    assert calls.breakdown.total.n_samples == 4
    assert calls.median is not None
    assert calls.median.n_samples == 6


def test_without_marks_the_handler_is_a_bracket_of_differences() -> None:
    calls = accounts.calls(make_cell(marks=False))
    assert calls is not None
    assert calls.handler is None
    assert calls.bracket is not None
    # The synthetic probes: ping 60 µs, unknown tool 80 µs, call 85 µs.
    assert calls.bracket.low.value < calls.bracket.high.value


def test_setup_means_sum_and_merge_the_cells_of_one_server() -> None:
    result = make_result(make_cell(handler="noop"), make_cell(handler="echo"))
    (group,) = accounts.setup_groups(result)
    assert len(group.sessions) == 6
    parts = accounts.setup(group)
    assert parts is not None
    assert parts.total.value == sum(STDIO_SETUP.values())
    assert Phase.CONNECT not in parts.parts


def test_the_ladder_rises_and_prefers_cells_without_marks() -> None:
    quick = [make_session(r, scale=0.1, marked=False) for r in (1, 2, 3)]
    slow = [make_session(r, scale=10) for r in (1, 2, 3)]
    result = make_result(
        make_cell("sdk", sessions=slow),
        make_cell("minimal"),
        make_cell("minimal", marks=False),
        make_cell("floor", "echo", quick, marks=False, transport="pipe"),
    )
    rungs = accounts.ladder(result)
    assert [rung.label for rung in rungs] == ["pipe/floor", "stdio/minimal", "stdio/sdk"]
    assert rungs[1].cell.fields["marks"] == "off"
    assert rungs[0].increment is None
    values = [rung.total.value for rung in rungs]
    assert values == sorted(values)


def test_the_cost_of_marking_pairs_the_rounds_that_both_have() -> None:
    plain = [make_session(r, marked=False, seed=5) for r in (2, 3, 4)]
    marked = [make_session(r, scale=1.1, seed=5) for r in (1, 2, 3)]
    result = make_result(
        make_cell(sessions=marked), make_cell(sessions=plain, marks=False), make_cell("sdk")
    )
    (cost,) = accounts.marking_costs(result)
    assert cost.cell == "stdio/minimal/noop"
    assert cost.cost.n_sessions == 2
    assert cost.cost.value == pytest.approx(8_500, rel=0.2)


def test_a_cell_without_a_call_has_no_statistics_and_no_row() -> None:
    empty = make_cell("sdk", sessions=[make_session(1, calls=0)])
    assert accounts.calls(empty) is None
    result = make_result(make_cell(), empty)
    rows = tables.calls_table(result).rows
    assert [row["cell"] for row in rows] == ["stdio/minimal/noop"]


def test_all_tables_render_in_every_format_and_json_is_strict() -> None:
    import json

    result = make_result(make_cell(), make_cell(marks=False), make_cell("sdk"))
    made = tables.all_tables(result)
    assert {table.key for table in made} >= {"setup", "calls", "phases", "ladder", "marking"}
    text = formats.as_json(made, {"run": dict(result.run)})

    def refuse(constant: str) -> None:
        raise AssertionError(constant)

    document = json.loads(text, parse_constant=refuse)
    assert document["calls"][0]["p50_ns"]["n_samples"] == 60
    assert formats.markdown(made).count("|") > 50
    assert "calls,stdio/minimal/noop,p50_ns," in formats.as_csv(made)


def test_a_negative_boundary_is_shown_as_it_is() -> None:
    session = make_session(1, calls=4)
    session.calls[Phase.HANDLER][:] = 10**6
    calls = accounts.calls(make_cell(sessions=[session]))
    assert calls is not None
    assert calls.boundary is not None
    assert calls.boundary.value == pytest.approx(float(np.mean(session.total_ns)) - 1e6)
    assert calls.boundary.value < 0
