"""Streamable HTTP: one POST per message over one socket, answers as JSON or as an event stream.

The clock of a call stops when the answer is whole: at the end of a JSON body, or at the blank line
that completes an event. What the server still sends after that is drained before the next call,
outside the clock.
"""

from __future__ import annotations

import contextlib
import socket
import time
from collections import deque
from collections.abc import Callable

from bench.clock import now_ns
from bench.errors import PeerClosed, SessionError
from bench.notices import Notices
from bench.phases import Timeline
from bench.protocol.framing import DEFAULT_LIMIT_BYTES, Refused
from bench.protocol.http import HttpBinding, Response, ResponseReader
from bench.transports.base import Arrival, Ending
from bench.transports.served import Served, ServedTransport
from bench.transports.sockets import hung_up, receive, send_all

DRAIN_S = 0.25
"""How long the rest of a response may take once its answer is there."""


class HttpConnection:
    """One socket with the responses that come over it; messages are stamped as they complete."""

    def __init__(self, connection: socket.socket, limit_bytes: int = DEFAULT_LIMIT_BYTES) -> None:
        self.socket = connection
        self.reader = ResponseReader(limit_bytes)
        self.ready: deque[Arrival] = deque()
        self.received_bytes = 0
        self.busy = False
        self.whole = True
        self.open = True

    @property
    def reusable(self) -> bool:
        """Whether another request may follow: the last one went out whole and was answered."""
        response = self.reader.response
        kept = response is None or (response.complete and response.keep_alive)
        return self.open and self.whole and not self.busy and kept

    @property
    def answered(self) -> bool:
        """Whether anything of use has come for the last request."""
        response = self.reader.response
        return not self.busy or (response is not None and response.messages > 0)

    def send(self, data: bytes) -> None:
        """Send one request; its response is awaited from here on."""
        # The server is at work once the bytes are gone: what can wait is done meanwhile.
        self.whole = send_all(self.socket, data)
        self.reader.response = None
        self.busy = True

    def read(self) -> None:
        """Wait for the next bytes and take them; at the end of the connection nothing is busy."""
        chunk = receive(self.socket)
        ns = now_ns()
        if chunk:
            self.received_bytes += len(chunk)
            self.reader.feed(chunk)
        else:
            self.reader.end()
            self.open = False
        self._take(ns)
        self.busy = self.busy and self.open

    def finish(self) -> None:
        """Take the rest of the response, if it comes soon; ``busy`` says whether it did not."""
        deadline = time.monotonic() + DRAIN_S
        with contextlib.suppress(TimeoutError, ValueError):
            while self.busy and (rest_s := deadline - time.monotonic()) > 0:
                self.socket.settimeout(rest_s)
                self.read()
        self.socket.settimeout(None)

    def close(self) -> None:
        """Close the socket."""
        self.socket.close()

    def _take(self, ns: int) -> None:
        reader = self.reader
        while reader.ready:
            self.ready.append((reader.ready.popleft(), ns))
        if reader.response is not None and reader.response.complete:
            self.busy = False


