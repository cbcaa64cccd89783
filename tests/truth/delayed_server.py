"""An MCP server with delays set by hand, one per phase: what a breakdown has to find again.

The question: does each delay appear in its own phase and in no other? Delays are made by spinning
on the clock, so they are exact on a free core. Usage: ``delayed_server.py boot=300 close=100 …`` in
milliseconds; tools ``handler-2``, ``handler-10`` and so on spin (with ``wait=1`` they sleep) that
long, times ``scale``, and longer by the share ``drift`` at the end of the ``drift_s`` seconds after
``drift_from_s`` (Unix time).

It serves stdio; with ``port=N`` HTTP on the loopback: ``POST /mcp`` is the protocol, answered with
JSON, or with a stream of one event with ``sse=1``; ``POST /rest/handler-2`` is a tool alone; ``GET
/sse`` opens the stream of the legacy transport, whose messages are posted to ``/messages``. One
connection at a time beside that stream, and no more of HTTP than its client needs. TERM ends it.
"""

from __future__ import annotations

import json
import os
import signal
import socket
import sys
import time

from bench.marks import HANDLER_END, HANDLER_START, RECEIVED, REPLY, mark

DELAYS = {name: float(ms) for name, _, ms in (word.partition("=") for word in sys.argv[1:])}
PORT, STREAMS = round(DELAYS.pop("port", 0)), bool(DELAYS.pop("sse", 0))
SCALE, WAITS = DELAYS.pop("scale", 1.0), bool(DELAYS.pop("wait", 0))
DRIFT, DRIFT_S = DELAYS.pop("drift", 0.0), DELAYS.pop("drift_s", 1.0)
DRIFT_FROM_S = DELAYS.pop("drift_from_s", 0.0)


def spin(ms: float) -> None:
    """Keep the CPU busy until the clock has moved on by ``ms``."""
    end_ns = time.perf_counter_ns() + round(ms * 1e6)
    while time.perf_counter_ns() < end_ns:
        pass


def work(ms: float) -> None:
    """Spend the time of a handler: on the CPU, or waiting, as one does that asks elsewhere."""
    if WAITS:
        time.sleep(ms / 1e3)
    else:
        spin(ms)


def delay(phase: str) -> None:
    """Spin for the delay of a phase, if it has one."""
    spin(DELAYS.get(phase, 0.0))


def slowness() -> float:
    """Return by which factor handlers take longer now."""
    if not DRIFT:
        return SCALE
    return SCALE * (1 + DRIFT * min((time.time() - DRIFT_FROM_S) / DRIFT_S, 1.0))


def answer(request: dict[str, object]) -> object:
    """Return the result of a request, after the delay of its phase."""
    method = request["method"]
    if method == "initialize":
        delay("initialize")
        info = {"name": "delayed", "version": "1"}
        version = "2025-11-25"
        return {"protocolVersion": version, "capabilities": {"tools": {}}, "serverInfo": info}
    if method == "tools/list":
        delay("tools_list")
        schema = {"type": "object"}
        return {
            "tools": [{"name": f"handler-{ms}", "inputSchema": schema} for ms in (0, 2, 10, 31)]
        }
    if method == "tools/call":
        params = request["params"]
        assert isinstance(params, dict)
        if not call(str(params["name"])):
            return {"content": [], "isError": True}
        return {"content": [{"type": "text", "text": "ok"}]}
    return {}


def call(tool: str) -> bool:
    """Run a tool between the delays around it; False where there is none of this name."""
    _, _, ms = tool.partition("handler-")
    if not ms.isdigit():
        return False
    delay("dispatch")
    mark(HANDLER_START)
    work(float(ms) * slowness())
    mark(HANDLER_END)
    delay("reply")
    return True


def encode(value: object) -> bytes:
    """Return compact JSON."""
    return json.dumps(value, separators=(",", ":")).encode()


