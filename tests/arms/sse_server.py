"""An MCP server over HTTP+SSE, scripted: ``sse_server.py MODE PORT [CERT KEY]``, stdlib only.

The modes that misbehave are those of :data:`MODES`; any other one behaves. If the environment names
ALIVE_PORT, the server holds a connection to that port of this machine.
"""

from __future__ import annotations

import itertools
import json
import os
import queue
import socket
import ssl
import sys
import threading
import time
from collections.abc import Callable
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

Message = dict[str, Any]

MODE, PORT = sys.argv[1], int(sys.argv[2])
LATE_S = 0.03
OTHERS = b": ping\n\nevent: hello\ndata: {}\n\n: ping\n\ndata: early\n\n"
ENDPOINTS = {
    "absolute": f"http://127.0.0.1:{PORT}/post?session=1",
    "other-host": f"http://localhost:{PORT}/post?session=1",
}
FIRST = {"never-initialize": "initialize"}
"""What a mode misbehaves at, if not at calls."""
EVENTS: queue.Queue[bytes | None] = queue.Queue()
ASKED = threading.Event()
TURNS = itertools.count()


def event(message: Message) -> None:
    EVENTS.put(b"event: message\ndata: " + json.dumps(message).encode() + b"\n\n")


def result(message: Message) -> Message:
    params = message.get("params", {})
    match message["method"]:
        case "initialize":
            info = {"name": "scripted", "version": "1"}
            version = params["protocolVersion"]
            capabilities = {"tools": {}}
            return {"protocolVersion": version, "capabilities": capabilities, "serverInfo": info}
        case "tools/list":
            return {"tools": [{"name": "echo", "inputSchema": {"type": "object"}}]}
        case "tools/call" if params["name"] == "echo":
            text = params["arguments"]["payload"]
            return {"content": [{"type": "text", "text": text}]}
        case "tools/call":
            return {"content": [], "isError": True}
        case _:
            return {}


def turn() -> int:
    """Return the number of the call."""
    return next(TURNS)


def answer(message: Message) -> None:
    if "id" in message and "method" in message:
        event({"jsonrpc": "2.0", "id": message["id"], "result": result(message)})


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    wbufsize = -1  # a response leaves in one piece
    disable_nagle_algorithm = True

    def do_GET(self) -> None:
        if MODE in ("not-found", "html"):
            self.respond(404 if MODE == "not-found" else 200, b"<html>", "text/html")
            return
        self.send_response(200)
        self.send_header("Content-Type", "text/event-stream")
        self.send_header("Transfer-Encoding", "chunked")
        self.end_headers()
        if MODE in ("pings", "end-early"):
            self.chunk(OTHERS)
        if MODE == "end-early":
            self.chunk(b"")
            return
        if MODE != "pings":
            endpoint = ENDPOINTS.get(MODE, "/post?session=1")
            self.chunk(f"event: endpoint\r\ndata: {endpoint}\r\n\r\n".encode())
        while (data := EVENTS.get()) is not None:
            self.chunk(data)
        self.chunk(b"")
        self.close_connection = True

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers["Content-Length"]))
        message = json.loads(body)
        foreign = [name for name in self.headers if name.lower().startswith("mcp-")]
        if self.path != "/post?session=1" or foreign:
            self.respond(400, f"{self.path} {foreign}".encode(), "text/plain")
            return
        if "result" in message or "error" in message:
            ASKED.set()
        behave = MODES.get(MODE)
        if behave is None or message.get("method") != FIRST.get(MODE, "tools/call"):
            self.accept()
            answer(message)
        else:
            behave(self, message)

    def accept(self) -> None:
        self.respond(202, b"Accepted", "text/plain")

    def respond(self, status: int, body: bytes, kind: str) -> None:
        self.send_response(status)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(body)))
        if MODE == "close-each":
            self.send_header("Connection", "close")
        self.end_headers()
        self.wfile.write(body)
        self.wfile.flush()

    def chunk(self, data: bytes) -> None:
        self.wfile.write(b"%x\r\n%b\r\n" % (len(data), data))
        self.wfile.flush()

    def log_message(self, format: str, *arguments: object) -> None:  # noqa: A002
        pass


def take_turns(handler: Handler, message: Message) -> None:
    """Answer the first call before it is accepted, the second one long after."""
    if turn() == 0:
        answer(message)
        time.sleep(LATE_S)
        handler.accept()
    else:
        handler.accept()
        time.sleep(LATE_S)
        answer(message)


def never_accept(handler: Handler, message: Message) -> None:
    answer(message)
    threading.Event().wait()


def never_answer(handler: Handler, message: Message) -> None:
    handler.accept()


def refuse(handler: Handler, message: Message) -> None:
    """Refuse the first call in plain text, the second one in JSON."""
    if turn() == 0:
        handler.respond(503, b"full", "text/plain")
    else:
        error = {"jsonrpc": "2.0", "id": None, "error": {"code": -32000, "message": "no session"}}
        handler.respond(400, json.dumps(error).encode(), "application/json")


def hang_up(handler: Handler, message: Message) -> None:
    handler.close_connection = True


def hang_up_idle(handler: Handler, message: Message) -> None:
    handler.accept()
    handler.close_connection = True
    handler.connection.shutdown(socket.SHUT_RDWR)
    answer(message)


def end_stream(handler: Handler, message: Message) -> None:
    handler.accept()
    EVENTS.put(None)


def die(handler: Handler, message: Message) -> None:
    os._exit(3)


def ask(handler: Handler, message: Message) -> None:
    """Accept and answer only once the client has answered what it is asked meanwhile."""
    ASKED.clear()
    event({"jsonrpc": "2.0", "id": "q", "method": "ping"})
    ASKED.wait()
    handler.accept()
    answer(message)


MODES: dict[str, Callable[[Handler, Message], None]] = {
    "take-turns": take_turns,
    "never-accept": never_accept,
    "never-answer": never_answer,
    "never-initialize": never_answer,
    "refuse": refuse,
    "hang-up": hang_up,
    "hang-up-idle": hang_up_idle,
    "end-stream": end_stream,
    "die": die,
    "ask": ask,
}


def main() -> None:
    alive = socket.create_connection(("127.0.0.1", int(os.environ["ALIVE_PORT"])))
    server = ThreadingHTTPServer(("127.0.0.1", PORT), Handler)
    server.daemon_threads = True
    if len(sys.argv) > 3:
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(*sys.argv[3:5])
        # The handshake belongs to the thread of its connection, not to the one that accepts.
        server.socket = context.wrap_socket(
            server.socket, server_side=True, do_handshake_on_connect=False
        )
    with alive:
        server.serve_forever()


if __name__ == "__main__":
    main()
