"""A scripted MCP server that misbehaves: ``faulty_server.py MODE [ARGUMENT…]``, stdlib only.

Each mode of :data:`MODES` reproduces one trouble that was met in the field. If the environment
names ALIVE_PORT, every process of the server holds a connection to that port of this machine,
so that a test sees the end of the process as the end of the connection.
"""

from __future__ import annotations

import json
import os
import signal
import socket
import sys
import threading
import time
from collections.abc import Callable, Iterator
from typing import Any

Message = dict[str, Any]
Frames = Callable[[Message], bytes]

TOOL = "probe"
HELD: list[socket.socket] = []


def write(data: bytes, fd: int = 1) -> None:
    """Write all of it at once: nothing is buffered here."""
    view = memoryview(data)
    while view:
        view = view[os.write(fd, view) :]


def frame(message: Message) -> bytes:
    return json.dumps({"jsonrpc": "2.0", **message}, ensure_ascii=False).encode() + b"\n"


def send(message: Message) -> None:
    write(frame(message))


def log(text: str) -> None:
    write(text.encode() + b"\n", 2)


def messages() -> Iterator[Message]:
    for line in sys.stdin.buffer:
        yield json.loads(line)


def requests() -> Iterator[Message]:
    return (message for message in messages() if "method" in message and "id" in message)


def text_result(text: str, **more: Any) -> Message:
    return {"content": [{"type": "text", "text": text}], **more}


def reply(request: Message, text: str | None = None) -> Message:
    """Return what a well-behaved server answers; the text of a call names its request."""
    params = request.get("params", {})
    match request["method"]:
        case "initialize":
            info = {"name": "faulty", "version": "1"}
            capabilities = {"tools": {}}
            version = params["protocolVersion"]
            result: Message = {
                "protocolVersion": version,
                "capabilities": capabilities,
                "serverInfo": info,
            }
        case "tools/list":
            result = {"tools": [{"name": TOOL, "inputSchema": {"type": "object"}}]}
        case "tools/call":
            result = text_result(f"answer to {request['id']}" if text is None else text)
        case _:
            result = {}
    return {"id": request["id"], "result": result}


def serve(
    call: Callable[[int, Message], None] | None = None,
    before: Callable[[Message], None] = lambda _request: None,
    encode: Frames = frame,
) -> None:
    """Answer every request; ``call(number, request)`` deals with the calls instead, from 1 on."""
    number = 0
    for request in requests():
        before(request)
        if request["method"] == "tools/call" and request["params"]["name"] != TOOL:
            unknown = {"code": -32602, "message": "Unknown tool"}
            write(encode({"id": request["id"], "error": unknown}))
        elif request["method"] == "tools/call" and call is not None:
            number += 1
            call(number, request)
        else:
            write(encode(reply(request)))


def answer_late(lag: str, first: str = "initialize") -> None:
    """Write reply n only when request n + LAG arrives, from the first request of that name on."""
    queue: list[Message] = []
    started = False
    for request in requests():
        started = started or request["method"] == first
        queue.append(reply(request))
        while queue and (not started or len(queue) > int(lag)):
            send(queue.pop(0))


def answer_at_end_of_input() -> None:
    """Write nothing before stdin ends: what a buffer that is never flushed does."""
    for answer in [reply(request) for request in requests()]:
        send(answer)


def log_loudly() -> None:
    noise = (b"\xff" * 1023 + b"\n") * 256
    serve(before=lambda _request: write(noise, 2))


def answer_in_sizes(*sizes: str) -> None:
    """Answer call n with a line of exactly the nth size in bytes; the line end is not counted."""

    def call(number: int, request: Message) -> None:
        size = int(sizes[(number - 1) % len(sizes)])
        line = frame(reply(request, ""))[:-1]
        write(line.replace(b'"text": ""', b'"text": "%b"' % (b"x" * (size - len(line)))) + b"\n")

    serve(call)


