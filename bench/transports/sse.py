"""Legacy HTTP+SSE: messages are POSTed over one socket, all answers come as events over another.

A call is answered by its event; the clock of the call stops there. The POST's own response (202)
may come before or after the event and is stamped apart, when its socket has become readable, or
when the call is over and somebody looks.

Neither socket blocks: over TLS a socket can be readable and have nothing to say.
"""

from __future__ import annotations

import contextlib
import select
import socket
import ssl
import time
from collections.abc import Callable, Collection

from bench.clock import now_ns
from bench.errors import PeerClosed, SessionError
from bench.notices import Notices
from bench.phases import Phase, Timeline
from bench.protocol.framing import DEFAULT_LIMIT_BYTES, Refused
from bench.protocol.http import Response, refusal
from bench.protocol.http_sse import SseBinding
from bench.transports.base import Arrival, Ending
from bench.transports.http import HttpConnection
from bench.transports.served import Served, ServedTransport

ACCEPT_S = 1.0
"""How long the 202 may take once the answer is there, and its rest once the 202 is there."""
LOST_NOTICE_S = 0.1
"""How long to look whether a server that dropped a POST has ended its stream too."""
_NOT_NOW = (BlockingIOError, ssl.SSLWantReadError, ssl.SSLWantWriteError)


