"""The server over HTTP as a real process: statuses, sessions, streams, REST, marks, its end."""

from __future__ import annotations

import base64
import json
import re
import signal
import socket
import ssl
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import anyio
import pytest
import trustme
from http_peer import POST_HEADERS, Answer, HttpPeer, command
from mcp import Client
from server_peer import INITIALIZE, WAIT_S

from bench import marks
from bench.marks import Mark
from servers import tickets
from servers.http_messages import MAX_BODY_BYTES
from servers.tools import TOOLS

META = {
    "io.modelcontextprotocol/protocolVersion": "2026-07-28",
    "io.modelcontextprotocol/clientCapabilities": {},
}
VERSION = {"MCP_Protocol_Version": "2026-07-28"}
PING = {"jsonrpc": "2.0", "id": 1, "method": "ping"}
INITIALIZED = {"jsonrpc": "2.0", "method": "notifications/initialized"}
CALL_MARKS = [Mark.RECEIVED, Mark.HANDLER_START, Mark.HANDLER_END, Mark.REPLY]


def call(name: str = "noop", meta: Any = None, **arguments: Any) -> dict[str, Any]:
    params = {"name": name, "arguments": arguments} | ({"_meta": meta} if meta else {})
    return {"jsonrpc": "2.0", "id": 7, "method": "tools/call", "params": params}


def stateless_call(peer: HttpPeer, message: Any = None, **changes: str | None) -> Answer:
    headers = VERSION | {"Mcp_Method": "tools/call", "Mcp_Name": "noop"} | changes
    return peer.post(message or call(meta=META), **headers)


@pytest.fixture(scope="module")
def marks_path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("marks") / "marks"
    marks.create(path, capacity=1000)
    return path


@pytest.fixture(scope="module")
def peer(database: Path, marks_path: Path) -> Iterator[HttpPeer]:
    """The server without options, taking marks."""
    environment = {
        marks.ENVIRONMENT_VARIABLE: str(marks_path),
        tickets.ENVIRONMENT_VARIABLE: str(database),
    }
    with HttpPeer(**environment) as server:
        yield server
        assert server.end() == (b"", b"")


@pytest.fixture(scope="module")
def streaming() -> Iterator[HttpPeer]:
    with HttpPeer("--sse", "--page-size", "4") as server:
        yield server
        assert server.end() == (b"", b"")


@pytest.fixture(scope="module")
def sessionless(tmp_path_factory: pytest.TempPathFactory) -> Iterator[HttpPeer]:
    """No sessions, one request per connection, on a Unix socket."""
    path = tmp_path_factory.mktemp("socket") / "s"
    with HttpPeer("--stateless", "--close-each", path=str(path)) as server:
        yield server
        assert server.end() == (b"", b"")
    assert not path.exists()


# -- what HTTP refuses ---------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("changes", "status"),
    [
        ({"Content_Type": "text/plain"}, 415),
        ({"Content_Type": None}, 415),
        ({"Content_Type": "Application/JSON; charset=utf-8"}, 400),  # goes on to the session
        ({"Accept": None}, 406),
        ({"Accept": "application/json"}, 406),
        ({"Accept": "text/event-stream"}, 406),
        ({"Origin": "http://example.org"}, 403),
        ({"Origin": "null"}, 403),
        ({"Origin": "http://localhost.example.org"}, 403),
        ({"Origin": "http://localhost:3000"}, 400),
        ({"Origin": "https://[::1]"}, 400),
        ({"Host": "example.org"}, 403),
        ({"Host": "127.0.0.1.example.org:80"}, 403),
        ({"Host": "localhost"}, 400),
        ({"Host": "[::1]:80"}, 400),
        ({"Mcp_Session_Id": "no-such"}, 404),
    ],
)
def test_headers_decide_the_status(
    peer: HttpPeer, changes: dict[str, str | None], status: int
) -> None:
    answer = peer.post(PING, **changes)
    assert (answer.status, answer.code) == (status, -32600)
    assert answer.headers["Content-Type"] == "application/json"


