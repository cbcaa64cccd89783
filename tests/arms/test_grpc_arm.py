"""The grpc arm: one real session, and every way in which it can end otherwise."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from bench.arms import make_peer
from bench.clients.base import Context
from bench.clock import Watch
from bench.errors import SessionError
from bench.exchange import Outcome
from bench.notices import Notices
from bench.phases import CALL, Phase
from bench.plan import Slot
from bench.progress import Progress
from bench.records import session_of
from bench.runner import Job, Runner
from bench.spec import SessionSpec
from servers import grpc_server
from tests.conftest import Ended

if TYPE_CHECKING:
    from tests.conftest import Session

SERVER = (sys.executable, "-P", "-m", "servers.grpc_server", "--port", "{port}")
GRPC: dict[str, Any] = {
    "argv": SERVER,
    "url": "http://127.0.0.1:{port}",
    "transport": "grpc",
    "close_grace_s": 5.0,
}


@pytest.fixture(scope="module")
def ended() -> Ended:
    spec = SessionSpec(**GRPC, tool="noop", calls=5, warmups=2, marks=True)
    (entry,) = Runner(lambda *_: None).run([Job(Slot(0, 1, 0), spec)])
    return Ended(entry)


def test_a_session_has_its_phases_and_every_call_its_own(ended: Ended) -> None:
    once = session_of(ended.entry)
    once.check()
    assert list(once.setup) == [Phase.SPAWN, Phase.BOOT, Phase.CONNECT]
    assert ended.outcomes == [Outcome.OK] * 5
    assert once.complete().all()
    assert (sum(once.calls[phase] for phase in CALL) == once.total_ns).all()
    assert all((once.calls[phase] >= 0).all() for phase in CALL)
    assert ended.facts["marked_calls"] == 7


def test_nobody_survives_and_term_is_enough(ended: Ended) -> None:
    assert ended.facts["escalation"] == "term"
    assert not ended.notices


def test_setup_and_close_are_told_apart(ended: Ended) -> None:
    header = ended.entry.header
    assert all(ns > 0 for _, ns in header["setup"])
    assert [phase for phase, _ in header["close"]] == [Phase.CLOSE]
    assert ended.facts["boot_uncertainty_ns"] > 0


@pytest.mark.parametrize(
    ("tool", "arguments", "outcome", "said"),
    [
        ("echo", {"payload": "ü" * 3_000_000}, Outcome.OK, None),
        ("get_ticket", {"id": "x"}, Outcome.RPC_ERROR, "INVALID_ARGUMENT: id must be of type"),
        ("no-such", {}, Outcome.RPC_ERROR, "NOT_FOUND: Unknown tool: 'no-such'"),
        ("search_tickets", {"query": "?!"}, Outcome.TOOL_ERROR, "FAILED_PRECONDITION: "),
        ("sleep", {"duration_ms": 1200}, Outcome.TIMEOUT, None),
    ],
)
def test_a_status_is_an_outcome(
    session: Session, tool: str, arguments: dict[str, Any], outcome: Outcome, said: str | None
) -> None:
    limit_s = 0.8 if outcome is Outcome.TIMEOUT else 30.0
    ended = session(
        **GRPC | {"close_grace_s": 0.2}, tool=tool, arguments=arguments, timeout_s=limit_s
    )
    assert ended.outcomes == [outcome]
    assert (said is None) is ("refused" not in ended.notices)
    assert said is None or said in ended.notices["refused"].text


def test_a_server_that_dies_in_a_call_ends_the_session(session: Session) -> None:
    die = "import servers.tools as t, os; t.TOOLS['noop'] = t.TOOLS['noop']._replace("
    die += "function=lambda: os._exit(3)); from servers.grpc_server import main; main()"
    argv = (sys.executable, "-P", "-c", die, "--port", "{port}")
    failure = session(**GRPC | {"argv": argv}, tool="noop", calls=3).failure
    assert (failure["phase"], failure["cause"]) == ("first_call", "server_exited")
    assert "exit code 3" in failure["text"]


def test_a_server_that_speaks_no_grpc_is_told_so(session: Session) -> None:
    argv = (sys.executable, "-P", "-m", "http.server", "{port}", "--bind", "127.0.0.1")
    failure = session(**GRPC | {"argv": argv}, tool="noop", timeout_s=1.0).failure
    assert (failure["phase"], failure["cause"]) == ("connect", "timeout")
    assert "speaks no gRPC" in failure["text"]


def test_without_the_package_the_session_says_how_to_get_it(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setitem(sys.modules, "grpc", None)
    monkeypatch.delitem(sys.modules, "bench.clients.grpc", raising=False)
    spec = SessionSpec(**GRPC, tool="noop")
    progress = Progress(tmp_path / "progress")
    with pytest.raises(SessionError, match=r"pip install '\.\[grpc\]'"):
        make_peer(Context(spec, Watch(1.0), Notices(), progress), {}, None)
    progress.close()


def test_a_request_that_is_no_call_is_refused() -> None:
    for data in (b"\xff", b"[]", b"{}", json.dumps({"name": 5}).encode(), b"[" * 100_000):
        with pytest.raises(grpc_server.BadArguments):
            grpc_server.answer(data)