def exit_with(code: str, after: str = "1", sentence: str = "no licence found, giving up") -> None:
    """Say why on stderr and exit when line number AFTER has been read (0: at once)."""
    for _ in range(int(after)):
        sys.stdin.buffer.readline()
    log(sentence)
    sys.exit(int(code))


def exit_in_call(number: str) -> None:
    def call(made: int, request: Message) -> None:
        if made == int(number):
            log("out of tickets")
            os._exit(3)
        send(reply(request))

    serve(call)


def kill_itself() -> None:
    sys.stdin.buffer.readline()
    os.kill(os.getpid(), signal.SIGKILL)


def close_stdout() -> None:
    os.close(1)
    for _ in sys.stdin.buffer:
        pass


def never_read() -> None:
    wait_for_ever()


def never_answer() -> None:
    for _ in sys.stdin.buffer:
        pass


def notify_much() -> None:
    """Three log messages before the answer to initialize, 100 progress messages per call."""
    logged = {"method": "notifications/message", "params": {"level": "info", "data": "booting"}}

    def before(request: Message) -> None:
        if request["method"] == "initialize":
            write(frame(logged) * 3)
        elif request["method"] == "tools/call":
            for done in range(100):
                params = {"progressToken": request["id"], "progress": done, "total": 100}
                send({"method": "notifications/progress", "params": params})

    serve(before=before)


def answer_after_delays() -> None:
    """Answer each call after its own ``delay_ms``, all at the same time, so in another order."""

    def call(_number: int, request: Message) -> None:
        delay_ms = request["params"]["arguments"]["delay_ms"]
        threading.Timer(delay_ms / 1000, send, [reply(request, str(delay_ms))]).start()

    serve(call)


def answer_first_call_with(data: bytes) -> None:
    def call(number: int, request: Message) -> None:
        line = frame(reply(request))
        write(line.replace(b"answer", data) if number == 1 else line)

    serve(call)


def split_character() -> None:
    def call(_number: int, request: Message) -> None:
        head, tail = frame(reply(request, "10 €")).split("€".encode())
        write(head + "€".encode()[:1])
        time.sleep(0.05)
        write("€".encode()[1:] + tail)

    serve(call)


def start_with(data: bytes) -> None:
    write(data)
    serve()


def log_on_stdout() -> None:
    write("🚀 Ticket server ready\n\n".encode())

    def call(number: int, request: Message) -> None:
        write(b"[info] call %d\n" % number)
        send(reply(request))

    serve(call)


def read_headers() -> None:
    """Wait for headers as language servers do: the line that comes is not one, so: silence."""
    while line := sys.stdin.buffer.readline():
        if line.lower().startswith(b"content-length:"):
            send({"id": 1, "result": {}})


def with_header(message: Message) -> bytes:
    body = frame(message)[:-1]
    return b"Content-Length: %d\r\n\r\n%b" % (len(body), body)


def pretty(message: Message) -> bytes:
    return json.dumps({"jsonrpc": "2.0", **message}, indent=2).encode() + b"\n"


def answer_in_every_way() -> None:
    """One call for each way in which a call can end."""
    unknown = {"code": -32601, "message": "Method not found"}
    refused = {"code": -32602, "message": "Invalid params"}
    ways: tuple[Message, ...] = (
        {"result": text_result("fine")},
        {"result": text_result("Error: this only looks like one")},
        {"result": text_result("database locked", isError=True)},
        {"error": refused},
        {"error": unknown},
        {"result": text_result("fine"), "error": refused},
        {},
    )
    serve(lambda number, request: send({"id": request["id"], **ways[(number - 1) % len(ways)]}))


def answer_first_call_after(seconds: str) -> None:
    def call(number: int, request: Message) -> None:
        if number == 1:
            time.sleep(float(seconds))
        send(reply(request))

    serve(call)


