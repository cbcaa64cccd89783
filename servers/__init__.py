"""The servers under test, in the order of the ladder: one layer more on every rung.

``floor`` only moves bytes, ``minimal`` adds the protocol, ``sdk-lowlevel`` the official SDK's own
server, ``sdk`` and ``sdk-sync`` its convenience on top, ``fastmcp`` the other framework instead,
``node-v1`` and ``node-v2`` the official TypeScript SDKs. ``grpcio`` and ``pygls`` stand beside
them: the same handler without MCP. All but the floor serve the tools of :mod:`servers.tools`, so
that only the boundary differs.
"""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

VERSION = "1"
"""What the servers call their own version in ``serverInfo``."""

NODE_FOLDER = Path(__file__).parent / "node"


class Program(NamedTuple):
    """How a shipped server is run.

    ``words`` maps a transport to what follows ``python -P -m`` (or ``node``, with ``node=True``).
    ``json`` and ``sse`` are the flags that make it answer HTTP in that form. ``needs`` is the
    package without which it does not run, and ``extra`` the extra that installs it.
    """

    words: dict[str, tuple[str, ...]]
    json: tuple[str, ...] = ()
    sse: tuple[str, ...] = ()
    marks: bool = True
    needs: str | None = None
    extra: str | None = None
    node: bool = False


def _node(script: str) -> Program:
    path = str(NODE_FOLDER / script)
    return Program({"stdio": (path,), "http": (path,)}, json=("--json",), marks=False, node=True)


def _sdk(*flags: str) -> Program:
    http = ("servers.sdk_http", *flags)
    listening = dict.fromkeys(("http", "rest", "sse"), http)
    return Program({"stdio": ("servers.sdk", *flags), **listening}, json=("--json",))


SERVERS: dict[str, Program] = {
    "floor": Program({"pipe": ("servers.floor",)}),
    "minimal": Program(
        {
            "stdio": ("servers.minimal",),
            "http": ("servers.minimal_http",),
            "rest": ("servers.minimal_http",),
        },
        sse=("--sse",),
    ),
    "sdk-lowlevel": Program(
        dict.fromkeys(("stdio", "http"), ("servers.sdk_lowlevel",)), json=("--json",)
    ),
    "sdk": _sdk(),
    "sdk-sync": _sdk("--sync"),
    "fastmcp": Program(
        dict.fromkeys(("stdio", "http"), ("servers.fastmcp_server",)),
        json=("--json",),
        needs="fastmcp",
        extra="fastmcp",
    ),
    "node-v1": _node("v1.mjs"),
    "node-v2": _node("v2.mjs"),
    "grpcio": Program({"grpc": ("servers.grpc_server",)}, needs="grpc", extra="grpc"),
    "pygls": Program({"lsp": ("servers.lsp_server",)}, needs="pygls", extra="lsp"),
}
"""Name of a server -> how to run it."""
