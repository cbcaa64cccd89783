"""A target that listens: started by us and awaited until it accepts, or reached as it stands."""

from __future__ import annotations

import contextlib
import socket
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence

from bench.clock import now_ns
from bench.errors import PeerClosed, SessionError
from bench.phases import Phase, Timeline
from bench.transports.base import Arrived, Ending
from bench.transports.diagnosis import server_ended
from bench.transports.process import EXIT_NOTICE_S, ServerProcess
from bench.transports.sockets import Endpoint, refused

POLL_S = 0.5e-3
"""Between two attempts to connect to a server that boots; the gap is kept as the uncertainty."""


class Served:
    """The life of a listening target. ``argv`` is empty where it is not ours to start."""

    def __init__(
        self,
        endpoint: Endpoint,
        argv: Sequence[str],
        env: Mapping[str, str] | None,
        cwd: str | None,
        close_grace_s: float,
    ) -> None:
        self.endpoint = endpoint
        self.process: ServerProcess | None = None
        self.facts: dict[str, int | str] = {}
        self.connections = 0
        self._argv = argv
        self._env = env
        self._cwd = cwd
        self._close_grace_s = close_grace_s

    def open(self, step: Callable[[str], None]) -> tuple[socket.socket, Timeline]:
        """Start or reach the target; return the first connection and the phases up to it."""
        endpoint = self.endpoint
        endpoint.prepare()
        early: socket.socket | None = None
        if self._argv:
            early, timeline = self._start(step)
        else:
            timeline = Timeline(now_ns())
        if endpoint.named:
            # An address that answered while we waited for boot says nothing of the lookup.
            if early is not None:
                early.close()
                early = None
            endpoint.addresses = ()
            step(Phase.RESOLVE)
            endpoint.resolve()
            timeline.end(Phase.RESOLVE, now_ns())
        connection = early
        if connection is None:
            step(Phase.CONNECT)
            connection = self.connect_plain()
        else:
            self.connections += 1
        timeline.end(Phase.CONNECT, now_ns())
        if endpoint.tls:
            step(Phase.TLS)
            connection = endpoint.secure(connection)
            timeline.end(Phase.TLS, now_ns())
        self.facts["connect_attempts"] = "; ".join(
            f"{address} {outcome} after {ns / 1e3:.0f} µs"
            for address, outcome, ns in endpoint.attempts
        )
        return connection, timeline

    def start(self, step: Callable[[str], None]) -> Timeline:
        """Start the target for a client that connects by itself; nothing of ours stays open."""
        if not self._argv:
            return Timeline(now_ns())
        connection, timeline = self._start(step)
        connection.close()
        return timeline

    def connect(self) -> socket.socket:
        """Return one more connection, under TLS where there is TLS. Raises PeerClosed."""
        connection = self.connect_plain()
        return self.endpoint.secure(connection) if self.endpoint.tls else connection

    def connect_plain(self) -> socket.socket:
        """Return one more connection without TLS. Raises PeerClosed where nobody answers."""
        try:
            connection = self.endpoint.connect()
        except OSError as error:
            raise refused(error, self.endpoint) from None
        self.connections += 1
        return connection

    def group(self) -> int:
        """Return the process group of the server, 0 where it is not ours."""
        return self.process.pid if self.process is not None else 0

    def end(self, start_ns: int) -> Ending:
        """End the server if it is ours: it listens, so TERM is how it is told."""
        if self.process is None:
            return Ending(start_ns, now_ns())
        means, end_ns = self.process.end(self._close_grace_s, lambda: False)
        return Ending(start_ns, end_ns, means, "term", self.process.exit_code)

    def destroy(self) -> None:
        """End the server in short order, if it has not ended."""
        if self.process is not None:
            self.process.destroy()

    def why_closed(self, error: str, phase: str, done: int) -> SessionError:
        """Say how the target stands that is gone or cannot be reached."""
        process = self.process
        if process is not None and process.wait_exit(EXIT_NOTICE_S) is not None:
            return server_ended(process, phase, done)
        return SessionError(phase, "unreachable", error or "the server closed the connection")

    def _start(self, step: Callable[[str], None]) -> tuple[socket.socket, Timeline]:
        self._refuse_taken_port()
        step(Phase.SPAWN)
        process = ServerProcess(self._argv, self._env, self._cwd, listens=True)
        self.process = process
        timeline = Timeline(process.start_ns)
        timeline.end(Phase.SPAWN, process.spawned_ns)
        step(Phase.BOOT)
        looked_ns = process.spawned_ns
        while True:
            attempt_ns = now_ns()
            try:
                connection = self.endpoint.connect()
            except OSError:
                if process.wait_exit(0) is not None:
                    raise PeerClosed from None
                looked_ns = attempt_ns
                time.sleep(POLL_S)
                continue
            timeline.end(Phase.BOOT, attempt_ns)
            self.facts["boot_uncertainty_ns"] = attempt_ns - looked_ns
            return connection, timeline

    def _refuse_taken_port(self) -> None:
        with contextlib.suppress(OSError):
            self.endpoint.connect().close()
            where = f"port {self.endpoint.port}"
            text = f"{where} is taken: another program listens on it; end it or give another port"
            raise SessionError("spawn", "port_taken", text)


class ServedTransport(ABC):
    """What every transport over a listening target has in common: whose it is, and its end."""

    def __init__(self, served: Served) -> None:
        self.served = served
        self._size_bytes = 0

    def size_bytes(self, message: Arrived) -> int:
        """Return the bytes read for the last message, with all that frames it."""
        return self._size_bytes

    def group(self) -> int:
        """Return the process group of the server."""
        return self.served.group()

    def destroy(self) -> None:
        """End what is left."""
        self._close_sockets()
        self.served.destroy()

    def why_closed(self, said: str, phase: str, done: int) -> SessionError:
        """Say how the server stands."""
        return self.served.why_closed(said, phase, done)

    @abstractmethod
    def _close_sockets(self) -> None:
        """Close every connection of ours."""