def carry_odd_name() -> None:
    """Have a name that would break a terminal, a file of lines and an encoder of UTF-8."""

    def encode(message: Message) -> bytes:
        result = message["result"]
        if "serverInfo" in result:
            result["serverInfo"] = {"name": "\x1b[31mred\n\ud83d", "version": "1"}
        return json.dumps({"jsonrpc": "2.0", **message}).encode() + b"\n"

    serve(encode=encode)


def ask_in_call(*methods: str) -> None:
    """Ask the client under the id of its own request, and wait for each answer."""

    def call(_number: int, request: Message) -> None:
        for method in methods:
            send({"id": request["id"], "method": method})
            next(messages())
        send(reply(request))

    serve(call)


def stay() -> None:
    """Serve, then ignore the end of stdin, INT and TERM: only KILL ends this one."""
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    serve()
    wait_for_ever()


def fork_child(*, away: bool, go_on: Callable[[], None] = serve) -> None:
    """Leave a stubborn child behind, in our process group or in a session of its own."""
    if os.fork() == 0:
        if away:
            os.setsid()
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
        HELD.clear()
        hold()
        wait_for_ever()
    go_on()


def hang_in_call() -> None:
    """Say that a call has begun, then never answer it."""

    def call(_number: int, _request: Message) -> None:
        HELD[0].sendall(b"in call")
        wait_for_ever()

    serve(call)


def hang_in_session(number: str, file: str) -> None:
    """Behave well in every session but one; FILE counts them."""
    with open(file, "a+") as counter:
        counter.write("x")
        sessions = counter.tell()
    if sessions == int(number):
        hang_in_call()
    serve()


def echo_secret(name: str) -> None:
    """Print the value of a variable wherever a server can, then die."""
    value = os.environ[name]

    def call(number: int, request: Message) -> None:
        if number == 1:
            write(f"started with {value}\n".encode())
            write(f"{value:>90}\n".encode())
            send(reply(request, value))
            return
        log(f"{value}{'.' * 570} cannot log in with {value}")
        os._exit(4)

    serve(call)


def wait_for_ever() -> None:
    while True:
        signal.pause()


def hold() -> None:
    """Connect to the test, to be known as alive until this process is gone."""
    if port := os.environ.get("ALIVE_PORT"):
        HELD.append(socket.create_connection(("127.0.0.1", int(port))))


MODES: dict[str, Callable[..., None]] = {
    "good": serve,
    "late-replies": answer_late,
    "until-eof": answer_at_end_of_input,
    "loud-stderr": log_loudly,
    "sizes": answer_in_sizes,
    "exit": exit_with,
    "exit-in-call": exit_in_call,
    "kill-itself": kill_itself,
    "close-stdout": close_stdout,
    "never-read": never_read,
    "never-answer": never_answer,
    "notifications": notify_much,
    "delays": answer_after_delays,
    "bad-utf8": lambda: answer_first_call_with(b"\xb0\xa1"),
    "split-character": split_character,
    "bom": lambda: start_with(b"\xef\xbb\xbf"),
    "banner": log_on_stdout,
    "glued-banner": lambda: start_with(b"Ticket server ready "),
    "header-reader": read_headers,
    "header-writer": lambda: serve(encode=with_header),
    "crlf": lambda: serve(encode=lambda message: frame(message)[:-1] + b"\r\n"),
    "pretty": lambda: serve(encode=pretty),
    "outcomes": answer_in_every_way,
    "slow-first-call": answer_first_call_after,
    "odd-name": carry_odd_name,
    "asks": ask_in_call,
    "stubborn": stay,
    "fork": lambda: fork_child(away=False),
    "daemon": lambda: fork_child(away=True),
    "daemon-and-hang": lambda: fork_child(away=True, go_on=hang_in_call),
    "hang-in-session": hang_in_session,
    "secret": echo_secret,
}


if __name__ == "__main__":
    hold()
    MODES[sys.argv[1]](*(word for word in sys.argv[2:] if not word.startswith("--")))
