"""What makes the slowest calls slow: the excess of each phase, which sum to that of the total."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import pytest

from bench.phases import CALL, CALL_UNMARKED, Phase
from bench.render import formats
from bench.render.tables import tail_table
from bench.results import CellResult, Session
from bench.tail import MIN_SLOW_CALLS, Tail, tail
from tests.make_results import make_cell, make_result, make_session

STALL_NS = 2_000_000


def stalling(
    phase: Phase, *, rounds: Sequence[int] = (1, 2, 3), calls: int = 500, marked: bool = True
) -> CellResult:
    """Return a cell whose every 80th call stalls for 2 ms in one phase."""
    sessions = [stalled(make_session(r, calls=calls, marked=marked), phase) for r in rounds]
    return make_cell(sessions=sessions, marks=marked)


def stalled(session: Session, phase: Phase) -> Session:
    calls = {name: column.copy() for name, column in session.calls.items()}
    inside = phase not in CALL_UNMARKED
    for name in {phase, Phase.SERVER} if inside else {phase}:
        calls[name][::80] += STALL_NS
    return replace(session, calls=calls)


def tail_of(cell: CellResult) -> Tail:
    made = tail(cell)
    assert made is not None
    return made


@pytest.mark.parametrize("phase", CALL)
def test_a_stall_is_found_in_its_own_phase(phase: Phase) -> None:
    made = tail_of(stalling(phase))
    assert made.dominant is phase
    assert made.parts[phase].value == pytest.approx(STALL_NS, rel=0.01)
    assert made.shares[phase] > 0.95


@pytest.mark.parametrize("marked", [True, False])
def test_the_phases_sum_to_the_excess_and_their_shares_to_one(marked: bool) -> None:
    made = tail_of(stalling(Phase.SERVER if not marked else Phase.REPLY, marked=marked))
    assert tuple(made.parts) == (CALL if marked else CALL_UNMARKED)
    assert sum(part.value for part in made.parts.values()) == pytest.approx(
        made.excess.value, rel=1e-12
    )
    assert sum(made.shares.values()) == pytest.approx(1, rel=1e-12)


def test_the_excess_is_that_of_the_definition() -> None:
    cell = stalling(Phase.HANDLER)
    totals = np.concatenate(cell.totals())
    low, high, beyond = np.quantile(totals, [0.4, 0.6, 0.99])
    slow, typical = totals > beyond, (totals >= low) & (totals <= high)
    made = tail_of(cell)
    assert made.n_calls == np.sum(slow)
    assert made.excess.value == pytest.approx(np.mean(totals[slow]) - np.mean(totals[typical]))
    decode = np.concatenate(cell.phase(Phase.DECODE))
    assert made.parts[Phase.DECODE].value == pytest.approx(
        np.mean(decode[slow]) - np.mean(decode[typical])
    )


def test_a_phase_that_is_shorter_in_slow_calls_is_negative() -> None:
    cell = stalling(Phase.HANDLER)
    for session in cell.sessions:
        session.calls[Phase.DISPATCH][::80] -= 10_000
        session.calls[Phase.SERVER][::80] -= 10_000
    assert tail_of(cell).parts[Phase.DISPATCH].value < 0


def test_the_interval_is_over_the_sessions_that_hold_slow_calls() -> None:
    quiet = [make_session(r, calls=500) for r in (2, 3, 4)]
    busy = make_session(1, calls=500)
    for phase in (Phase.REPLY, Phase.SERVER):
        busy.calls[phase][::20] += STALL_NS
    made = tail_of(make_cell(sessions=[busy, *quiet]))
    assert (made.excess.n_sessions, made.excess.low) == (1, None)
    all_three = tail_of(stalling(Phase.REPLY))
    assert all_three.excess.n_sessions == 3
    assert all_three.excess.low is not None
    assert all_three.excess.high is not None
    assert all_three.excess.low <= all_three.excess.value <= all_three.excess.high


def test_calls_without_all_phases_are_not_in_it() -> None:
    cell = stalling(Phase.REPLY)
    stray = make_session(4, calls=500, absent=range(500), scale=50)
    both = make_cell(sessions=[*cell.sessions, stray])
    assert tail_of(both).excess == tail_of(cell).excess


def test_too_few_calls_have_no_tail() -> None:
    assert tail(stalling(Phase.REPLY, rounds=[1], calls=900)) is None
    assert tail(make_cell(sessions=[])) is None
    assert tail(make_cell(sessions=[make_session(1, calls=0)])) is None
    assert tail_of(stalling(Phase.REPLY, rounds=[1], calls=1100)).n_calls >= MIN_SLOW_CALLS


def test_a_call_of_one_phase_has_nothing_to_attribute() -> None:
    cell = stalling(Phase.SERVER, marked=False)
    sessions = [replace(s, calls={Phase.SERVER: s.calls[Phase.SERVER]}) for s in cell.sessions]
    assert tail(make_cell(sessions=sessions, marks=False)) is None


def test_equal_calls_have_no_tail() -> None:
    cell = stalling(Phase.REPLY)
    for session in cell.sessions:
        for column in session.calls.values():
            column[:] = 1_000
    assert tail(cell) is None


def test_the_table_names_the_phase_that_adds_most() -> None:
    table = tail_table(make_result(stalling(Phase.REPLY), make_cell("sdk")))
    (row,) = table.rows
    assert row["cell"] == "stdio/minimal/noop"
    assert row["sessions"] == "3 of 3"
    assert row["dominant"] == "reply (100 %)"
    assert set(table.columns) >= {f"{phase}_ns" for phase in CALL}
    assert "server_ns" not in table.columns
    assert "above p99 minus mean of the calls between p40 and p60" in table.notes[0]
    assert "reply (100 %)" in formats.markdown([table])
