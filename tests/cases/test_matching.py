"""Which answer belongs to which request: the raw client over a scripted transport, no process."""

from __future__ import annotations

import json
from collections import deque
from collections.abc import Callable, Iterator
from itertools import count
from typing import Any

import pytest

from bench.clients.raw import RawClient
from bench.clock import Watch
from bench.errors import PeerClosed, SessionError, TimedOut
from bench.exchange import Exchange, Kind, Outcome
from bench.notices import Notice, Notices
from bench.phases import Timeline
from bench.protocol.framing import LineFraming, size_on_wire
from bench.protocol.jsonrpc import ErrorResponse, Message, Response
from bench.protocol.mcp import Connection
from bench.protocol.revisions import STATELESS_REVISION
from bench.transports.base import Arrival, Arrived, Ending

PROGRESS = b'{"jsonrpc":"2.0","method":"notifications/progress","params":{}}\n'


class ScriptedTransport:
    """Gives chunks of bytes as they were written down; an exception in the script is raised."""

    def __init__(
        self,
        *script: bytes | type[Exception],
        limit_bytes: int = 1 << 20,
        clock: Iterator[int] | None = None,
    ) -> None:
        self.framing = LineFraming(limit_bytes)
        self.sent: list[bytes] = []
        self._script = deque(script)
        self._ready: deque[Arrival] = deque()
        self._clock = clock or count(1)

    def open(self, step: Callable[[str], None]) -> Timeline:
        return Timeline(0)

    def settle(self) -> None:
        pass

    def tell(self, data: bytes, *, aside: bool = False) -> None:
        self.send(data)

    def size_bytes(self, message: Arrived) -> int:
        return size_on_wire(message)

    def group(self) -> int:
        return 0

    def destroy(self) -> None:
        pass

    def why_closed(self, said: str, phase: str, done: int) -> SessionError:
        return SessionError(phase, "server_exited", "the script is over")

    def why_silent(self, phase: str, limit_s: float) -> str:
        return "silence"

    def send(self, data: bytes) -> None:
        self.sent.append(data)

    def receive(self) -> Arrival:
        while not self._ready:
            step = self._script.popleft() if self._script else PeerClosed
            if not isinstance(step, bytes):
                raise step
            arrived_ns = next(self._clock)
            self._ready += [(message, arrived_ns) for message in self.framing.feed(step)]
        return self._ready.popleft()

    def close(self) -> Ending:
        return Ending(0, 0, "stdin", "stdin", 0)


def client_over(*script: bytes | type[Exception], **options: Any) -> RawClient:
    transport = ScriptedTransport(*script, **options)
    return RawClient(Connection(STATELESS_REVISION), transport, Watch(30.0), Notices())


def answer(id_: object, text: str = "", **more: Any) -> bytes:
    result = {"content": [{"type": "text", "text": text}]}
    return json.dumps({"jsonrpc": "2.0", "id": id_, "result": result, **more}).encode() + b"\n"


def call(client: RawClient) -> tuple[Exchange, Message | None]:
    return client.exchange(client.connection.template("tools/call", {"name": "x"}), Kind.CALL)


def text_of(message: Message | None) -> str:
    assert isinstance(message, Response)
    return str(message.result["content"][0]["text"])


def notices_of(client: RawClient) -> dict[str, Notice]:
    return {notice.code: notice for notice in client.notices}


@pytest.mark.parametrize("chunk_bytes", [1, 7, 1000])
def test_an_answer_is_known_by_its_id_and_never_by_its_place(chunk_bytes: int) -> None:
    """C28: other answers stand before it, with notifications between."""
    wire = b"".join(PROGRESS + answer(id_, f"answer to {id_}") for id_ in (5, 4, 3, 2, 1))
    chunks = [wire[at : at + chunk_bytes] for at in range(0, len(wire), chunk_bytes)]
    client = client_over(*chunks)
    exchange, message = call(client)
    assert text_of(message) == "answer to 1"
    assert exchange.received_ns == len(chunks)
    assert notices_of(client)["unexpected_answer"].count == 4


def test_an_answer_given_twice_or_to_true_changes_nothing() -> None:
    """C21, C28: True equals 1 in Python and nowhere else."""
    client = client_over(answer(True, "no"), answer(1, "mine"), answer(1, "again"), answer(2))
    assert text_of(call(client)[1]) == "mine"
    assert call(client)[0].outcome is Outcome.OK
    assert notices_of(client)["unexpected_answer"].count == 2


def test_notifications_are_counted_with_bytes_and_time_of_the_first() -> None:
    """C28: what comes between request and answer is no part of the answer."""
    client = client_over(PROGRESS, PROGRESS * 2 + answer(1, "mine"))
    exchange, message = call(client)
    assert text_of(message) == "mine"
    assert (exchange.other_messages, exchange.first_other_ns, exchange.received_ns) == (3, 1, 2)
    assert exchange.other_bytes == 3 * len(PROGRESS)
    assert exchange.response_bytes == len(answer(1, "mine"))


