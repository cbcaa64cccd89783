"""Legacy HTTP+SSE against a real server: two sockets, two stamps, and what can go wrong on each."""

from __future__ import annotations

import re
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
import trustme

from bench.exchange import DECODED_NS, START_NS, Outcome
from bench.phases import Phase
from bench.protocol.framing import Oversized
from bench.protocol.http import Url
from bench.protocol.http_sse import SseBinding
from bench.records import session_of

if TYPE_CHECKING:
    from conftest import Alive, Ended, Session

SERVER = str(Path(__file__).with_name("sse_server.py"))
SHORT_S = 1.0
"""A limit that is meant to be met; the server has to boot within it all the same."""
SETUP = [
    Phase.SPAWN,
    Phase.BOOT,
    Phase.CONNECT,
    Phase.DISCOVER,
    Phase.INITIALIZE,
    Phase.INITIALIZED,
    Phase.TOOLS_LIST,
]


class Arm:
    """Runs sessions over HTTP+SSE; each of them leaves nobody."""

    def __init__(self, session: Session, alive: Alive) -> None:
        self._session = session
        self._alive = alive

    def __call__(self, mode: str, *words: str, scheme: str = "http", **changes: Any) -> Ended:
        values: dict[str, Any] = {
            "tool": "echo",
            "arguments": {"payload": "Wörter"},
            "transport": "sse",
            "revision": "2024-11-05",
            "url": f"{scheme}://127.0.0.1:{{port}}/sse",
            **changes,
        }
        argv = (sys.executable, "-S", SERVER, mode, "{port}", *words)
        ended = self._session(argv=argv, env=self._alive.env, **values)
        assert self._alive.all_gone(1)
        notices = ended.entry.header.get("notices", [])
        assert "survivors" not in [notice["code"] for notice in notices]
        return ended


@pytest.fixture
def sse(session: Session, alive: Alive) -> Arm:
    return Arm(session, alive)


@pytest.mark.parametrize(
    ("mode", "revision"), [("relative", "2024-11-05"), ("absolute", "2025-11-25")]
)
def test_a_session_has_its_phases_and_two_stamps_per_call(
    sse: Arm, mode: str, revision: str
) -> None:
    ended = sse(mode, calls=10, warmups=2, revision=revision)
    result = session_of(ended.entry)
    assert list(result.setup) == SETUP
    assert min(result.setup.values()) > 0
    assert 0 < ended.facts["post_connect_ns"] < result.setup[Phase.DISCOVER]
    assert result.outcomes == {"ok": 10}
    assert set(result.calls) == {Phase.ENCODE, Phase.SERVER, Phase.DECODE}
    totals = ended.calls[:, DECODED_NS] - ended.calls[:, START_NS]
    assert np.array_equal(result.total_ns, totals)
    assert len(result.accepted_ns) == 10
    assert (result.accepted_ns > 0).all()
    assert len(result.protocol_probe_ns) == len(result.dispatch_probe_ns) == 2
    assert result.close_ns
    assert result.notices == []
    assert (ended.facts["connections"], ended.facts["escalation"]) == (2, "term")
    assert ended.facts["agreed_revision"] == revision


def test_the_clock_of_a_call_stops_at_the_event_and_never_at_the_202(sse: Arm) -> None:
    result = session_of(sse("take-turns", calls=2).entry)
    assert result.accepted_ns[0] - result.total_ns[0] >= 10e6
    assert result.total_ns[1] - result.accepted_ns[1] >= 10e6


def test_a_post_goes_to_the_endpoint_without_headers_of_later_transports() -> None:
    binding = SseBinding(Url.parse("http://h:1/a/sse"), {"X-Key": "k"}, "2025-11-25")
    binding.follow(b"messages/?session_id=7")
    binding.agree("2025-11-25")
    head = binding.message(b'{"jsonrpc":"2.0"}\n').decode().partition("\r\n\r\n")[0].lower()
    assert head.startswith("post /a/messages/?session_id=7 http/1.1\r\nhost: h:1\r\nx-key: k\r\n")
    assert "mcp-" not in head


ENDPOINT_FAULTS = {
    "other-host": "leads to another origin than http://127.0.0.1:",
    "not-found": "GET /sse opened no event stream: HTTP 404",
    "html": "GET /sse opened no event stream: HTTP 200 (content type text/html)",
}


@pytest.mark.parametrize("mode", ENDPOINT_FAULTS)
def test_a_way_that_cannot_be_gone_ends_the_session(sse: Arm, mode: str) -> None:
    failure = sse(mode).failure
    assert (failure["phase"], failure["cause"]) == ("discover", "protocol_error")
    assert ENDPOINT_FAULTS[mode] in failure["text"]


NOT_FOLLOWED = {
    b"": "no URL: ''",
    b"/post me": "no URL: '/post me'",
    b"/a\nX: y": "no URL",
    "/ä".encode(): "no URL",
    b"\xff": "no URL",
    b"http://h:99999/": "no URL of a server",
    b"ftp://h/": "no URL of a server",
    b"https://h/": "another origin than http://h, refused: 'https://h/'",
    b"http://h:81/": "another origin",
    b"//example.com/": "another origin",
    Oversized(9): "too large",
}