class SseTransport(ServedTransport):
    """Moves the messages of one session over two sockets, the stream and a kept one for POSTs."""

    def __init__(
        self,
        served: Served,
        binding: SseBinding,
        notices: Notices,
        *,
        limit_bytes: int = DEFAULT_LIMIT_BYTES,
    ) -> None:
        super().__init__(served)
        self.binding = binding
        self._notices = notices
        self._limit_bytes = limit_bytes
        self._stream: HttpConnection | None = None
        self._post: HttpConnection | None = None
        self._aside: HttpConnection | None = None
        self._found = False
        self._other_events = 0
        self._readable_ns = 0
        self._accepted_ns = 0
        self._refused: Refused | None = None
        self._counted_bytes = 0
        self._finished_bytes = 0

    def open(self, step: Callable[[str], None]) -> Timeline:
        """Start or reach the server, open the stream, learn the endpoint, connect to it."""
        connection, timeline = self.served.open(step)
        step(Phase.DISCOVER)
        self._stream = stream = self._connection(connection)
        stream.send(self.binding.stream())
        self._find_endpoint(stream)
        found_ns = now_ns()
        self._connect()
        timeline.end(Phase.DISCOVER, now_ns())
        self.served.facts["post_connect_ns"] = timeline.end_ns - found_ns
        return timeline

    def settle(self) -> None:
        """Drain both sockets; replace a POST connection that has ended or is still held up."""
        stream = self._opened()
        while _readable([stream.socket], 0):
            self._take_event()
        stream.reader.events.clear()
        post = self._post
        if post is not None:
            drained = self._drain(post)
            reusable = drained and _reusable(post.reader.response)
            if not reusable or not _alive(post):
                response = post.reader.response
                if response is not None and response.complete:
                    self._notices.add("connection_ended" if reusable else "connection_not_reused")
                self._drop()
        if self._post is None:
            self._connect()
        self._refused, self._readable_ns, self._accepted_ns = None, 0, 0

    def send(self, data: bytes) -> None:
        """POST one message."""
        post = self._post
        if post is None:
            raise PeerClosed
        while post.busy:  # several at once: one connection, so one after the other
            self._pump([post])
        post.reader.response = None
        post.busy = True
        self._accepted_ns = 0
        self._send(post, data)

    def receive(self) -> Arrival:
        """Return the next event's message, or what stands in place of an answer."""
        stream = self._opened()
        while not stream.ready:
            if self._refused is not None:
                refused, self._refused = self._refused, None
                return self._arrived((refused, now_ns()))
            self._pump([self._post])
        return self._arrived(stream.ready.popleft())

    def accepted_ns(self) -> int:
        """Return when the last POST was accepted, waiting for that; 0 where it was not.

        For after the clock of a call has stopped.
        """
        deadline = time.monotonic() + ACCEPT_S
        while (post := self._post) is not None and post.busy and not self._accepted_ns:
            rest_s = deadline - time.monotonic()
            if rest_s <= 0:
                self._notices.add("not_accepted", limit_s=ACCEPT_S)
                self._drop()
            elif self._readable_ns or _readable([post.socket], rest_s):
                # The call has its answer, even where the server has ended since.
                with contextlib.suppress(PeerClosed):
                    self._take_response(post, now_ns())
        if self._refused is not None:
            # The answer came all the same, and ended the call.
            self._notices.add(self._refused.code, text=self._refused.text)
            self._refused = None
        self._account()
        return self._accepted_ns

    def tell(self, data: bytes, *, aside: bool = False) -> None:
        """POST a notification or an answer of ours; done when it is accepted.

        ``aside`` of a call whose own POST may not be accepted yet: over another connection.
        """
        if aside:
            if self._aside is None or self._aside.busy or not _alive(self._aside):
                self._close_aside()
                self._aside = self._connection(self.served.connect())
            connection = self._aside
        else:
            self.settle()
            assert self._post is not None
            connection = self._post
        connection.reader.response = None
        connection.busy = True
        self._send(connection, data)
        while connection.busy:
            self._pump({connection, self._post})
        if not aside:
            self._refused = None
        _check_told(connection)

    def close(self) -> Ending:
        """Close the stream and end the server."""
        start_ns = now_ns()
        self._close_sockets()
        return self.served.end(start_ns)

    def why_silent(self, phase: str, limit_s: float) -> str:
        """Say how far the server came."""
        if phase == Phase.BOOT:
            return f"the server did not accept a connection within {limit_s:g} s (--timeout)"
        if phase == Phase.DISCOVER and not self._found:
            seen = f"{self._other_events} other events seen"
            return f"no endpoint event ({seen}) within {limit_s:g} s (--timeout)"
        response = self._post.reader.response if self._post is not None else None
        status = response.status if response is not None else 0
        got = f"the POST got HTTP {status}" if status else "the POST itself got no answer either"
        return f"no answer on the event stream within {limit_s:g} s (--timeout); {got}"

    def _find_endpoint(self, stream: HttpConnection) -> None:
        alive = True
        while alive:
            _readable([stream.socket])
            alive = _take(stream) and not _ended(stream)
            response = stream.reader.response
            if response is not None and response.status:
                self._check_stream(response)
            while stream.reader.events:
                event = stream.reader.events.popleft()
                if event.name != "endpoint":
                    self._other_events += 1
                    continue
                try:
                    self.binding.follow(event.data)
                except ValueError as error:
                    raise SessionError(Phase.DISCOVER, "protocol_error", str(error)) from None
                self._found = True
                return
        raise PeerClosed(f"the event stream ended; {self._other_events} events, no endpoint event")

    def _check_stream(self, response: Response) -> None:
        status, kind = response.status, response.content_type
        if status == 200 and kind.startswith(b"text/event-stream"):
            return
        what = f"HTTP {status} (content type {kind.decode('latin-1') or 'none'})"
        if status not in (200, 405):
            what = refusal(response, b"")
        text = f"GET {self.binding.url.path} opened no event stream: {what}"
        raise SessionError(Phase.DISCOVER, "protocol_error", text)

    def _pump(self, posts: Collection[HttpConnection | None]) -> None:
        """Wait until something comes, and take it: the stream first, its events end the clock."""
        stream = self._opened()
        awaited = [post for post in posts if post is not None and post.busy]
        ready = _readable([stream.socket, *(post.socket for post in awaited)])
        ready_ns = now_ns()
        if stream.socket in ready:
            self._take_event()
            if stream.ready:
                if self._post in awaited and self._post.socket in ready:
                    self._readable_ns = self._readable_ns or ready_ns
                return
        for post in awaited:
            if post.socket in ready:
                self._take_response(post, ready_ns)

    def _take_event(self) -> None:
        stream = self._opened()
        if not _take(stream) or _ended(stream):
            raise PeerClosed("the server ended the event stream")

    def _take_response(self, post: HttpConnection, ns: int) -> None:
        """Take what came in response to a POST; ``ns`` is when it was there, if not before."""
        own = post is self._post
        if own:
            ns, self._readable_ns = self._readable_ns or ns, 0
        awaited, alive = post.busy, _take(post)
        response = post.reader.response
        if own and response is not None and 200 <= response.status < 300:
            self._accepted_ns = self._accepted_ns or ns
        if awaited and not alive and (response is None or not response.complete):
            self._lose(post)
        elif own and not post.busy and response is not None and response.status >= 300:
            self._refused = _refused(response)

    def _lose(self, post: HttpConnection) -> None:
        """Take note of a connection that ended before its response; perhaps all has ended."""
        post.busy = False
        if post is self._post and not self._accepted_ns:
            text = "the server closed the connection of a POST without accepting it; not sent again"
            self._refused = Refused(0, text, "connection_reset")
        if _readable([self._opened().socket], LOST_NOTICE_S):
            self._take_event()

    def _send(self, post: HttpConnection, data: bytes) -> None:
        """Send all of ``data``, reading meanwhile; less where the peer answers or hangs up."""
        stream, rest = self._opened(), memoryview(data)
        while True:
            try:
                rest = rest[post.socket.send(rest) :]
            except _NOT_NOW:
                pass
            except (BrokenPipeError, ConnectionResetError, ssl.SSLError):
                return
            if not rest:
                return
            ready, _, _ = select.select([stream.socket, post.socket], [post.socket], [])
            ns = now_ns()
            if stream.socket in ready:
                self._take_event()
            if post.socket in ready:
                self._take_response(post, ns)
                if not post.busy:
                    return

    def _drain(self, post: HttpConnection) -> bool:
        """Take the rest of a response; whether it came to its end in time."""
        deadline = time.monotonic() + ACCEPT_S
        while post.busy:
            rest_s = deadline - time.monotonic()
            if rest_s <= 0 or not _readable([post.socket], rest_s):
                return False
            self._take_response(post, now_ns())
        post.ready.clear()
        return True

    def _arrived(self, arrival: Arrival) -> Arrival:
        self._size_bytes = 0
        self._account()
        return arrival

    def _account(self) -> None:
        """Charge what was read since to the message that was received last."""
        read_bytes = self._finished_bytes + self._opened().received_bytes
        if self._post is not None:
            read_bytes += self._post.received_bytes
        self._size_bytes += read_bytes - self._counted_bytes
        self._counted_bytes = read_bytes

    def _opened(self) -> HttpConnection:
        if self._stream is None:
            raise PeerClosed
        return self._stream

    def _connect(self) -> None:
        self._post = self._connection(self.served.connect())

    def _connection(self, connection: socket.socket) -> HttpConnection:
        connection.setblocking(False)
        return HttpConnection(connection, self._limit_bytes)

    def _drop(self) -> None:
        if self._post is not None:
            self._finished_bytes += self._post.received_bytes
            self._post.close()
            self._post = None

    def _close_aside(self) -> None:
        if self._aside is not None:
            self._aside.close()
            self._aside = None

    def _close_sockets(self) -> None:
        if self._stream is not None:
            self._stream.close()
        self._drop()
        self._close_aside()


