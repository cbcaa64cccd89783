"""The raw client: protocol and transport joined, blocking, with a stamp at each boundary.

The timed region is :meth:`RawClient.exchange`, from ``encode_ns`` to ``decoded_ns``; it holds
the exchange and nothing else. What the answer means is looked at after the clock stopped.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from bench.clock import IDLE, Watch, now_ns
from bench.errors import TimedOut
from bench.exchange import Exchange, Kind, Outcome
from bench.notices import Notices, printable
from bench.protocol.binding import Binding, Encoder, LineBinding
from bench.protocol.framing import Oversized, Refused
from bench.protocol.jsonrpc import (
    ErrorResponse,
    Malformed,
    Message,
    Notification,
    Request,
    Response,
    parse,
    same_id,
    wrong_framing,
)
from bench.protocol.mcp import Connection
from bench.transports.base import Arrival, Arrived, Transport


class RawClient:
    """One connection over one transport.

    ``messages_sent`` and ``messages_received`` count everything on the wire. Requests that were
    given up are remembered with the time they were sent, so that a late answer is known as such.
    """

    def __init__(
        self,
        connection: Connection,
        transport: Transport,
        watch: Watch,
        notices: Notices,
        binding: Binding | None = None,
    ) -> None:
        self.connection = connection
        self.binding = binding or LineBinding()
        self.transport = transport
        self.notices = notices
        self.messages_sent = 0
        self.messages_received = 0
        self.bytes_sent = 0
        self.bytes_received = 0
        self._watch = watch
        self._accepted_ns: Callable[[], int] | None = getattr(transport, "accepted_ns", None)
        self._abandoned: dict[int, int] = {}
        self._answered_ns = 0

    def exchange(
        self,
        template: Encoder,
        kind: Kind,
        after_send: Callable[[], None] | None = None,
        reopen: Callable[[], None] | None = None,
    ) -> tuple[Exchange, Message | None]:
        """Send one request and wait for its answer, which is None after a time-out.

        ``after_send`` runs between the two, for what can be seen only then; ``reopen`` runs before
        the request and is a part of the call. Raises :class:`~bench.errors.PeerClosed` where the
        server is gone.
        """
        watch, transport = self._watch, self.transport
        watch.begin()
        transport.settle()
        start_ns = 0
        if reopen is not None:
            watch.started_ns = start_ns = now_ns()
            reopen()
        request_id = self.connection.next_id()
        watch.started_ns = encode_ns = now_ns()
        frame = template.encode(request_id)
        sent_ns = now_ns()
        try:
            transport.send(frame)
            if after_send is not None:
                after_send()
            line, received_ns = transport.receive()
            answer = _parse(line)
            decoded_ns = now_ns()
            done = Exchange(kind, encode_ns, sent_ns, len(frame))
            while not self._answers(request_id, answer, line):
                self._count_other(done, answer, line, received_ns)
                line, received_ns = transport.receive()
                answer = _parse(line)
                decoded_ns = now_ns()
        except TimedOut:
            return self._give_up(request_id, Exchange(kind, encode_ns, sent_ns, len(frame)))
        watch.started_ns = IDLE
        done.received_ns, done.decoded_ns, done.start_ns = received_ns, decoded_ns, start_ns
        if self._accepted_ns is not None:
            done.accepted_ns = self._accepted_ns()
        done.response_bytes = transport.size_bytes(line)
        done.outcome = judge(answer)
        self._count_sent(frame)
        self._count_received(line)
        return done, answer

    def notify(self, line: bytes, *, aside: bool = False) -> None:
        """Send a notification (or an answer): done when the transport has taken it.

        ``aside``: while the answer to a request of ours is awaited, whose time limit goes on.
        """
        if not aside:
            self._watch.begin()
        frame = self.binding.message(line)
        self.transport.tell(frame, aside=aside)
        if not aside:
            self._watch.started_ns = IDLE
        self._count_sent(frame)

    def account(self, late: tuple[Arrival, ...]) -> dict[str, int]:
        """Count what still came while the server was being closed; return the whole traffic."""
        for line, ns in late:
            self._count_received(line)
            self._receive_other(_parse(line), line, ns, closing=True)
        return {
            "messages_sent": self.messages_sent,
            "messages_received": self.messages_received,
            "bytes_sent": self.bytes_sent,
            "bytes_received": self.bytes_received,
        }

    def _give_up(self, request_id: int, exchange: Exchange) -> tuple[Exchange, None]:
        exchange.outcome = Outcome.TIMEOUT
        exchange.received_ns = exchange.decoded_ns = now_ns()
        self._abandoned[request_id] = exchange.sent_ns
        self.messages_sent += 1
        self.bytes_sent += exchange.request_bytes
        return exchange, None

    def _answers(self, request_id: int, answer: Message, line: Arrived) -> bool:
        """Whether ``answer`` ends the wait for ``request_id``. The first test is the common one."""
        if type(answer) is Response and answer.id == request_id and type(answer.id) is int:
            return True
        if isinstance(answer, Response | ErrorResponse):
            return self._answers_by_id(request_id, answer)
        if isinstance(answer, Malformed):
            return self._answers_though_broken(request_id, answer, line)
        return False

    def _answers_by_id(self, request_id: int, answer: Response | ErrorResponse) -> bool:
        if same_id(request_id, answer.id):
            return True
        if isinstance(answer, ErrorResponse) and answer.id is None:
            self.notices.add("null_id_error", text=f"{answer.code} {answer.message}")
            return True
        if str(answer.id) == str(request_id):
            self.notices.add("id_type_changed", sent=repr(request_id), got=repr(answer.id))
            return True
        return False

    def _answers_though_broken(self, request_id: int, answer: Malformed, line: Arrived) -> bool:
        if isinstance(line, Oversized):
            self.notices.add(
                "message_too_large", size_bytes=line.size_bytes, limit_bytes=self.limit_bytes
            )
            return True
        if isinstance(line, Refused):
            self.notices.add(line.code, text=line.text)
            return True
        misframed = wrong_framing(line) is not None
        glued = answer.kind == "not_json" and b'"jsonrpc"' in line and not line.startswith(b"{")
        if glued and not misframed:
            self.notices.add("glued_frame", text=printable(line))
            return True
        # An object that does not even claim to be JSON-RPC (a log line, a heartbeat) is no answer.
        object_ = line.lstrip()[:1] == b"{"
        claims = answer.kind != "not_jsonrpc" or answer.id is not None or b'"jsonrpc"' in line
        meant = misframed or answer.kind == "batch" or (object_ and claims)
        if meant and (answer.id is None or same_id(request_id, answer.id)):
            self.notices.add("broken_answer", reason=answer.reason)
            return True
        return False

    @property
    def limit_bytes(self) -> int:
        """The longest message that is kept."""
        keeper = getattr(self.transport, "framing", self.transport)
        return int(getattr(keeper, "limit_bytes", 0))

    def _count_other(self, exchange: Exchange, message: Message, line: Arrived, ns: int) -> None:
        if not exchange.other_messages:
            exchange.first_other_ns = ns
        exchange.other_messages += 1
        exchange.other_bytes += self.transport.size_bytes(line)
        self._count_received(line)
        self._receive_other(message, line, ns)
        if isinstance(message, Request):
            # Several that came at once are answered one after the other: no time counts twice.
            begun_ns, self._answered_ns = max(ns, self._answered_ns), now_ns()
            exchange.server_requests += 1
            exchange.answering_ns += self._answered_ns - begun_ns

    def _receive_other(
        self, message: Message, line: Arrived, ns: int, *, closing: bool = False
    ) -> None:
        """Deal with a message that is not the answer awaited: count it, answer it, or note it."""
        match message:
            case Request():
                self.notices.add("server_request", method=message.method)
                if not closing:
                    self.notify(self.connection.answer(message), aside=True)
            case Notification():
                pass
            case Response(id=got) | ErrorResponse(id=got):
                self._receive_stray(got, ns)
            case Malformed(kind="blank"):
                self.notices.add("blank_line")
            case Malformed():
                self._note_pollution(line)

    def _receive_stray(self, got: object, ns: int) -> None:
        sent_ns = self._abandoned.get(got) if type(got) is int else None
        if sent_ns is None:
            self.notices.add("unexpected_answer", got=repr(got))
        else:
            self.notices.add("late_answer", age_ms=round((ns - sent_ns) / 1e6, 1))

    def _note_pollution(self, line: Arrived) -> None:
        if not isinstance(self.binding, LineBinding):
            text = printable(line) if isinstance(line, bytes) else _lost(line).reason
            self.notices.add("not_a_message", text=text)
            return
        self.notices.add(
            "stdout_pollution",
            line=self.messages_received,
            when="before initialize was answered"
            if self.connection.agreed is None
            else "after initialize was answered",
            text=printable(line) if isinstance(line, bytes) else _lost(line).reason,
        )

    def _count_sent(self, frame: bytes) -> None:
        self.messages_sent += 1
        self.bytes_sent += len(frame)

    def _count_received(self, line: Arrived) -> None:
        self.messages_received += 1
        self.bytes_received += self.transport.size_bytes(line)


def judge(answer: Message) -> Outcome:
    """Return the outcome that an answer stands for (never guessed from its text)."""
    if type(answer) is Response and type(answer.id) is int and type(answer.result) is dict:
        result = answer.result  # the common one, without the patterns: calls follow closely
        if "isError" not in result and "resultType" not in result:
            return Outcome.OK
    match answer:
        case Response(id=str()):
            return Outcome.TRANSPORT_ERROR  # every id of ours is an integer
        case Response(result=dict() as result):
            if result.get("isError") is True:
                return Outcome.TOOL_ERROR
            return _judge_result_type(result)
        case ErrorResponse():
            return Outcome.RPC_ERROR
        case _:
            return Outcome.TRANSPORT_ERROR


def _judge_result_type(result: dict[str, Any]) -> Outcome:
    # Absent means complete, for servers older than the field (specification 2026-07-28, basic).
    result_type = result.get("resultType", "complete")
    if result_type == "complete":
        return Outcome.OK
    return Outcome.INPUT_REQUIRED if result_type == "input_required" else Outcome.TRANSPORT_ERROR


def _parse(line: Arrived) -> Message:
    if isinstance(line, bytes):
        return parse(line)
    return _lost(line)


def _lost(message: Oversized | Refused) -> Malformed:
    if isinstance(message, Refused):
        return Malformed("refused", message.text)
    return Malformed("oversized", f"message too large ({message.size_bytes} bytes)")
