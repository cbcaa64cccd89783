"""An MCP server on the standard library's ``http.server``: ``two_writes_server.py PORT two|one``.

It does what that module does to everyone on a connection that is kept (cpython issue 108736): head
and body leave in two writes without TCP_NODELAY. The body then waits until the client's kernel has
acknowledged the head, which it puts off by 40 ms. With ``one`` they leave together.
"""

from __future__ import annotations

import json
import sys
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from bench.marks import HANDLER_END, HANDLER_START, RECEIVED, REPLY, mark

TOOL = "probe"


class Handler(BaseHTTPRequestHandler):
    """Answers in JSON, one response for each request."""

    protocol_version = "HTTP/1.1"
    wbufsize = -1 if "one" in sys.argv else 0

    def do_POST(self) -> None:
        """Answer a message."""
        body = self.rfile.read(int(self.headers["Content-Length"]))
        mark(RECEIVED)
        message = json.loads(body)
        answer = answer_to(message) if "id" in message else None
        data = b"" if answer is None else json.dumps(answer).encode()
        mark(REPLY)
        self.send_response(202 if answer is None else 200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def log_message(self, *_: object) -> None:
        """Say nothing."""


def answer_to(message: dict[str, Any]) -> dict[str, Any]:
    params = message.get("params", {})
    result: dict[str, Any] = {}
    match message["method"]:
        case "initialize":
            result = {"protocolVersion": params["protocolVersion"], "capabilities": {"tools": {}}}
        case "tools/list":
            result = {"tools": [{"name": TOOL, "inputSchema": {"type": "object"}}]}
        case "tools/call" if params["name"] != TOOL:
            error = {"code": -32602, "message": "Unknown tool"}
            return {"jsonrpc": "2.0", "id": message["id"], "error": error}
        case "tools/call":
            mark(HANDLER_START)
            result = {"content": [{"type": "text", "text": "done"}]}
            mark(HANDLER_END)
    return {"jsonrpc": "2.0", "id": message["id"], "result": result}


if __name__ == "__main__":
    ThreadingHTTPServer(("127.0.0.1", int(sys.argv[1])), Handler).serve_forever()
