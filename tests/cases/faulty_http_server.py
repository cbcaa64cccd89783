"""A scripted MCP server over HTTP that misbehaves: ``faulty_http_server.py PORT MODE [ARGUMENT…]``.

Stdlib only, one thread per connection. Each mode of :data:`MODES` reproduces one trouble that was
met in the field; in everything else the server is strict, and refuses what the transport forbids.
ALIVE_PORT is what it is for ``faulty_server.py``.
"""

from __future__ import annotations

import json
import os
import queue
import select
import signal
import socket
import ssl
import struct
import sys
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

Message = dict[str, Any]

TOOL = "probe"
JSON, EVENTS = "application/json", "text/event-stream"
STATELESS = "2026-07-28"
REASONS = {200: "OK", 202: "Accepted", 307: "Temporary Redirect", 404: "Not Found"}
HELD: list[socket.socket] = []
ASKED: set[Wire] = set()
TOO_IDLE: set[Wire] = set()


@dataclass
class Request:
    """One request as it arrived, and in how many pieces."""

    method: str
    path: str
    headers: dict[str, str]
    body: bytes
    pieces: int
    message: Message = field(default_factory=dict)

    @property
    def name(self) -> str:
        """The method of the message in it."""
        return str(self.message.get("method", ""))

    @property
    def is_call(self) -> bool:
        return self.name == "tools/call" and self.message["params"]["name"] == TOOL


class Wire:
    """One connection, seen by the server."""

    def __init__(self, connection: socket.socket) -> None:
        self.connection = connection
        self._buffer = b""

    def read(self) -> Request | None:
        """Return the next request, None at the end."""
        pieces = 0
        while b"\r\n\r\n" not in self._buffer:
            if not self._more():
                return None
            pieces += 1
            if self._buffer.startswith(b"\x16"):  # a handshake of TLS
                self.respond(400, b"Invalid HTTP request received.", "text/plain")
                return None
        head, _, self._buffer = self._buffer.partition(b"\r\n\r\n")
        first, *lines = head.decode("latin-1").split("\r\n")
        pairs = (line.partition(": ") for line in lines)
        headers = {name.lower(): value for name, _, value in pairs}
        size = int(headers.get("content-length", 0))
        if MODE == "refuse-unread" and size > 100_000:
            self.respond(413, b"too much", "text/plain")
            stay()
        while len(self._buffer) < size:
            if not self._more():
                return None
            pieces += 1
        body, self._buffer = self._buffer[:size], self._buffer[size:]
        method, path, _ = first.split(" ")
        request = Request(method, path, headers, body, pieces)
        if body:
            request.message = json.loads(body)
        return request

    def send(self, data: bytes) -> None:
        self.connection.sendall(data)

    def head(self, status: int, **headers: str | int) -> None:
        """Send a head; the names of headers are written with underscores."""
        lines = [f"HTTP/1.1 {status} {REASONS.get(status, 'Status')}"]
        lines += [f"{name.replace('_', '-')}: {value}" for name, value in headers.items()]
        self.send("".join(f"{line}\r\n" for line in (*lines, "")).encode())

    def respond(
        self, status: int, body: bytes = b"", kind: str | None = JSON, **headers: str | int
    ) -> None:
        """Send a whole response in one piece."""
        self.connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_CORK, 1)
        kinds = {} if kind is None else {"Content_Type": kind}
        self.head(status, **kinds, Content_Length=len(body), **headers)
        self.send(body)
        if MODE != "close-idle":
            self.connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_CORK, 0)

    def say(self, message: Message, **headers: str | int) -> None:
        """Answer in JSON."""
        self.respond(200, encode(message), **headers)

    def events(self, *texts: bytes, end: bool = True, **headers: str | int) -> None:
        """Answer in a stream of events, one chunk each."""
        self.head(200, Content_Type=EVENTS, Transfer_Encoding="chunked", **headers)
        for text in texts:
            self.chunk(text)
        if end:
            self.chunk(b"")

    def chunk(self, data: bytes) -> None:
        self.send(b"%x\r\n%b\r\n" % (len(data), data))

    def reset(self) -> None:
        """End the connection so that the other side sees a reset."""
        linger = struct.pack("ii", 1, 0)
        self.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, linger)
        self.connection.close()

    def _more(self) -> bool:
        chunk = self.connection.recv(1 << 20)
        self._buffer += chunk
        return bool(chunk)


