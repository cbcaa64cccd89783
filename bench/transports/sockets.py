"""Sockets: where a name leads, which address answers, and one connection to it.

No proxy variable of the environment is ever looked at. Each step of setting up is stamped apart:
name lookup, connection (with the attempts that failed), TLS handshake.
"""

from __future__ import annotations

import contextlib
import select
import socket
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from bench.clock import now_ns
from bench.errors import PeerClosed, SessionError

if TYPE_CHECKING:
    import ssl

ATTEMPT_S = 1.0
"""How long one address may stay silent while there is another one to try."""
RECEIVE_BYTES = 65536

# The first send is inside the timed call: two names fewer to look up.
_PLAIN = socket.socket
_DONT_WAIT = int(socket.MSG_DONTWAIT)

Address = tuple[socket.AddressFamily, object]


@dataclass
class Endpoint:
    """A server's place: a Unix socket, or host and port with or without TLS.

    ``attempts`` tells how the last connection came about: address, outcome, nanoseconds.
    """

    host: str
    port: int
    unix_path: str | None = None
    tls: bool = False
    ca_file: str | None = None
    addresses: Sequence[Address] = ()
    attempts: list[tuple[str, str, int]] = field(default_factory=list)
    _trust: ssl.SSLContext | None = field(default=None, init=False, repr=False)

    @property
    def named(self) -> bool:
        """Whether a lookup has to tell where the host is."""
        if self.unix_path is not None:
            return False
        for family in (socket.AF_INET, socket.AF_INET6):
            with contextlib.suppress(OSError):
                socket.inet_pton(family, self.host)
                return False
        return True

    def prepare(self) -> None:
        """Read the certificates to trust: work of ours, in no phase. Raises SessionError (tls)."""
        if not self.tls:
            return
        import ssl

        try:
            self._trust = ssl.create_default_context(cafile=self.ca_file)
        except OSError as error:
            text = f"{self.ca_file}: no certificates can be read there: {error.strerror or error}"
            raise SessionError("tls", "tls_refused", text) from None

    def resolve(self) -> None:
        """Look the addresses up, once per session. Raises SessionError (resolve)."""
        if self.addresses:
            return
        if self.unix_path is not None:
            self.addresses = [(socket.AF_UNIX, self.unix_path)]
            return
        try:
            found = socket.getaddrinfo(self.host, self.port, type=socket.SOCK_STREAM)
        except OSError as error:
            text = f"the name {self.host!r} leads nowhere: {error.strerror or error}"
            raise SessionError("resolve", "not_resolved", text) from None
        self.addresses = [(family, address) for family, _, _, _, address in found]

    def connect(self) -> socket.socket:
        """Return a connection to the first address that answers. Raises OSError of the last."""
        self.resolve()
        self.attempts = []
        for place, (family, address) in enumerate(self.addresses):
            last = place == len(self.addresses) - 1
            start_ns = now_ns()
            try:
                connection = _connect(family, address, None if last else ATTEMPT_S)
            except OSError as error:
                outcome = error.strerror or type(error).__name__
                self.attempts.append((_shown(address), outcome, now_ns() - start_ns))
                if last:
                    raise
                continue
            self.attempts.append((_shown(address), "connected", now_ns() - start_ns))
            # The next connection goes where this one went.
            self.addresses = [self.addresses[place]]
            return connection
        raise AssertionError("an endpoint has at least one address")

    def secure(self, connection: socket.socket) -> socket.socket:
        """Return the connection under TLS, after :meth:`prepare`. Raises SessionError (tls)."""
        import ssl

        assert self._trust is not None
        try:
            return self._trust.wrap_socket(connection, server_hostname=self.host)
        except ssl.SSLCertVerificationError as error:
            text = f"the server's certificate is not trusted: {error.verify_message}"
            raise SessionError("tls", "tls_refused", text) from None
        except OSError as error:
            plain = getattr(error, "reason", None) == "WRONG_VERSION_NUMBER"
            what = "it answers in another protocol, plain HTTP?" if plain else error.strerror
            text = f"no TLS with the server: {what or error}"
            raise SessionError("tls", "tls_refused", text) from None


def send_all(connection: socket.socket, data: bytes) -> bool:
    """Send all of ``data``; False where the peer answered or hung up before it had taken it.

    A server that refuses a large body answers while we write: nobody may wait for the other.
    """
    try:
        if type(connection) is not _PLAIN:
            connection.sendall(data)  # TLS: cannot be told to send just what fits
            return True
        sent = connection.send(data, _DONT_WAIT)
        return sent == len(data) or _send_rest(connection, memoryview(data)[sent:])
    except BlockingIOError:
        return _send_rest(connection, memoryview(data))
    except OSError:
        return False


def _send_rest(connection: socket.socket, data: memoryview) -> bool:
    with contextlib.suppress(OSError):
        while data:
            readable, _, _ = select.select([connection], [connection], [])
            if readable:
                return False
            with contextlib.suppress(BlockingIOError):
                data = data[connection.send(data, _DONT_WAIT) :]
        return True
    return False


def receive(connection: socket.socket) -> bytes:
    """Return the next bytes; empty at the end, in whatever way the connection ended.

    Raises TimeoutError where the socket has a time limit and that is over, and what a socket
    that does not block raises where nothing is there yet.
    """
    try:
        return connection.recv(RECEIVE_BYTES)
    except OSError as error:
        if _not_yet(connection, error):
            raise
        return b""


def _not_yet(connection: socket.socket, error: OSError) -> bool:
    if isinstance(error, BlockingIOError) or (isinstance(error, TimeoutError) and not error.errno):
        return True
    if type(connection) is socket.socket:
        return False
    import ssl

    return isinstance(error, ssl.SSLWantReadError | ssl.SSLWantWriteError)


def hung_up(connection: socket.socket) -> bool:
    """Whether the peer has closed an idle connection (or sent what nobody asked for)."""
    if not select.select([connection], [], [], 0)[0]:
        return False
    return type(connection) is socket.socket or _ended_under_tls(connection)


def _ended_under_tls(connection: socket.socket) -> bool:
    """Tell an end (or unasked data) from the session tickets that a server sends by itself."""
    import ssl

    connection.setblocking(False)
    try:
        connection.recv(1)
    except ssl.SSLWantReadError:
        return False
    except OSError:
        return True
    finally:
        connection.setblocking(True)
    return True


def free_port() -> int:
    """Return a port of the loopback that nobody listens on."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def refused(error: OSError, endpoint: Endpoint) -> PeerClosed:
    """Return the ending that a failed connection is."""
    where = endpoint.unix_path or f"{endpoint.host}:{endpoint.port}"
    return PeerClosed(f"no connection to {where}: {error.strerror or error}")


def _connect(family: socket.AddressFamily, address: object, limit_s: float | None) -> socket.socket:
    connection = socket.socket(family, socket.SOCK_STREAM)
    try:
        connection.settimeout(limit_s)
        connection.connect(address)  # type: ignore[arg-type]  # its form depends on the family
        connection.settimeout(None)
        if family != socket.AF_UNIX:
            connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    except BaseException:
        connection.close()
        raise
    return connection


def _shown(address: object) -> str:
    return str(address[0]) if isinstance(address, tuple) else "unix socket"