@pytest.mark.parametrize(
    ("method", "path", "status", "allow"),
    [
        ("GET", "/mcp", 405, "POST, DELETE"),
        ("HEAD", "/mcp", 405, "POST, DELETE"),
        ("PUT", "/mcp?x=1", 405, "POST, DELETE"),
        ("GET", "/rest/noop", 405, "POST"),
        ("DELETE", "/mcp", 400, None),
        ("GET", "/", 404, None),
        ("POST", "/mcp/", 404, None),
        ("POST", "/rest/", 404, None),
    ],
)
def test_paths_and_methods_decide_the_status(
    peer: HttpPeer, method: str, path: str, status: int, allow: str | None
) -> None:
    answer = peer.send(method, path)
    assert (answer.status, answer.headers["Allow"]) == (status, allow)
    assert (answer.body == b"") == (method == "HEAD")


@pytest.mark.parametrize(
    ("body", "code"),
    [
        (b"", -32700),
        (b"hello", -32700),
        (b'"\xff"', -32700),
        (b"[" * 100_000, -32700),
        (b'{"jsonrpc":"2.0","id":NaN,"method":"ping"}', -32700),
        (b"5", -32600),
        (b'{"id":1,"method":"ping"}', -32600),
    ],
    ids=lambda value: str(value)[:20],
)
def test_a_body_that_is_no_message_is_refused(peer: HttpPeer, body: bytes, code: int) -> None:
    answer = peer.post(body, Mcp_Session_Id=peer.open_session())
    assert (answer.status, answer.code) == (400, code)


@pytest.mark.parametrize("chunked", [False, True])
def test_a_body_is_as_large_as_the_limit_and_no_larger(peer: HttpPeer, chunked: bool) -> None:
    def status(size: int) -> int:
        connection = peer.connect()
        body = b" " * size
        connection.request("POST", "/mcp", iter([body]) if chunked else body, POST_HEADERS)
        try:
            return connection.getresponse().status
        finally:
            connection.close()

    assert status(MAX_BODY_BYTES) == 400
    assert status(MAX_BODY_BYTES + 1) == 413


@pytest.mark.parametrize(
    ("data", "status"),
    [
        (b"hello\r\n\r\n", b"400"),
        (b"POST /mcp HTTP/1.1\r\nContent-Length: x\r\n\r\n", b"400"),
        (b"POST /mcp HTTP/1.1\r\nContent-Length: 9999999\r\n\r\n", b"413"),
        (b"GET /mcp HTTP/1.1\r\nConnection: Upgrade\r\nUpgrade: h2c\r\n\r\n", b"400"),
        (b"GET / HTTP/1.1\r\n\r\nGET / HTTP/1.1\r\nConnection: close\r\n\r\n", b"403"),
    ],
)
def test_after_such_requests_the_connection_is_closed(
    peer: HttpPeer, data: bytes, status: bytes
) -> None:
    with peer.socket() as connection, connection.makefile("rb") as answer:
        connection.sendall(data)
        assert answer.readline().split()[1] == status
        assert b"Connection: close\r\n" in answer.read()


def test_requests_are_answered_in_order_however_they_are_cut(peer: HttpPeer) -> None:
    head = b"POST /rest/echo HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
    whole = head + b'Content-Length: 15\r\n\r\n{"payload":"%d"}'
    last = head + b"Connection: close\r\nTransfer-Encoding: chunked\r\n\r\n"
    last += b'7\r\n{"paylo\r\n8\r\nad":"5"}\r\n0\r\nHost: a.trailer\r\n\r\n'
    with peer.socket() as connection, connection.makefile("rb") as answers:
        connection.sendall(whole % 1 + whole % 2 + whole % 3)
        for byte in whole % 4:
            connection.sendall(bytes([byte]))
        connection.sendall(last)
        received = answers.read()
    assert re.findall(rb'{"text":"(.)"}', received) == [b"1", b"2", b"3", b"4", b"5"]
    assert received.count(b"HTTP/1.1 200 OK\r\n") == 5


# -- the handshake era ---------------------------------------------------------------------------


