"""How long a run goes on: until every interval is narrow enough, or its time is spent."""

from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bench.adaptive import (
    MOST_SESSIONS,
    Ending,
    Goal,
    another_fits,
    ending,
    is_look,
    parse_duration,
    parse_figure,
    parse_precision,
    too_wide,
    widths,
)
from bench.phases import Phase
from bench.render.course import course, goal_in_words
from bench.results import CellResult
from tests.make_results import STDIO_SETUP, make_cell, make_result, make_session

GOAL = Goal(precision=0.05)


def steady(name: str = "steady", sessions: int = 6) -> CellResult:
    """Return a cell whose sessions agree."""
    return make_cell(name, sessions=[make_session(r, calls=200) for r in range(1, sessions + 1)])


def unsteady(name: str = "unsteady") -> CellResult:
    """Return a cell whose sessions differ by a factor of two."""
    return make_cell(name, sessions=[make_session(r, scale=1 + r % 2) for r in range(1, 7)])


def test_only_cells_with_a_wide_interval_are_too_wide() -> None:
    known = widths([steady(), unsteady()], GOAL)
    assert [width.cell for width in known] == ["stdio/steady/noop", "stdio/unsteady/noop"]
    assert [width.cell for width in too_wide(known, 0.05)] == ["stdio/unsteady/noop"]


def test_the_widest_comes_first_and_what_cannot_be_told_is_the_widest_of_all() -> None:
    alone = make_cell("alone", sessions=[make_session(1)])
    wide = too_wide(widths([unsteady(), alone, steady()], GOAL), 0.0001)
    assert [width.cell.split("/")[1] for width in wide] == ["alone", "unsteady", "steady"]
    assert wide[0].share == float("inf")


def test_a_percentile_that_needs_more_samples_goes_on() -> None:
    (width,) = widths([steady(sessions=2)], Goal(0.05, "call", "p99.9"))
    assert width.estimate is None
    assert too_wide([width], 0.99) == [width]


@pytest.mark.parametrize("subject", ["call", "setup", "boundary", "handler", "dispatch", "boot"])
def test_each_subject_is_judged_by_its_own_interval(subject: str) -> None:
    setups = [{**STDIO_SETUP, Phase.BOOT: 40_000_000 + r * 1000} for r in range(1, 7)]
    sessions = [make_session(r, calls=200, setup=setup) for r, setup in enumerate(setups)]
    (width,) = widths([make_cell(sessions=sessions)], Goal(0.05, subject, "mean"))
    assert 0 < width.share < 0.1


def test_cells_without_the_subject_do_not_hold_a_run_up() -> None:
    failed = make_cell("gone", sessions=[])
    known = widths([steady(), failed], GOAL)
    assert ending(GOAL, 6, 1.0, known) is Ending.PRECISE
    assert ending(GOAL, 6, 1.0, widths([failed], GOAL)) is Ending.UNMEASURED


def test_the_least_sessions_are_made_however_narrow_the_intervals_are() -> None:
    known = widths([steady()], GOAL)
    assert ending(GOAL, GOAL.least_sessions - 1, 1.0, known) is None
    assert ending(GOAL, GOAL.least_sessions, 1.0, known) is Ending.PRECISE


def test_a_run_goes_on_while_a_cell_is_too_wide_and_ends_at_the_limit() -> None:
    known = widths([steady(), unsteady()], GOAL)
    assert ending(GOAL, 6, 1e6, known) is None
    assert ending(GOAL, MOST_SESSIONS - 1, 1e6, known) is None
    assert ending(GOAL, MOST_SESSIONS, 1e6, known) is Ending.LIMIT


def test_a_budget_alone_ends_only_when_it_is_spent() -> None:
    goal = Goal(budget_s=60.0)
    known = widths([steady()], goal)
    assert ending(goal, 2 * MOST_SESSIONS, 59.9, known) is None
    assert ending(goal, 5, 59.9, known) is Ending.BUDGET


