"""The lsp arm: one real session, and every way in which it can end otherwise."""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING, Any

import pytest

from bench.exchange import Outcome
from bench.phases import CALL, Phase
from bench.plan import Slot
from bench.records import session_of
from bench.runner import Job, Runner
from bench.spec import SessionSpec
from tests.conftest import Ended

if TYPE_CHECKING:
    from tests.conftest import Session

SERVER = (sys.executable, "-P", "-m", "servers.lsp_server")
SILENT = (
    sys.executable,
    "-S",
    "-c",
    """if True:
    import sys
    sys.stdin.readline()
    answer = '{"jsonrpc":"2.0","id":1,"result":{}}'
    print(f"Content-Length: {len(answer)}\\r\\n\\r\\n{answer}", end="", flush=True)
    sys.stdin.read()
    """,
)
LSP: dict[str, Any] = {"argv": SERVER, "transport": "lsp", "close_grace_s": 5.0}


@pytest.fixture(scope="module")
def trace() -> list[bytes]:
    return []


@pytest.fixture(scope="module")
def ended(trace: list[bytes]) -> Ended:
    spec = SessionSpec(**LSP, tool="noop", calls=5, warmups=2, marks=True)
    read_fd, write_fd = os.pipe()
    try:
        (entry,) = Runner(lambda *_: None, write_fd).run([Job(Slot(0, 1, 0), spec)])
    finally:
        os.close(write_fd)
    with os.fdopen(read_fd, "rb") as wire:
        trace += wire.read().splitlines()
    return Ended(entry)


def test_a_session_has_its_phases_and_every_call_its_own(ended: Ended) -> None:
    once = session_of(ended.entry)
    once.check()
    assert list(once.setup) == [Phase.SPAWN, Phase.BOOT, Phase.INITIALIZE, Phase.INITIALIZED]
    assert all(ns > 0 for _, ns in ended.entry.header["setup"])
    assert ended.outcomes == [Outcome.OK] * 5
    assert once.complete().all()
    assert (sum(once.calls[phase] for phase in CALL) == once.total_ns).all()
    assert all((once.calls[phase] >= 0).all() for phase in CALL)
    assert ended.facts["marked_calls"] == 7


def test_nobody_survives_and_the_end_of_stdin_is_enough(ended: Ended) -> None:
    assert ended.facts["escalation"] == "stdin"
    assert not ended.notices


def test_bytes_are_counted_with_their_heads(ended: Ended, trace: list[bytes]) -> None:
    sent, received = (
        [line[3:] for line in trace if line.startswith(arrow)] for arrow in (b"->", b"<-")
    )
    assert ended.facts["messages_sent"] == len(sent) == 9
    assert ended.facts["messages_received"] == len(received) == 8
    assert all(line.startswith(b"{") for line in (*sent, *received))
    own_head = len("Content-Length: 61\r\n\r\n")
    assert ended.column("request_bytes") == [own_head + len(line) for line in sent[-5:]]
    server_head = len(
        "Content-Length: 51\r\nContent-Type: application/vscode-jsonrpc; charset=utf-8\r\n\r\n"
    )
    assert ended.column("response_bytes") == [server_head + len(line) for line in received[-5:]]


@pytest.mark.parametrize(
    ("tool", "arguments", "outcome", "said"),
    [
        ("echo", {"payload": "ü\r\n" * 300_000}, Outcome.OK, None),
        ("get_ticket", {"id": "x"}, Outcome.RPC_ERROR, "-32602 Invalid arguments for get_ticket"),
        ("search_tickets", {"query": "?!"}, Outcome.TOOL_ERROR, "-32803 "),
    ],
)
def test_an_error_is_an_outcome(
    session: Session, tool: str, arguments: dict[str, Any], outcome: Outcome, said: str | None
) -> None:
    ended = session(**LSP, tool=tool, arguments=arguments)
    assert ended.outcomes == [outcome]
    assert (said is None) is ("refused" not in ended.notices)
    assert said is None or said in ended.notices["refused"].text


def test_a_time_out_ends_the_session(session: Session) -> None:
    failure = session(**LSP | {"argv": SILENT, "tool": "noop", "timeout_s": 0.5}).failure
    assert (failure["phase"], failure["cause"]) == ("first_call", "timeout")
    assert "no answer within 0.5 s" in failure["text"]


def test_a_server_that_prints_lines_is_told_what_it_should_write(session: Session) -> None:
    program = "import sys; sys.stdin.readline(); print('hello' * 2000, flush=True); input()"
    argv = (sys.executable, "-P", "-c", program)
    failure = session(**LSP | {"argv": argv, "tool": "noop"}).failure
    assert failure["cause"] == "protocol_error"
    assert "not the head of an LSP message (Content-Length: N): 'hello" in failure["text"]