def test_a_session_lives_from_initialize_to_delete(peer: HttpPeer) -> None:
    connection = peer.connect()
    first, second = peer.open_session(), peer.open_session()
    assert first != second
    headers = {"Mcp_Session_Id": first, "MCP_Protocol_Version": "2025-11-25"}
    notified = peer.post(INITIALIZED, connection, **headers)
    assert (notified.status, notified.body) == (202, b"")
    answer = peer.post(call("echo", payload="é"), connection, **headers)
    assert (answer.status, answer.headers["Mcp-Session-Id"]) == (200, None)
    assert answer.json["result"]["content"] == [{"type": "text", "text": "é"}]
    again = {"jsonrpc": "2.0", "id": 2, "method": "initialize", "params": INITIALIZE}
    assert peer.post(again, connection, **headers).status == 400
    ended = [
        peer.send("DELETE", "/mcp", None, {"Mcp-Session-Id": first}, connection).status
        for _ in range(2)
    ]
    assert ended == [200, 404]
    assert peer.post(PING, connection, Mcp_Session_Id=first).status == 404
    assert peer.post(PING, connection, Mcp_Session_Id=second).status == 200
    connection.close()


@pytest.mark.parametrize("message", [PING, INITIALIZED, call(), [PING]])
def test_without_a_session_nothing_but_initialize_is_served(peer: HttpPeer, message: Any) -> None:
    assert peer.post(message).status == 400
    refused = peer.post({"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": {}})
    assert (refused.status, refused.code) == (200, -32602)
    assert refused.headers["Mcp-Session-Id"] is None


@pytest.mark.parametrize(
    ("message", "code"),
    [
        (call("no-such"), -32602),
        (call("echo"), -32602),
        ({"jsonrpc": "2.0", "id": 1, "method": "no/such"}, -32601),
    ],
)
def test_an_error_of_the_protocol_is_an_answer_like_any_other(
    peer: HttpPeer, message: Any, code: int
) -> None:
    answer = peer.post(message, Mcp_Session_Id=peer.open_session())
    assert (answer.status, answer.code) == (200, code)


def test_without_sessions_every_request_is_served_and_every_connection_closed(
    sessionless: HttpPeer,
) -> None:
    params = INITIALIZE | {"protocolVersion": "2025-06-18"}
    opened = sessionless.post({"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": params})
    assert opened.json["result"]["protocolVersion"] == "2025-06-18"
    assert opened.headers["Mcp-Session-Id"] is None
    assert sessionless.post(INITIALIZED).status == 202
    answer = sessionless.post(call(), Mcp_Session_Id="whatever", Host="example.org")
    assert (answer.status, answer.headers["Connection"]) == (200, "close")
    assert [len(sessionless.post([PING, PING]).json)] == [2]
    assert sessionless.post([PING], MCP_Protocol_Version="2025-06-18").status == 400
    ended = sessionless.send("DELETE", "/mcp")
    assert (ended.status, ended.headers["Allow"]) == (405, "POST")


# -- the stateless era ---------------------------------------------------------------------------


def test_a_stateless_call_needs_no_session(peer: HttpPeer) -> None:
    answer = stateless_call(peer, Mcp_Session_Id="whatever")
    assert answer.status == 200
    assert answer.json["result"]["resultType"] == "complete"
    assert answer.headers["Mcp-Session-Id"] is None


@pytest.mark.parametrize(
    ("message", "changes", "status", "code"),
    [
        (None, {"Mcp_Method": None}, 400, -32020),
        (None, {"Mcp_Method": "Tools/Call"}, 400, -32020),
        (None, {"Mcp_Name": None}, 400, -32020),
        (None, {"Mcp_Name": "echo"}, 400, -32020),
        (None, {"Mcp_Name": "=?base64?!?="}, 400, -32020),
        (None, {"MCP_Protocol_Version": None}, 400, -32020),
        (None, {"MCP_Protocol_Version": "2025-11-25"}, 400, -32020),
        (None, {"MCP_Protocol_Version": "2027-01-01"}, 400, -32020),
        (call(), {}, 400, -32602),
        (call(meta={"progressToken": 1}), {}, 400, -32602),
        (call(meta={next(iter(META)): "2026-07-28"}), {}, 400, -32602),
        (call("no-such", META), {"Mcp_Name": "no-such"}, 400, -32602),
        (
            call(meta=META | {next(iter(META)): "2027-01-01"}),
            {"MCP_Protocol_Version": "2027-01-01"},
            400,
            -32022,
        ),
        (PING | {"params": {"_meta": META}}, {"Mcp_Method": "ping"}, 404, -32601),
        (PING | {"method": "initialize", "params": INITIALIZE}, {}, 404, -32601),
        ([call(meta=META)], {}, 400, -32600),
        ({"jsonrpc": "2.0", "id": 1, "result": {}}, {}, 400, -32600),
        (b"no json", {}, 400, -32700),
    ],
)
def test_a_stateless_request_that_is_not_right_is_refused(
    peer: HttpPeer, message: Any, changes: dict[str, str | None], status: int, code: int
) -> None:
    answer = stateless_call(peer, message, **changes)
    assert (answer.status, answer.code) == (status, code)


