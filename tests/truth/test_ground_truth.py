"""Delays put into a server by hand are found again, each in its own phase (loose bounds)."""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import pytest

from bench.phases import CALL, Phase
from bench.plan import Slot
from bench.records import session_of
from bench.results import Session
from bench.runner import Job, Runner
from bench.spec import SessionSpec

SERVER = str(Path(__file__).with_name("delayed_server.py"))
SETUP_MS = {Phase.BOOT: 300, Phase.INITIALIZE: 80, Phase.TOOLS_LIST: 60, Phase.CLOSE: 90}
CALL_MS = {Phase.DISPATCH: 15, Phase.HANDLER: 31, Phase.REPLY: 20}
SLACK_MS = 45
"""Less than any delay of setup, far more than a busy machine adds to the best of three."""


@pytest.fixture(scope="module")
def sessions() -> list[Session]:
    words = [f"{phase}={ms}" for phase, ms in {**SETUP_MS, **CALL_MS}.items()]
    spec = SessionSpec(
        argv=(sys.executable, "-P", SERVER, *words),
        tool="handler-31",
        calls=8,
        marks=True,
    )
    jobs = [Job(Slot(0, round_, round_), spec) for round_ in range(3)]
    return [session_of(entry) for entry in Runner(lambda *_: None).run(jobs)]


@pytest.mark.truth
def test_each_delay_of_setup_is_in_its_own_phase(sessions: list[Session]) -> None:
    found = [{**session.setup, Phase.CLOSE: session.close_ns or 0} for session in sessions]
    for phase in found[0]:
        delay_ms, best_ms = SETUP_MS.get(phase, 0), min(once[phase] for once in found) / 1e6
        # The clock of the delay starts a little before the first read is seen, never after.
        assert delay_ms - 1 <= best_ms < delay_ms + SLACK_MS * (3 if phase is Phase.BOOT else 1)


@pytest.mark.truth
def test_each_delay_of_a_call_is_in_its_own_phase(sessions: list[Session]) -> None:
    for phase in CALL:
        delay_ms = CALL_MS.get(phase, 0)
        best_ms = min(float(np.median(session.calls[phase])) for session in sessions) / 1e6
        assert delay_ms <= best_ms < delay_ms + 8


@pytest.mark.truth
def test_the_phases_of_every_call_sum_to_its_total(sessions: list[Session]) -> None:
    for session in sessions:
        session.check()
        assert session.complete().all()
        total = sum(session.calls[phase] for phase in CALL)
        assert np.array_equal(total, session.total_ns)
