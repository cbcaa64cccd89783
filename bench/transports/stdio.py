"""stdio: messages over the pipes of a spawned server, one per line unless framed otherwise.

One blocking read and one write per exchange; nothing else stands in the timed path.
"""

from __future__ import annotations

import os
import select
from collections import deque
from collections.abc import Callable, Mapping, Sequence

from bench.clock import now_ns
from bench.errors import PeerClosed, SessionError
from bench.phases import Phase, Timeline
from bench.protocol.framing import DEFAULT_LIMIT_BYTES, Framing, LineFraming
from bench.spec import DEFAULT_CLOSE_GRACE_S
from bench.transports.base import Arrival, Arrived, Ending
from bench.transports.diagnosis import server_ended, stdio_silence
from bench.transports.process import ServerProcess

# Bound once: a look-up per call would be in the timed path.
_read, _write = os.read, os.write
READ_BYTES = 65536  # what a pipe of Linux holds


class StdioTransport:
    """Spawns a command and moves messages over its stdin and stdout: lines, without ``framing``."""

    def __init__(
        self,
        argv: Sequence[str],
        env: Mapping[str, str] | None = None,
        cwd: str | None = None,
        *,
        limit_bytes: int = DEFAULT_LIMIT_BYTES,
        close_grace_s: float = DEFAULT_CLOSE_GRACE_S,
        pings: int = 0,
        framing: Framing | None = None,
    ) -> None:
        self._argv = argv
        self._env = env
        self._cwd = cwd
        self._close_grace_s = close_grace_s
        self._pings = pings
        self.framing: Framing = LineFraming(limit_bytes) if framing is None else framing
        self.ready: deque[Arrival] = deque()
        self.process: ServerProcess | None = None
        self._lines = self._between_lines = framing is None

    def open(self, step: Callable[[str], None]) -> Timeline:
        """Spawn the server. Raises SessionError (spawn) where that fails."""
        step(Phase.SPAWN)
        self.process = process = ServerProcess(self._argv, self._env, self._cwd)
        self._in, self._out = process.stdin_fd, process.stdout_fd
        os.set_blocking(self._in, False)
        timeline = Timeline(process.start_ns)
        timeline.end(Phase.SPAWN, process.spawned_ns)
        return timeline

    def send(self, data: bytes) -> None:
        """Write ``data``; a server that is itself writing is read meanwhile."""
        try:
            written = _write(self._in, data)
        except BlockingIOError:
            written = 0
        except BrokenPipeError:
            raise PeerClosed from None
        if written != len(data):
            self._send_rest(memoryview(data)[written:])

    def receive(self) -> Arrival:
        """Return the next message and the time at which its end was read."""
        if self.ready:
            return self.ready.popleft()
        while True:
            chunk = _read(self._out, READ_BYTES)
            ns = now_ns()
            # One whole line and nothing more: the common case needs no buffer.
            if self._between_lines and chunk.find(b"\n") == len(chunk) - 1 and chunk:
                return chunk, ns
            self._take(chunk, ns)
            if self.ready:
                return self.ready.popleft()

    def settle(self) -> None:
        """Nothing of an exchange is left over on a pipe."""

    def tell(self, data: bytes, *, aside: bool = False) -> None:
        """Send: the kernel has taken it."""
        self.send(data)

    def size_bytes(self, message: Arrived) -> int:
        """Return the size of a message with what frames it."""
        return self.framing.size_on_wire(message)

    def group(self) -> int:
        """Return the process group of the server."""
        return self.process.pid if self.process is not None else 0

    def why_closed(self, said: str, phase: str, done: int) -> SessionError:
        """Say how the server stands whose stdout has ended."""
        assert self.process is not None
        return server_ended(self.process, phase, done)

    def why_silent(self, phase: str, limit_s: float) -> str:
        """Say what the silence looks like, after one look at what was held back."""
        return stdio_silence(self, phase, limit_s, pings=self._pings)

    def unread_bytes(self, count: Callable[[int], int]) -> int:
        """How many bytes of our writes the server has not read yet."""
        return count(self._in)

    def read_if_ready(self, wait_s: float) -> bool:
        """Wait up to ``wait_s`` for output and queue it; True if there was any."""
        readable, _, _ = select.select([self._out], [], [], wait_s)
        if readable:
            chunk = os.read(self._out, READ_BYTES)
            self._take(chunk, now_ns())
        return bool(readable)

    def close(self) -> Ending:
        """Close stdin and see the server out; TERM and KILL follow where it stays."""
        assert self.process is not None
        start_ns = now_ns()
        escalation, end_ns = self.process.end(self._close_grace_s, self._drain)
        return Ending(
            start_ns, end_ns, escalation, "stdin", self.process.exit_code, tuple(self.ready)
        )

    def destroy(self) -> None:
        """End the server on the way out of a failed or interrupted session."""
        if self.process is not None:
            self.process.destroy()

    def _take(self, chunk: bytes, ns: int) -> None:
        if not chunk:
            raise PeerClosed
        for message in self.framing.feed(chunk):
            self.ready.append((message, ns))
        self._between_lines = self._lines and not self.framing.pending_bytes

    def _drain(self) -> bool:
        try:
            self._take(os.read(self._out, READ_BYTES), now_ns())
        except PeerClosed:
            return False
        return True

    def _send_rest(self, rest: memoryview) -> None:
        while rest:
            readable, writable, _ = select.select([self._out], [self._in], [])
            if readable:
                self._take(os.read(self._out, READ_BYTES), now_ns())
            if writable:
                try:
                    rest = rest[os.write(self._in, rest) :]
                except BlockingIOError:
                    continue
                except BrokenPipeError:
                    raise PeerClosed from None
