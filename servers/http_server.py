"""One ASGI application on one socket: what the servers over HTTP share.

The HTTP server is a part of every figure, so it is the same for all of them and leaves nothing to
what happens to be installed: uvicorn with the parser of httptools and the event loop of asyncio,
without WebSockets, without an access log.

The socket is bound when the application is complete, so whoever can connect is served at once.
"""

from __future__ import annotations

import argparse
import signal
import socket
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import uvicorn
from mcp.server.transport_security import TransportSecuritySettings
from starlette.types import ASGIApp

from servers import marked

HOST = "127.0.0.1"

# What the SDK checks by itself on this host, and a bare name: a unix socket has no port.
SECURITY = TransportSecuritySettings(allowed_hosts=[f"{HOST}:*", "localhost:*", "localhost"])


class Options(argparse.Namespace):
    """The flags that the servers over HTTP share."""

    port: int | None
    socket: str | None
    cert: str | None
    key: str | None
    json: bool
    stateless: bool

    def __str__(self) -> str:
        return self.socket or f"{HOST}:{self.port}"


def parser(module: str, description: str, *, needs_place: bool = False) -> argparse.ArgumentParser:
    """Return a parser of the shared flags; without need of a place none means stdio."""
    made = argparse.ArgumentParser(prog=module, description=description)
    place = made.add_mutually_exclusive_group(required=needs_place)
    place.add_argument("--port", type=_port, metavar="N", help=f"serve HTTP on {HOST}:N")
    place.add_argument("--socket", metavar="PATH", help="serve HTTP on a unix socket")
    made.add_argument("--cert", metavar="FILE", help="serve TLS: the certificate, in PEM")
    made.add_argument("--key", metavar="FILE", help="serve TLS: its key, in PEM")
    made.add_argument("--json", action="store_true", help="answer with JSON instead of a stream")
    made.add_argument("--stateless", action="store_true", help="keep no sessions")
    return made


def parse(parser: argparse.ArgumentParser, options: Options) -> bool:
    """Fill the options from the command line, or end with its usage; return whether it is HTTP."""
    parser.parse_args(namespace=options)
    if (options.cert is None) != (options.key is None):
        parser.error("--cert and --key need each other")
    is_http = options.port is not None or options.socket is not None
    if not is_http and (options.json or options.stateless or options.cert is not None):
        parser.error("--json, --stateless, --cert and --key are for --port and --socket")
    return is_http


def _port(text: str) -> int:
    port = int(text)
    if not 0 < port < 1 << 16:
        raise argparse.ArgumentTypeError(f"{text} is not a port")
    return port


def serve(app: ASGIApp, options: Options, module: str) -> None:
    """Serve the application until SIGTERM; where it cannot be served, end with one sentence."""
    config = uvicorn.Config(
        marked.application(app),
        http="httptools",
        loop="asyncio",
        ws="none",
        lifespan="on",
        log_level="warning",
        access_log=False,
        ssl_certfile=options.cert,
        ssl_keyfile=options.key,
        # Streams that a client keeps open would hold up the end for ever.
        timeout_graceful_shutdown=1,
    )
    # uvicorn raises the signal again when it has shut down. Its default action would end the
    # process there and then, and leave the socket's file behind.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(0))
    try:
        config.load()
        with _bound(options) as listener:
            uvicorn.Server(config).run(sockets=[listener])
    except OSError as error:
        sys.exit(f"{module}: cannot serve on {options}: {error.strerror or error}")
    except KeyboardInterrupt:
        pass


@contextmanager
def _bound(options: Options) -> Iterator[socket.socket]:
    if options.socket is None:
        with _bound_to_port(options.port) as listener:
            yield listener
        return
    path = Path(options.socket)
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as listener:
        if path.is_socket() and not _anyone_listens(path):
            path.unlink()  # left behind by a server that was killed
        listener.bind(str(path))
        try:
            yield listener
        finally:
            path.unlink(missing_ok=True)


def _anyone_listens(path: Path) -> bool:
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as probe:
        return probe.connect_ex(str(path)) == 0


def _bound_to_port(port: int | None) -> socket.socket:
    # With the protocol named: asyncio sets TCP_NODELAY only where it sees it, and an answer in
    # several writes would wait for the client's delayed acknowledgement.
    listener = socket.socket(socket.AF_INET, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    listener.bind((HOST, port))
    return listener
