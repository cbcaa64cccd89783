"""Which client over which transport reaches which target: one factory per arm.

Imports only what the arm in hand needs, so that a session over stdio loads nothing else.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import TYPE_CHECKING

from bench.clients.base import Context, Peer
from bench.errors import SessionError
from bench.phases import Phase
from bench.protocol.revisions import DEFAULT_REVISION, Era, era
from bench.spec import SessionSpec
from bench.trace import TracedTransport
from bench.transports.base import Transport
from bench.transports.diagnosis import PINGS
from bench.transports.stdio import StdioTransport

if TYPE_CHECKING:
    from bench.protocol.framing import Framing
    from bench.protocol.http import Url
    from bench.transports.served import Served


def make_peer(context: Context, env: Mapping[str, str], trace_fd: int | None) -> Peer:
    """Return the peer that a spec asks for. ``env`` is the whole environment of its server."""
    spec = context.spec
    return ARMS[spec.transport, spec.client](context, env, trace_fd)


def _traced(transport: Transport, trace_fd: int | None) -> Transport:
    return transport if trace_fd is None else TracedTransport(transport, trace_fd)


def _stdio_transport(
    spec: SessionSpec, env: Mapping[str, str], pings: int, framing: Framing | None = None
) -> StdioTransport:
    return StdioTransport(
        spec.argv,
        env,
        spec.cwd,
        limit_bytes=spec.limit_bytes,
        close_grace_s=spec.close_grace_s,
        pings=pings,
        framing=framing,
    )


def _stdio(context: Context, env: Mapping[str, str], trace_fd: int | None) -> Peer:
    from bench.clients.mcp import McpPeer
    from bench.probes.first_read import await_first_read

    handshake = era(context.spec.revision) is Era.HANDSHAKE
    transport = _stdio_transport(context.spec, env, PINGS if handshake else 0)
    return McpPeer(context, _traced(transport, trace_fd), partial(await_first_read, transport))


def _pipe(context: Context, env: Mapping[str, str], trace_fd: int | None) -> Peer:
    from bench.clients.echo import EchoPeer
    from bench.probes.first_read import await_first_read

    transport = _stdio_transport(context.spec, env, 0)
    return EchoPeer(context, _traced(transport, trace_fd), partial(await_first_read, transport))


def _served(context: Context, env: Mapping[str, str]) -> tuple[Served, Url]:
    """Return the listening target of a spec, with its placeholders filled in."""
    from bench.protocol.http import Url
    from bench.transports.served import Served
    from bench.transports.sockets import Endpoint, free_port

    spec = context.spec
    values = {"{socket}": str(context.folder / "socket")}
    if any("{port}" in text for text in (*spec.argv, spec.url or "")):
        values["{port}"] = str(free_port())

    def filled(text: str) -> str:
        for name, value in values.items():
            text = text.replace(name, value)
        return text

    assert spec.url is not None
    url = Url.parse(filled(spec.url))
    endpoint = Endpoint(
        url.host,
        url.port,
        unix_path=values["{socket}"] if spec.unix else None,
        tls=url.scheme == "https",
        ca_file=spec.ca_file,
    )
    argv = tuple(map(filled, spec.argv))
    return Served(endpoint, argv, env, spec.cwd, spec.close_grace_s), url


def _http(context: Context, env: Mapping[str, str], trace_fd: int | None) -> Peer:
    from bench.clients.mcp_http import HttpMcpPeer
    from bench.protocol.http import HttpBinding
    from bench.transports.http import HttpTransport

    served, url = _served(context, env)
    spec = context.spec
    binding = HttpBinding(url, spec.headers, spec.revision)
    limit_bytes = spec.limit_bytes
    transport = HttpTransport(served, binding, context.notices, limit_bytes=limit_bytes)
    return HttpMcpPeer(context, transport, binding, _traced(transport, trace_fd))


def _sse(context: Context, env: Mapping[str, str], trace_fd: int | None) -> Peer:
    from bench.clients.mcp_sse import SseMcpPeer
    from bench.protocol.http_sse import SseBinding
    from bench.transports.sse import SseTransport

    spec = context.spec
    if era(spec.revision) is not Era.HANDSHAKE:
        text = f"HTTP+SSE cannot carry revision {spec.revision}; expected one with a handshake"
        raise SessionError(Phase.SPAWN, "unsupported", text)
    served, url = _served(context, env)
    binding = SseBinding(url, spec.headers, spec.revision)
    transport = SseTransport(served, binding, context.notices, limit_bytes=spec.limit_bytes)
    return SseMcpPeer(context, served, binding, _traced(transport, trace_fd))


def _rest(context: Context, env: Mapping[str, str], trace_fd: int | None) -> Peer:
    from bench.clients.rest import RestPeer
    from bench.protocol.http import HttpBinding
    from bench.transports.http import HttpTransport

    served, url = _served(context, env)
    binding = HttpBinding(url, context.spec.headers, DEFAULT_REVISION)
    transport = HttpTransport(served, binding, context.notices)
    return RestPeer(context, transport, binding, _traced(transport, trace_fd))


def _inproc(context: Context, env: Mapping[str, str], trace_fd: int | None) -> Peer:
    from bench.clients.inproc import InprocPeer

    return InprocPeer(context, env)


def _memory(context: Context, env: Mapping[str, str], trace_fd: int | None) -> Peer:
    from bench.clients.sdk import memory_peer

    return memory_peer(context, env)


def _sdk_stdio(context: Context, env: Mapping[str, str], trace_fd: int | None) -> Peer:
    from bench.clients.sdk import stdio_peer

    return stdio_peer(context, env)


def _sdk_http(context: Context, env: Mapping[str, str], trace_fd: int | None) -> Peer:
    from bench.clients.sdk import http_peer

    served, url = _served(context, env)
    return http_peer(context, served, str(url))


def _sdk_sse(context: Context, env: Mapping[str, str], trace_fd: int | None) -> Peer:
    from bench.clients.sdk import sse_peer

    served, url = _served(context, env)
    return sse_peer(context, served, str(url))


def _fastmcp_stdio(context: Context, env: Mapping[str, str], trace_fd: int | None) -> Peer:
    from bench.clients.fastmcp import stdio_peer

    return stdio_peer(context, env)


def _fastmcp_http(context: Context, env: Mapping[str, str], trace_fd: int | None) -> Peer:
    from bench.clients.fastmcp import http_peer

    served, url = _served(context, env)
    return http_peer(context, served, str(url))


def _grpc(context: Context, env: Mapping[str, str], trace_fd: int | None) -> Peer:
    try:
        from bench.clients.grpc import GrpcPeer
    except ImportError:
        text = "the grpc arm needs the package grpcio: pip install '.[grpc]'"
        raise SessionError("start", "not_installed", text) from None

    served, _ = _served(context, env)
    return GrpcPeer(context, served)


def _lsp(context: Context, env: Mapping[str, str], trace_fd: int | None) -> Peer:
    from bench.clients.lsp import LspPeer
    from bench.probes.first_read import await_first_read
    from bench.protocol.lsp import HeadFraming

    framing = HeadFraming(context.spec.limit_bytes)
    transport = _stdio_transport(context.spec, env, 0, framing)
    return LspPeer(context, _traced(transport, trace_fd), partial(await_first_read, transport))


ARMS: dict[tuple[str, str], Callable[[Context, Mapping[str, str], int | None], Peer]] = {
    ("stdio", "raw"): _stdio,
    ("pipe", "raw"): _pipe,
    ("http", "raw"): _http,
    ("sse", "raw"): _sse,
    ("rest", "raw"): _rest,
    ("inproc", "direct"): _inproc,
    ("memory", "sdk"): _memory,
    ("stdio", "sdk"): _sdk_stdio,
    ("http", "sdk"): _sdk_http,
    ("sse", "sdk"): _sdk_sse,
    ("stdio", "fastmcp"): _fastmcp_stdio,
    ("http", "fastmcp"): _fastmcp_http,
    ("grpc", "raw"): _grpc,
    ("lsp", "raw"): _lsp,
}
"""Transport and client -> how to make the peer."""
