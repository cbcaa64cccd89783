"""Message diagrams and grids: who says what in each era and transport, and what stands where."""

from __future__ import annotations

import pytest

from bench import accounts, charts
from bench.charts.sequence import steps
from bench.charts.small_multiples import grid_of
from bench.errors import SelectionError
from bench.phases import CALL, Phase
from bench.results import CellResult, Session
from tests.charts.drawn import bars, crossed, words
from tests.make_results import STDIO_SETUP, make_cell, make_result, make_session

STATELESS = {Phase.SPAWN: 1, Phase.BOOT: 2, Phase.TOOLS_LIST: 3}
ASKED = {Phase.SPAWN: 1, Phase.BOOT: 2, Phase.DISCOVER: 5, Phase.TOOLS_LIST: 3}
CONNECTED = {**STDIO_SETUP, Phase.CONNECT: 90_000}


def cell(setup: dict[Phase, int], transport: str = "stdio", *, marked: bool = True) -> CellResult:
    sessions: list[Session] = [make_session(r, setup=setup, marked=marked) for r in (1, 2)]
    return make_cell(sessions=sessions, transport=transport, marks=marked)


def messages(of: CellResult) -> list[str]:
    return [message for step in steps(of) for message in step.messages]


def test_a_handshake_over_stdio_is_three_messages_and_two_answers() -> None:
    assert messages(cell(STDIO_SETUP)) == [
        "→ start of the process", "→ initialize", "← result", "→ notifications/initialized",
        "→ tools/list", "← result", "→ tools/call", "← result", "→ end of stdin",
    ]  # fmt: skip


def test_a_stateless_session_has_no_handshake_and_auto_asks_first() -> None:
    assert "→ initialize" not in messages(cell(STATELESS))
    assert "→ server/discover" not in messages(cell(STATELESS))
    assert "→ server/discover" in messages(cell(ASKED))


def test_http_answers_a_notification_and_ends_with_delete() -> None:
    said = messages(cell(CONNECTED, "http"))
    assert said[said.index("→ notifications/initialized") + 1] == "← 202"
    assert said[-1] == "→ DELETE"
    assert "→ connect" in said
    legacy = messages(cell(ASKED, "sse"))
    assert "→ GET event stream" in legacy


def test_work_stands_at_the_side_that_does_it() -> None:
    at = {step.phase: step.at for step in steps(cell(STDIO_SETUP)) if step.at}
    assert at == {
        Phase.BOOT: "server", Phase.ENCODE: "client", Phase.DISPATCH: "server",
        Phase.HANDLER: "server", Phase.REPLY: "server", Phase.DECODE: "client",
    }  # fmt: skip


def test_without_marks_the_inside_of_the_server_is_one_step() -> None:
    phases = [step.phase for step in steps(cell(STDIO_SETUP, marked=False))]
    assert Phase.SERVER in phases
    assert Phase.DISPATCH not in phases


def test_a_diagram_says_the_mean_of_each_phase_and_that_it_has_no_scale() -> None:
    ax = charts.sequence(make_result(cell(STDIO_SETUP)))
    said = words(ax)
    for phase in (*STDIO_SETUP, *CALL):
        assert phase.value in said
    assert "40.0 ms" in said
    assert "not to scale" in ax.get_xlabel()
    assert "in the server" in charts.alt_text(ax)


def test_the_cell_of_a_diagram_can_be_chosen() -> None:
    result = crossed()
    assert "stdio/server-0/noop" in charts.sequence(result).get_title(loc="left")
    name = "http/server-1/search_tickets"
    assert name in charts.sequence(result, cell=name).get_title(loc="left")
    with pytest.raises(SelectionError, match="no cell 'x'"):
        charts.sequence(result, cell="x")


def test_what_speaks_no_mcp_sends_requests() -> None:
    said = messages(cell({Phase.SPAWN: 1, Phase.BOOT: 1}, "pipe", marked=False))
    assert "→ request" in said
    assert "→ tools/call" not in said


def test_a_grid_has_a_row_per_transport_and_a_column_per_handler() -> None:
    result = crossed()
    figure = charts.small_multiples(result)
    assert len(figure.axes) == 3 * 2
    assert [ax.get_ylabel() for ax in figure.axes[::2]] == ["stdio", "http", "sse"]
    assert [ax.get_title(loc="left") for ax in figure.axes[:2]] == ["noop", "search_tickets"]
    for ax, name in zip(figure.axes[:2], ("noop", "search_tickets"), strict=True):
        bill = accounts.call_phases(result.cell(f"stdio/server-0/{name}"))
        assert bill is not None
        assert sum(bar.get_width() for bar in bars(ax)[:7]) == pytest.approx(bill.total.value)
    assert figure.axes[0].get_xlim() == figure.axes[4].get_xlim()


def test_a_grid_of_distributions_has_a_curve_per_way() -> None:
    figure = charts.small_multiples(crossed(), kind="ecdf")
    assert all(len(ax.get_lines()) >= 2 for ax in figure.axes)
    assert figure.axes[-1].get_xscale() == "log"


def test_what_was_not_measured_is_said_in_its_place() -> None:
    half = [one for one in crossed().cells if one.name != "http/server-1/noop"]
    assert "not measured" in words(charts.small_multiples(make_result(*half)))


def test_a_handler_of_one_transport_alone_has_no_column() -> None:
    grid = grid_of(crossed())
    assert grid.handlers == ["noop", "search_tickets"]
    assert "pipe" not in grid.transports
    assert grid.crossed
    assert not grid_of(make_result(make_cell())).crossed


def test_a_twin_without_marks_has_no_row_of_its_own() -> None:
    grid = grid_of(make_result(make_cell(marks=False), make_cell()))
    assert [one.name for one in grid.cells.values()] == ["stdio/minimal/noop"]