@pytest.mark.parametrize("said", NOT_FOLLOWED)
def test_what_is_no_way_to_the_same_server_is_not_followed(said: bytes | Oversized) -> None:
    binding = SseBinding(Url.parse("http://h/sse"), {}, "2024-11-05")
    with pytest.raises(ValueError, match=re.escape(NOT_FOLLOWED[said])):
        binding.follow(said)
    assert binding.url.path == "/sse"


def test_a_stream_without_an_endpoint_is_a_sentence(sse: Arm) -> None:
    failure = sse("pings", timeout_s=SHORT_S).failure
    assert (failure["phase"], failure["cause"]) == ("discover", "timeout")
    assert "no endpoint event (2 other events seen)" in failure["text"]


def test_a_stream_that_ends_before_its_endpoint_is_a_sentence(sse: Arm) -> None:
    failure = sse("end-early").failure
    assert (failure["phase"], failure["cause"]) == ("discover", "unreachable")
    assert "the event stream ended; 2 events, no endpoint event" in failure["text"]


def test_a_post_that_is_refused_ends_the_exchange(sse: Arm) -> None:
    ended = sse("refuse", calls=2)
    assert ended.outcomes == [Outcome.TRANSPORT_ERROR] * 2
    assert ended.column("accepted_ns") == [0, 0]
    notice = ended.notices["refused"]
    assert (notice.facts["text"], notice.count) == ("HTTP 503: the server failed: 'full'", 2)


def test_a_post_whose_connection_ends_is_not_sent_again(sse: Arm) -> None:
    ended = sse("hang-up", calls=2)
    assert ended.outcomes == [Outcome.TRANSPORT_ERROR] * 2
    assert "without accepting it" in ended.notices["connection_reset"].text


@pytest.mark.parametrize(
    ("mode", "notice"),
    [("close-each", "connection_not_reused"), ("hang-up-idle", "connection_ended")],
)
def test_a_connection_that_was_closed_is_replaced(sse: Arm, mode: str, notice: str) -> None:
    ended = sse(mode, calls=3)
    assert ended.outcomes == [Outcome.OK] * 3
    assert all(ended.column("accepted_ns"))
    assert notice in ended.notices
    assert ended.facts["connections"] >= 4


def test_a_202_that_never_comes_is_waited_for_once_outside_the_clock(sse: Arm) -> None:
    ended = sse("never-accept", calls=1)
    result = session_of(ended.entry)
    assert ended.outcomes == [Outcome.OK]
    assert result.total_ns[0] < 0.9e9
    assert len(result.accepted_ns) == 0
    assert "was not accepted (HTTP 202) within 1 s" in ended.notices["not_accepted"].text


def test_an_answer_that_never_comes_is_a_timeout(sse: Arm) -> None:
    ended = sse("never-answer", calls=1, timeout_s=SHORT_S)
    assert ended.outcomes == [Outcome.TIMEOUT]


def test_a_silent_stream_is_a_sentence_that_names_the_202(sse: Arm) -> None:
    failure = sse("never-initialize", timeout_s=SHORT_S).failure
    assert (failure["phase"], failure["cause"]) == ("initialize", "timeout")
    assert "on the event stream within 1 s (--timeout); the POST got HTTP 202" in failure["text"]


@pytest.mark.parametrize(
    ("mode", "cause"), [("end-stream", "unreachable"), ("die", "server_exited")]
)
def test_the_end_of_the_stream_ends_the_session(sse: Arm, mode: str, cause: str) -> None:
    assert sse(mode, calls=2).failure["cause"] == cause


def test_a_question_of_the_server_is_answered_over_another_connection(sse: Arm) -> None:
    ended = sse("ask", calls=2)
    assert ended.outcomes == [Outcome.OK] * 2
    assert ended.column("other_messages") == [1, 1]
    assert all(ended.column("accepted_ns"))
    assert ended.facts["connections"] == 3


def certificate(folder: Path) -> tuple[list[str], str]:
    """Make a certificate for this machine; return its files for the server and its authority."""
    authority = trustme.CA()
    own = authority.issue_cert("127.0.0.1")
    chain, key, ca_file = (folder / name for name in ("chain.pem", "key.pem", "ca.pem"))
    own.cert_chain_pems[0].write_to_path(chain)
    own.private_key_pem.write_to_path(key)
    authority.cert_pem.write_to_path(ca_file)
    return [str(chain), str(key)], str(ca_file)


@pytest.mark.parametrize("scheme", ["http", "https"])
def test_large_messages_pass_both_ways(sse: Arm, scheme: str, tmp_path: Path) -> None:
    files, ca_file = certificate(tmp_path) if scheme == "https" else ([], None)
    payload = {"payload": "x" * 3_000_000}
    ended = sse("relative", *files, scheme=scheme, ca_file=ca_file, arguments=payload)
    assert ended.outcomes == [Outcome.OK]
    assert all(ended.column("accepted_ns"))
    assert min(ended.column("response_bytes")) > 3_000_000
    assert ended.facts["connections"] == 2
    assert (Phase.TLS in session_of(ended.entry).setup) == (scheme == "https")


def test_a_revision_without_a_handshake_is_refused(session: Session) -> None:
    url, argv = "http://127.0.0.1:1/sse", ("true",)
    ended = session(argv=argv, transport="sse", url=url, revision="2026-07-28")
    assert "HTTP+SSE cannot carry revision 2026-07-28" in ended.failure["text"]