def _readable(sockets: list[socket.socket], limit_s: float | None = None) -> list[socket.socket]:
    return select.select(sockets, [], [], limit_s)[0]


def _take(connection: HttpConnection) -> bool:
    """Take what a socket that is readable has to say; False at its end."""
    with contextlib.suppress(*_NOT_NOW):
        connection.read()
    return connection.open


def _ended(stream: HttpConnection) -> bool:
    """Whether a stream has come to its end, though its connection may be open."""
    response = stream.reader.response
    return response is not None and response.complete


def _alive(connection: HttpConnection) -> bool:
    """Whether an idle connection is open, and has said nothing that nobody asked for."""
    known_bytes = connection.received_bytes
    while _readable([connection.socket], 0):
        if not _take(connection) or connection.received_bytes > known_bytes:
            return False
    return True


def _reusable(response: Response | None) -> bool:
    return response is None or (response.complete and response.keep_alive)


def _check_told(connection: HttpConnection) -> None:
    connection.ready.clear()
    response = connection.reader.response
    if response is None or not response.status:
        raise PeerClosed("the server closed the connection instead of accepting a message")
    if response.status >= 300:
        text = f"a notification was refused with HTTP {response.status}; 202 was expected"
        raise ValueError(text)


def _refused(response: Response) -> Refused:
    return Refused(response.status, refusal(response, b"".join(response.body)))