def test_stateless_headers_may_be_padded_or_wrapped(peer: HttpPeer) -> None:
    wrapped = f"=?base64?{base64.b64encode(b'noop').decode()}?="
    assert stateless_call(peer, Mcp_Method="  tools/call \t", Mcp_Name=wrapped).status == 200


def test_a_stateless_notification_is_accepted_and_there_is_no_session_to_end(
    peer: HttpPeer,
) -> None:
    assert peer.post(INITIALIZED, **VERSION).status == 202
    for method in ("GET", "DELETE"):
        answer = peer.send(method, "/mcp", None, {"MCP-Protocol-Version": "2026-07-28"})
        assert (answer.status, answer.headers["Allow"]) == (405, "POST")


# -- streams -------------------------------------------------------------------------------------


def test_a_stream_is_one_event_and_then_its_end(streaming: HttpPeer) -> None:
    body = json.dumps(call(meta=META)).encode()
    lines = [f"{name}: {value}" for name, value in POST_HEADERS.items()]
    lines += ["Host: localhost", "Mcp-Method: tools/call", "Mcp-Name: noop"]
    lines += ["MCP-Protocol-Version: 2026-07-28", f"Content-Length: {len(body)}"]
    with streaming.socket() as connection:
        connection.sendall("\r\n".join(["POST /mcp HTTP/1.1", *lines, "", ""]).encode() + body)
        connection.shutdown(socket.SHUT_WR)
        head, _, rest = connection.makefile("rb").read().partition(b"\r\n\r\n")
    assert head.startswith(b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n")
    assert b"\r\nTransfer-Encoding: chunked" in head
    size, _, rest = rest.partition(b"\r\n")
    event, end = rest[: int(size, 16)], rest[int(size, 16) :]
    assert end == b"\r\n0\r\n\r\n"
    assert event.startswith(b"event: message\ndata: {")
    assert event.endswith(b"}\n\n")
    assert event.count(b"\n") == 3


def test_what_is_no_result_is_not_streamed(streaming: HttpPeer) -> None:
    answer = stateless_call(streaming, Mcp_Name="echo")
    assert (answer.status, answer.headers["Content-Type"]) == (400, "application/json")
    assert streaming.post(INITIALIZED, Mcp_Session_Id=streaming.open_session()).status == 202


@pytest.mark.parametrize("mode", ["legacy", "2026-07-28", "auto"])
@pytest.mark.parametrize("server", ["peer", "streaming"])
def test_the_official_client_lists_and_calls(
    request: pytest.FixtureRequest, server: str, mode: str
) -> None:
    url = request.getfixturevalue(server).url

    async def session() -> None:
        with anyio.fail_after(WAIT_S):
            async with Client(url, mode=mode, cache=None) as client:
                page = await client.list_tools()
                names = [tool.name for tool in page.tools]
                while page.next_cursor is not None:
                    page = await client.list_tools(cursor=page.next_cursor)
                    names += [tool.name for tool in page.tools]
                assert names == list(TOOLS)
                answer = await client.call_tool("echo", {"payload": "é\n"})
                assert answer.content[0].text == "é\n"  # type: ignore[union-attr]

    anyio.run(session)


# -- REST ----------------------------------------------------------------------------------------


def test_a_tool_answers_plain_json_too(peer: HttpPeer) -> None:
    answer = peer.rest("echo", {"payload": "é"}, Accept=None)
    assert (answer.status, answer.json) == (200, {"text": "é"})
    assert json.loads(peer.rest("search_tickets", {"query": "refund"}).json["text"])


@pytest.mark.parametrize(
    ("name", "body", "changes", "status"),
    [
        ("no-such", {}, {}, 404),
        ("noop", b"", {}, 400),
        ("noop", b"no json", {}, 400),
        ("noop", [], {}, 400),
        ("echo", {}, {}, 400),
        ("echo", {"payload": 5}, {}, 400),
        ("search_tickets", {"query": "?!"}, {}, 422),
        ("noop", {}, {"Content_Type": "text/plain"}, 415),
        ("noop", {}, {"Origin": "http://example.org"}, 403),
    ],
)
def test_rest_refuses_with_a_sentence(
    peer: HttpPeer, name: str, body: Any, changes: dict[str, str | None], status: int
) -> None:
    answer = peer.rest(name, body, **changes)
    assert answer.status == status
    assert answer.json.keys() == {"error"}
    assert isinstance(answer.json["error"], str)


# -- marks, TLS, the process ---------------------------------------------------------------------


@pytest.mark.parametrize(
    ("action", "expected"),
    [
        (stateless_call, CALL_MARKS),
        (lambda peer: peer.rest("noop", {}), CALL_MARKS),
        (lambda peer: peer.rest("search_tickets", {"query": "?!"}), CALL_MARKS),
        (lambda peer: peer.rest("echo", {}), [Mark.RECEIVED, Mark.REPLY]),
        (lambda peer: peer.post(PING), [Mark.RECEIVED, Mark.REPLY]),
    ],
)
def test_each_request_leaves_its_marks_in_order(
    peer: HttpPeer,
    marks_path: Path,
    action: Callable[[HttpPeer], Answer],
    expected: list[Mark],
) -> None:
    before = len(marks.read(marks_path))
    action(peer)
    assert [mark for mark, _ in marks.read(marks_path)[before:]] == expected


def test_tls(tmp_path: Path) -> None:
    authority, pem = trustme.CA(), tmp_path / "pem"
    authority.issue_cert("localhost").private_key_and_cert_chain_pem.write_to_path(pem)
    context = ssl.create_default_context()
    authority.configure_trust(context)
    payload = "x" * 100_000
    body, headers = json.dumps({"payload": payload}).encode(), {"Content-Type": "application/json"}
    with HttpPeer("--cert", str(pem), "--key", str(pem)) as peer:
        connection = peer.connect(context)
        for _ in range(2):
            answer = peer.send("POST", "/rest/echo", body, headers, connection)
            assert answer.json == {"text": payload}
        connection.close()
        assert peer.end() == (b"", b"")


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_ends_the_process_even_while_a_tool_runs(
    number: signal.Signals, tmp_path: Path
) -> None:
    path = tmp_path / "marks"
    marks.create(path, capacity=10)
    body, headers = b'{"duration_ms": 60000}', {"Content-Type": "application/json"}
    with HttpPeer(**{marks.ENVIRONMENT_VARIABLE: str(path)}) as peer:
        connection = peer.connect()
        connection.request("POST", "/rest/sleep", body, headers)
        while len(marks.read(path)) < 2:
            with pytest.raises(subprocess.TimeoutExpired):
                peer.process.wait(0.01)
        peer.process.send_signal(number)
        assert peer.process.wait(WAIT_S) == 0
        assert peer.process.communicate() == (b"", b"")
        connection.close()


@pytest.mark.parametrize(
    ("options", "code", "word"),
    [
        (("--port", "{port}"), 1, b"in use"),
        (("--socket", "/no/such/folder/s"), 1, b"cannot be served"),
        (("--port", "1234", "--cert", "/no/such", "--key", "/no/such"), 1, b"/no/such"),
        (("--port", "1234", "--cert", "/no/such"), 2, b"--key"),
        (("--port", "0"), 2, b"--port"),
        (("--port", "1234", "--page-size", "0"), 2, b"--page-size"),
        (("--port", "1234", "--socket", "s"), 2, b"--socket"),
        ((), 2, b"--port"),
    ],
)
def test_what_cannot_be_served_is_said_in_a_sentence(
    peer: HttpPeer, options: tuple[str, ...], code: int, word: bytes
) -> None:
    words = [option.format(port=peer.port) for option in options]
    ended = subprocess.run(command(*words), capture_output=True, timeout=WAIT_S)
    assert (ended.returncode, ended.stdout) == (code, b"")
    assert word in ended.stderr
    assert code == 2 or ended.stderr.count(b"\n") == 1
