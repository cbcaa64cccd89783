"""One real session for each way to use HTTP, for each client, and in one process."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from bench import prepare, suite
from bench.phases import WHOLE, Phase
from bench.plan import Slot
from bench.records import session_of
from bench.results import Session
from bench.runner import Job, Runner
from bench.suite import Cell, Suite
from bench.suite_file import load_suite

CALLS = 6


def run_cells(name: str, *filters: str) -> dict[str, tuple[Cell, Session]]:
    """Run one session of each cell of a shipped suite that fits."""
    chosen: Suite = suite.only(load_suite(name), filters)
    made: dict[str, tuple[Cell, Session]] = {}
    with prepare.certificates(prepare.with_tickets(chosen)) as ready:
        small = suite.replace(ready, calls=CALLS, warmups=1)
        jobs = [
            Job(Slot(place, 1, place), small.spec(cell)) for place, cell in enumerate(small.cells)
        ]
        for cell, entry in zip(small.cells, Runner(lambda *_: None).run(jobs), strict=True):
            assert "failure" not in entry.header, (cell.name, entry.header)
            made[cell.name] = (cell, session_of(entry, cell.client))
    return made


@pytest.fixture(scope="module")
def over_http() -> dict[str, tuple[Cell, Session]]:
    return run_cells("transports", "transport=http,server=minimal,client=raw,handler=noop")


def test_the_phases_of_every_way_sum_exactly(over_http: dict[str, tuple[Cell, Session]]) -> None:
    for _, session in over_http.values():
        session.check()
        parts = [session.calls[phase] for phase in WHOLE if phase in session.calls]
        assert np.array_equal(sum(parts), session.total_ns)
        assert session.outcomes == {"ok": CALLS}
        assert session.complete().all()


def test_setup_has_the_phases_that_exist_there(over_http: dict[str, tuple[Cell, Session]]) -> None:
    plain = [
        Phase.SPAWN, Phase.BOOT, Phase.CONNECT, Phase.INITIALIZE, Phase.INITIALIZED,
        Phase.TOOLS_LIST,
    ]  # fmt: skip
    secure = [*plain[:3], Phase.TLS, *plain[3:]]
    for name, (_, session) in over_http.items():
        assert list(session.setup) == (secure if "tls" in name else plain), name


def test_only_what_is_opened_anew_is_a_phase_of_the_call(
    over_http: dict[str, tuple[Cell, Session]],
) -> None:
    for name, (_, session) in over_http.items():
        assert (Phase.REOPEN in session.calls) == ("/new-" in name), name


def test_connections_are_counted(over_http: dict[str, tuple[Cell, Session]]) -> None:
    probes = 2 * (CALLS // 5)
    for name, (_, session) in over_http.items():
        opened = 1 + (CALLS + 1 + probes if "new-connection" in name else 0)
        # The end of the session needs one more where none is kept.
        assert session.facts["connections"] - opened in (0, 1), name


def test_messages_of_setup_and_call_are_those_of_the_specification(
    over_http: dict[str, tuple[Cell, Session]],
) -> None:
    for name, (_, session) in over_http.items():
        facts = session.facts
        assert (facts["setup_messages_sent"], facts["setup_messages_received"]) == (3, 2)
        if "new-session" not in name:
            assert facts["messages_sent"] == 3 + int(facts["exchanges"])
            assert facts["messages_received"] == 2 + int(facts["exchanges"])


@pytest.mark.parametrize("transport", ["stdio", "http"])
def test_the_stateless_era_sets_up_with_the_list_alone(transport: str) -> None:
    wanted = f"transport={transport},server=minimal,revision="
    pinned, found = run_cells("eras", f"{wanted}2026-07-28", f"{wanted}auto").values()
    assert Phase.INITIALIZE not in pinned[1].setup
    assert pinned[1].facts["setup_messages_sent"] == 1
    assert Phase.DISCOVER in found[1].setup
    assert found[1].facts["setup_messages_sent"] == 2
    assert found[1].facts["agreed_revision"] == "2026-07-28"


def test_every_client_makes_the_same_calls() -> None:
    made = run_cells("clients", "server=minimal")
    assert len(made) == 6
    for cell, session in made.values():
        assert session.outcomes == {"ok": CALLS}
        own_work = {Phase.ENCODE, Phase.DECODE} & session.calls.keys()
        assert bool(own_work) == (cell.client == "raw")
        assert session.complete().all()


def test_the_arms_without_a_wire() -> None:
    made = run_cells("transports", "transport=inproc", "transport=memory", "transport=rest")
    assert len(made) == 10
    for cell, session in made.values():
        assert session.outcomes == {"ok": CALLS}
        assert bool(session.setup) == (cell.transport != "inproc")


def test_a_body_is_what_was_asked_for_whatever_the_transport(tmp_path: Any) -> None:
    made = run_cells("transports", "transport=rest,server=minimal,handler=search_tickets")
    ((_, session),) = made.values()
    assert session.facts["response_bytes_per_call"] > 1000