class State:
    """What the server knows, over all its connections."""

    def __init__(self) -> None:
        self.session: str | None = None
        self.sessions = 0
        self.calls = 0
        self.version = ""
        self.called: set[object] = set()
        self.answers: queue.Queue[Message] = queue.Queue()


STATE = State()


def encode(message: Message) -> bytes:
    return json.dumps({"jsonrpc": "2.0", **message}).encode()


def event(message: Message) -> bytes:
    return b"data: %b\n\n" % encode(message)


def failure(code: int, text: str, id_: object = None, **more: Any) -> Message:
    return {"id": id_, "error": {"code": code, "message": text, **more}}


def result_of(request: Request) -> Message:
    """Return what a well-behaved server answers to a request."""
    message = request.message
    params = message.get("params", {})
    match request.name:
        case "initialize":
            STATE.version = params["protocolVersion"]
            info = {"name": "faulty", "version": "1"}
            result: Message = {"protocolVersion": STATE.version, "serverInfo": info}
            result["capabilities"] = {"tools": {}}
        case "tools/list":
            result = {"tools": [{"name": TOOL, "inputSchema": {"type": "object"}}]}
        case "tools/call":
            result = {"content": [{"type": "text", "text": f"answer to {message['id']}"}]}
            if "_meta" in message.get("params", {}):
                result["resultType"] = "complete"
        case "server/discover":
            result = {"supportedVersions": [STATELESS], "capabilities": {"tools": {}}}
        case _:
            result = {}
    return {"id": message["id"], "result": result}


def answer(wire: Wire, request: Request, **headers: str | int) -> None:
    """Answer as the specification says, and refuse what it forbids."""
    given = request.headers
    if request.method == "DELETE":
        STATE.session = None
        wire.respond(200)
    elif request.method != "POST":
        wire.respond(405)
    elif JSON not in given.get("accept", "") or EVENTS not in given["accept"]:
        wire.respond(406)
    elif request.name == "initialize":
        STATE.sessions += 1
        STATE.session = f"session-{STATE.sessions}"
        wire.say(result_of(request), Mcp_Session_Id=STATE.session, **headers)
    elif refusal := wrong_headers(request):
        wire.respond(400, refusal.encode(), "text/plain")
    elif "id" in request.message and request.name:
        if request.name == "tools/call" and not request.is_call:
            wire.say(failure(-32602, "Unknown tool", request.message["id"]), **headers)
        else:
            wire.say(result_of(request), **headers)
    else:
        wire.respond(202, kind=None, **headers)


def wrong_headers(request: Request) -> str:
    """Say what is wrong with the headers of a request inside a session; empty if nothing is."""
    given = request.headers
    if STATE.session is None:
        method = given.get("mcp-method")
        return "" if method == request.name else f"Mcp-Method is {method}"
    if given.get("mcp-session-id") != STATE.session:
        return "no such session"
    expected = STATE.version if STATE.version >= "2025-06-18" else None
    version = given.get("mcp-protocol-version")
    return "" if version == expected else f"MCP-Protocol-Version is {version}, not {expected}"


def fail_every_third(wire: Wire, request: Request) -> None:
    """Answer 200 whatever happens; the errors come quicker than the answers."""
    if request.is_call and STATE.calls % 3 == 0:
        wire.say(failure(-32000, "upstream is gone", request.message["id"]))
        return
    if request.is_call:
        time.sleep(0.005)
    answer(wire, request)