def serve_lines() -> None:
    """Serve lines until the end of stdin."""
    pending = b""
    while chunk := os.read(0, 65536):
        *lines, pending = (pending + chunk).split(b"\n")
        for line in lines:
            mark(RECEIVED)
            request = json.loads(line)
            if "id" not in request:
                continue
            reply = {"jsonrpc": "2.0", "id": request["id"], "result": answer(request)}
            text = encode(reply) + b"\n"
            mark(REPLY)
            os.write(1, text)
    delay("close")


STREAM: list[socket.socket] = []
ACCEPTED = b"HTTP/1.1 202 Accepted\r\nContent-Length: 0\r\n\r\n"


def open_stream(connection: socket.socket) -> None:
    """Begin the event stream of the legacy transport, on which all answers go out."""
    head = b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n"
    connection.sendall(head + b"\r\n" + chunked(b"event: endpoint\ndata: /messages\n\n"))
    STREAM.append(connection)


def chunked(event: bytes) -> bytes:
    """Return an event as one chunk."""
    return b"%x\r\n%b\r\n" % (len(event), event)


def answer_on_stream(connection: socket.socket, body: bytes) -> None:
    """Accept a message at once; its answer follows as an event."""
    connection.sendall(ACCEPTED)
    request = json.loads(body)
    if "id" in request:
        text = encode({"jsonrpc": "2.0", "id": request["id"], "result": answer(request)})
        event = chunked(b"event: message\ndata: %b\n\n" % text)
        mark(REPLY)
        STREAM[0].sendall(event)


def respond(path: str, body: bytes) -> bytes:
    """Return the whole response to one POST."""
    request = json.loads(body)
    if path.startswith("/rest/"):
        found = call(path.removeprefix("/rest/"))
        return response(encode({"text": "ok"} if found else {"error": "no such tool"}))
    if "id" not in request:
        return ACCEPTED
    text = encode({"jsonrpc": "2.0", "id": request["id"], "result": answer(request)})
    return stream(text) if STREAMS else response(text)


def response(text: bytes) -> bytes:
    """Return an answer in JSON."""
    head = b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: "
    return b"%b%d\r\n\r\n%b" % (head, len(text), text)


def stream(text: bytes) -> bytes:
    """Return an answer as a stream of one event."""
    event = b"event: message\ndata: %b\n\n" % text
    head = b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n"
    return b"%b\r\n%b0\r\n\r\n" % (head, chunked(event))


def serve_connection(connection: socket.socket) -> bool:
    """Answer request after request until the client hangs up; True if it is the stream now."""
    pending = b""
    while True:
        head, blank_line, body = pending.partition(b"\r\n\r\n")
        lines = head.decode("latin-1").lower().split("\r\n")
        lengths = [line[15:] for line in lines if line.startswith("content-length:")]
        size = int(lengths[0]) if lengths else 0
        if not blank_line or len(body) < size:
            chunk = connection.recv(65536)
            if not chunk:
                return False
            pending += chunk
            continue
        if lines[0].startswith("get "):
            open_stream(connection)
            return True
        mark(RECEIVED)
        path = lines[0].split(" ")[1]
        if path == "/messages":
            answer_on_stream(connection, body[:size])
        else:
            text = respond(path, body[:size])
            mark(REPLY)
            connection.sendall(text)
        pending = body[size:]


def end(_number: int, _frame: object) -> None:
    """End the process, after the delay of its end."""
    delay("close")
    os._exit(0)


def serve_http() -> None:
    """Serve connections, one at a time, until TERM."""
    signal.signal(signal.SIGTERM, end)
    with socket.create_server(("127.0.0.1", PORT)) as listener:
        while True:
            connection, _ = listener.accept()
            connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            if not serve_connection(connection):
                connection.close()


def main() -> None:
    """Boot, then serve."""
    delay("boot")
    if PORT:
        serve_http()
    else:
        serve_lines()


if __name__ == "__main__":
    main()
