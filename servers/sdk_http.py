"""The same tools on the official Python SDK, over HTTP.

The question: what does the way to the server cost, with the same SDK and the same tools behind it?
One application on one ASGI server offers three ways:

- ``/mcp``: streamable HTTP. An answer is a stream with one event, or JSON with ``--json``; with
  ``--stateless`` the SDK keeps no sessions of the handshake era.
- ``GET /sse`` and ``POST /messages/``: the HTTP+SSE transport of 2024-11-05.
- ``POST /rest/NAME``: no MCP at all, see :mod:`servers.rest`.

``--port`` or ``--socket`` says where, ``--cert`` and ``--key`` make it TLS. Tools, schemas, errors
and ``--sync`` are those of :mod:`servers.sdk`.

Where the marks are (only when asked for; otherwise no wrapper is in the way):

- RECEIVED: the application is handed the last piece of a POST's body, before the SDK parses it.
  Headers were parsed and routed by then, or not: the SDK reads the body at its own depth.
- HANDLER_START, HANDLER_END: as in :mod:`servers.sdk`.
- REPLY: the answer is handed to the HTTP server: the event on a stream, whose head left before the
  handler ran, or the head of a JSON answer, with the body serialised right behind it. Over HTTP+SSE
  it is the event on the stream of the GET; the 202 to the POST is no answer.
"""

from __future__ import annotations

from starlette.applications import Starlette

from servers import http_server, rest
from servers.sdk import build

_MODULE = "servers.sdk_http"


class Options(http_server.Options):
    """The flags of this server."""

    sync: bool


def application(options: Options) -> Starlette:
    """Return the one application: the routes that the SDK makes, and the one without it."""
    server = build(options.sync)
    streamable = server.streamable_http_app(
        streamable_http_path="/mcp",
        json_response=options.json,
        stateless_http=options.stateless,
        transport_security=http_server.SECURITY,
    )
    old = server.sse_app(
        sse_path="/sse", message_path="/messages/", transport_security=http_server.SECURITY
    )
    # In one router, as the SDK's own applications have it: mounting them would add a layer.
    return Starlette(
        routes=[*streamable.routes, *old.routes, rest.route(options.sync)],
        lifespan=lambda _: server.session_manager.run(),
    )


def main() -> None:
    """Serve HTTP until SIGTERM."""
    parser = http_server.parser(_MODULE, "The tools on the SDK, over HTTP.", needs_place=True)
    parser.add_argument("--sync", action="store_true", help="tools are plain functions")
    options = Options()
    http_server.parse(parser, options)
    http_server.serve(application(options), options, _MODULE)


if __name__ == "__main__":
    main()