def test_a_late_answer_is_never_credited_to_a_later_call() -> None:
    """C02, C35: the answer to a call that was given up arrives during the next one."""
    client = client_over(TimedOut, answer(1, "late") + answer(2, "mine"))
    exchange, message = call(client)
    assert (exchange.outcome, message) == (Outcome.TIMEOUT, None)
    exchange, message = call(client)
    assert (exchange.outcome, text_of(message)) == (Outcome.OK, "mine")
    assert "not credited to another call" in notices_of(client)["late_answer"].text


def test_a_request_of_the_server_under_our_own_id_is_not_our_answer() -> None:
    """C09: both sides number their requests independently."""
    asked = b'{"jsonrpc":"2.0","id":1,"method":"roots/list"}\n'
    ping = b'{"jsonrpc":"2.0","id":1,"method":"ping"}\n'
    client = client_over(asked, ping, answer(1, "mine"))
    assert text_of(call(client)[1]) == "mine"
    assert isinstance(client.transport, ScriptedTransport)
    refusal, pong = (json.loads(line) for line in client.transport.sent[1:])
    assert refusal["error"]["code"] == -32601
    assert (refusal["id"], pong["id"], pong["result"]) == (1, 1, {})


def test_requests_that_come_at_once_are_timed_one_after_the_other(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """C09: the time spent on them can never be more than the call has."""
    ticks = count(1)
    monkeypatch.setattr("bench.clients.raw.now_ns", lambda: next(ticks))
    asked = b'{"jsonrpc":"2.0","id":1,"method":"roots/list"}\n'
    client = client_over(asked * 3, answer(1), clock=ticks)
    exchange, _ = call(client)
    assert exchange.server_requests == 3
    # Each is parsed and answered, two ticks; the first has its arrival before.
    assert exchange.answering_ns == 3 * 2
    assert exchange.answering_ns < exchange.received_ns - exchange.sent_ns


def test_an_id_of_another_type_ends_the_call_at_once_but_is_no_success() -> None:
    """C21: 7 was sent and "7" came back."""
    client = client_over(answer("1"), answer(2))
    exchange, _ = call(client)
    assert exchange.outcome is Outcome.TRANSPORT_ERROR
    assert notices_of(client)["id_type_changed"].text == "id type changed: sent 1, got '1'"
    assert call(client)[0].outcome is Outcome.OK


def test_an_error_with_id_null_ends_the_only_call_in_flight() -> None:
    """C42: errors with a null id."""
    error = {"code": -32700, "message": "cannot parse"}
    line = json.dumps({"jsonrpc": "2.0", "id": None, "error": error}).encode() + b"\n"
    client = client_over(line)
    exchange, message = call(client)
    assert isinstance(message, ErrorResponse)
    assert exchange.outcome is Outcome.RPC_ERROR
    assert "-32700 cannot parse" in notices_of(client)["null_id_error"].text


BROKEN = {
    b"[%b]\n" % answer(1)[:-1]: "a JSON array (batch answer)",
    b'{"jsonrpc":"2.0","id":1}\n': "an answer with neither result nor error",
    answer(1, error={"code": 1, "message": ""}): "an answer with both result and error",
    answer(1, "\x00").replace(b"\\u0000", b"\xb0\xa1"): "invalid UTF-8 at byte",
    b"\xef\xbb\xbf" + answer(1): "a byte-order mark",
    b"Content-Length: 5\r\n": "Content-Length framing",
    b"{\n": "a message spans lines",
    b"{" * 3 + b"\n": "not JSON",
}


@pytest.mark.parametrize("line", BROKEN, ids=BROKEN.values())
def test_a_broken_answer_costs_its_own_call_and_says_why(line: bytes) -> None:
    """C13, C36, C39, C42: the next call works."""
    client = client_over(line, answer(2, "fine"))
    assert call(client)[0].outcome is Outcome.TRANSPORT_ERROR
    assert BROKEN[line] in notices_of(client)["broken_answer"].text
    assert text_of(call(client)[1]) == "fine"


def test_text_glued_to_a_frame_loses_that_answer_and_says_so() -> None:
    """C38: a banner without a line end."""
    client = client_over(b"Ready. " + answer(1), answer(2))
    assert call(client)[0].outcome is Outcome.TRANSPORT_ERROR
    assert "that answer is lost: 'Ready. {" in notices_of(client)["glued_frame"].text
    assert call(client)[0].outcome is Outcome.OK


def test_a_message_above_the_cap_costs_its_own_call() -> None:
    """C10: counted, not kept."""
    client = client_over(answer(1, "x" * 500), answer(2), limit_bytes=200)
    exchange, _ = call(client)
    assert exchange.outcome is Outcome.TRANSPORT_ERROR
    assert exchange.response_bytes == len(answer(1, "x" * 500))
    assert (
        f"({len(answer(1, 'x' * 500)) - 1} bytes)" in notices_of(client)["message_too_large"].text
    )
    assert call(client)[0].outcome is Outcome.OK


def test_text_of_a_server_is_escaped_before_anyone_sees_it() -> None:
    """C38: what a server says can neither colour the terminal nor break a line or an encoder."""
    method = "\x1b[31mroots\n\ud83d"
    asked = json.dumps({"jsonrpc": "2.0", "id": 1, "method": method}).encode() + b"\n"
    client = client_over(asked, answer(1))
    call(client)
    text = notices_of(client)["server_request"].text
    assert r"asked the client for \x1b[31mroots\n\ud83d;" in text
    assert text.isprintable()
