"""Law 1: phases are contiguous and sum exactly to the total, in integer nanoseconds."""

from __future__ import annotations

from array import array

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bench.errors import ClockError
from bench.exchange import MARKS, RECEIVED_NS, SENT_NS, WIDTH, Exchange, Kind
from bench.marks import HANDLER_END, HANDLER_START, RECEIVED, REPLY
from bench.phases import CALL, CALL_UNMARKED, IN_SERVER, MEANING, Phase, Timeline, durations
from bench.probes import marks as mark_probe
from bench.records import as_table, phase_columns
from bench.results import ABSENT

STEPS = st.lists(st.integers(min_value=0, max_value=10**12), min_size=7, max_size=7)
START = st.integers(min_value=1, max_value=10**15)


@given(START, STEPS)
def test_the_phases_of_stamps_sum_exactly_to_the_total(start: int, steps: list[int]) -> None:
    stamps = [start]
    for step in steps:
        stamps.append(stamps[-1] + step)
    parts = durations(stamps, CALL)
    assert sum(parts) == stamps[-1] - stamps[0]
    assert list(parts) == steps


def test_a_stamp_that_runs_backwards_is_an_error_that_names_its_phase() -> None:
    with pytest.raises(ClockError, match="server"):
        durations([1, 2, 1, 3], CALL_UNMARKED)


def test_a_phase_that_did_not_happen_is_absent_not_zero() -> None:
    timeline = Timeline(100)
    timeline.end(Phase.SPAWN, 130)
    timeline.end(Phase.INITIALIZE, 150)
    assert timeline.phases() == {Phase.SPAWN: 30, Phase.INITIALIZE: 20}
    assert Phase.BOOT not in timeline.phases()
    assert timeline.total_ns == 50


def test_every_phase_says_what_it_means() -> None:
    assert set(MEANING) == set(Phase)


def make_rows(start: int, steps: list[int], *, marked: bool) -> tuple[array[int], list[int]]:
    stamps = [start]
    for step in steps:
        stamps.append(stamps[-1] + step)
    exchange = Exchange(Kind.CALL, stamps[0], stamps[1], 10, stamps[6], stamps[7], 20)
    rows = array("q", exchange.row())
    if marked:
        rows[MARKS.start : MARKS.stop] = array("q", stamps[2:6])
    return rows, stamps


@given(START, STEPS, st.booleans())
def test_the_columns_of_a_call_sum_exactly_to_its_total(
    start: int, steps: list[int], marked: bool
) -> None:
    rows, stamps = make_rows(start, steps, marked=marked)
    columns = phase_columns(as_table(rows))
    total = sum(int(columns[phase][0]) for phase in CALL_UNMARKED)
    assert total == stamps[-1] - stamps[0]
    if marked:
        assert sum(int(columns[phase][0]) for phase in CALL) == total
    else:
        assert Phase.HANDLER not in columns


@given(START, STEPS)
def test_marks_land_in_the_row_of_their_call_and_keep_the_sum(start: int, steps: list[int]) -> None:
    rows, stamps = make_rows(start, [step + 1 for step in steps], marked=False)
    marks = list(zip((RECEIVED, HANDLER_START, HANDLER_END, REPLY), stamps[2:6], strict=True))
    assert mark_probe.assign(rows, marks) == (1, 1)
    columns = phase_columns(as_table(rows))
    inside = sum(int(columns[phase][0]) for phase in IN_SERVER)
    assert inside == stamps[6] - stamps[1]


def test_a_call_with_the_marks_of_two_handlers_keeps_none() -> None:
    rows, _ = make_rows(1000, [10] * 7, marked=False)
    late = [(HANDLER_END, 1015), (RECEIVED, 1020), (HANDLER_START, 1030), (HANDLER_END, 1040)]
    assert mark_probe.assign(rows, [*late, (REPLY, 1050)]) == (0, 1)
    assert rows[MARKS.start : MARKS.stop] == array("q", [0, 0, 0, 0])


def test_messages_between_do_not_hide_the_marks_of_the_call() -> None:
    window = [
        (RECEIVED, 10), (HANDLER_START, 20), (REPLY, 25), (RECEIVED, 27), (HANDLER_END, 30),
        (REPLY, 40),
    ]  # fmt: skip
    assert mark_probe.choose(window) == (10, 20, 30, 40)


def test_a_call_without_marks_among_marked_ones_is_absent_not_zero() -> None:
    marked, _ = make_rows(1000, [10] * 7, marked=True)
    plain, _ = make_rows(2000, [10] * 7, marked=False)
    columns = phase_columns(as_table(marked + plain))
    assert columns[Phase.HANDLER].tolist() == [10, ABSENT]
    assert columns[Phase.SERVER].tolist() == [50, 50]


def test_the_row_layout_keeps_the_stamps_next_to_each_other() -> None:
    assert MARKS.start == SENT_NS + 1
    assert MARKS.stop == RECEIVED_NS
    assert len(Exchange(Kind.CALL, 1, 2, 3).row()) == WIDTH
    assert as_table(array("q")).shape == (0, WIDTH)
    assert as_table(array("q", range(2 * WIDTH))).dtype == np.int64