def want_one_piece(wire: Wire, request: Request) -> None:
    if request.pieces > 1:
        wire.respond(500, b"head and body came in pieces", "text/plain")
    else:
        answer(wire, request)


def refuse_probe(wire: Wire, request: Request, how: str) -> None:
    """Answer server/discover as old servers do, or as one that asks for another version."""
    if request.name != "server/discover":
        answer(wire, request)
        return
    id_ = request.message["id"]
    data = {"supported": [STATELESS], "requested": "?"}
    handshake = {"supportedVersions": ["2025-11-25"]}
    match how:
        case "old":
            wire.respond(400, encode(failure(-32000, "Bad Request: No valid session ID provided")))
        case "empty":
            wire.respond(400, kind=None)
        case "not-found":
            wire.respond(404, encode(failure(-32601, "Method not found", id_)))
        case "listed":
            wire.respond(400, encode(failure(-32022, "Unsupported", id_, data=data)))
        case "odd":
            wire.say({"id": id_, "result": handshake})
        case "silent":
            stay()


def give_result_type(wire: Wire, request: Request, value: str) -> None:
    if not request.is_call:
        answer(wire, request)
        return
    message = result_of(request)
    message["result"]["resultType"] = value
    if value == "absent":
        del message["result"]["resultType"]
    wire.say(message)


def make_noise(wire: Wire, request: Request) -> None:
    """Answer a call byte by byte, after all kinds of things that are no messages."""
    if not request.is_call:
        answer(wire, request)
        return
    first, comma, rest = encode(result_of(request)).partition(b", ")
    noise = b":keep-alive\r\n\r\ndata:\r\n\r\nevent: ping\r\ndata: {}\r\n\r\n"
    heartbeat = b'data: {"type": "heartbeat"}\r\n\r\n'
    text = noise + heartbeat + b"data: %b%b\r\ndata: %b\r\n\r\n" % (first, comma, rest)
    wire.events(*(bytes([byte]) for byte in text))


def accept_call(wire: Wire, request: Request) -> None:
    if request.is_call:
        wire.respond(202, kind=None)
    else:
        answer(wire, request)


def forget_session(wire: Wire, request: Request, status: str, times: str) -> None:
    """Forget the session at its third call, and do so for so many sessions."""
    if request.name == "server/discover":
        wire.respond(404)
    elif request.is_call and STATE.calls % 3 == 0 and STATE.sessions <= int(times):
        STATE.session = "none that was ever given"
        error = failure(-32001, "Session not found", request.message["id"])
        wire.respond(int(status), encode(error) if status == "200" else b"Session not found")
    elif STATE.session == "none that was ever given" and request.name != "initialize":
        wire.respond(int(status))
    else:
        answer(wire, request)


def close_after_answer(wire: Wire, request: Request) -> None:
    """End the connection with each answer, in the same packet, without having said so."""
    answer(wire, request)
    wire.connection.close()


def end_with_connection(wire: Wire, request: Request) -> None:
    """Give no lengths: the end of the connection is the end of every response."""
    if "id" in request.message:
        body = encode(result_of(request))
        wire.head(200, Content_Type=JSON)
    else:
        body = b""
        wire.head(202)
    wire.send(body)
    wire.connection.close()


def reset_in_call(wire: Wire, request: Request, where: str) -> None:
    """Break the connection in the second call: before, inside or after the head."""
    if not request.is_call or STATE.calls != 2:
        answer(wire, request)
        return
    if where == "inside":
        wire.head(200, Content_Type=JSON, Content_Length=500)
        wire.send(b'{"jsonrpc"')
        time.sleep(0.05)  # a reset overtakes what was not read yet
    elif where == "stream":
        wire.events(event({"method": "notifications/progress", "params": {}}), end=False)
        time.sleep(0.05)
    wire.reset()


