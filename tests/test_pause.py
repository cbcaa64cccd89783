"""Pacing: time that goes by between exchanges is in the gaps, never in the calls."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

import bench
from bench.exchange import Outcome
from bench.records import session_of
from bench.suite_file import parse_suite

if TYPE_CHECKING:
    from conftest import Cli, Session

PAUSE_S = 0.05
PEERS: dict[str, dict[str, Any]] = {
    "raw": {},
    "library": {"client": "sdk"},
    "in-process": {"argv": (), "transport": "inproc", "client": "direct", "tool": "noop"},
}


@pytest.mark.parametrize("peer", PEERS)
def test_every_client_waits_between_exchanges_and_outside_the_clock(
    session: Session, peer: str
) -> None:
    ended = session(calls=3, warmups=1, pause_s=PAUSE_S, **PEERS[peer])
    assert ended.outcomes == [Outcome.OK] * 3
    gap_ns = session_of(ended.entry).gap_ns
    assert (gap_ns >= PAUSE_S * 1e9).all()


def test_a_pause_is_no_time_of_the_calls(session: Session) -> None:
    ended = session(calls=3, warmups=1, pause_s=PAUSE_S, **PEERS["in-process"])
    assert session_of(ended.entry).facts["calls_wall_ns"] < 3 * PAUSE_S * 1e9


def test_a_suite_and_a_flag_give_the_pause_and_the_result_tells_it(cli: Cli) -> None:
    suite = parse_suite('pause_s = 1.5\n[[cell]]\nserver = "minimal"\n', "s.toml", "s")
    assert suite.spec(suite.cells[0]).pause_s == 1.5
    done = cli.run(*cli.measure("good", options="--pause 0.01"))
    assert done.returncode == 0, done.stderr
    assert "per cell, a pause of 0.01 s between calls" in done.stdout
    assert bench.load(cli.folder / "out.json").run["pause_s"] == 0.01
