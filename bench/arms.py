"""Which client over which transport reaches which target: one factory per arm.

Imports only what the arm in hand needs, so that a session over stdio loads nothing else.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial

from bench.clients.base import Context, Peer
from bench.protocol.revisions import REVISIONS, Era
from bench.spec import SessionSpec
from bench.trace import TracedTransport
from bench.transports.base import Transport
from bench.transports.diagnosis import PINGS
from bench.transports.stdio import StdioTransport


def make_peer(context: Context, env: Mapping[str, str], trace_fd: int | None) -> Peer:
    """Return the peer that a spec asks for. ``env`` is the whole environment of its server."""
    return _ARMS[context.spec.transport](context, env, trace_fd)


def _traced(transport: Transport, trace_fd: int | None) -> Transport:
    return transport if trace_fd is None else TracedTransport(transport, trace_fd)


def _stdio_transport(spec: SessionSpec, env: Mapping[str, str], pings: int) -> StdioTransport:
    return StdioTransport(
        spec.argv,
        env,
        spec.cwd,
        limit_bytes=spec.limit_bytes,
        close_grace_s=spec.close_grace_s,
        pings=pings,
    )


def _stdio(context: Context, env: Mapping[str, str], trace_fd: int | None) -> Peer:
    from bench.clients.mcp import McpPeer
    from bench.probes.first_read import await_first_read

    handshake = REVISIONS[context.spec.revision].era is Era.HANDSHAKE
    transport = _stdio_transport(context.spec, env, PINGS if handshake else 0)
    return McpPeer(context, _traced(transport, trace_fd), partial(await_first_read, transport))


def _pipe(context: Context, env: Mapping[str, str], trace_fd: int | None) -> Peer:
    from bench.clients.echo import EchoPeer
    from bench.probes.first_read import await_first_read

    transport = _stdio_transport(context.spec, env, 0)
    return EchoPeer(context, _traced(transport, trace_fd), partial(await_first_read, transport))


_ARMS: dict[str, Callable[[Context, Mapping[str, str], int | None], Peer]] = {
    "stdio": _stdio,
    "pipe": _pipe,
}