def limit_idleness(wire: Wire, request: Request, limit_s: str, how: str) -> None:
    """Give up a connection that is idle after a call: at once, or by a reset of what comes next.

    A call that was sent before is refused.
    """
    if request.is_call and request.message["id"] in STATE.called:
        wire.respond(409, b"sent twice", "text/plain")
        return
    STATE.called.add(request.message.get("id"))
    if wire in TOO_IDLE:
        wire.reset()
        return
    answer(wire, request)
    if request.is_call and not select.select([wire.connection], [], [], float(limit_s))[0]:
        if how == "close":
            wire.connection.close()
        else:
            TOO_IDLE.add(wire)


def answer_version(wire: Wire, request: Request, value: str) -> None:
    """Negotiate what is given, as JSON; ``none`` leaves the field out."""
    if request.name != "initialize":
        answer(wire, request)
        return
    message = result_of(request)
    del message["result"]["protocolVersion"]
    if value != "none":
        STATE.version = message["result"]["protocolVersion"] = json.loads(value)
    STATE.session = "s"
    wire.say(message, Mcp_Session_Id="s")


def redirect(wire: Wire, request: Request, status: str, target: str) -> None:
    """Send everyone elsewhere, with a length of nothing or (307) without any."""
    if status == "307":
        wire.head(int(status), Location=target)
    else:
        wire.respond(int(status), kind=None, Location=target)


def refuse(wire: Wire, request: Request, status: str, when: str = "initialize") -> None:
    """Answer a method with a status."""
    if request.name == when:
        wire.respond(int(status), f"about {status}\n".encode(), "text/plain")
    else:
        answer(wire, request)


def answer_oddly(wire: Wire, request: Request, how: str) -> None:
    """Answer initialize with a success that is none."""
    message = encode(result_of(request))
    match how:
        case "text":
            wire.respond(200, message, "text/plain")
        case "html":
            wire.respond(200, b"<!doctype html><html><body>Log in</body></html>", "text/html")
        case "empty":
            wire.respond(200)
        case "no-type":
            wire.respond(200, kind=None)
        case "not-rpc":
            wire.respond(200, b'{"ok": true}')
        case "stream-without":
            wire.events(b": hello\n\n", event({"method": "notifications/x"}))
        case "pings":
            wire.events(*[b"event: ping\ndata: 1\n\n"] * 3, end=False)
            stay()
        case "garbage":
            wire.send(b"\x15\x03\x01\x00\x02\x02\x46")
        case "silent":
            stay()


def ask_in_call(wire: Wire, request: Request) -> None:
    """Prime the stream, comment, notify and ask in a call; go on when both are answered."""
    if not request.name and "id" in request.message:
        STATE.answers.put(request.message)
    if not request.is_call:
        answer(wire, request)
        return
    id_ = request.message["id"]
    progress = {"method": "notifications/progress", "params": {"progressToken": 1, "progress": 1}}
    wire.events(b"id: 1\nretry: 10\ndata:\n\n", b": thinking\n\n", event(progress), end=False)
    wire.chunk(event({"id": id_, "method": "ping"}))
    wire.chunk(event(progress) + event({"id": "r", "method": "roots/list"}))
    pong, refusal = STATE.answers.get(), STATE.answers.get()
    good = pong == {"jsonrpc": "2.0", "id": id_, "result": {}}
    good = good and refusal["id"] == "r" and refusal["error"]["code"] == -32601
    if good:
        wire.chunk(event(result_of(request)))
    else:
        wire.chunk(event(failure(-32603, f"{pong} {refusal}", id_)))
    wire.chunk(b"")


def ask_for_input(wire: Wire, request: Request) -> None:
    """Answer a call once it comes again over the same connection, with what was asked for."""
    if not request.is_call:
        answer(wire, request)
        return
    asked = {"name": {"method": "elicitation/create", "params": {"message": "?"}}}
    message = result_of(request)
    if "inputResponses" not in request.message["params"]:
        message["result"] = {"resultType": "input_required", "inputRequests": asked}
        ASKED.add(wire)
    elif wire not in ASKED:
        message = failure(-32603, "another connection", message["id"])
    wire.say(message)