def test_a_budget_ends_a_run_before_its_least_sessions_but_not_before_the_first_round() -> None:
    goal = Goal(0.01, budget_s=1.0)
    assert ending(goal, 0, 0.0, None) is None
    assert ending(goal, 1, 0.9, None) is Ending.BUDGET


@given(st.integers(1, 1000), st.floats(0.001, 1e5), st.floats(0.001, 1e5))
def test_a_round_of_the_mean_length_ends_within_the_budget(
    rounds: int, spent_s: float, budget_s: float
) -> None:
    mean_s = spent_s / rounds
    assert another_fits(rounds, spent_s, budget_s) == (spent_s + mean_s <= budget_s)


def test_looks_are_after_each_round_at_first_and_rarer_later() -> None:
    looks = [n for n in range(1, MOST_SESSIONS + 1) if is_look(n)]
    assert looks[:39] == list(range(1, 40))
    gaps = [after - before for before, after in pairwise(looks)]
    assert max(gaps) <= MOST_SESSIONS // 20
    assert len(looks) < 120


@pytest.mark.parametrize(("text", "value"), [("2%", 0.02), ("0.5%", 0.005), ("10 %", 0.1)])
def test_a_precision_is_a_percentage(text: str, value: float) -> None:
    assert parse_precision(text) == pytest.approx(value)


@pytest.mark.parametrize(("text", "seconds"), [("30s", 30), ("10m", 600), ("1.5h", 5400)])
def test_a_budget_has_a_unit(text: str, seconds: float) -> None:
    assert parse_duration(text) == seconds


def test_a_figure_is_of_a_subject() -> None:
    assert parse_figure("setup.mean", "option") == ("setup", "mean")
    assert parse_figure("call.p99.9", "option") == ("call", "p99.9")


def made(*cells: CellResult, **run: object) -> list[str]:
    """Return what is said of a run of these cells with this in its metadata."""
    result = make_result(*cells)
    return course(type(result)(result.cells, {**result.run, **run}, result.environment))


def test_a_planned_interleaved_run_is_nothing_to_speak_of() -> None:
    assert made(steady(), order_of_sessions="interleaved") == []


def test_a_blocked_run_says_what_its_order_does() -> None:
    (line,) = made(steady(), order_of_sessions="blocked")
    assert "drift of the machine" in line


def test_what_did_not_get_there_is_named_with_what_it_has() -> None:
    goal = {"precision": 0.05, "precision_of": "call.p50", "budget_s": 600.0}
    head, wide, gone = made(
        steady(), unsteady(), make_cell("gone", sessions=[]), ended="budget", **goal
    )
    assert head.startswith("precision ±5%, budget 10m: call.p50 is within ±5% in 1 of 3 cells")
    assert head.endswith("another round would probably not have ended within the budget")
    assert wide.startswith("not precise: stdio/unsteady/noop: call.p50 ")
    assert "±" in wide
    assert gone == "not precise: stdio/gone/noop: has no call"


def test_a_run_that_got_there_says_so_in_one_line() -> None:
    goal = {"precision": 0.05, "precision_of": "call.p50", "budget_s": None}
    (line,) = made(steady(), ended="precise", **goal)
    assert line == (
        "precision ±5%: call.p50 is within ±5% in 1 of 1 cell after 3 sessions of each cell"
    )


@pytest.mark.parametrize("ended", ["killed", "interrupted", None])
def test_a_run_that_was_cut_short_says_so(ended: str | None) -> None:
    goal = {"precision": None, "precision_of": "call.p50", "budget_s": 90.0}
    (line,) = made(steady(), ended=ended, **goal)
    assert line == "budget 90s: 3 sessions of each cell; the run was cut short"


def test_a_goal_is_said_in_words_before_the_run() -> None:
    words = goal_in_words(Goal(0.02, "call", "p99", 3600.0, 7))
    assert words == (
        "at least 7 sessions, until call.p99 is within ±2%, as long as a round fits into 1h"
    )