class HttpTransport(ServedTransport):
    """Moves the messages of one session over HTTP.

    ``status`` is that of the last response. Connections are kept and, where the server closes
    them, replaced between calls; once ``kept`` is False each call opens its own by :meth:`reopen`.
    """

    def __init__(
        self,
        served: Served,
        binding: HttpBinding,
        notices: Notices,
        *,
        limit_bytes: int = DEFAULT_LIMIT_BYTES,
    ) -> None:
        super().__init__(served)
        self.binding = binding
        self.status = 0
        self.kept = True
        self.limit_bytes = limit_bytes
        self._notices = notices
        self._main: HttpConnection | None = None
        self._aside: HttpConnection | None = None
        self._counted_bytes = 0
        self._finished_bytes = 0
        self._ignored = 0

    def open(self, step: Callable[[str], None]) -> Timeline:
        """Start or reach the server, connect."""
        connection, timeline = self.served.open(step)
        self._main = HttpConnection(connection, self.limit_bytes)
        return timeline

    def settle(self) -> None:
        """Drain what is left of the last response; replace a connection that cannot be kept."""
        main = self._main
        if main is not None and self.kept and main.answered:
            if main.busy:
                main.finish()
            main.ready.clear()
            if main.reusable and not hung_up(main.socket):
                return
            self._note_end(main)
        self.drop()
        if self.kept:
            self.reopen()

    def reopen(self) -> None:
        """Connect anew if there is no connection."""
        if self._main is None:
            self._main = HttpConnection(self.served.connect(), self.limit_bytes)

    def drop(self) -> None:
        """Close the connection, whatever is still under way on it."""
        if self._main is not None:
            self._finished_bytes += self._main.received_bytes
            self._ignored += self._main.reader.ignored
            self._main.close()
            self._main = None

    def send(self, data: bytes) -> None:
        """Send one request."""
        main = self._main
        if main is None:
            raise PeerClosed
        main.send(data)

    def receive(self) -> Arrival:
        """Return the next message of the response, or what stands in place of an answer."""
        main = self._main
        assert main is not None
        while not main.ready:
            response = main.reader.response
            if not main.busy:
                whole = response is not None and response.complete
                return self._arrived((_unanswered(response) if whole else self._lost(), now_ns()))
            main.read()
            response = main.reader.response
            if response is not None and response.status:
                self._look_at(response)
        return self._arrived(main.ready.popleft())

    def tell(self, data: bytes, *, aside: bool = False) -> None:
        """POST a notification or an answer of ours; done when it is accepted.

        ``aside`` of a call that is still being answered: its connection is taken, another is used.
        """
        if not aside:
            self.settle()
            self.reopen()
            assert self._main is not None
            connection = self._main
        else:
            connection = self._beside()
        connection.send(data)
        while connection.busy:
            connection.read()
        _check_accepted(connection)
        self._counted_bytes = self._read_bytes()

    def end_session(self) -> int:
        """DELETE the session if there is one; return the status, 0 where there was none to end."""
        if self.binding.session is None:
            return 0
        with contextlib.suppress(PeerClosed, SessionError, OSError, ValueError):
            self.settle()
            self.reopen()
            assert self._main is not None
            self._main.send(self.binding.delete())
            self._main.finish()
            self._counted_bytes = self._read_bytes()
            response = self._main.reader.response
            return response.status if response is not None else 0
        return 0

    def close(self) -> Ending:
        """End the session and the server."""
        start_ns = now_ns()
        status = self.end_session()
        if status:
            self.served.facts["delete_status"] = status
        self._close_sockets()
        if self._ignored:
            self.served.facts["ignored_events"] = self._ignored
        return self.served.end(start_ns)

    def why_silent(self, phase: str, limit_s: float) -> str:
        """Say how far the response came."""
        if phase == "boot":
            return f"the server did not accept a connection within {limit_s:g} s (--timeout)"
        response = self._main.reader.response if self._main is not None else None
        if response is not None and response.status:
            got = f"HTTP {response.status} came, but no answer in it"
            return f"no answer within {limit_s:g} s (--timeout); {got}"
        return f"no answer within {limit_s:g} s (--timeout)"

    def _look_at(self, response: Response) -> None:
        self.status = response.status
        binding = self.binding
        # Only an accepted initialize gives a session; refusals may carry ids that are not ours.
        if binding.opening and binding.session is None and response.status == 200:
            binding.session = response.session

    def _arrived(self, arrival: Arrival) -> Arrival:
        read_bytes = self._read_bytes()
        self._size_bytes, self._counted_bytes = read_bytes - self._counted_bytes, read_bytes
        return arrival

    def _lost(self) -> Refused:
        assert self._main is not None
        begun = self._main.reader.response is not None
        where = "in the middle of the answer" if begun else "before any byte of the answer"
        self.status = 0
        self.drop()
        text = f"the server closed the connection {where} (connection_reset); not sent again"
        return Refused(0, text, "connection_reset")

    def _read_bytes(self) -> int:
        return self._finished_bytes + (self._main.received_bytes if self._main is not None else 0)

    def _beside(self) -> HttpConnection:
        """Return the second connection, made anew where it cannot be used any more."""
        aside = self._aside
        if aside is None or not aside.reusable or hung_up(aside.socket):
            if aside is not None:
                aside.close()
            aside = self._aside = HttpConnection(self.served.connect(), self.limit_bytes)
        return aside

    def _note_end(self, main: HttpConnection) -> None:
        response = main.reader.response
        if response is None or not main.whole:
            return  # nothing was answered on it, or before it was asked: that is told elsewhere
        if main.busy:
            self._notices.add("response_not_ended", limit_s=DRAIN_S)
        elif response.complete and response.keep_alive:
            self._notices.add("connection_ended")
        else:
            self._notices.add("connection_not_reused")

    def _close_sockets(self) -> None:
        self.drop()
        if self._aside is not None:
            self._aside.close()
            self._aside = None


def _unanswered(response: Response | None) -> Refused:
    status = response.status if response is not None else 0
    if status == 202:
        return Refused(status, "HTTP 202 to a request: accepted, but the answer is not in it")
    return Refused(status, f"HTTP {status}: the response ended without an answer")


def _check_accepted(connection: HttpConnection) -> None:
    response = connection.reader.response
    connection.ready.clear()
    if response is None or not response.complete:
        raise PeerClosed("the server closed the connection instead of accepting a message")
    if response.status >= 300:
        text = f"a notification was refused with HTTP {response.status}; 202 was expected"
        raise ValueError(text)
