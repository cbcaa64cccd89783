"""The order of execution is a value: randomised blocks from a recorded seed."""

from __future__ import annotations

from itertools import chain, islice

from hypothesis import given
from hypothesis import strategies as st

from bench.plan import BLOCKED, make_plan, rounds

SMALL = st.integers(min_value=1, max_value=12)


@given(SMALL, SMALL, st.integers())
def test_each_round_holds_every_cell_once(cells: int, sessions: int, seed: int) -> None:
    plan = make_plan(cells, sessions, seed)
    assert [slot.position for slot in plan] == list(range(cells * sessions))
    for round_ in range(1, sessions + 1):
        block = [slot.cell for slot in plan if slot.round == round_]
        assert sorted(block) == list(range(cells))
        places = [slot.position for slot in plan if slot.round == round_]
        assert places == list(range((round_ - 1) * cells, round_ * cells))


def test_the_same_seed_gives_the_same_order_and_another_seed_another() -> None:
    assert make_plan(6, 5, 1) == make_plan(6, 5, 1)
    assert make_plan(6, 5, 1) != make_plan(6, 5, 2)


def test_the_order_within_rounds_varies() -> None:
    plan = make_plan(4, 20, 7)
    orders = {tuple(s.cell for s in plan if s.round == r) for r in range(1, 21)}
    assert len(orders) > 5


@given(SMALL, SMALL, SMALL, st.integers())
def test_a_longer_plan_begins_with_the_shorter_one(
    cells: int, sessions: int, more: int, seed: int
) -> None:
    plan = make_plan(cells, sessions, seed)
    assert make_plan(cells, sessions + more, seed)[: len(plan)] == plan


@given(SMALL, SMALL, st.integers())
def test_endless_rounds_begin_with_the_plan(cells: int, sessions: int, seed: int) -> None:
    begun = chain.from_iterable(islice(rounds(cells, seed), sessions))
    assert tuple(begun) == make_plan(cells, sessions, seed)


@given(SMALL, SMALL, st.integers())
def test_blocked_runs_all_sessions_of_a_cell_before_the_next(
    cells: int, sessions: int, seed: int
) -> None:
    plan = make_plan(cells, sessions, seed, BLOCKED)
    assert [slot.cell for slot in plan] == sorted(slot.cell for slot in plan)
    assert [slot.position for slot in plan] == list(range(cells * sessions))
    interleaved = make_plan(cells, sessions, seed)
    assert {(s.cell, s.round) for s in plan} == {(s.cell, s.round) for s in interleaved}