def answer_large(wire: Wire, request: Request, size: str) -> None:
    if not request.is_call:
        answer(wire, request)
        return
    message = result_of(request)
    message["result"]["content"][0]["text"] = "x" * int(size)
    wire.events(event(message))


def keep_stream_open(wire: Wire, request: Request) -> None:
    """Answer a call and leave the stream open behind it."""
    if request.is_call:
        wire.events(event(result_of(request)), end=False)
        stay()
    answer(wire, request)


def end_stream_later(wire: Wire, request: Request) -> None:
    """Answer a call, and end the stream a little later with a last notification."""
    if request.is_call:
        wire.events(event(result_of(request)), end=False)
        time.sleep(0.02)
        wire.chunk(event({"method": "notifications/message", "params": {}}))
        wire.chunk(b"")
    else:
        answer(wire, request)


def continue_first(wire: Wire, request: Request) -> None:
    wire.send(b"HTTP/1.1 100 Continue\r\n\r\n")
    answer(wire, request)


def be_slow_once(wire: Wire, request: Request) -> None:
    """Answer the first call never, and refuse to hear that it was given up."""
    if request.is_call and STATE.calls == 1:
        stay()
    if request.name == "notifications/cancelled":
        wire.respond(400, kind=None)
    else:
        answer(wire, request)


def end_at(wire: Wire, request: Request, method: str) -> None:
    """Die at a request instead of answering it."""
    if request.name == method:
        end(3, "out of paper")
    answer(wire, request)


def end(code: int, words: str) -> None:
    os.write(2, words.encode() + b"\n")
    os._exit(code)


def stay() -> None:
    while True:
        signal.pause() if threading.current_thread() is threading.main_thread() else time.sleep(9)


def hold() -> None:
    """Connect to the test, to be known as alive until this process is gone."""
    if port := os.environ.get("ALIVE_PORT"):
        HELD.append(socket.create_connection(("127.0.0.1", int(port))))


MODES: dict[str, Callable[..., None]] = {
    "good": answer,
    "third-fails": fail_every_third,
    "one-piece": want_one_piece,
    "probe": refuse_probe,
    "result-type": give_result_type,
    "noise": make_noise,
    "accept-call": accept_call,
    "say-close": lambda wire, request: answer(wire, request, Connection="close"),
    "no-lengths": end_with_connection,
    "forget": forget_session,
    "close-idle": close_after_answer,
    "reset": reset_in_call,
    "idle-limit": limit_idleness,
    "version": answer_version,
    "redirect": redirect,
    "status": refuse,
    "odd": answer_oddly,
    "asks": ask_in_call,
    "large": answer_large,
    "refuse-unread": answer,
    "stream-open": keep_stream_open,
    "stream-late": end_stream_later,
    "continue": continue_first,
    "slow-once": be_slow_once,
    "end-at": end_at,
    "input": ask_for_input,
    "tls": lambda wire, request, _certificate: answer(wire, request),
}
MODE = sys.argv[2]


def attend(connection: socket.socket) -> None:
    """Serve one connection to its end."""
    wire = Wire(connection)
    try:
        while (request := wire.read()) is not None:
            STATE.calls += request.is_call
            MODES[MODE](wire, request, *sys.argv[3:])
    except OSError:
        pass  # the other side, or a mode, has ended it


def secured(connection: socket.socket, context: ssl.SSLContext | None) -> None:
    try:
        attend(context.wrap_socket(connection, server_side=True) if context else connection)
    except OSError:
        connection.close()


def main() -> None:
    hold()
    if MODE == "never-listen":
        stay()
    if MODE == "exit":
        end(7, "no licence found")
    context = None
    if MODE == "tls":
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(sys.argv[3])
    listener = socket.create_server(("127.0.0.1", int(sys.argv[1])))
    while True:
        connection, _ = listener.accept()
        threading.Thread(target=secured, args=(connection, context), daemon=True).start()


if __name__ == "__main__":
    main()
